// The exported page: shows one section at a time, and searches the text of all of them.
// Text never becomes markup: elements are made by name, and nothing here parses HTML.
const root = document.documentElement;
const PAGE = 50;
const SLICE = 24;
const K1 = 1.2;
const B = 0.75;
const WORD = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]|[\p{L}\p{N}]+/gu;
const $ = (id) => document.getElementById(id);
root.classList.add("js");
root.dataset.state = "loading";

function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter(Boolean).flatMap((child) => [child, " "]).slice(0, -1));
  return element;
}

const pause = () =>
  new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(0);
  });

/** Text for comparing: small letters without accents. */
function folded(text) {
  const lower = text.toLowerCase();
  return /^[\0-\x7f]*$/.test(lower) ? lower : lower.normalize("NFKD").replace(/\p{M}/gu, "");
}

/** The words of a query without their English endings: they match the beginnings of words. */
function rootsOf(query) {
  const cut = (word) => (/^[a-z]{5,}$/.test(word) ? word.replace(/(?:i?e[sd]|ing|s|y|e)$/, "") : word);
  return [...new Set((folded(query).match(WORD) ?? []).map(cut))];
}

// What can be found: steps and records, newest first, and all their texts as one.
let units = [];
let texts = "";
let ends = [];

const SAID = ":scope > div > :is(.said, .passage, .quiet), :scope > div > details > :is(pre, p)";

/** The text of a unit; of a step without its time and labels. */
function textOf(unit) {
  if (unit.dataset.type) return unit.textContent;
  return Array.from(unit.querySelectorAll(SAID), (part) => part.textContent).join("\n");
}

async function readUnits() {
  const elements = [...document.querySelectorAll(".steps > li[id], [data-type]")];
  units = elements.sort((one, two) => two.dataset.at - one.dataset.at);
  const parts = [];
  let until = performance.now() + SLICE;
  for (const unit of units) {
    parts.push(folded(textOf(unit)));
    if (performance.now() < until) continue;
    $("status").textContent = `preparing the search: ${Math.floor((100 * parts.length) / units.length)} %`;
    await pause();
    until = performance.now() + SLICE;
  }
  let end = 0;
  ends = Float64Array.from(parts, (part) => (end += part.length + 1));
  texts = parts.join("\n");
  $("status").textContent = "";
  root.dataset.state = "ready";
}

const isLetter = (code) => (code > 47 && code < 58) || (code > 96 && code < 123) || code > 127;

/** How often a root is in each unit; within a word it counts half, unless it is short. */
function countsOf(word) {
  const counts = new Map();
  const alone = word.charCodeAt(0) > 127;
  let unit = 0;
  for (let at = texts.indexOf(word); at >= 0; at = texts.indexOf(word, at + word.length)) {
    while (ends[unit] <= at) unit += 1;
    const begins = alone || !isLetter(texts.charCodeAt(at - 1));
    if (begins || word.length > 3) counts.set(unit, (counts.get(unit) ?? 0) + (begins ? 1 : 0.5));
  }
  return counts;
}

/** Units that match a query with their scores (BM25, times the share of the words), best first. */
function matches(query) {
  const scores = new Map();
  const average = texts.length / Math.max(1, units.length);
  let whole = 0;
  for (const word of rootsOf(query)) {
    const counts = countsOf(word);
    const rarity = Math.log(1 + (units.length - counts.size + 0.5) / (counts.size + 0.5));
    whole += rarity;
    for (const [unit, count] of counts) {
      const length = ends[unit] - (ends[unit - 1] ?? 0);
      const [score, share] = scores.get(unit) ?? [0, 0];
      const part = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / average));
      scores.set(unit, [score + rarity * part, share + rarity]);
    }
  }
  const phrases = [...query.matchAll(/"([^"]+)"/g)].map((match) => folded(match[1]));
  return [...scores]
    .filter(([unit]) => phrases.every((phrase) => texts.slice(ends[unit - 1] ?? 0, ends[unit]).includes(phrase)))
    .map(([unit, [score, share]]) => [units[unit], (score * share) / whole])
    .sort((one, two) => two[1] - one[1]);
}

