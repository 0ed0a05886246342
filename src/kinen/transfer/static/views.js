// The views: each takes the parameters of the address and returns a title and elements.
const PAGE = 50;
const STEPS = 400;
const LONGEST_OUTPUT = 20000;
const MARKS = { prompt: ">", message: "·", edit: "✎", command: "$", error: "✗", tool: "·" };
const SPANS = [30, 90, 365];
const CELL = 10;
const LABEL = 90;
const ROWS = 6;

/** What an observation tells: its kind, its line, and what is folded below it. */
function stepOf(record) {
  const about = record.item.provenance ?? {};
  const text = record.text;
  if (record.kind === "message") {
    return { kind: about.role === "assistant" ? "message" : "prompt", text: text.trim(), body: "", failed: false };
  }
  const failed = Boolean(about.hasError) || Boolean(Number(about.exitCode)) || record.kind === "error" || record.kind === "node_error";
  const command = string(about.command) || (text.startsWith("$ ") ? text.slice(2).split("\n", 1)[0] : "");
  if (command && (record.kind === "command" || record.kind === "error")) {
    const rest = text.startsWith(`$ ${command}`) ? text.slice(command.length + 2) : text;
    return { kind: "command", text: command, body: rest.trim(), failed, code: about.exitCode };
  }
  const lines = text.split("\n");
  const tool = string(about.toolName) || labelled(lines, "Tool: ");
  const files = record.files.length ? record.files : [string(about.filePath) || labelled(lines, "File: ")].filter(Boolean);
  while (/^(?:Tool|File): /.test(lines[0] ?? "")) lines.shift();
  const body = lines.join("\n").trim();
  if (record.kind === "edit") return { kind: "edit", text: files.join(", ") || tool, body, failed };
  const target = files[0] || ["path", "pattern", "url", "query"].map((name) => string(about[name])).find(Boolean) || "";
  const line = tool ? `${tool} ${target}`.trim() : excerpt(text, 300);
  return { kind: record.kind === "error" || record.kind === "node_error" ? "error" : "tool", text: line, body: tool ? body : "", failed };
}

const labelled = (lines, label) => (lines.slice(0, 3).find((line) => line.startsWith(label)) ?? "").slice(label.length).trim();

function sessionTitle(session) {
  const intent = session?.record?.text ?? "";
  if (intent && intent !== "[redacted]") return excerpt(intent, 160);
  const prompt = session?.observations.find((record) => stepOf(record).kind === "prompt");
  return prompt ? excerpt(prompt.text, 160) : "";
}

function summaryParts(text) {
  const parts = {};
  let label = "";
  for (const line of text.split("\n")) {
    const head = /^\*\*([A-Z][a-z]+)\*\*:?\s*/.exec(line);
    if (head) label = head[1].toLowerCase();
    const rest = head ? line.slice(head[0].length) : line;
    if (label && rest.trim()) parts[label] = parts[label] ? `${parts[label]}\n${rest}` : rest;
  }
  return parts.outcome || parts.intent ? parts : { outcome: text };
}

const newest = (one, two) => two.at - one.at || (one.ref < two.ref ? 1 : -1);
const startOf = (session) => session.record?.at || session.observations[0]?.at || session.summaries[0]?.at || 0;
const endOf = (session) => session.record?.item.closedAt || session.observations.at(-1)?.at || startOf(session);
const agentOf = (session) => session.record?.agent || session.observations[0]?.agent || "";

/** The filter of an address as a test of records. */
function filterOf(parameters) {
  const { type = "", agent = "", session = "", since = "", until = "", tag = "", file = "" } = parameters;
  const from = since ? Date.parse(since) || 0 : 0;
  const to = until ? (Date.parse(until) || 0) + 86400000 : 0;
  const chosen = session.toLowerCase();
  return (record) =>
    (!type || record.type === type || record.kind === type) &&
    (!agent || record.agent === agent) &&
    (!chosen || [record.session, record.capsule, record.id].some((id) => id.toLowerCase().startsWith(chosen))) &&
    (!from || record.at >= from) &&
    (!to || record.at < to) &&
    (!file || record.files.includes(file)) &&
    (!tag || bundle.tagsOf(record).includes(tag));
}

