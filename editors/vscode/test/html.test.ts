import assert from "node:assert/strict";
import { test } from "node:test";
import * as answers from "../src/answers";
import { hitsHtml, page, reasonsHtml, timelineHtml } from "../src/html";
import { hoverMarkdown, lensTitle } from "../src/markdown";
import { reasonsOf } from "../src/reasons";

const BAD = '"><script>alert(1)</script><img src=x onerror=alert(1)><a href="command:evil">[x](command:evil)\u202e';
const NOW = Date.parse("2026-03-10T12:00:00Z");
const ITEMS = ["sessions", "memories", "files", BAD].map((tier) => ({ tier, ref: BAD, text: BAD, at: BAD }));
const COMMIT = { commit: BAD, at: BAD, author: BAD, subject: BAD, message: `${BAD}\n${BAD}`, patch: BAD };

const HOSTILE = { reason: BAD, committed: true, subject: BAD, session: BAD, agent: BAD, certain: true, request: BAD, reply: BAD, at: BAD };

/** The tags of a page that its own templates do not write. */
function foreignTags(html: string): string[] {
  const own = /^(a|p|ol|ul|li|button|span|div|svg|rect|h1|h2|dl|dt|dd|time|pre|main|form|input)$/;
  return [...html.matchAll(/<\s*([a-zA-Z][\w-]*)/g)].map((tag) => tag[1] ?? "").filter((tag) => !own.test(tag) || tag === "a");
}

test("hostile records are text in every panel", () => {
  const hit = {
    chunk: { content: BAD, heading: BAD, line: 3 },
    source: { ref: BAD, path: BAD, type: BAD, title: BAD, at: BAD, file: BAD },
    votes: [{ retriever: BAD, rank: 1, share: 0.4 }, { retriever: "semantic", rank: 2, share: -1 }],
  };
  const session = { title: BAD, resume: BAD, outcome: BAD, agent: BAD, status: BAD, started: BAD, summary: { [BAD]: BAD } };
  const step = { kind: BAD, at: BAD, text: BAD, error: BAD, result: BAD, ok: true };
  const pages = [
    hitsHtml(answers.hitsOf({ query: BAD, results: [hit], notes: [BAD] }), NOW),
    hitsHtml(answers.hitsOf({ query: BAD, results: [], notes: [BAD] }), NOW),
    timelineHtml(answers.timelineOf({ ...session, steps: [step] }), NOW),
    reasonsHtml(reasonsOf("f", [COMMIT, { ...COMMIT, commit: "1" }], ITEMS), BAD, BAD, COMMIT, NOW),
    reasonsHtml(reasonsOf("f", [], []), BAD, BAD, undefined, NOW),
    reasonsHtml(reasonsOf("f", [], []), BAD, BAD, undefined, NOW, HOSTILE),
  ];
  for (const html of pages) {
    assert.deepEqual(foreignTags(html), []);
    assert.ok(!html.includes("\u202e"));
    const names = html.replace(/="[^"]*"/g, "=");
    assert.ok(!/<[^>]*\s(on\w+|href|src|style)\s*=/.test(names), html);
  }
});

