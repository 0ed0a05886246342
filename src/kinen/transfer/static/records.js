// Records: lists of one type, a record with its links, and what this file is.
function recordsView(title, type, note) {
  return () => {
    const records = bundle.records.filter((record) => record.type === type).sort(newest);
    const body = records.length ? paged(records, recordCard, "cards") : empty(note);
    return {
      title,
      body: [records.length > 0 && h("p", { class: "quiet" }, counted(records.length, type)), body],
    };
  };
}

function recordCard(record) {
  const replaced = string(record.item.supersededBy);
  return h(
    "li",
    {},
    h("h2", {}, h("a", { href: refAddress(record.ref) }, codeLine(titleOf(record)))),
    h(
      "p",
      { class: "about" },
      spaced([
        chip(record.kind || record.type),
        record.item.current && chip("the active plan", "good"),
        moment(record.at),
        chip(record.agent),
        typeof record.item.confidence === "number" &&
          record.type === "memory" &&
          record.item.confidence < 1 &&
          h("span", {}, `confidence ${record.item.confidence.toFixed(2)}`),
        replaced && h("span", {}, "superseded by ", refLink(`memory:${replaced}`)),
        ...bundle.tagsOf(record).map((tag) => chip(tag)),
      ]),
    ),
    record.type === "pin" && h("p", {}, refLink(record.target)),
    record.type !== "pin" && restOf(record) && h("p", {}, codeLine(excerpt(restOf(record), 300))),
  );
}

/** Links between the records of this page, both ways; built when first needed. */
function linksOf(ref) {
  if (!bundle.around) {
    const around = new Map();
    const add = (from, to, there, back) => {
      for (const [one, other, label] of [
        [from, to, there],
        [to, from, back],
      ]) {
        if (!around.has(one)) around.set(one, []);
        around.get(one).push([label, other]);
      }
    };
    for (const record of bundle.records) {
      const item = record.item;
      for (const source of texts(item.derivedFrom)) add(record.ref, source, "drawn from", "source of");
      for (const id of texts(item.evidenceRefs))
        add(record.ref, id.includes(":") ? id : `observation:${id}`, "based on", "evidence of");
      if (record.type === "memory" && item.supersededBy)
        add(record.ref, `memory:${item.supersededBy}`, "superseded by", "supersedes");
      if (record.type === "pin") add(record.ref, record.target, "pins", "pinned by");
      if (record.type === "summary")
        add(record.ref, `capsule:${record.capsule}`, "summary of", "summarized by");
      if (record.type === "session" && record.capsule)
        add(record.ref, `capsule:${record.capsule}`, "part of", "has the part");
      if (record.type === "checkpoint" && item.plan)
        add(record.ref, planRef(item.plan), "for the plan", "has the checkpoint");
    }
    for (const link of bundle.links) add(string(link.from), string(link.to), "links to", "linked from");
    bundle.around = around;
  }
  return bundle.around.get(ref) ?? [];
}

const planRef = (id) =>
  bundle.records.find((record) => record.type === "plan" && record.id === id)?.ref ?? `plan:${id}`;

function recordView(parameters) {
  const record = bundle.byRef.get(parameters.ref ?? "");
  if (!record)
    return { title: "No such record", body: [empty(`${parameters.ref ?? ""} is not in this page.`)] };
  const session = bundle.sessionOf(record);
  const links = linksOf(record.ref);
  return {
    title: titleOf(record),
    body: [
      split(
        [
          chip(record.type),
          record.kind && chip(record.kind),
          chip(record.agent),
          moment(record.at),
          ...bundle.tagsOf(record).map((tag) => h("a", { href: address("search", { tag }) }, `#${tag}`)),
        ],
        recordContent(record),
        h(
          "aside",
          { "aria-label": "About this record" },
          session &&
            record.type !== "session" &&
            h(
              "p",
              {},
              "Session: ",
              h(
                "a",
                { href: address("session", { id: session.id }) },
                codeLine(sessionTitle(session) || session.id),
              ),
            ),
          links.length > 0 &&
            h(
              "section",
              {},
              h("h2", {}, "Links"),
              h(
                "ul",
                { class: "plain" },
                links
                  .slice(0, 200)
                  .map(([label, ref]) =>
                    h("li", {}, h("span", { class: "quiet" }, `${label} `), refLink(ref)),
                  ),
              ),
            ),
          record.files.length > 0 &&
            h(
              "section",
              {},
              h("h2", {}, "Files"),
              h(
                "ul",
                {},
                record.files
                  .slice(0, 100)
                  .map((path) => h("li", {}, h("a", { href: address("search", { file: path }) }, path))),
              ),
            ),
          h("h2", {}, "Details"),
          recordFacts(record),
        ),
      ),
    ],
  };
}

function recordContent(record) {
  if (record.type !== "observation") return record.text ? markdown(record.text) : empty("It has no text.");
  const step = stepOf(record);
  if (step.kind === "prompt" || step.kind === "message") return markdown(record.text);
  return codeBlock(record.text, step.kind === "edit");
}

const SHOWN = new Set([
  "content",
  "source",
  "text",
  "scopeIds",
  "files",
  "tags",
  "observationIds",
  "evidenceRefs",
  "derivedFrom",
  "provenance",
  "summary",
  "intent",
  "kind",
  "type",
]);

function recordFacts(record) {
  const facts = [["ref", record.ref]];
  const add = (values) => {
    for (const [name, value] of Object.entries(values ?? {})) {
      if (value === "" || value === null || value === false || (Array.isArray(value) && !value.length))
        continue;
      const time = /(?:At|^ts)$/.test(name) && typeof value === "number" ? minuteOf(value) : "";
      const isText = typeof value === "string" || typeof value === "number";
      facts.push([name, time || (isText ? String(value) : JSON.stringify(value)).slice(0, 2000)]);
    }
  };
  add(record.item.scopeIds);
  add(Object.fromEntries(Object.entries(record.item).filter(([name]) => !SHOWN.has(name))));
  add(record.item.provenance);
  return h(
    "dl",
    { class: "facts" },
    facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

function aboutView() {
  const counts = new Map();
  for (const record of bundle.records) counts.set(record.type, (counts.get(record.type) ?? 0) + 1);
  const facts = [
    ["Space", string(bundle.header.space)],
    ["Exported", minuteOf(bundle.header.exported_at)],
    [
      "Part",
      Object.entries(bundle.header.scope_filter ?? {})
        .map(([name, value]) => `${name} ${typeof value === "number" ? minuteOf(value) : value}`)
        .join(", ") || "everything",
    ],
    ["Entries", [...counts].map(([type, count]) => counted(count, type)).join(", ") || "none"],
    ["From", dayOf(bundle.records.length ? bundle.first : 0)],
    ["To", dayOf(bundle.last)],
  ].filter(([, value]) => value);
  return {
    title: "About this page",
    body: [
      h(
        "dl",
        { class: "facts" },
        facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
      ),
      !bundle.sealed &&
        h("p", { class: "bad" }, "The end of the bundle is missing: this file is incomplete."),
      h(
        "p",
        {},
        "This file holds everything that it shows and makes no request. Secrets of known shapes were masked when they were recorded; redacted and forgotten entries are not in it.",
      ),
      h("p", {}, "To search it together with other sessions: ", h("code", {}, "kinen import THIS-FILE.html")),
      h("p", { class: "quiet" }, "Keys: / searches, j and k go through the hits. Times are UTC."),
    ],
  };
}