const typeOf = (unit) => unit.dataset.type ?? "observation";
const kindOf = (unit) => unit.dataset.kind ?? unit.className;
const pageOf = (unit) => unit.closest(".page");
const has = (unit, name, value) => (unit.dataset[name] ?? "").split("\n").includes(value);

/** The filter of an address as a test of units. */
function filterOf({ type = "", agent = "", session = "", since = "", until = "", tag = "", file = "" }) {
  const from = Date.parse(since) || 0;
  const to = until ? (Date.parse(until) || 0) + 86400000 : Infinity;
  return (unit) => {
    const at = Number(unit.dataset.at);
    const { dataset, id } = pageOf(unit);
    return (
      (!type || typeOf(unit) === type || kindOf(unit) === type) &&
      (!agent || dataset.agent === agent) &&
      (!session || (dataset.session ?? "").startsWith(session) || id.startsWith(`capsule:${session}`)) &&
      at >= from &&
      at < to &&
      (!tag || has(unit, "tags", tag)) &&
      (!file || has(unit, "files", file))
    );
  };
}

function excerpt(text, limit) {
  const line = text.slice(0, limit * 8).replace(/\s+/g, " ").trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1).replace(/\s+\S*$/, "")}…`;
}

/** Text with the words of a query marked. */
function marked(text, words) {
  if (!words.length) return [text];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join("|")})[\\p{L}\\p{N}]*`, "giu");
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const mark = document.createElement("mark");
    mark.textContent = match[0];
    parts.push(text.slice(end, match.index), mark);
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

function hitItem([unit, score], words) {
  const page = pageOf(unit);
  const heading = page.querySelector("h1").textContent;
  const isStep = page.dataset.session !== undefined;
  const titles = { session: heading, summary: `Summary of ${heading}` };
  const said = unit.querySelector(".said, .passage, h2, .content")?.textContent ?? "";
  const title = excerpt(titles[typeOf(unit)] ?? said, 160) || typeOf(unit);
  const whole = textOf(unit).replace(/\s*\n\s*/g, "\n").trim();
  const text = whole.startsWith(title) ? whole.slice(title.length).trim() : whole;
  const found = words.length ? folded(text).search(new RegExp(words.join("|"), "u")) : 0;
  const start = Math.max(0, found - 100);
  const cut = text.slice(start, start + 320).split("\n").slice(0, 6).join("\n");
  const link = h("a", { href: `#${unit.id || page.id}` });
  link.append(...marked(title, words));
  const passage = h("p", { class: "said" });
  passage.append(start ? "… " : "", ...marked(cut, words), start + 320 < text.length ? " …" : "");
  const chips = [...new Set([typeOf(unit), kindOf(unit), page.dataset.agent])].filter(Boolean);
  const at = new Date(Number(unit.dataset.at)).toISOString();
  const about = h(
    "p",
    { class: "about" },
    ...chips.map((name) => h("span", { class: "chip" }, name)),
    h("time", { datetime: at }, at.slice(0, 16).replace("T", " ")),
    isStep && h("a", { href: `#${page.id}` }, "session"),
    score > 0 && h("span", { class: "score quiet" }, score.toFixed(2)),
  );
  return h("li", {}, h("article", {}, h("h2", {}, link), about, h("div", { class: "passage" }, passage)));
}