test("a hover has no link, image or HTML of a record", () => {
  const markdown = hoverMarkdown(reasonsOf("f", [COMMIT], ITEMS), COMMIT, NOW, HOSTILE);
  assert.ok(!/(^|[^\\])\[/.test(markdown), markdown);
  assert.ok(!markdown.includes("<"));
  const commit = { ...COMMIT, subject: "$(bug)", author: "\u202e$(x)" };
  assert.ok(!/\u202e|\$\(/.test(lensTitle(reasonsOf("f", [], []), commit, NOW)));
});

const WHY = answers.reasonOf({
  reason: "labels of Monday",
  commits: [{ subject: "feat", sessions: [{ ref: "capsule:1", agent: "claude-code", certain: true, request: "The labels are blank.", reply: "It was the byte order mark.", at: "2026-03-10T09:00:00Z" }] }],
});

test("what was asked for comes first, before the commit, and opens its session", () => {
  const reasons = reasonsOf("f", [COMMIT], ITEMS);
  const markdown = hoverMarkdown(reasons, COMMIT, NOW, WHY);
  assert.ok(markdown.startsWith("**The labels are blank\\.**  \n_claude\\-code · 3 hours ago_\n\nIt was the byte order mark"), markdown);
  assert.equal(lensTitle(reasons, COMMIT, NOW, WHY), "kinen: The labels are blank. · claude-code · 3 hours ago");
  const html = reasonsHtml(reasons, "f:1", "x", COMMIT, NOW, WHY);
  assert.ok(html.indexOf("The labels are blank.") < html.indexOf("Written by"));
  assert.ok(html.includes(`data-session="${reasons.sessions.length}"`));
});

test("a session that only may have written a line is no title, and is said to be uncertain", () => {
  const why = { ...WHY, certain: false };
  const commit = { ...COMMIT, subject: "feat: labels", author: "Mira", at: "" };
  assert.equal(lensTitle(reasonsOf("f", [], []), commit, NOW, why), "kinen: feat: labels · Mira");
  assert.ok(hoverMarkdown(reasonsOf("f", [], []), commit, NOW, why).includes("_perhaps · "));
  const fresh = answers.reasonOf({ reason: "x", uncommitted: [3], edited: { ref: "capsule:2", request: "x" }, commits: [{ subject: "old" }] });
  assert.deepEqual([fresh.committed, fresh.session, fresh.subject], [false, "capsule:2", ""]);
});

test("a memory without a title begins with its own words and repeats none", () => {
  const paragraphs = (content: string): string[] => {
    const html = hitsHtml(answers.hitsOf({ results: [{ chunk: { content }, source: { ref: "memory:1" } }] }), NOW);
    return [...html.matchAll(/class="(?:title|text)">([^<]*)</g)].map((match) => match[1] ?? "");
  };
  assert.deepEqual(paragraphs("The pool is **60** wide."), ["The pool is 60 wide."]);
  assert.deepEqual(paragraphs("The pool is 60 wide.\nIt was 20."), ["The pool is 60 wide.", "It was 20."]);
  const [title = "", rest = ""] = paragraphs("word ".repeat(40));
  assert.match(title, /^(word ){16}word…$/);
  assert.match(rest, /^…word( word){22}$/);
});

test("the shares of the votes fill the bar", () => {
  const votes = [0.1, 0.3].map((share, index) => ({ retriever: `r${index}`, rank: index, share }));
  const html = hitsHtml(answers.hitsOf({ results: [{ votes }] }), NOW);
  const widths = [...html.matchAll(/ width="([\d.]+)"/g)].map((match) => Number(match[1]));
  assert.deepEqual(widths, [25, 75]);
  assert.ok(html.includes("r1 75 %"));
});

test("a session shows the command that resumes it in its agent", () => {
  const html = timelineHtml(answers.timelineOf({ title: "labels", resume: "claude --resume 5b0c" }), NOW);
  assert.ok(html.includes(">claude --resume 5b0c</pre>"));
  assert.ok(!timelineHtml(answers.timelineOf({ title: "labels", resume: null }), NOW).includes("Resume"));
});

test("the policy of a page runs one script and fetches nothing", () => {
  const html = page("<main></main>", "vscode-resource:", "N0", "s.css", "s.js");
  const policy = /Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1] ?? "";
  assert.ok(policy.includes("default-src &#39;none&#39;"));
  assert.ok(policy.includes("script-src &#39;nonce-N0&#39;"));
  assert.ok(!/unsafe|connect-src|img-src|frame-src/.test(policy));
});

test("the title above a file counts commits, sessions and memories", () => {
  assert.equal(lensTitle(reasonsOf("f", [COMMIT], ITEMS)), "kinen: 1 commit · 1 session · 1 memory");
});
