// The search: filters, the form, the hits; and lists that grow.
const PAGE = 50;

/** The filter of an address as a test of records. */
function filterOf(parameters) {
  const { type = "", agent = "", session = "", since = "", until = "", tag = "", file = "" } = parameters;
  const from = since ? Date.parse(since) || 0 : 0;
  const to = until ? (Date.parse(until) || 0) + 86400000 : 0;
  const chosen = session.toLowerCase();
  return (record) =>
    (!type || record.type === type || record.kind === type) &&
    (!agent || record.agent === agent) &&
    (!chosen ||
      [record.session, record.capsule, record.id].some((id) => id.toLowerCase().startsWith(chosen))) &&
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
  if (!query.trim())
    return {
      hits: bundle.records
        .filter(allows)
        .sort(newest)
        .map((record) => [record, 0]),
      terms: new Set(),
    };
  const terms = new Set(index.parse(`${query} `).keys());
  const found = index.search(query);
  const hits = found.hits
    .map((number) => [bundle.records[number], found.scores[number]])
    .filter(
      ([record]) => allows(record) && phrases.every((phrase) => record.text.toLowerCase().includes(phrase)),
    );
  return { hits, terms: terms.size ? terms : new Set(wordsOf(query.toLowerCase())) };
}

function hitItem([record, score], terms) {
  const session = record.type === "session" ? undefined : bundle.sessionOf(record);
  const body = record.type === "observation" ? stepOf(record).body : "";
  const text = (body || restOf(record)).replace(/\n\s*\n/g, "\n");
  const mark = (part) => marked(part, terms);
  return h(
    "li",
    {},
    h(
      "article",
      {},
      h("h2", {}, h("a", { href: refAddress(record.ref) }, codeLine(titleOf(record), mark))),
      h(
        "p",
        { class: "about" },
        spaced([
          chip(record.type, `kind-${record.type}`),
          record.kind && record.kind !== record.type && chip(record.kind),
          chip(record.agent),
          moment(record.at),
          session && h("a", { href: address("session", { id: session.id }) }, "session"),
          score > 0 && h("span", { class: "score quiet" }, score.toFixed(2)),
        ]),
      ),
      text && h("div", { class: "passage" }, h("p", { class: "said" }, codeLine(passage(text, terms), mark))),
    ),
  );
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
  const types = ["session", "observation", "summary", "memory", "checkpoint", "plan", "pin"].filter((type) =>
    bundle.records.some((record) => record.type === type),
  );
  const kinds = [...new Set(bundle.records.map((record) => record.kind).filter(Boolean))]
    .filter((kind) => !types.includes(kind))
    .sort();
  const sessions = [...bundle.sessions.values()].slice(-200).reverse();
  const filters = ["type", "agent", "session", "since", "until", "tag", "file"];
  const get = (name) => parameters[name] ?? "";
  return h(
    "form",
    { role: "search", id: "query" },
    h(
      "div",
      { class: "ask" },
      h(
        "label",
        {},
        h("span", { class: "hidden" }, "Search for"),
        h("input", {
          type: "search",
          name: "q",
          value: get("q"),
          placeholder: "why did we …",
          autocomplete: "off",
          spellcheck: "false",
          "aria-keyshortcuts": "/",
        }),
      ),
      h("button", { type: "submit" }, "Search"),
    ),
    h(
      "details",
      { open: filters.some(get) },
      h("summary", {}, "Filters"),
      h(
        "div",
        { class: "fields" },
        choice(
          "type",
          "Type",
          [
            ["", "everything"],
            ...types.map((type) => [type, type]),
            ...kinds.map((kind) => [kind, `– ${kind}`]),
          ],
          get("type"),
        ),
        choice(
          "agent",
          "Agent",
          [["", "all agents"], ...bundle.agents.map((agent) => [agent, agent])],
          get("agent"),
        ),
        field("session", "Session", get("session"), {
          list: "session-list",
          placeholder: "id or its beginning",
        }),
        field("since", "Since", get("since"), { type: "date" }),
        field("until", "Until", get("until"), { type: "date" }),
        field("tag", "Tag", get("tag"), { list: "tag-list" }),
        field("file", "File", get("file"), { placeholder: "whole path" }),
      ),
    ),
    h(
      "datalist",
      { id: "session-list" },
      sessions.map((session) => h("option", { value: session.id }, sessionTitle(session))),
    ),
    h(
      "datalist",
      { id: "tag-list" },
      bundle.tags.map((tag) => h("option", { value: tag })),
    ),
  );
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
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 80);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    refresh();
  });
  form.addEventListener("kinen:ready", refresh);
  return { title: "Search", body: [form, results] };
}
