"""How long `kinen lsp` takes to answer an editor, in a vault of 1,000 notes.

    python benchmarks/lsp.py [--notes 1000] [--times 40]

A real process is asked over pipes as an editor asks it, and the notes are read from disk in the
same loop. Each answer has the CPU time that it takes in the server, which is what somebody waits
for on an idle machine, its ratio to that of reading all notes, and the time that passed here. The
limit is 50 ms of CPU time.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from record import save
from speed import prose

LIMIT_MS = 50.0
READING = "reading"
LINKS = 8
"""Links of a note; every note also links to `hub`."""


def build(root: Path, notes: int) -> None:
    """Notes with prose, headings, aliases, tags and links, all of which link to one."""
    rng = random.Random(7)
    (root / ".kinen").mkdir(parents=True)
    (root / "hub.md").write_text("# Hub\n\nEverything leads here.\n")
    for number in range(notes - 1):
        folder = root / f"area-{number % 20}"
        folder.mkdir(exist_ok=True)
        links = " ".join(f"[[note-{rng.randrange(notes - 1)}]]" for _ in range(LINKS))
        sections = "\n\n".join(f"## {prose(rng, 3)}\n\n{prose(rng, 60)}" for _ in range(3))
        head = f"---\naliases: [alias {number}]\ntags: [area/{number % 20}, t{number % 50}]\n---\n"
        text = f"{head}# {prose(rng, 4)}\n\n{sections}\n\nSee [[hub#Hub|it]] {links} [[gone]].\n"
        (folder / f"note-{number}.md").write_text(text)


def read_all(root: Path) -> None:
    for file in root.rglob("*.md"):
        file.read_bytes()


class Editor:
    """An editor with one note open: messages of the protocol as they are on the pipes."""

    def __init__(self, root: Path, file: Path) -> None:
        self.root = root
        self.uri = file.as_uri()
        self.text = file.read_text()
        self.version = 1
        self.number = 0
        words = [sys.executable, "-m", "kinen", "lsp"]
        self.server = subprocess.Popen(
            words, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False
        )

    @property
    def cpu(self) -> float:
        """Milliseconds of CPU time that the server has taken; its clock by id, as Linux has it."""
        return time.clock_gettime_ns((~self.server.pid << 3) | 2) / 1e6

    def begin(self) -> None:
        edits = {"documentChanges": True, "resourceOperations": ["rename"]}
        capabilities = {"workspace": {"workspaceEdit": edits}}
        self.ask("initialize", {"rootUri": self.root.as_uri(), "capabilities": capabilities})
        self.tell("initialized", {})
        item = {"uri": self.uri, "languageId": "markdown", "version": 1, "text": self.text}
        self.tell("textDocument/didOpen", {"textDocument": item})
        while b"publishDiagnostics" not in self.receive():
            pass

    def tell(self, method: str, params: dict[str, Any], **more: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self.server.stdin
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.server.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> bytes:
        """The answer as it comes; notifications before it are dropped."""
        self.number += 1
        self.tell(method, params, id=self.number)
        mark = b'"id": %d' % self.number
        while True:
            body = self.receive()
            if mark in body.replace(b'"id":%d' % self.number, mark)[:4000]:
                assert b'"error"' not in body[:200], body[:500]
                return body

    def receive(self) -> bytes:
        assert self.server.stdout
        length = 0
        while (line := self.server.stdout.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return self.server.stdout.read(length)

    def type(self, text: str) -> None:
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        changes = [{"text": self.text + text}]
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def spot(self, word: str, text: str = "") -> dict[str, Any]:
        """The place after a word of the open note."""
        whole = self.text + text
        before = whole[: whole.index(word) + len(word)]
        column = len(before) - before.rfind("\n") - 1
        position = {"line": before.count("\n"), "character": column}
        return {"textDocument": {"uri": self.uri}, "position": position}


def questions(editor: Editor) -> dict[str, Callable[[], object]]:
    link = editor.spot("[[hub")
    other = editor.spot("[[note-")
    all_links = {"context": {"includeDeclaration": False}}

    def typed(text: str) -> Callable[[], object]:
        def ask() -> object:
            editor.type(text)
            return editor.ask("textDocument/completion", editor.spot(text, text))

        return ask

    return {
        "complete every name": typed("\n[["),
        "complete some names": typed("\n[[note-12"),
        "complete a heading": typed("\n[[note-12#"),
        "complete a tag": typed("\n#"),
        "definition": lambda: editor.ask("textDocument/definition", link),
        "hover": lambda: editor.ask("textDocument/hover", link),
        "references, a few": lambda: editor.ask("textDocument/references", {**other, **all_links}),
        "references, one for each note": lambda: editor.ask(
            "textDocument/references", {**link, **all_links}
        ),
        "rename, a few links": lambda: editor.ask(
            "textDocument/rename", {**other, "newName": "new name"}
        ),
        "rename, a link in each note": lambda: editor.ask(
            "textDocument/rename", {**link, "newName": "new name"}
        ),
    }


def measure(
    root: Path, times: int
) -> tuple[dict[str, list[float]], dict[str, list[float]], float, float]:
    """CPU time and time of each answer, CPU time of reading all notes and of the start.

    The times of the answers have that of reading, too.
    """
    file = next(file for file in sorted(root.rglob("*.md")) if "[[hub" in file.read_text())
    editor = Editor(root, file)
    editor.begin()
    start = editor.cpu
    kinds = questions(editor)
    for ask in kinds.values():
        ask()
    milliseconds: dict[str, list[float]] = {name: [] for name in kinds}
    passed: dict[str, list[float]] = {name: [] for name in kinds}
    reading = []
    reading_passed = []
    for _ in range(times):
        began = time.process_time()
        reading_passed.append(elapsed(lambda: read_all(root)))
        reading.append(1000 * (time.process_time() - began))
        for name, ask in kinds.items():
            before = editor.cpu
            passed[name].append(elapsed(ask))
            milliseconds[name].append(editor.cpu - before)
    editor.ask("shutdown", {})
    editor.tell("exit", {})
    editor.server.wait(60)
    passed[READING] = reading_passed
    return milliseconds, passed, statistics.median(reading), start


def elapsed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--times", type=int, default=40)
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="kinen-lsp-")).resolve()
    try:
        build(root, options.notes)
        milliseconds, passed, reading, start = measure(root, options.times)
    finally:
        shutil.rmtree(root)
    print(f"{options.notes} notes; reading them {reading:.1f} ms of CPU time; from the start until")
    print(f"links are checked {start:.0f} ms, {start / reading:.1f} × reading\n")
    print("| question | CPU ms | p95 | × reading the notes | ms here | × reading here |")
    print("|---|--:|--:|--:|--:|--:|")
    results = {}
    reading_here = statistics.median(passed[READING])
    for name, values in milliseconds.items():
        middle = statistics.median(values)
        late = sorted(values)[int(0.95 * (len(values) - 1))]
        here = statistics.median(passed[name])
        row = {"cpu_ms": middle, "p95_cpu_ms": late, "ratio": middle / reading, "passed_ms": here}
        row["passed_ratio"] = here / reading_here
        results[name] = row
        figures = f"{middle:.1f} | {late:.1f} | {middle / reading:.2f}"
        print(f"| {name} | {figures} | {here:.1f} | {here / reading_here:.2f} |")
    slow = [name for name, row in results.items() if row["cpu_ms"] > LIMIT_MS]
    print(f"\nabove {LIMIT_MS:.0f} ms: {', '.join(slow) or 'none'}")
    save(
        "lsp",
        {
            "notes": options.notes,
            "reading_ms": reading,
            "reading_passed_ms": reading_here,
            "start_ms": start,
            "limit_ms": LIMIT_MS,
            "answers": results,
        },
    )


if __name__ == "__main__":
    main()
