/** Texts of the hover and of the CodeLens. Every text of a record is escaped. */

import type { Reason, Revision } from "./answers";
import { gist, type Reasons } from "./reasons";
import { ago, counted, escapeMarkdown, label, line } from "./text";

const SHOWN = 3;

/** The hover of a line: why it is there, the commit that wrote it, then what is known of its file. */
export function hoverMarkdown(reasons: Reasons, commit: Revision | undefined, now: number, why?: Reason): string {
  const parts = why?.session ? reasonMarkdown(why, now) : [];
  if (commit) {
    parts.push(`**${escapeMarkdown(commit.subject)}**  \n${facts([commit.author, ago(commit.at, now), commit.commit.slice(0, 10)])}`);
    const body = commit.message.split("\n").slice(1).join(" ").trim();
    if (body) {
      parts.push(escapeMarkdown(line(body, 300)));
    }
  } else if (reasons.revisions.length > 0) {
    parts.push("This line is new, or older than the newest commits of the file.");
  }
  const sessions = reasons.sessions.filter((item) => item.ref !== why?.session);
  for (const [title, items] of [["Session", sessions], ["Memory", reasons.memories]] as const) {
    for (const item of items.slice(0, SHOWN)) {
      parts.push(`${title}: ${escapeMarkdown(line(gist(item), 220))} ${facts([ago(item.at, now)])}`);
    }
  }
  parts.push("_kinen: Why Is This Line Here?_ shows more.");
  return parts.join("\n\n");
}

function reasonMarkdown(why: Reason, now: number): string[] {
  const doubt = why.certain || !why.committed ? "" : "perhaps";
  const about = facts([why.committed ? "" : "not committed", doubt, why.agent, ago(why.at, now)]);
  const asked = `**${escapeMarkdown(line(why.request || why.reason, 220))}**  \n${about}`;
  return why.reply ? [asked, escapeMarkdown(line(why.reply, 300))] : [asked];
}

function facts(values: string[]): string {
  const texts = values.filter((value) => value).map(escapeMarkdown);
  return texts.length ? `_${texts.join(" · ")}_` : "";
}

/** What stands above a file, or above a function with the commit that changed it last. */
export function lensTitle(reasons: Reasons, commit?: Revision, now = 0, why?: Reason): string {
  if (why?.session && why.certain && why.request) {
    return `kinen: ${[label(why.request, 80), label(why.agent, 30), ago(why.at, now)].filter((fact) => fact).join(" · ")}`;
  }
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
