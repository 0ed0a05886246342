/** HTML of the panels. Every text of a record is escaped; what a click opens is chosen by its number. */

import type { Hit, Hits, Item, Reason, Revision, Step, Timeline, Vote } from "./answers";
import { gist, plain, type Reasons } from "./reasons";
import { ago, clock, counted, escapeHtml as text, line } from "./text";

/** A page in which nothing runs but the script with this nonce, and nothing is fetched from elsewhere. */
export function page(body: string, source: string, nonce: string, style: string, script: string): string {
  const policy = [
    "default-src 'none'",
    `style-src ${source}`,
    `script-src 'nonce-${nonce}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${text(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${text(style)}">
</head>
<body>
${body}
<script nonce="${text(nonce)}" src="${text(script)}"></script>
</body>
</html>`;
}

export const SEARCH_BODY = `<form id="search" role="search">
<input id="query" type="search" maxlength="2000" placeholder="Why did we …?" aria-label="Search the memory" autocomplete="off">
</form>
<main id="answer" aria-live="polite"><p class="hint">Search notes, sessions, decisions and commits, by word and by meaning.</p></main>`;

export function hitsHtml(answer: Hits, now: number): string {
  const notes = answer.notes.map((note) => `<p class="note">${text(note)}</p>`).join("");
  if (answer.hits.length === 0) {
    return `<p class="hint">Nothing found for “${text(line(answer.query, 80))}”.</p>${notes}`;
  }
  const hits = answer.hits.map((hit, index) => hitHtml(hit, index, now)).join("");
  return `<p class="hint">${counted(answer.hits.length, "hit")}</p><ol class="hits">${hits}</ol>${notes}`;
}

const LONGEST_TITLE = 90;

function hitHtml(hit: Hit, index: number, now: number): string {
  const [title, body] = titled(hit);
  const place = hit.path ? `${hit.path}${hit.line ? `:${hit.line}` : ""}` : hit.ref;
  return `<li class="hit">
<button class="open" data-open="${index}" title="${text(place)}">
<span class="title">${text(line(title, LONGEST_TITLE))}</span>
<span class="place"><span class="type">${text(hit.type)}</span> ${text(place)}</span>
</button>
${body ? `<p class="text">${text(shortened(body))}</p>` : ""}
<div class="votes" title="${text(votesLine(hit.votes))}">${bar(hit.votes)}<span class="strength">${hit.strength}</span>
<span class="when">${text(ago(hit.at, now))}</span></div>
<ul class="ballot">${hit.votes.map(voteHtml).join("")}</ul>
</li>`;
}

/** The title of a hit and what to print below it. What has no title begins with its own words. */
function titled(hit: Hit): [string, string] {
  const body = passage(hit);
  const title = hit.title || hit.path;
  if (title || !body) {
    return [title || hit.ref, body];
  }
  const [first = ""] = body.split("\n", 1);
  const characters = Array.from(first);
  if (characters.length <= LONGEST_TITLE) {
    return [first, body.slice(first.length + 1)];
  }
  const head = characters.slice(0, LONGEST_TITLE - 1).join("").replace(/\s+\S*$/, "");
  return [`${head}…`, `…${body.slice(head.length).trimStart()}`];
}

/** The text of a hit as it reads: no empty lines, marks of headings and tables, or heading like the title. */
function passage(hit: Hit): string {
  const lines = plain(hit.text)
    .split("\n")
    .filter((entry) => entry.trim() && !/^\s*\|?(?:\s*:?-{2,}:?\s*\|)+[\s:-]*$/.test(entry))
    .map((entry) => entry.replace(/^#+\s+/, "").trimEnd())
    .map((entry) => (/^\s*\|.*\|$/.test(entry) ? entry.split("|").map((cell) => cell.trim()).filter((cell) => cell).join(" · ") : entry));
  return lines.slice(lines[0] === hit.title ? 1 : 0).join("\n");
}

function shortened(content: string): string {
  const characters = Array.from(content.trim());
  return characters.length > 360 ? `${characters.slice(0, 359).join("").trimEnd()}…` : characters.join("");
}

function votesLine(votes: Vote[]): string {
  return votes.map((vote) => `${vote.retriever} ${percent(vote, votes)}`).join(", ");
}

function voteHtml(vote: Vote, index: number, votes: Vote[]): string {
  const rank = vote.rank > 0 ? `, rank ${vote.rank}` : "";
  return `<li><span class="swatch v${index % 6}"></span>${text(vote.retriever)} ${percent(vote, votes)}${rank}</li>`;
}

function total(votes: Vote[]): number {
  return votes.reduce((sum, vote) => sum + Math.max(0, vote.share), 0);
}

function percent(vote: Vote, votes: Vote[]): string {
  const all = total(votes);
  return all > 0 ? `${Math.round((100 * Math.max(0, vote.share)) / all)} %` : "0 %";
}

/** The shares of the votes side by side. Attributes of SVG need no inline style, which the policy refuses. */
function bar(votes: Vote[]): string {
  const all = total(votes);
  let left = 0;
  const parts = votes.map((vote, index) => {
    const width = all > 0 ? (100 * Math.max(0, vote.share)) / all : 0;
    const part = `<rect class="v${index % 6}" x="${left.toFixed(2)}" y="0" width="${width.toFixed(2)}" height="4"></rect>`;
    left += width;
    return part;
  });
  return `<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">${parts.join("")}</svg>`;
}

const SIGNS: Record<string, string> = {
  prompt: "›",
  command: "$",
  edit: "±",
  error: "!",
  message: "‹",
  commit: "●",
  decision: "◆",
};

/** A session: its intent and outcome, its summary, then its steps. */
export function timelineHtml(timeline: Timeline, now: number): string {
  const { session } = timeline;
  const facts = [
    session.agent,
    session.status,
    ago(session.started, now),
    ...(session.prompts ? [counted(session.prompts, "prompt")] : []),
    ...(session.edits ? [counted(session.edits, "edit")] : []),
    ...(session.commands ? [counted(session.commands, "command")] : []),
    ...(session.errors ? [counted(session.errors, "error")] : []),
    ...(session.rounds ? [counted(session.rounds, "round")] : []),
  ].filter((fact) => fact);
  const summary = timeline.summary.map(
    ([name, value]) => `<dt>${text(name)}</dt><dd class="text">${text(plain(value))}</dd>`,
  );
  const steps = timeline.steps.map(stepHtml).join("");
  return `<h1>${text(line(session.title || session.ref, 160))}</h1>
<p class="facts">${text(facts.join(" · "))}</p>
${session.resume ? `<p class="facts">Resume with:</p><pre class="code">${text(session.resume)}</pre>` : ""}
${session.outcome && !timeline.summary.length ? `<p class="outcome">${text(session.outcome)}</p>` : ""}
${summary.length ? `<dl class="summary">${summary.join("")}</dl>` : ""}
${steps ? `<h2>Timeline</h2><ol class="steps">${steps}</ol>` : '<p class="hint">No steps are recorded.</p>'}`;
}

function stepHtml(step: Step): string {
  const state = step.ok === null ? "" : step.ok ? "ok" : "failed";
  const mark = step.ok === null ? "" : step.ok ? " ✓" : " ✗";
  const count = step.count > 1 ? ` ×${step.count}` : "";
  const details = [step.error, step.result].filter((detail) => detail);
  return `<li class="step ${state}"><span class="sign" aria-hidden="true">${SIGNS[step.kind] ?? "·"}</span>
<div><span class="kind">${text(step.kind)}${count}${mark}</span> <time>${text(clock(step.at))}</time>
${step.text ? `<p class="text">${text(shortened(step.text))}</p>` : ""}
${details.map((detail) => `<p class="text detail">${text(shortened(detail))}</p>`).join("")}</div></li>`;
}

/** Why a line is there: the commit that wrote it, then what is known of its file. */
export function reasonsHtml(
  reasons: Reasons,
  place: string,
  code: string,
  commit: Revision | undefined,
  now: number,
  why?: Reason,
): string {
  const written = commit
    ? commitHtml(commit, now, true)
    : '<p class="hint">No commit that kinen looked at wrote this line: it is new, or older than the newest commits of the file.</p>';
  const others = [...reasons.revisions].reverse().filter((revision) => revision.commit !== commit?.commit);
  return `<h1>Why is this line here?</h1>
<p class="facts">${text(place)}</p>
<pre class="code">${text(code.trim())}</pre>
${why?.session ? askedHtml(why, reasons.sessions.length, now) : ""}
<h2>Written by</h2>${written}
${sectionHtml("Sessions about this file", reasons.sessions, now, true)}
${sectionHtml("Decisions and memories", reasons.memories, now, false)}
${others.length ? `<h2>Other commits of this file</h2><ul class="commits">${others.map((revision) => `<li>${commitHtml(revision, now, false)}</li>`).join("")}</ul>` : ""}
${sectionHtml("Changes together with", reasons.files, now, false)}`;
}

/** What a session was asked for and said; its button has the number after those about the file. */
function askedHtml(why: Reason, index: number, now: number): string {
  const doubt = why.certain || !why.committed ? "" : "perhaps";
  const facts = [why.committed ? "" : "not committed", doubt, why.agent, ago(why.at, now)].filter((fact) => fact).join(" · ");
  return `<h2>Asked for</h2><p class="text">${text(why.request || why.reason)}</p>
${why.reply ? `<p class="text">${text(why.reply)}</p>` : ""}
<p class="facts">${text(facts)} <button class="link" data-session="${index}">Open the timeline</button></p>`;
}

function commitHtml(revision: Revision, now: number, whole: boolean): string {
  const message = whole ? revision.message || revision.subject : revision.subject;
  const facts = [revision.author, ago(revision.at, now), revision.commit.slice(0, 10)].filter((fact) => fact);
  return `<p class="text commit">${text(message)}</p><p class="facts">${text(facts.join(" · "))}</p>`;
}

function sectionHtml(title: string, items: Item[], now: number, open: boolean): string {
  if (items.length === 0) {
    return "";
  }
  const entries = items.map((item, index) => {
    const button = open ? `<button class="link" data-session="${index}">Open the timeline</button>` : "";
    const name = item.tier === "files" ? `${item.ref.replace(/^file:/, "")}: ` : "";
    const when = ago(item.at, now);
    return `<li><p class="text">${text(name + gist(item))}</p><p class="facts">${text(when)} ${button}</p></li>`;
  });
  return `<h2>${text(title)}</h2><ul class="items">${entries.join("")}</ul>`;
}