/** The hits of a search with the terms to mark; without words, everything that the filter allows. */
function searchRecords(parameters) {
  const allows = filterOf(parameters);
  const query = parameters.q ?? "";
  const phrases = [...query.matchAll(/"([^"]+)"/g)].map((match) => match[1].toLowerCase());
  if (!query.trim()) return { hits: bundle.records.filter(allows).sort(newest).map((record) => [record, 0]), terms: new Set() };
  const terms = new Set(index.parse(`${query} `).keys());
  const found = index.search(query);
  const hits = found.hits
    .map((number) => [bundle.records[number], found.scores[number]])
    .filter(([record]) => allows(record) && phrases.every((phrase) => record.text.toLowerCase().includes(phrase)));
  return { hits, terms: terms.size ? terms : new Set(wordsOf(query.toLowerCase())) };
}

function hitItem([record, score], terms) {
  const session = record.type === "session" ? undefined : bundle.sessionOf(record);
  const text = (record.type === "observation" ? stepOf(record).body || record.text : restOf(record)).replace(/\n\s*\n/g, "\n");
  return h("li", {}, h("article", {},
    h("h2", {}, h("a", { href: refAddress(record.ref) }, marked(titleOf(record), terms))),
    h("p", { class: "about" }, spaced([
      chip(record.type, `kind-${record.type}`), record.kind && record.kind !== record.type && chip(record.kind), chip(record.agent),
      moment(record.at), session && h("a", { href: address("session", { id: session.id }) }, "session"),
      score > 0 && h("span", { class: "score quiet" }, score.toFixed(2))])),
    text && h("div", { class: "passage" }, h("p", { class: "said" }, marked(passage(text, terms), terms)))));
}

/** A list that grows by a button. */
function paged(items, make, name, kind = "ol") {
  const rows = h(kind, { class: name });
  const button = h("button", { type: "button", class: "more" });
  let shown = 0;
  const grow = () => {
    rows.append(...items.slice(shown, shown + PAGE).map(make));
    shown = Math.min(items.length, shown + PAGE);
    const left = items.length - shown;
    button.textContent = `${left.toLocaleString("en")} more`;
    button.hidden = left <= 0;
  };
  button.addEventListener("click", grow);
  grow();
  return [rows, button];
}

function choice(name, title, options, chosen) {
  const rows = options.map(([value, label]) => h("option", { value, selected: value === chosen }, label));
  return h("label", {}, title, h("select", { name }, rows));
}

function field(name, title, value, attributes = {}) {
  return h("label", {}, title, h("input", { name, value, autocomplete: "off", ...attributes }));
}

function searchForm(parameters) {
  const types = ["session", "observation", "summary", "memory", "checkpoint", "plan", "pin"].filter((type) => bundle.records.some((record) => record.type === type));
  const kinds = [...new Set(bundle.records.map((record) => record.kind).filter(Boolean))].filter((kind) => !types.includes(kind)).sort();
  const sessions = [...bundle.sessions.values()].slice(-200).reverse();
  const filters = ["type", "agent", "session", "since", "until", "tag", "file"];
  const get = (name) => parameters[name] ?? "";
  return h("form", { role: "search", id: "query" },
    h("div", { class: "ask" },
      h("label", {}, h("span", { class: "hidden" }, "Search for"),
        h("input", { type: "search", name: "q", value: get("q"), placeholder: "why did we …", autocomplete: "off", spellcheck: "false", "aria-keyshortcuts": "/" })),
      h("button", { type: "submit" }, "Search")),
    h("details", { open: filters.some(get) }, h("summary", {}, "Filters"),
      h("div", { class: "fields" },
        choice("type", "Type", [["", "everything"], ...types.map((type) => [type, type]), ...kinds.map((kind) => [kind, `– ${kind}`])], get("type")),
        choice("agent", "Agent", [["", "all agents"], ...bundle.agents.map((agent) => [agent, agent])], get("agent")),
        field("session", "Session", get("session"), { list: "session-list", placeholder: "id or its beginning" }),
        field("since", "Since", get("since"), { type: "date" }),
        field("until", "Until", get("until"), { type: "date" }),
        field("tag", "Tag", get("tag"), { list: "tag-list" }),
        field("file", "File", get("file"), { placeholder: "whole path" }))),
    h("datalist", { id: "session-list" }, sessions.map((session) => h("option", { value: session.id }, sessionTitle(session)))),
    h("datalist", { id: "tag-list" }, bundle.tags.map((tag) => h("option", { value: tag }))));
}

