import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { Client } from "../src/client";
import { dataFolder, socketPath } from "../src/daemon";
import { Failure } from "../src/failure";
import { locate } from "../src/locate";
import { run } from "../src/process";
import * as words from "../src/words";

function folder(): string {
  return realpathSync(mkdtempSync(path.join(tmpdir(), "kinen-")));
}

/** A program that stands for kinen at the outer edge. */
function program(place: string, code: string): string {
  mkdirSync(place, { recursive: true });
  const file = path.join(place, "kinen");
  writeFileSync(file, `#!${process.execPath}\n${code}`);
  chmodSync(file, 0o755);
  return file;
}

function client(file: string | undefined, env: NodeJS.ProcessEnv = { KINEN_HOME: "/nowhere" }, milliseconds = 10_000): Client {
  return new Client(() => ({ program: file, milliseconds, env }));
}

test("what the user types is never an option", () => {
  for (const line of [words.searchWords("--space=x"), words.sessionWords("--help"), words.historyWords("-p"), words.whyWords("--help"), words.planActivateWords("-x"), words.planSaveWords("-x")]) {
    assert.ok(line.indexOf("--") < line.findIndex((word) => /^-(p|x)$|^--(space=x|help)$/.test(word)), line.join(" "));
  }
  assert.deepEqual(words.planCheckWords("p", 2, true), ["plan", "check", "--json", "--undo", "--", "2", "p"]);
  assert.deepEqual(words.checkpointWords("decision").slice(-1), ["-"]);
});

test("kinen is looked for in absolute folders of the PATH only", () => {
  const place = folder();
  const file = program(path.join(place, "bin"), "");
  const PATH = [".", "bin", "", path.join(place, "none"), path.join(place, "bin")].join(path.delimiter);
  assert.equal(locate({ configured: "", PATH, usual: [], avoided: [] }), file);
  assert.equal(locate({ configured: "bin/kinen", PATH, usual: [], avoided: [] }), undefined);
  assert.equal(locate({ configured: file, PATH: "", usual: [], avoided: [] }), file);
  assert.equal(locate({ configured: "", PATH: "", usual: [path.dirname(file)], avoided: [] }), file);
  assert.equal(locate({ configured: place, PATH: "", usual: [], avoided: [] }), undefined);
});

test("a program of an untrusted workspace is not run, not even through a link", () => {
  const workspace = folder();
  const inner = program(path.join(workspace, "bin"), "");
  const outer = folder();
  symlinkSync(inner, path.join(outer, "kinen"));
  const good = program(path.join(folder(), "bin"), "");
  const PATH = [path.dirname(inner), outer, path.dirname(good)].join(path.delimiter);
  assert.equal(locate({ configured: "", PATH, usual: [], avoided: [workspace] }), good);
  assert.equal(locate({ configured: inner, PATH, usual: [], avoided: [workspace] }), undefined);
  assert.equal(locate({ configured: "", PATH, usual: [], avoided: [] }), inner);
});

test("a missing kinen is named with what to install", async () => {
  await assert.rejects(client(undefined).search(folder(), "q"), (error: Failure) => error.reason === "missing" && /pipx install 'kinen\[all\]'/.test(error.message));
});

test("the command gets the words, and its error is the message", async () => {
  const place = folder();
  const echo = program(place, "console.log(JSON.stringify({query: process.argv.slice(2).join(' '), results: []})); process.exit(1)");
  const answer = await client(echo).search(place, "why; rm -rf /");
  assert.equal(answer.query, "search --json --limit 20 -- why; rm -rf /");
  const failing = program(path.join(place, "f"), "console.error('note: x\\nkinen: no space here · run kinen init'); process.exit(2)");
  await assert.rejects(client(failing).sessions(place), (error: Failure) => error.message === "no space here · run kinen init");
  assert.deepEqual((await client(failing).why(place, "f")).revisions, []);
  const odd = program(path.join(place, "o"), "console.log('hello')");
  await assert.rejects(client(odd).sessions(place), (error: Failure) => error.reason === "damaged");
});

test("a line is asked for by its number from 1, and without a model", async () => {
  const place = folder();
  const echo = program(place, "console.log(JSON.stringify({reason: process.argv.slice(2).join(' ')}))");
  const answer = await client(echo).reason(place, "/a/b c.py", 4);
  assert.equal(answer?.reason, "why --json --distiller none -- /a/b c.py:5");
  const failing = program(path.join(place, "f"), "console.error('kinen: b is binary'); process.exit(2)");
  assert.equal(await client(failing).reason(place, "b", 0), undefined);
});

test("an answer has a limit of time, and can be cancelled", async () => {
  const place = folder();
  const hanging = program(place, "setInterval(() => 0, 1000)");
  await assert.rejects(client(hanging, {}, 200).sessions(place), (error: Failure) => error.reason === "slow");
  const controller = new AbortController();
  const answer = run({ program: hanging, words: ["x"], folder: place, milliseconds: 60_000, signal: controller.signal });
  controller.abort();
  await assert.rejects(answer, (error: Failure) => error.reason === "cancelled");
  await assert.rejects(client(hanging).sessions(place, controller.signal), (error: Failure) => error.reason === "cancelled");
});

test("a text is passed on standard input", async () => {
  const place = folder();
  const echo = program(place, "let text = ''; process.stdin.on('data', (data) => (text += data)).on('end', () => console.log(JSON.stringify({title: text, id: process.argv[process.argv.length - 1]})))");
  const plan = await client(echo).savePlan(place, "T", "- [ ] ü\n");
  assert.deepEqual([plan.title, plan.id], ["- [ ] ü\n", "-"]);
});

test("the daemon is asked first, and the command where it refuses", async () => {
  const place = folder();
  const home = path.join(place, "h");
  mkdirSync(home);
  const requests: string[] = [];
  let code = 200;
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${String(request.headers["x-kinen-space"])}`);
    request.resume();
    response.writeHead(code, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ query: "from the daemon", results: [] }));
  });
  const socket = path.join(home, "daemon.sock");
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  try {
    const env = { KINEN_HOME: home };
    const echo = program(place, "console.log(JSON.stringify({query: 'from the command'}))");
    const space = path.join(place, "ü b");
    mkdirSync(space);
    assert.equal((await client(echo, env).search(space, "q")).query, "from the daemon");
    assert.equal(requests[0], `POST /v1/search ${encodeURI(space)}`);
    code = 404;
    assert.equal((await client(echo, env).search(space, "q")).query, "from the command");
    assert.equal(socketPath({ ...env, KINEN_SEARCH_LIMIT: "3" }, "linux"), "");
    symlinkSync(socket, path.join(place, "daemon.sock"));
    assert.equal(socketPath({ KINEN_HOME: place }, "linux"), "");
  } finally {
    server.close();
  }
});

test("the folder of kinen's data is that of kinen", () => {
  assert.equal(dataFolder({ KINEN_HOME: "/k" }, "linux"), "/k");
  assert.equal(dataFolder({ XDG_DATA_HOME: "/d" }, "linux"), "/d/kinen");
  assert.equal(dataFolder({ XDG_DATA_HOME: "relative" }, "linux", "/h"), "/h/.local/share/kinen");
  assert.equal(dataFolder({}, "darwin", "/h"), "/h/Library/Application Support/kinen");
});
