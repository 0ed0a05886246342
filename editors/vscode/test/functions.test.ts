import assert from "node:assert/strict";
import { test } from "node:test";
import { functionsOf } from "../src/functions";

function spans(language: string, text: string): [number, number][] {
  return functionsOf(language, text.split("\n")).map((span) => [span.start, span.end]);
}

test("functions of common languages are found with their lines", () => {
  assert.deepEqual(spans("javascript", "function load(key) {\n  return 1;\n}\n\nconst f = async (x) => {\n  x;\n};\n"), [
    [0, 2],
    [4, 6],
  ]);
  assert.deepEqual(spans("python", "class A:\n    x = 1\n\n    async def go(self):\n        pass\n\nB = 2\n\n\ndef f(): ...\n"), [
    [0, 4],
    [3, 4],
    [9, 9],
  ]);
  assert.deepEqual(spans("rust", "pub(crate) fn a<T>() {\n}\nimpl<T> B {\n    fn c() {}\n}"), [
    [0, 1],
    [2, 4],
    [3, 3],
  ]);
  assert.deepEqual(spans("csharp", "public static class A\n{\n    int x;\n}\nint y;"), [[0, 3]]);
});

test("prose and names that begin alike are no functions", () => {
  assert.deepEqual(spans("markdown", "class struggle\n"), []);
  assert.deepEqual(spans("python", "classes = 1\ndefault = 2\nfunction_name(3)\n"), []);
  assert.deepEqual(spans("javascript", "const x = 1;\nlet y = f(2);\n"), []);
});
