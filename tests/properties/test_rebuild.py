"""Whatever happened to the files, an index that kept up equals one built from scratch."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kinen import Memory, Query

LONG = bool(os.environ.get("KINEN_STRESS"))
NAMES = ("a", "b", "plan", "Ünïcode", "two words", "x1")
FOLDERS = ("", "docs/", "sessions/20260101-01-auth/rounds/", "resources/papers/", "resources/data/")
PIECES = (
    "The rate-limiter counts per key.",
    "# Heading",
    "## Tokens",
    "See [[a]] and [[docs/b|the other]] and [md](../docs/plan.md).",
    "```py\ndef getUserName(): ...\n```",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "日本語のメモ",
    "[[nowhere]] #tag/sub",
    "long " * 700,
)
FRONT = (
    "",
    "---\ntitle: T\naliases: [a]\ntags: [x]\ndate: 2026-01-02\n---\n",
    "---\nbroken: [\n---\n",
)

pages = st.builds(
    lambda front, body: front + "\n\n".join(body),
    st.sampled_from(FRONT),
    st.lists(st.sampled_from(PIECES), min_size=0, max_size=5),
)
places = st.builds(
    lambda folder, name, end: folder + name + end,
    st.sampled_from(FOLDERS),
    st.sampled_from(NAMES),
    st.sampled_from([".md", ".md", ".md", ".txt", ".csv", ".pdf"]),
)


def contents(memory: Memory) -> dict[str, list[object]]:
    """Everything an index says, without the row numbers that say nothing."""
    db = memory.core.reader.db
    ask = {
        "records": "SELECT ref, kind, title, path, at, session, tags, metadata, aliases, repo,"
        " agent, user, event, parent FROM records",
        "chunks": "SELECT r.ref, c.n, c.title, c.heading, c.body, c.extra, c.start_line,"
        " c.end_line, c.page, c.digest, c.segment, IFNULL(a.ref, '') FROM chunks c"
        " JOIN records r ON r.id = c.record LEFT JOIN chunks f ON f.id = c.anchor"
        " LEFT JOIN records a ON a.id = f.record",
        "links": "SELECT r.ref, l.n, l.written, l.target FROM links l"
        " JOIN records r ON r.id = l.record",
        "tags": "SELECT t.tag, r.ref FROM tags t JOIN records r ON r.id = t.record",
        "states": "SELECT source, key, stamp, digest, reason FROM states",
        "words": "SELECT term, doc, cnt FROM temp.vocabulary",
    }
    memory.core.reader.vocabulary("a")
    return {name: sorted(db.execute(sql).fetchall()) for name, sql in ask.items()}


class Edits(RuleBasedStateMachine):
    """Random edits, moves and deletions, with a sync now and then."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "space"
        (self.root / ".kinen").mkdir(parents=True)
        self.clock = 1_700_000_000
        self.memory = Memory.open(self.root, home=self.folder / "home")

    def _write(self, path: str, text: str) -> None:
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8")
        self.clock += 1
        os.utime(full, (self.clock, self.clock))

    @rule(path=places, text=pages)
    def write(self, path: str, text: str) -> None:
        self._write(path, text)

    @rule(path=places)
    def delete(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)

    @rule(path=places, to=places)
    def move(self, path: str, to: str) -> None:
        if (self.root / path).exists():
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).replace(self.root / to)

    @rule(path=places)
    def touch(self, path: str) -> None:
        if (self.root / path).exists():
            self.clock += 1
            os.utime(self.root / path, (self.clock, self.clock))

    @rule(lines=st.lists(st.sampled_from(["*.txt", "docs/", "!docs/", "a.md"]), max_size=2))
    def ignore(self, lines: list[str]) -> None:
        self._write(".kinenignore", "\n".join(lines))

    @rule(note=st.sampled_from(["", "a word on it", "[broken"]))
    def manifest(self, note: str) -> None:
        text = f"resources:\n  - path: papers/a.md\n    tags: [m]\n    notes: {note}\n"
        self._write("resources/.resources.yml", text)

    @rule()
    def picture(self) -> None:
        self._write("docs/nowhere", "not a document")

    @rule()
    def sync(self) -> None:
        self.memory.sync(embed=False)

    @invariant()
    def rebuild_equals_incremental(self) -> None:
        if not hasattr(self, "memory"):
            return
        self.memory.sync(embed=False)
        with Memory.open(self.root, home=self.folder / "fresh") as fresh:
            fresh.sync(embed=False, rebuild=True)
            assert contents(self.memory) == contents(fresh)
            for text in ("rate-limiter", "getUserName", "日本語"):
                ask = Query(text, mode="fulltext", limit=5)
                mine, theirs = self.memory.search(ask), fresh.search(ask)
                assert [(hit.chunk, hit.score) for hit in mine] == [
                    (hit.chunk, hit.score) for hit in theirs
                ]

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.close()
            shutil.rmtree(self.folder)


TestEdits = Edits.TestCase
TestEdits.settings = settings(
    max_examples=200 if LONG else 12,
    stateful_step_count=20 if LONG else 10,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
