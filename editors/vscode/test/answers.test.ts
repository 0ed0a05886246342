import assert from "node:assert/strict";
import { test } from "node:test";
import * as answers from "../src/answers";

test("a search is read, and what is missing or odd in it is empty", () => {
  const answer = answers.hitsOf(
    answers.parse(
      JSON.stringify({
        query: "redis",
        notes: ["a note", 7],
        results: [
          {
            chunk: { content: "text", line: 14, start_line: 12, heading: "ADR" },
            source: { ref: "note:a.md", path: "a.md", file: "/s/a.md", type: "note", title: "A", session: "s1" },
            strength: 81,
            votes: [{ retriever: "fulltext", rank: 1, share: 0.2 }, "odd"],
          },
          null,
        ],
      }),
    ),
  );
  const [first, second] = answer.hits;
  assert.equal(first?.line, 14);
  assert.equal(first?.session, "s1");
  assert.deepEqual(first?.votes[1], { retriever: "", rank: 0, share: 0 });
  assert.deepEqual([second?.ref, second?.votes], ["", []]);
  assert.deepEqual(answer.notes, ["a note"]);
});

test("other things than an object are refused", () => {
  for (const json of ["", "[]", "null", "7", "{"]) {
    assert.throws(() => answers.parse(json), SyntaxError);
  }
  for (const read of [answers.hitsOf, answers.sessionsOf, answers.timelineOf, answers.revisionsOf, answers.itemsOf, answers.statusOf, answers.plansOf]) {
    assert.doesNotThrow(() => read({ results: {}, sessions: 1, steps: "x", items: null, plans: [[]] }));
  }
});

test("a status says whether a daemon runs and what is left to embed", () => {
  const space = {
    space: { name: "parcelry", root: "/p" },
    counts: { documents: 27, broken: 1 },
    embedding: { pending: 10 },
    synced: "2026-11-16T12:35:27.813Z",
  };
  const daemon = { pid: 1 };
  for (const answer of [{ ...space, daemon }, { space, daemon }]) {
    const status = answers.statusOf(answer);
    assert.deepEqual([status.space, status.records, status.broken, status.pending, status.daemon], ["parcelry", 27, 1, 10, true]);
  }
  assert.equal(answers.statusOf({ ...space, daemon: null }).daemon, false);
});

test("the steps of a plan are numbered as kinen does", () => {
  const [plan] = answers.plansOf({ plans: [{ id: "p", current: true, text: "# P\n- [ ] one\n  * [x] two\ntext [ ] no\n1. [X] three\n- [ ]" }] });
  assert.equal(plan?.active, true);
  assert.deepEqual(
    plan?.steps.map((step) => [step.number, step.done, step.text]),
    [[1, false, "one"], [2, true, "two"], [3, true, "three"], [4, false, ""]],
  );
});

test("a timeline keeps the parts of a summary that have a text", () => {
  const timeline = answers.timelineOf({ ref: "capsule:1", summary: { intent: "fix", state: "" }, steps: [{ kind: "command", ok: false, count: 2 }] });
  assert.deepEqual(timeline.summary, [["intent", "fix"]]);
  assert.deepEqual([timeline.steps[0]?.ok, timeline.steps[0]?.count], [false, 2]);
});
