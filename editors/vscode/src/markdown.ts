/** Texts of the hover and of the CodeLens. Every text of a record is escaped. */

import type { Revision } from "./answers";
import { gist, type Reasons } from "./reasons";
import { ago, counted, escapeMarkdown, label, line } from "./text";

const SHOWN = 3;

/** The hover of a line: the commit that wrote it, then sessions and memories about its file. */
export function hoverMarkdown(reasons: Reasons, commit: Revision | undefined, now: number): string {
  const parts: string[] = [];
  if (commit) {
    parts.push(`**${escapeMarkdown(commit.subject)}**  \n${facts([commit.author, ago(commit.at, now), commit.commit.slice(0, 10)])}`);
    const body = commit.message.split("\n").slice(1).join(" ").trim();
    if (body) {
      parts.push(escapeMarkdown(line(body, 300)));
    }
  } else if (reasons.revisions.length > 0) {
    parts.push("This line is new, or older than the newest commits of the file.");
  }
  for (const [title, items] of [["Session", reasons.sessions], ["Memory", reasons.memories]] as const) {
    for (const item of items.slice(0, SHOWN)) {
      parts.push(`${title}: ${escapeMarkdown(line(gist(item), 220))} ${facts([ago(item.at, now)])}`);
    }
  }
  parts.push("_kinen: Why Is This Line Here?_ shows more.");
  return parts.join("\n\n");
}

function facts(values: string[]): string {
  const texts = values.filter((value) => value).map(escapeMarkdown);
  return texts.length ? `_${texts.join(" · ")}_` : "";
}

/** What stands above a file, or above a function with the commit that changed it last. */
export function lensTitle(reasons: Reasons, commit?: Revision, now = 0): string {
  if (commit) {
    return `kinen: ${[label(commit.subject, 60), label(commit.author, 30), ago(commit.at, now)].filter((fact) => fact).join(" · ")}`;
  }
  const counts = [
    reasons.revisions.length ? counted(reasons.revisions.length, "commit") : "",
    reasons.sessions.length ? counted(reasons.sessions.length, "session") : "",
    reasons.memories.length ? counted(reasons.memories.length, "memory") : "",
  ].filter((count) => count);
  return `kinen: ${counts.join(" · ")}`;
}
