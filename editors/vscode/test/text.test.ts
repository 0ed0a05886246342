import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, counted, escapeHtml, escapeMarkdown, line, visible } from "../src/text";

const HOSTILE = '<img src=x onerror="alert(1)">\u202e\u001b[31m`](command:x)';

test("HTML of a record is text", () => {
  const escaped = escapeHtml(HOSTILE);
  assert.ok(!/[<>"'\u202e\u001b]/.test(escaped));
  assert.equal(escapeHtml("a & b"), "a &amp; b");
});

test("markdown of a record is text", () => {
  const escaped = escapeMarkdown("[click](command:evil) ![i](http://x) <b> `c` **b** $(bug) https://x.y");
  assert.ok(!/(^|[^\\])[[\]()`*$<:/]/.test(escaped), escaped);
  assert.ok(!escapeMarkdown("a\n# title\n\n- x").includes("\n"));
});

test("control characters are spelled out, newlines stay", () => {
  assert.equal(visible("a\r\nb\u202e\u001b\u{e0041}"), "a\nb\\u202e\\x1b\\ue0041");
});

test("a long text is one line with an ellipsis", () => {
  assert.equal(line("  one\n two  "), "one two");
  assert.equal(line("😀".repeat(9), 5), `${"😀".repeat(4)}…`);
});

test("times and counts are words", () => {
  const now = Date.parse("2026-03-10T12:00:00Z");
  const cases: [string, string][] = [
    ["2026-03-10T11:59:50Z", "just now"],
    ["2026-03-10T11:59:00Z", "1 minute ago"],
    ["2026-03-10T09:00:00Z", "3 hours ago"],
    ["2026-03-01T12:00:00Z", "9 days ago"],
    ["2025-03-01T12:00:00Z", "2025-03-01"],
    ["never", ""],
  ];
  for (const [time, words] of cases) {
    assert.equal(ago(time, now), words);
  }
  assert.equal(counted(1, "memory"), "1 memory");
  assert.equal(counted(1200, "memory"), "1,200 memories");
});
