// Markdown as elements.
const INLINE =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[\[([^[\]\n|]{1,300})(?:\|([^[\]\n]{1,300}))?\]\]|\[([^\]\n]{1,300})\]\(([^)\s]{1,500})\)|(https?:\/\/[^\s<>()"'`]+)/g;

/** Emphasis, code and links of a line. Only links to the web and to mail can be followed. */
function inline(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(end, match.index));
    const [whole, code, strong, wiki, alias, label, url, bare] = match;
    if (code) parts.push(h("code", {}, code));
    else if (strong) parts.push(h("strong", {}, strong));
    else if (wiki) parts.push(h("em", {}, alias || wiki));
    else parts.push(outside(bare || url, bare || label, whole));
    end = match.index + whole.length;
  }
  return [...parts, text.slice(end)];
}

const CODE = /(?<!`)(`{1,3})(?!`)([^`\n]+)(?:\1(?!`)|(?<=…)$)/g;

/** A line that somebody wrote, such as an outcome, with its code as code; `words` makes the rest. */
function codeLine(text, words = (part) => part) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(CODE)) {
    parts.push(words(text.slice(end, match.index)), h("code", {}, words(match[2].trim())));
    end = match.index + match[0].length;
  }
  return [...parts, words(text.slice(end))];
}

function outside(url, label, whole) {
  if (!SAFE_LINK.test(url)) return whole.startsWith("http") ? whole : `${label} (${url})`;
  return h("a", { href: url, rel: "noopener noreferrer", target: "_blank" }, label);
}

const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const RULE = /^\s*\|?(?:\s*:?-+:?\s*\|)+\s*:?-*:?\s*$/;
const DEEPEST = 12;

/** Markdown as elements: headings, nested lists, tables, quotes, code, paragraphs. */
function markdown(text) {
  const block = h("div", { class: "prose" });
  const lines = text.slice(0, 400000).split("\n");
  for (let at = 0; at < lines.length;) at = markdownBlock(block, lines, at);
  return block;
}

function markdownBlock(block, lines, at) {
  const line = lines[at];
  const until = (matches) => {
    let end = at;
    while (end < lines.length && matches(lines[end])) end += 1;
    return end;
  };
  if (!line.trim()) return at + 1;
  const fence = /^\s*(`{3,}|~{3,})(.*)$/.exec(line);
  if (fence) {
    let end = at + 1;
    while (end < lines.length && !lines[end].trim().startsWith(fence[1])) end += 1;
    block.append(codeBlock(lines.slice(at + 1, end).join("\n"), fence[2].trim() === "diff"));
    return end + 1;
  }
  const heading = /^(#{1,6})\s+(.+?)\s*#*$/.exec(line);
  if (heading) {
    block.append(h(`h${Math.min(6, heading[1].length + 1)}`, {}, inline(heading[2])));
    return at + 1;
  }
  if (line.includes("|") && RULE.test(lines[at + 1] ?? "")) {
    const end = until((other) => other.includes("|"));
    block.append(table(lines.slice(at, end)));
    return end;
  }
  if (/^>/.test(line)) {
    const end = until((other) => /^>/.test(other));
    block.append(
      h(
        "blockquote",
        {},
        lines.slice(at, end).map((other) => h("p", {}, inline(other.replace(/^>+\s?/, "")))),
      ),
    );
    return end;
  }
  if (ITEM.test(line)) {
    const end = until((other) => ITEM.test(other) || /^\s{2,}\S/.test(other));
    block.append(list(lines.slice(at, end)));
    return end;
  }
  const next = (other, number) => number > at && other.includes("|") && RULE.test(lines[number + 1] ?? "");
  let end = at;
  while (
    end < lines.length &&
    lines[end].trim() &&
    !/^(?:#{1,6}\s|>|\s*[`~]{3})/.test(lines[end]) &&
    !ITEM.test(lines[end]) &&
    !next(lines[end], end)
  )
    end += 1;
  block.append(h("p", {}, inline(lines.slice(at, Math.max(end, at + 1)).join("\n"))));
  return Math.max(end, at + 1);
}

/** The cells of a row; a bar behind a backslash is text. */
function cells(line) {
  const row = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** A table: its head, the rule below it, and rows, which are as wide as the head. */
function table([head, , ...rows]) {
  const names = cells(head);
  const row = (line) => {
    const values = cells(line);
    return h("tr", {}, names.map((_, number) => h("td", {}, inline(values[number] ?? ""))));
  };
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, names.map((name) => h(name ? "th" : "td", name ? { scope: "col" } : {}, inline(name))))),
    h("tbody", {}, rows.map(row)),
  );
}

/** A list; items that stand further right are a list of the item above them. */
function list(lines) {
  const top = { indent: -1, lists: [] };
  const path = [top];
  for (const line of lines) {
    const match = ITEM.exec(line);
    if (!match) {
      path.at(-1).text += `\n${line.trim()}`;
      continue;
    }
    const indent = match[1].replaceAll("\t", "    ").length;
    while (path.length > 1 && (indent < path.at(-1).indent + 2 || path.length > DEEPEST)) path.pop();
    const item = { indent, text: match[3], lists: [] };
    const lists = path.at(-1).lists;
    const name = match[2] === undefined ? "ul" : "ol";
    if (lists.at(-1)?.name !== name) lists.push({ name, start: match[2], items: [] });
    lists.at(-1).items.push(item);
    path.push(item);
  }
  return h("div", {}, top.lists.map(listElement));
}

function listElement({ name, start, items }) {
  return h(
    name,
    { start: Number(start) > 1 && start },
    items.map((item) =>
      h(
        "li",
        {},
        inline(item.text.replace(/^\[ \]/, "☐").replace(/^\[[xX]\]/, "☑")),
        item.lists.map(listElement),
      ),
    ),
  );
}
