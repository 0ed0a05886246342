import assert from "node:assert/strict";
import { test } from "node:test";
import type { Item, Revision } from "../src/answers";
import { blame, replay } from "../src/blame";
import { commitsOf, driftOf, gist, reasonsOf } from "../src/reasons";

const ADDED = "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,3 @@\n+def one():\n+    return 1\n+";
const CHANGED = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,5 @@\n+import os\n+\n def one():\n-    return 1\n+    return 2\n ";
const TAIL = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -3,0 +4,2 @@ def one():\n+    # checked\n+    pass";

test("each line has the commit that wrote it last", () => {
  const document = ["import os", "", "def one():", "    return 2", ""];
  assert.deepEqual(blame([ADDED, CHANGED], document), [1, 1, 0, 1, 0]);
});

test("a hunk without removed lines is inserted after its line", () => {
  const texts = replay([ADDED, CHANGED, TAIL]).map((origin) => origin?.text);
  assert.deepEqual(texts.slice(2, 6), ["def one():", "    # checked", "    pass", "    return 2"]);
});

test("without the oldest commits, their lines are unknown", () => {
  assert.deepEqual(blame([CHANGED], ["import os", "", "def one():", "    return 2", ""]), [0, 0, -1, 0, -1]);
});

test("lines moved by changes that are not committed are found by their text", () => {
  const document = ["# new", "# lines", "import os", "", "def one():", "    return 2"];
  assert.deepEqual(blame([ADDED, CHANGED], document), [-1, -1, 1, -1, 0, 1]);
});

test("damaged patches do not break or hang", () => {
  for (const patch of ["", "@@ nonsense", "@@ -999999999,1 +1 @@\n+x", "@@ -1 +1 @@\n-a\n-b\n-c\n+d"]) {
    assert.equal(blame([patch], ["x"]).length, 1);
  }
});

/** How many elements of arrays are iterated over while something runs. */
function iterated(run: () => void): number {
  const original = Array.prototype[Symbol.iterator];
  let count = 0;
  Array.prototype[Symbol.iterator] = function* (this: unknown[]) {
    for (let index = 0; index < this.length; index += 1) {
      count += 1;
      yield this[index];
    }
    return undefined;
  };
  try {
    run();
  } finally {
    Array.prototype[Symbol.iterator] = original;
  }
  return count;
}

test("ten times as many equal lines and hunks are ten times the work", () => {
  const work = (lines: number): number => {
    const added = `@@ -0,0 +1,${lines} @@\n${"+the same line\n".repeat(lines)}`;
    const hunks = Array.from({ length: lines / 10 }, (_, n) => `@@ -${n * 10 + 1},1 +${n * 11 + 1},2 @@\n the same line\n+another\n`);
    const document = ["first", ...Array.from({ length: lines }, () => "the same line")];
    return iterated(() => {
      const found = blame([added, hunks.join("")], document);
      assert.equal(found.filter((commit) => commit === 0).length, lines);
    });
  };
  const [few, many] = [work(300), work(3000)];
  assert.ok(many < 11 * few, `${few} and ${many} elements`);
});

function revision(patch: string, at: string): Revision {
  return { commit: at, at, author: "Mira", subject: "s", message: "s", patch };
}

function item(tier: string, at: string): Item {
  return { tier, at, ref: `${tier}:1`, text: tier };
}

test("lines changed after the newest memory have drifted, older ones have not", () => {
  const revisions = [revision(ADDED, "2026-01-01T00:00:00Z"), revision(CHANGED, "2026-03-01T00:00:00Z")];
  const document = ["import os", "", "def one():", "    return 2", ""];
  const cases: [Item[], number[]][] = [
    [[item("memories", "2026-02-01T00:00:00Z")], [0, 1, 3]],
    [[item("memories", "2026-02-01T00:00:00Z"), item("sessions", "2026-03-02T00:00:00Z")], []],
    [[item("sessions", "2026-02-28T23:30:00Z")], []],
    [[item("plan", "2026-02-01T00:00:00Z")], []],
    [[item("memories", "odd")], []],
  ];
  for (const [items, lines] of cases) {
    const reasons = reasonsOf("f", revisions, items);
    const drift = driftOf(reasons, commitsOf(reasons, document));
    assert.deepEqual([...(drift?.lines.keys() ?? [])], lines);
  }
});

test("a session is its intent and its outcome, a memory its text", () => {
  const text = "**Intent**: fix labels\n7 observations\n\n**Outcome**: read as `utf-8-sig`\n\n**Next**\n- x";
  assert.equal(gist({ ...item("sessions", ""), text }), "fix labels → read as `utf-8-sig`");
  assert.equal(gist({ ...item("memories", ""), text: "Use `rows`, **not** keys" }), "Use rows, not keys");
});
