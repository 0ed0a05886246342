/** What kinen answers, read from its JSON. A field that is missing or of another type is empty. */

export interface Vote {
  retriever: string;
  rank: number;
  share: number;
}

export interface Hit {
  ref: string;
  type: string;
  title: string;
  path: string;
  /** The absolute path; empty for what is not a file. */
  file: string;
  line: number;
  heading: string;
  text: string;
  at: string;
  /** The session that it is part of; empty if none. */
  session: string;
  strength: number;
  votes: Vote[];
}

export interface Hits {
  query: string;
  hits: Hit[];
  notes: string[];
}

export interface Session {
  ref: string;
  id: string;
  agent: string;
  status: string;
  started: string;
  seconds: number;
  title: string;
  outcome: string;
  /** The command that resumes it in its agent; empty if there is none. */
  resume: string;
  prompts: number;
  edits: number;
  commands: number;
  errors: number;
  rounds: number;
}

/** Why a line is there, as `kinen why` says; the session is empty where none is known. */
export interface Reason {
  /** The shortest answer: what was asked for, else what the commit says. */
  reason: string;
  committed: boolean;
  subject: string;
  /** The ref of the session that wrote it. */
  session: string;
  agent: string;
  certain: boolean;
  request: string;
  reply: string;
  at: string;
}

export interface Step {
  kind: string;
  at: string;
  text: string;
  ok: boolean | null;
  error: string;
  result: string;
  files: string[];
  count: number;
}

export interface Timeline {
  session: Session;
  summary: [string, string][];
  steps: Step[];
}

export interface Revision {
  commit: string;
  at: string;
  author: string;
  subject: string;
  message: string;
  patch: string;
}

export interface Item {
  tier: string;
  ref: string;
  text: string;
  at: string;
}

export interface Status {
  space: string;
  root: string;
  synced: string;
  records: number;
  pending: number;
  broken: number;
  daemon: boolean;
  untrusted: string[];
}

export interface PlanStep {
  number: number;
  text: string;
  done: boolean;
}

export interface Plan {
  id: string;
  title: string;
  status: string;
  active: boolean;
  /** Relative to the space. */
  path: string;
  steps: PlanStep[];
}

const STEP = /^[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[([ xX])\](?:[ \t](.*))?$/gm;

type Fields = Record<string, unknown>;

/** A JSON object, or an empty one. */
function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function texts(value: unknown): string[] {
  return list(value).filter((entry): entry is string => typeof entry === "string");
}

function number(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

/** The object that kinen printed; throws a SyntaxError where it is something else. */
export function parse(json: string): Fields {
  const value: unknown = JSON.parse(json);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SyntaxError("not a JSON object");
  }
  return value as Fields;
}

export function hitsOf(answer: Fields): Hits {
  return {
    query: text(answer.query),
    hits: list(answer.results).map(hitOf),
    notes: texts(answer.notes),
  };
}

function hitOf(value: unknown): Hit {
  const hit = fields(value);
  const chunk = fields(hit.chunk);
  const source = fields(hit.source);
  return {
    ref: text(source.ref),
    type: text(source.type),
    title: text(source.title),
    path: text(source.path),
    file: text(source.file),
    line: number(chunk.line) || number(chunk.start_line),
    heading: text(chunk.heading),
    text: text(chunk.content),
    at: text(source.at),
    session: text(source.session),
    strength: number(hit.strength),
    votes: list(hit.votes).map(fields).map((vote) => ({
      retriever: text(vote.retriever),
      rank: number(vote.rank),
      share: number(vote.share),
    })),
  };
}

export function sessionsOf(answer: Fields): Session[] {
  return list(answer.sessions).map(fields).map(sessionOf);
}

function sessionOf(session: Fields): Session {
  return {
    ref: text(session.ref),
    id: text(session.id),
    agent: text(session.agent),
    status: text(session.status),
    started: text(session.started),
    seconds: number(session.seconds),
    title: text(session.title),
    outcome: text(session.outcome),
    resume: text(session.resume),
    prompts: number(session.prompts),
    edits: number(session.edits),
    commands: number(session.commands),
    errors: number(session.errors),
    rounds: number(session.rounds),
  };
}

export function timelineOf(answer: Fields): Timeline {
  const summary = Object.entries(fields(answer.summary));
  return {
    session: sessionOf(answer),
    summary: summary.map(([name, value]): [string, string] => [name, text(value)]).filter(([, value]) => value),
    steps: list(answer.steps).map(fields).map((step) => ({
      kind: text(step.kind),
      at: text(step.at),
      text: text(step.text),
      ok: typeof step.ok === "boolean" ? step.ok : null,
      error: text(step.error),
      result: text(step.result),
      files: texts(step.files),
      count: number(step.count) || 1,
    })),
  };
}

/** The commits of a file, oldest first. */
export function revisionsOf(answer: Fields): Revision[] {
  return list(answer.revisions).map(fields).map((revision) => ({
    commit: text(revision.commit),
    at: text(revision.at),
    author: text(revision.author),
    subject: text(revision.subject),
    message: text(revision.message),
    patch: text(revision.patch),
  }));
}

/** Of the commits behind a line the last comes first, and of its sessions the surest. */
export function reasonOf(answer: Fields): Reason {
  const commit = fields(list(answer.commits)[0]);
  const fresh = list(answer.uncommitted).length > 0;
  const session = fields(fresh ? answer.edited : list(commit.sessions)[0]);
  return {
    reason: text(answer.reason),
    committed: !fresh,
    subject: fresh ? "" : text(commit.subject),
    session: text(session.ref),
    agent: text(session.agent),
    certain: session.certain === true,
    request: text(session.request),
    reply: text(session.reply),
    at: text(session.at),
  };
}

export function itemsOf(answer: Fields): Item[] {
  return list(answer.items).map(fields).map((item) => ({
    tier: text(item.tier),
    ref: text(item.ref),
    text: text(item.text),
    at: text(item.at),
  }));
}

/** From `kinen status --json`, or from the daemon, which has the status of the space below `space`. */
export function statusOf(value: Fields): Status {
  const inner = fields(value.space);
  const answer = "space" in inner ? inner : value;
  const space = fields(answer.space);
  const counts = fields(answer.counts);
  return {
    space: text(space.name),
    root: text(space.root),
    synced: text(answer.synced),
    records: number(counts.documents),
    pending: number(fields(answer.embedding).pending),
    broken: number(counts.broken),
    daemon: Object.keys(fields(value.daemon)).length > 0,
    untrusted: texts(answer.untrusted),
  };
}

export function plansOf(answer: Fields): Plan[] {
  return list(answer.plans).map(fields).map(planOf);
}

export function planOf(plan: Fields): Plan {
  return {
    id: text(plan.id),
    title: text(plan.title),
    status: text(plan.status),
    active: plan.current === true,
    path: text(plan.path),
    steps: stepsOf(text(plan.text)),
  };
}

/** The lines of a plan with a box, numbered as `kinen plan check` does. */
function stepsOf(content: string): PlanStep[] {
  const boxes = [...content.matchAll(STEP)];
  return boxes.map((box, index) => ({ number: index + 1, done: box[1] !== " ", text: (box[2] ?? "").trim() }));
}
