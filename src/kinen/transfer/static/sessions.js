// Sessions: what observations tell, the list, and a session step by step.
const STEPS = 400;
const LONGEST_OUTPUT = 20000;
const MARKS = { prompt: ">", message: "·", edit: "✎", command: "$", error: "✗", tool: "·" };
const PARTS_SHOWN = ["outcome", "next", "state", "unresolved", "earlier"];

/** What an observation tells: its kind, its line, and what is folded below it. */
function stepOf(record) {
  const about = record.item.provenance ?? {};
  const text = record.text;
  if (record.kind === "message") {
    return {
      kind: about.role === "assistant" ? "message" : "prompt",
      text: text.trim(),
      body: "",
      failed: false,
    };
  }
  const failed =
    Boolean(about.hasError) ||
    Boolean(Number(about.exitCode)) ||
    record.kind === "error" ||
    record.kind === "node_error";
  const command = string(about.command) || (text.startsWith("$ ") ? text.slice(2).split("\n", 1)[0] : "");
  if (command && (record.kind === "command" || record.kind === "error")) {
    const rest = text.startsWith(`$ ${command}`) ? text.slice(command.length + 2) : text;
    return { kind: "command", text: command, body: rest.trim(), failed, code: about.exitCode };
  }
  const lines = text.split("\n");
  const tool = string(about.toolName) || labelled(lines, "Tool: ");
  const files = record.files.length
    ? record.files
    : [string(about.filePath) || labelled(lines, "File: ")].filter(Boolean);
  while (/^(?:Tool|File): /.test(lines[0] ?? "")) lines.shift();
  const body = lines.join("\n").trim();
  if (record.kind === "edit") return { kind: "edit", text: files.join(", ") || tool, body, failed };
  const target =
    files[0] || ["path", "pattern", "url", "query"].map((name) => string(about[name])).find(Boolean) || "";
  const line = tool ? `${tool} ${target}`.trim() : excerpt(text, 300);
  return {
    kind: record.kind === "error" || record.kind === "node_error" ? "error" : "tool",
    text: line,
    body: tool ? body : "",
    failed,
  };
}

const labelled = (lines, label) =>
  (lines.slice(0, 3).find((line) => line.startsWith(label)) ?? "").slice(label.length).trim();

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
const startOf = (session) =>
  session.record?.at || session.observations[0]?.at || session.summaries[0]?.at || 0;
const endOf = (session) =>
  session.record?.item.closedAt || session.observations.at(-1)?.at || startOf(session);
const agentOf = (session) => session.record?.agent || session.observations[0]?.agent || "";

function sessionCard(session) {
  const parts = summaryParts(session.summaries.at(-1)?.text ?? "");
  const outcome = excerpt(plainLine((parts.outcome ?? "").trim().split("\n", 1)[0]), 300);
  return h(
    "li",
    {},
    h(
      "h2",
      {},
      h(
        "a",
        { href: address("session", { id: session.id }) },
        codeLine(sessionTitle(session) || "(no prompt)"),
      ),
    ),
    h("p", { class: "about" }, spaced(sessionFacts(session))),
    outcome && h("p", {}, "→ ", codeLine(outcome)),
  );
}

function sessionFacts(session) {
  return [
    chip("session"),
    chip(agentOf(session) || "by hand"),
    moment(startOf(session)),
    duration(endOf(session) - startOf(session)),
    session.record?.item.status === "open" && chip("open"),
    session.observations.length > 0 && h("span", {}, counted(session.observations.length, "observation")),
  ];
}

function sessionsView(parameters) {
  const words = (parameters.q ?? "").toLowerCase();
  const agent = parameters.agent ?? "";
  const sessions = [...bundle.sessions.values()]
    .filter((session) => !agent || agentOf(session) === agent)
    .filter(
      (session) =>
        !words ||
        `${session.id} ${session.observations[0]?.session ?? ""} ${sessionTitle(session)} ${session.summaries.at(-1)?.text ?? ""}`
          .toLowerCase()
          .includes(words),
    )
    .sort((one, two) => startOf(two) - startOf(one));
  const form = h(
    "form",
    { class: "fields" },
    field("q", "Words or id", parameters.q ?? "", { type: "search" }),
    choice("agent", "Agent", [["", "all agents"], ...bundle.agents.map((name) => [name, name])], agent),
    h("button", { type: "submit" }, "Filter"),
  );
  goOnSubmit(form, "sessions");
  return {
    title: "Sessions",
    body: [form, sessions.length ? paged(sessions, sessionCard, "cards") : empty("No session matches.")],
  };
}