function searchResults(parameters) {
  if ((parameters.q ?? "").trim() && !index.ready) return [empty("The search is being prepared …")];
  const isOpen = !Object.values(parameters).some(Boolean);
  const { hits, terms } = searchRecords(parameters);
  if (!hits.length) return [empty("No hits. Try fewer words or filters.")];
  const label = isOpen ? `${counted(hits.length, "entry")}, newest first` : counted(hits.length, "hit");
  return [h("p", { class: "quiet" }, label), paged(hits, (hit) => hitItem(hit, terms), "hits")];
}

function searchView(parameters) {
  const form = searchForm(parameters);
  const results = h("section", { id: "results", "aria-label": "Results" }, searchResults(parameters));
  const refresh = () => {
    const chosen = Object.fromEntries([...new FormData(form)].filter(([, value]) => value.trim()));
    moveTo(address("search", chosen));
    results.replaceChildren();
    append(results, searchResults(chosen));
  };
  let timer = 0;
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(refresh, 80); });
  form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); refresh(); });
  form.addEventListener("kinen:ready", refresh);
  return { title: "Search", body: [form, results] };
}

function sessionCard(session) {
  const parts = summaryParts(session.summaries.at(-1)?.text ?? "");
  const outcome = excerpt(plainLine((parts.outcome ?? "").split("\n\n")[0]), 300);
  return h("li", {},
    h("h2", {}, h("a", { href: address("session", { id: session.id }) }, sessionTitle(session) || "(no prompt)")),
    h("p", { class: "about" }, spaced(sessionFacts(session))),
    outcome && h("p", {}, "→ ", outcome));
}

function sessionFacts(session) {
  return [
    chip("session"), chip(agentOf(session) || "by hand"), moment(startOf(session)), duration(endOf(session) - startOf(session)),
    session.record?.item.status === "open" && chip("open"),
    session.observations.length > 0 && h("span", {}, counted(session.observations.length, "observation")),
  ];
}

function sessionsView(parameters) {
  const words = (parameters.q ?? "").toLowerCase();
  const agent = parameters.agent ?? "";
  const sessions = [...bundle.sessions.values()]
    .filter((session) => !agent || agentOf(session) === agent)
    .filter((session) => !words || `${session.id} ${session.observations[0]?.session ?? ""} ${sessionTitle(session)} ${session.summaries.at(-1)?.text ?? ""}`.toLowerCase().includes(words))
    .sort((one, two) => startOf(two) - startOf(one));
  const form = h("form", { class: "fields" }, field("q", "Words or id", parameters.q ?? "", { type: "search" }),
    choice("agent", "Agent", [["", "all agents"], ...bundle.agents.map((name) => [name, name])], agent), h("button", { type: "submit" }, "Filter"));
  goOnSubmit(form, "sessions");
  return { title: "Sessions", body: [form, sessions.length ? paged(sessions, sessionCard, "cards") : empty("No session matches.")] };
}

function goOnSubmit(form, page, fixed = {}) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = address(page, { ...fixed, ...Object.fromEntries(new FormData(form)) });
  });
}

function sessionView(parameters) {
  const session = bundle.sessions.get(parameters.id ?? "");
  if (!session) return { title: "No such session", body: [empty("It is not in this page: it may belong to another part of the journal.")] };
  const only = parameters.only ?? "";
  const steps = session.observations.map((record) => [record, stepOf(record)]).filter(([, step]) => !only || `${step.kind}s` === only || (only === "errors" && step.failed));
  const form = h("form", { class: "fields" },
    choice("only", "Show", [["", "every step"], ...["prompts", "messages", "edits", "commands", "errors"].map((name) => [name, name])], only));
  form.addEventListener("change", () => { location.hash = address("session", { id: session.id, only: form.elements.only.value }); });
  const timeline = steps.length ? pagedSteps(steps) : [empty("No step matches.")];
  const aside = sessionAside(session);
  return {
    title: sessionTitle(session) || "(no prompt)",
    body: [h("div", { class: "split" },
      h("div", {}, h("p", { class: "about" }, spaced([...sessionFacts(session), h("code", {}, session.record?.ref ?? session.id)])), form, timeline),
      h("aside", { "aria-label": "Outcome" }, aside.length ? aside : empty("No summary.")))],
  };
}

function pagedSteps(steps) {
  const rows = h("ol", { class: "steps" });
  const button = h("button", { type: "button", class: "more" });
  let shown = 0;
  let day = "";
  const grow = () => {
    for (const [record, step] of steps.slice(shown, shown + STEPS)) {
      const isNew = dayOf(record.at) !== day && day;
      day = dayOf(record.at);
      if (isNew) rows.append(h("li", {}, h("span"), h("span"), h("strong", {}, day)));
      rows.append(stepItem(record, step));
    }
    shown += STEPS;
    button.textContent = `${Math.max(0, steps.length - shown).toLocaleString("en")} more steps`;
    button.hidden = steps.length <= shown;
  };
  button.addEventListener("click", grow);
  grow();
  return [rows, button];
}

