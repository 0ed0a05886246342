/** Why a line of a file is there: its commit, and the sessions, memories and decisions about the file. */

import type { Item, Revision } from "./answers";
import { blame } from "./blame";

export interface Reasons {
  file: string;
  /** Oldest first. */
  revisions: Revision[];
  sessions: Item[];
  /** Memories and checkpoints: what was decided and learned. */
  memories: Item[];
  /** Files that change together with this file. */
  files: Item[];
}

const MEMORIES = ["memories", "checkpoints", "decisions"];

export function reasonsOf(file: string, revisions: Revision[], items: Item[]): Reasons {
  return {
    file,
    revisions,
    sessions: items.filter((item) => item.tier === "sessions"),
    memories: items.filter((item) => MEMORIES.includes(item.tier)),
    files: items.filter((item) => item.tier === "files"),
  };
}

/** What a session or memory says in a line: intent → outcome, or its text without marks of markdown. */
export function gist(item: Item): string {
  const part = (name: string): string => new RegExp(`^\\*\\*${name}\\*\\*: (.+)$`, "m").exec(item.text)?.[1] ?? "";
  const parts = [part("Intent"), part("Outcome")].filter((text) => text);
  return parts.length ? parts.join(" → ") : plain(item.text);
}

/** A text of kinen without the marks of markdown for bold and code. */
export function plain(content: string): string {
  return content.replace(/\*\*([^*\n]+)\*\*/g, "$1").replace(/`([^`\n]+)`/g, "$1");
}

export function isEmpty(reasons: Reasons): boolean {
  return reasons.revisions.length + reasons.sessions.length + reasons.memories.length === 0;
}

/** The commit of each line of a document; undefined where no commit of the list wrote it. */
export function commitsOf(reasons: Reasons, document: string[]): (Revision | undefined)[] {
  const patches = reasons.revisions.map((revision) => revision.patch);
  return blame(patches, document).map((index) => (index < 0 ? undefined : reasons.revisions[index]));
}

export interface Drift {
  /** The newest memory about the file. */
  memory: Item;
  /** Lines that commits changed later, from 0, with the commit. */
  lines: Map<number, Revision>;
}

/**
 * Lines that were changed after the newest memory about their file was recorded: what it says may no
 * longer hold there. A memory of the same session ends before the commit, hence the hour of grace.
 */
export function driftOf(reasons: Reasons, commits: (Revision | undefined)[]): Drift | undefined {
  const memory = newest([...reasons.memories, ...reasons.sessions]);
  if (!memory) {
    return undefined;
  }
  const limit = Date.parse(memory.at) + GRACE;
  const lines = new Map<number, Revision>();
  commits.forEach((commit, index) => {
    if (commit && Date.parse(commit.at) > limit) {
      lines.set(index, commit);
    }
  });
  return lines.size > 0 ? { memory, lines } : undefined;
}

const GRACE = 3_600_000;

function newest(items: Item[]): Item | undefined {
  const timed = items.filter((item) => !Number.isNaN(Date.parse(item.at)));
  return timed.sort((left, right) => Date.parse(right.at) - Date.parse(left.at))[0];
}
