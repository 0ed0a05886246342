// The bundle of this page: unpacked line by line, as records that the views show.
const BLOCKS = 'script[type="application/x-kinen-bundle"]';
const LATEST = Date.UTC(10000, 0);
const KINDS = {
  message: "message",
  command: "command",
  file_diff: "edit",
  error: "error",
  tool_call: "tool",
};

function unpacked(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let place = 0; place < raw.length; place += 1) bytes[place] = raw.charCodeAt(place);
  return bytes;
}

/** The lines of the bundle, some at a time; `progress` gets the share that was read. */
async function* bundleLines(progress) {
  const blocks = [...document.querySelectorAll(BLOCKS)];
  const packed = new ReadableStream({
    pull(controller) {
      const block = blocks.shift();
      if (!block) return controller.close();
      controller.enqueue(unpacked(block.textContent));
      return progress(blocks.length);
    },
  });
  const reader = packed
    .pipeThrough(new DecompressionStream("gzip"))
    .pipeThrough(new TextDecoderStream("utf-8", { fatal: true }))
    .getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    yield lines;
  }
  if (rest) yield [rest];
}

class Bundle {
  constructor() {
    this.header = {};
    this.records = [];
    this.byRef = new Map();
    this.sessions = new Map();
    this.links = [];
    this.fileTags = new Map();
    this.sealed = false;
  }

  take(line) {
    const entry = JSON.parse(line);
    const noun = Object.keys(entry)[0];
    if (noun === "version") this.header = entry;
    else if (noun === "digest") this.sealed = true;
    else if (noun === "link") this.links.push(entry.link);
    else if (noun === "tag") this.tag(entry.tag);
    else if (noun in MAKERS) this.add(MAKERS[noun](entry[noun]));
  }

  add(record) {
    if (!(record.at >= 0 && record.at < LATEST)) record.at = 0;
    record.number = this.records.length;
    this.records.push(record);
    this.byRef.set(record.ref, record);
  }

  tag({ path, op, tag }) {
    const tags = this.fileTags.get(path) ?? new Set();
    if (op === "+") tags.add(tag);
    else tags.delete(tag);
    this.fileTags.set(path, tags);
  }

  /** Put observations and summaries into their sessions. */
  finish() {
    const session = (id, record) => {
      if (!this.sessions.has(id)) this.sessions.set(id, { id, record, observations: [], summaries: [] });
      return this.sessions.get(id);
    };
    for (const record of this.records) if (record.type === "session") session(record.id, record);
    for (const record of this.records) {
      if (record.type === "summary") session(record.capsule, null).summaries.push(record);
      if (record.type !== "observation" || !(record.capsule || record.session)) continue;
      session(record.capsule || record.session, null).observations.push(record);
    }
    const times = this.records.map((record) => record.at).filter(Boolean);
    this.first = times.reduce((least, at) => Math.min(least, at), Infinity);
    this.last = times.reduce((most, at) => Math.max(most, at), 0);
    this.agents = [...new Set(this.records.map((record) => record.agent).filter(Boolean))].sort();
    this.tags = [...new Set(this.records.flatMap((record) => this.tagsOf(record)))].sort();
  }

  tagsOf(record) {
    if (!this.fileTags.size || !record.files.length) return record.tags;
    return [
      ...new Set([...record.tags, ...record.files.flatMap((path) => [...(this.fileTags.get(path) ?? [])])]),
    ];
  }

  sessionOf(record) {
    return this.sessions.get(record.type === "session" ? record.id : record.capsule || record.session);
  }
}

const texts = (value) => (Array.isArray(value) ? value.filter((item) => typeof item === "string") : []);
const string = (value) => (typeof value === "string" ? value : "");

function made(type, ref, item, more) {
  const scope = item.scopeIds ?? {};
  return {
    type,
    ref,
    item,
    id: string(item.id),
    kind: "",
    at: 0,
    text: "",
    title: "",
    capsule: "",
    agent: string(scope.agentId),
    session: string(scope.sessionId),
    files: texts(item.files),
    tags: texts(item.tags),
    ...more,
  };
}

/** A file of markdown without its frontmatter. */
const bodyOf = (source) => source.replace(/^\ufeff?---\r?\n[^]*?\r?\n---(?:\r?\n)+/, "").trim();

const MAKERS = {
  observation: (item) =>
    made("observation", `observation:${item.id}`, item, {
      kind: KINDS[item.kind] ?? string(item.kind),
      at: item.ts,
      text: item.content,
      capsule: string(item.capsuleId),
    }),
  capsule: (item) =>
    made("session", `capsule:${item.id}`, item, {
      kind: string(item.type),
      at: item.openedAt,
      text: item.intent,
      capsule: string(item.parentId),
    }),
  summary: (item) =>
    made("summary", `summary:${item.id}`, item, {
      at: item.createdAt,
      text: item.content,
      capsule: string(item.capsuleId),
    }),
  memory: (item) =>
    made("memory", `memory:${item.id}`, item, {
      kind: string(item.type),
      at: item.createdAt,
      text: item.content,
    }),
  pin: (item) =>
    made("pin", `pin:${item.id}`, item, {
      at: item.createdAt,
      text: string(item.reason),
      target: `${item.targetType}:${item.targetId}`,
    }),
  checkpoint: (item) =>
    made("checkpoint", `checkpoint:${item.path}`, item, {
      kind: string(item.type),
      at: Date.parse(item.at) || 0,
      text: string(item.text) || bodyOf(item.source),
      title: string(item.summary),
    }),
  plan: (item) =>
    made("plan", `plan:${item.path}`, item, {
      kind: string(item.status),
      at: Date.parse(item.updated || item.created) || 0,
      text: bodyOf(item.source),
      title: string(item.title),
    }),
};