function stepItem(record, step) {
  const code = step.failed && Number(step.code) ? ` (exit ${step.code})` : "";
  const cut = step.body.length - LONGEST_OUTPUT;
  return h("li", { class: step.kind },
    h("a", { class: "quiet", href: refAddress(record.ref), "aria-label": `${step.kind} at ${minuteOf(record.at)}` }, clockOf(record.at)),
    h("span", { class: step.failed ? "failed" : undefined, "aria-hidden": "true" }, step.failed ? "✗" : MARKS[step.kind] ?? "·"),
    h("div", {}, h("span", { class: "hidden" }, `${step.failed ? "failed " : ""}${step.kind}: `),
      h("p", { class: "said" }, step.text.slice(0, 4000), code),
      step.body && h("details", {}, h("summary", {}, step.kind === "edit" ? "the change" : "output"),
        codeBlock(step.body.slice(0, LONGEST_OUTPUT), step.kind === "edit"),
        cut > 0 && h("p", { class: "quiet" }, `${cut.toLocaleString("en")} characters more: `, refLink(record.ref, "all of it")))));
}

function sessionAside(session) {
  const sections = [];
  const summary = session.summaries.at(-1);
  for (const [name, text] of Object.entries(summary ? summaryParts(summary.text) : {}))
    sections.push(h("section", {}, h("h2", {}, name[0].toUpperCase() + name.slice(1)), markdown(text)));
  const ours = new Set([session.record?.ref, ...session.observations.map((record) => record.ref), ...session.summaries.map((record) => record.ref)]);
  const drawn = bundle.records.filter((record) => record.type === "memory" && texts(record.item.derivedFrom).some((ref) => ours.has(ref)));
  if (drawn.length) sections.push(h("section", {}, h("h2", {}, "Drawn from it"), h("ul", {}, drawn.slice(0, PAGE).map((record) => h("li", {}, chip(record.kind), " ", refLink(record.ref))))));
  return sections;
}

function recordsView(title, type, note) {
  return () => {
    const records = bundle.records.filter((record) => record.type === type).sort(newest);
    const body = records.length ? paged(records, recordCard, "cards") : empty(note);
    return { title, body: [records.length > 0 && h("p", { class: "quiet" }, counted(records.length, type)), body] };
  };
}

function recordCard(record) {
  const replaced = string(record.item.supersededBy);
  return h("li", {},
    h("h2", {}, h("a", { href: refAddress(record.ref) }, titleOf(record))),
    h("p", { class: "about" }, spaced([
      chip(record.kind || record.type), record.item.current && chip("the active plan", "good"), moment(record.at), chip(record.agent),
      typeof record.item.confidence === "number" && record.type === "memory" && record.item.confidence < 1 && h("span", {}, `confidence ${record.item.confidence.toFixed(2)}`),
      replaced && h("span", {}, "superseded by ", refLink(`memory:${replaced}`)), ...bundle.tagsOf(record).map((tag) => chip(tag))])),
    record.type === "pin" && h("p", {}, refLink(record.target)),
    record.type !== "pin" && restOf(record) && h("p", {}, excerpt(restOf(record), 300)));
}

/** Links between the records of this page, both ways; built when first needed. */
function linksOf(ref) {
  if (!bundle.around) {
    const around = new Map();
    const add = (from, to, there, back) => {
      for (const [one, other, label] of [[from, to, there], [to, from, back]]) {
        if (!around.has(one)) around.set(one, []);
        around.get(one).push([label, other]);
      }
    };
    for (const record of bundle.records) {
      const item = record.item;
      for (const source of texts(item.derivedFrom)) add(record.ref, source, "drawn from", "source of");
      for (const id of texts(item.evidenceRefs)) add(record.ref, id.includes(":") ? id : `observation:${id}`, "based on", "evidence of");
      if (record.type === "memory" && item.supersededBy) add(record.ref, `memory:${item.supersededBy}`, "superseded by", "supersedes");
      if (record.type === "pin") add(record.ref, record.target, "pins", "pinned by");
      if (record.type === "summary") add(record.ref, `capsule:${record.capsule}`, "summary of", "summarized by");
      if (record.type === "session" && record.capsule) add(record.ref, `capsule:${record.capsule}`, "part of", "has the part");
      if (record.type === "checkpoint" && item.plan) add(record.ref, planRef(item.plan), "for the plan", "has the checkpoint");
    }
    for (const link of bundle.links) add(string(link.from), string(link.to), "links to", "linked from");
    bundle.around = around;
  }
  return bundle.around.get(ref) ?? [];
}

