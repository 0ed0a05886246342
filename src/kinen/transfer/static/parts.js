// Elements, made from values. Text never becomes markup: nothing here parses HTML.
const PASSAGE_LINES = 6;
const SAFE_LINK = /^(?:https?:\/\/|mailto:)[^\s\0-\x1f]+$/i;

function h(name, attributes, ...children) {
  const element = document.createElement(name);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

function svg(name, attributes, ...children) {
  const element = document.createElementNS(document.getElementById("picture").namespaceURI, name);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on") || name === "style" || name === "src") throw new Error(`no attribute ${name}`);
    if (name === "href" && !value.startsWith("#") && !SAFE_LINK.test(value)) continue;
    element.setAttribute(name, value === true ? "" : visible(String(value)));
  }
}

function append(element, children) {
  for (const child of children.flat(5)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : visible(String(child)));
  }
}

const address = (page, parameters = {}) => {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined);
  return pairs.length ? `#${page}?${new URLSearchParams(pairs)}` : `#${page}`;
};
const chip = (text, kind = "") => text && h("span", { class: `chip ${kind}`.trim() }, text);
const spaced = (children) => children.filter(Boolean).flatMap((child) => [child, " "]);

/** The body of a page in two columns: a line of facts above the content, and what stands aside. */
const split = (facts, content, aside) =>
  h("div", { class: "split" }, h("div", {}, h("p", { class: "about" }, spaced(facts)), content), aside);
const moment = (at) =>
  at > 0 && h("time", { datetime: new Date(at).toISOString() }, minuteOf(at).replace(" 00:00", ""));
const empty = (text) => h("p", { class: "empty" }, text);

/** The title of a record on one line. */
function titleOf(record) {
  if (record.title) return excerpt(plainLine(record.title), 160);
  if (record.type === "observation") return excerpt(stepOf(record).text || record.text, 160) || record.kind;
  if (record.type === "session") return sessionTitle(bundle.sessionOf(record)) || "(no prompt)";
  if (record.type === "summary") return `Summary of ${sessionTitle(bundle.sessionOf(record)) || "a session"}`;
  if (record.type === "pin") return excerpt(record.text, 120) || "Pinned";
  return excerpt(plainLine(record.text), 160) || record.ref;
}

/** The text of a record behind its title, which mostly is the first line. */
function restOf(record) {
  const text = plainLine(record.text);
  const title = titleOf(record).replace(/…$/, "");
  const line = text.split("\n", 1)[0];
  return excerpt(line, 160).startsWith(title) && line.length <= 160 ? text.slice(line.length).trim() : text;
}

const plainLine = (text) => text.replace(/^[#>*\s-]+/, "").replace(/\*\*/g, "");

/** The address of a record, also of one that is not in this page. */
function refAddress(ref) {
  const record = bundle.byRef.get(ref);
  if (!record) return undefined;
  return record.type === "session" ? address("session", { id: record.id }) : address("record", { ref });
}

function refLink(ref, title = "") {
  const record = bundle.byRef.get(ref);
  if (!record) return h("code", {}, ref);
  return h("a", { href: refAddress(ref) }, codeLine(title || titleOf(record)));
}

/** Whether a word is one of the terms of a query, or begins with one; `seen` has words of before. */
function isMatch(word, terms, seen) {
  let answer = seen.get(word);
  if (answer === undefined) {
    const lower = word.toLowerCase();
    answer =
      termsOf(word).some((term) => terms.has(term)) || [...terms].some((term) => lower.startsWith(term));
    seen.set(word, answer);
  }
  return answer;
}

/** Text with the terms of a query marked. */
function marked(text, terms) {
  const parts = [];
  const seen = new Map();
  let end = 0;
  for (const match of terms.size ? text.matchAll(WORD) : []) {
    if (!isMatch(match[0], terms, seen)) continue;
    parts.push(text.slice(end, match.index), h("mark", {}, match[0]));
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

/** The part of a text around the first places that match a query. */
function passage(text, terms) {
  if (text.length <= 320) return text.split("\n").slice(0, PASSAGE_LINES).join("\n");
  let at = -1;
  const seen = new Map();
  for (const match of terms.size ? text.slice(0, 200000).matchAll(WORD) : []) {
    if (isMatch(match[0], terms, seen)) {
      at = match.index;
      break;
    }
  }
  const from = Math.max(0, at - 100);
  const start = from ? text.indexOf(" ", from) + 1 || from : 0;
  const cut = text
    .slice(start, start + 320)
    .split("\n")
    .slice(0, PASSAGE_LINES)
    .join("\n");
  return `${start ? "… " : ""}${cut}${start + 320 < text.length ? " …" : ""}`;
}

function codeBlock(text, isDiff = false) {
  const lines = isDiff
    ? text.split("\n").flatMap((line, number) => [number ? "\n" : "", diffLine(line)])
    : [text];
  return h("pre", { class: "code", tabindex: "0" }, h("code", {}, lines));
}

function diffLine(line) {
  if (/^\+(?!\+\+)/.test(line)) return h("span", { class: "added" }, line);
  return /^-(?!--)/.test(line) ? h("span", { class: "removed" }, line) : line;
}