function goOnSubmit(form, page, fixed = {}) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = address(page, { ...fixed, ...Object.fromEntries(new FormData(form)) });
  });
}

function sessionView(parameters) {
  const session = bundle.sessions.get(parameters.id ?? "");
  if (!session)
    return {
      title: "No such session",
      body: [empty("It is not in this page: it may belong to another part of the journal.")],
    };
  const only = parameters.only ?? "";
  const steps = session.observations
    .map((record) => [record, stepOf(record)])
    .filter(([, step]) => !only || `${step.kind}s` === only || (only === "errors" && step.failed));
  const form = h(
    "form",
    { class: "fields" },
    choice(
      "only",
      "Show",
      [
        ["", "every step"],
        ...["prompts", "messages", "edits", "commands", "errors"].map((name) => [name, name]),
      ],
      only,
    ),
  );
  form.addEventListener("change", () => {
    location.hash = address("session", { id: session.id, only: form.elements.only.value });
  });
  const timeline = steps.length ? pagedSteps(steps) : [empty("No step matches.")];
  const aside = sessionAside(session);
  return {
    title: sessionTitle(session) || "(no prompt)",
    body: [
      split(
        [...sessionFacts(session), h("code", {}, session.record?.ref ?? session.id)],
        [form, timeline],
        h("aside", { "aria-label": "Outcome" }, aside.length ? aside : empty("No summary.")),
      ),
    ],
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
  return h(
    "li",
    { class: step.kind },
    h(
      "a",
      {
        class: "quiet",
        href: refAddress(record.ref),
        "aria-label": `${step.kind} at ${minuteOf(record.at)}`,
      },
      clockOf(record.at),
    ),
    h(
      "span",
      { class: step.failed ? "failed" : undefined, "aria-hidden": "true" },
      step.failed ? "✗" : (MARKS[step.kind] ?? "·"),
    ),
    h(
      "div",
      {},
      h("span", { class: "hidden" }, `${step.failed ? "failed " : ""}${step.kind}: `),
      h("p", { class: "said" }, codeLine(step.text.slice(0, 4000)), code),
      step.body &&
        h(
          "details",
          {},
          h("summary", {}, step.kind === "edit" ? "the change" : "output"),
          codeBlock(step.body.slice(0, LONGEST_OUTPUT), step.kind === "edit"),
          cut > 0 &&
            h(
              "p",
              { class: "quiet" },
              `${cut.toLocaleString("en")} characters more: `,
              refLink(record.ref, "all of it"),
            ),
        ),
    ),
  );
}

function sessionAside(session) {
  const sections = [];
  const summary = session.summaries.at(-1);
  const parts = summary ? summaryParts(summary.text) : {};
  for (const [name, text] of PARTS_SHOWN.filter((part) => parts[part]).map((part) => [part, parts[part]]))
    sections.push(h("section", {}, h("h2", {}, name[0].toUpperCase() + name.slice(1)), markdown(text)));
  const ours = new Set([
    session.record?.ref,
    ...session.observations.map((record) => record.ref),
    ...session.summaries.map((record) => record.ref),
  ]);
  const drawn = bundle.records.filter(
    (record) => record.type === "memory" && texts(record.item.derivedFrom).some((ref) => ours.has(ref)),
  );
  if (drawn.length)
    sections.push(
      h(
        "section",
        {},
        h("h2", {}, "Drawn from it"),
        h(
          "ul",
          {},
          drawn.slice(0, PAGE).map((record) => h("li", {}, chip(record.kind), " ", refLink(record.ref))),
        ),
      ),
    );
  return sections;
}