const planRef = (id) => bundle.records.find((record) => record.type === "plan" && record.id === id)?.ref ?? `plan:${id}`;

function recordView(parameters) {
  const record = bundle.byRef.get(parameters.ref ?? "");
  if (!record) return { title: "No such record", body: [empty(`${parameters.ref ?? ""} is not in this page.`)] };
  const session = bundle.sessionOf(record);
  const links = linksOf(record.ref);
  return {
    title: titleOf(record),
    body: [h("div", { class: "split" },
      h("div", {}, h("p", { class: "about" }, spaced([chip(record.type), record.kind && chip(record.kind), chip(record.agent), moment(record.at), ...bundle.tagsOf(record).map((tag) => h("a", { href: address("search", { tag }) }, `#${tag}`))])), recordContent(record)),
      h("aside", { "aria-label": "About this record" },
        session && record.type !== "session" && h("p", {}, "Session: ", h("a", { href: address("session", { id: session.id }) }, sessionTitle(session) || session.id)),
        links.length > 0 && h("section", {}, h("h2", {}, "Links"), h("ul", { class: "plain" }, links.slice(0, 200).map(([label, ref]) => h("li", {}, h("span", { class: "quiet" }, `${label} `), refLink(ref))))),
        record.files.length > 0 && h("section", {}, h("h2", {}, "Files"), h("ul", {}, record.files.slice(0, 100).map((path) => h("li", {}, h("a", { href: address("search", { file: path }) }, path))))),
        h("h2", {}, "Details"), recordFacts(record)))],
  };
}

function recordContent(record) {
  if (record.type !== "observation") return record.text ? markdown(record.text) : empty("It has no text.");
  const step = stepOf(record);
  if (step.kind === "prompt" || step.kind === "message") return markdown(record.text);
  return codeBlock(record.text, step.kind === "edit");
}

const SHOWN = new Set(["content", "source", "text", "scopeIds", "files", "tags", "observationIds", "evidenceRefs", "derivedFrom", "provenance", "summary", "intent", "kind", "type"]);

function recordFacts(record) {
  const facts = [["ref", record.ref]];
  const add = (values) => {
    for (const [name, value] of Object.entries(values ?? {})) {
      if (value === "" || value === null || value === false || (Array.isArray(value) && !value.length)) continue;
      const time = /(?:At|^ts)$/.test(name) && typeof value === "number" ? minuteOf(value) : "";
      const isText = typeof value === "string" || typeof value === "number";
      facts.push([name, time || (isText ? String(value) : JSON.stringify(value)).slice(0, 2000)]);
    }
  };
  add(record.item.scopeIds);
  add(Object.fromEntries(Object.entries(record.item).filter(([name]) => !SHOWN.has(name))));
  add(record.item.provenance);
  return h("dl", { class: "facts" }, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function timelineView(parameters) {
  const span = Number(parameters.days) || 90;
  const day = parameters.day ?? "";
  const last = Date.parse(dayOf(bundle.last)) || 0;
  const first = last - (Math.max(7, span) - 1) * 86400000;
  const inside = (at) => (day ? dayOf(at) === day : at >= first);
  const entries = [
    ...[...bundle.sessions.values()].map((session) => [startOf(session), () => sessionCard(session)]),
    ...bundle.records.filter((record) => record.type === "checkpoint").map((record) => [record.at, () => recordCard(record)]),
  ].filter(([at]) => inside(at)).sort((one, two) => two[0] - one[0]);
  const spans = h("ul", { class: "legend" }, SPANS.map((days) => h("li", {}, h("a", { href: address("timeline", { days }), "aria-current": days === span ? "true" : undefined }, `${days} days`))));
  return {
    title: "Timeline",
    body: [spans, heatMap(first, last, span), h("h2", {}, day ? `On ${day}` : `${dayOf(first)} to ${dayOf(last)}`),
      day && h("p", {}, spaced([h("a", { href: address("search", { since: day, until: day }) }, "everything of this day"), h("a", { href: address("timeline", { days: span }) }, "all days")])),
      entries.length ? paged(entries, ([, make]) => make(), "cards") : empty("No session and no checkpoint in this time.")],
  };
}

/** A row for each agent, a column for each day, or for each week of a long time. */
function heatMap(first, last, span) {
  const step = span > 120 ? 7 : 1;
  const columns = Math.ceil(((last - first) / 86400000 + 1) / step);
  const rows = new Map();
  for (const record of bundle.records) {
    if (record.type !== "observation" || record.at < first) continue;
    const agent = record.agent || "by hand";
    if (!rows.has(agent)) rows.set(agent, new Uint32Array(columns));
    const column = Math.floor((record.at - first) / (step * 86400000));
    if (column < columns) rows.get(agent)[column] += 1;
  }
  if (!rows.size) return empty("Nothing was recorded in this time.");
  const busy = [...rows].sort((one, two) => sum(two[1]) - sum(one[1])).slice(0, ROWS);
  const cells = busy.flatMap(([agent, counts], row) => heatRow(agent, counts, 14 + row * (CELL + 6), first, step));
  for (let column = 0; column < columns; column += 1) {
    const date = new Date(first + column * step * 86400000);
    if (date.getUTCDate() <= step) cells.push(svg("text", { x: LABEL + column * CELL, y: 9 }, date.toLocaleString("en", { month: "short", timeZone: "UTC" })));
  }
  const width = LABEL + columns * CELL;
  const height = 16 + busy.length * (CELL + 6);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "heat", role: "group", "aria-label": "Events by day and agent" }, cells);
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Activity" }, picture);
}