function showResults(parameters) {
  const query = parameters.q ?? "";
  const words = rootsOf(query);
  const found = query.trim() ? matches(query) : units.map((unit) => [unit, 0]);
  const allows = filterOf(parameters);
  const hits = found.filter(([unit]) => allows(unit));
  const count = `${hits.length.toLocaleString("en")} ${hits.length === 1 ? "hit" : "hits"}`;
  const list = h("ol", { class: "hits" });
  const button = h("button", { type: "button", class: "more" });
  let shownHits = 0;
  const grow = () => {
    list.append(...hits.slice(shownHits, shownHits + PAGE).map((hit) => hitItem(hit, words)));
    shownHits += PAGE;
    button.textContent = `${(hits.length - shownHits).toLocaleString("en")} more`;
    button.hidden = hits.length <= shownHits;
  };
  button.addEventListener("click", grow);
  grow();
  const nothing = h("p", { class: "empty" }, "No hits. Try fewer words or filters.");
  const label = h("p", { class: "quiet" }, Object.values(parameters).some(Boolean) ? count : `${count}, newest first`);
  $("results").replaceChildren(...(hits.length ? [label, list, button] : [nothing]));
}

let current;

/** Show the section that the address names, or the one that has what it names. */
function show() {
  const [name, query = ""] = location.hash.slice(1).split("?");
  const sessions = document.querySelectorAll("[data-session]");
  const first = !name && sessions.length === 1 ? sessions[0] : $("search");
  const target = $(name)?.closest("main") ? $(name) : first;
  const page = target.closest(".page") ?? $("search");
  const isFirst = !current;
  current?.classList.remove("shown");
  page.classList.add("shown");
  current = page;
  for (const link of document.querySelectorAll("nav a"))
    if (link.hash === `#${page.dataset.nav ?? page.id}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  document.title = `${page.querySelector("h1").textContent} · ${document.title.split(" · ").slice(-2).join(" · ")}`;
  const form = $("query");
  if (page === $("search")) {
    const parameters = Object.fromEntries(new URLSearchParams(query));
    for (const field of form.elements) if (field.name) field.value = parameters[field.name] ?? "";
    form.querySelector("details").open ||= Object.keys(parameters).some((key) => key !== "q");
    showResults(parameters);
  }
  target.hidden = false;
  if (target === page) scrollTo(0, 0);
  else target.scrollIntoView();
  if (page === $("search") && !form.elements.q.value) form.elements.q.focus();
  else if (!isFirst) $("main").focus({ preventScroll: true });
  root.dataset.view = location.hash;
}

function search() {
  const chosen = [...new FormData($("query"))].filter(([, value]) => value.trim());
  const parameters = Object.fromEntries(chosen);
  history.replaceState(null, "", chosen.length ? `#search?${new URLSearchParams(chosen)}` : "#search");
  root.dataset.view = location.hash;
  showResults(parameters);
}

/** Forms that hide entries of the list after them. */
function listen() {
  for (const form of document.querySelectorAll("form[data-cards], form[data-steps]")) {
    form.addEventListener("input", () => {
      const { q, agent, only } = Object.fromEntries(new FormData(form));
      for (const item of form.nextElementSibling.children) {
        const chips = [...item.querySelectorAll(".chip")].map((chip) => chip.textContent);
        const isKind = !only || item.className === only || (only === "error" && "failed" in item.dataset);
        const words = q && !folded(`${item.textContent} ${item.dataset.id ?? ""}`).includes(folded(q));
        item.hidden = words || (agent && !chips.includes(agent)) || !isKind;
      }
    });
  }
  document.addEventListener("submit", (event) => event.preventDefault());
  let timer = 0;
  $("query").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 80);
  });
  $("query").addEventListener("submit", search);
  $("skip").addEventListener("click", (event) => {
    event.preventDefault();
    $("main").focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.closest?.("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const links = [...document.querySelectorAll(".shown .hits h2 a, .shown .cards h2 a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "/") {
      event.preventDefault();
      if (current !== $("search")) location.hash = "#search";
      $("query").elements.q.select();
    } else if (event.key === "j") links[Math.min(at + 1, links.length - 1)]?.focus();
    else if (event.key === "k") links[Math.max(at - 1, 0)]?.focus();
  });
  addEventListener("hashchange", show);
}

addEventListener("DOMContentLoaded", async () => {
  listen();
  show();
  root.dataset.state = "open";
  await readUnits();
  if (current === $("search")) show();
  if (!$("end")) $("status").textContent = "This file is cut short: get it again, or export it once more.";
});