const sum = (counts) => counts.reduce((total, count) => total + count, 0);

function heatRow(agent, counts, y, first, step) {
  const most = Math.max(...counts);
  const cells = [svg("text", { x: 0, y: y + 9 }, excerpt(agent, 14))];
  counts.forEach((count, column) => {
    const day = dayOf(first + column * step * 86400000);
    const level = count ? 1 + Math.min(3, Math.floor((4 * count) / (most + 1))) : 0;
    const title = `${day}, ${agent}: ${count.toLocaleString("en")}`;
    const cell = svg("rect", { x: LABEL + column * CELL, y, width: CELL - 1, height: CELL + 2, class: `h${level}` }, svg("title", {}, title));
    const target = step === 1 ? address("timeline", { day }) : address("search", { since: day, until: dayOf(Date.parse(day) + 6 * 86400000) });
    cells.push(count ? svg("a", { href: target, "aria-label": title }, cell) : cell);
  });
  return cells;
}

function aboutView() {
  const counts = new Map();
  for (const record of bundle.records) counts.set(record.type, (counts.get(record.type) ?? 0) + 1);
  const facts = [
    ["Space", string(bundle.header.space)], ["Exported", minuteOf(bundle.header.exported_at)],
    ["Part", Object.entries(bundle.header.scope_filter ?? {}).map(([name, value]) => `${name} ${typeof value === "number" ? minuteOf(value) : value}`).join(", ") || "everything"],
    ["Entries", [...counts].map(([type, count]) => counted(count, type)).join(", ") || "none"],
    ["From", dayOf(bundle.records.length ? bundle.first : 0)], ["To", dayOf(bundle.last)],
  ].filter(([, value]) => value);
  return {
    title: "About this page",
    body: [h("dl", { class: "facts" }, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
      !bundle.sealed && h("p", { class: "bad" }, "The end of the bundle is missing: this file is incomplete."),
      h("p", {}, "This file holds everything that it shows and makes no request. Secrets of known shapes were masked when they were recorded; redacted and forgotten entries are not in it."),
      h("p", {}, "To search it together with other sessions: ", h("code", {}, "kinen import THIS-FILE.html")),
      h("p", { class: "quiet" }, "Keys: / searches, j and k go through the hits. Times are UTC.")],
  };
}

const VIEWS = {
  search: ["Search", searchView],
  timeline: ["Timeline", timelineView],
  sessions: ["Sessions", sessionsView],
  memories: ["Memories", recordsView("Memories", "memory", "No memory in this page.")],
  checkpoints: ["Checkpoints", recordsView("Checkpoints", "checkpoint", "No checkpoint in this page.")],
  plans: ["Plans", recordsView("Plans", "plan", "No plan in this page.")],
  pins: ["Pins", recordsView("Pins", "pin", "No pin in this page.")],
  about: ["About", aboutView],
};
const OTHERS = { session: ["sessions", sessionView], record: ["search", recordView] };
