"""What agents would have been told at each prompt and before each tool, replayed on real sessions.

    python benchmarks/action.py FOLDER... [--show 60] [--seed 7]

Each folder holds the transcripts (Claude Code's JSONL) of one project. Its sessions are taken in
one after the other; before each, its prompts, edits and commands are tried with what the space
knows from the sessions before it. Every text is printed, or a sample of them, to be judged by
people; the counts are saved by `--save`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen import Memory
from kinen.errors import KinenError
from kinen.hooks import action
from kinen.journal import ledger
from kinen.journal.admission import Admission
from kinen.privacy.injected import own_words
from kinen.recall.prompts import asks_something
from record import save

if TYPE_CHECKING:
    from collections.abc import Iterator

    Line = dict[str, Any]

BUDGET = 600
SHORT = 40
"""Characters of a prompt that may be an answer and no request."""


class Told(NamedTuple):
    """A text that an agent would have been told."""

    project: str
    session: str
    event: str
    subject: str
    text: str


class Session(NamedTuple):
    path: Path
    began: str
    lines: list[Line]


def sessions_of(folder: Path) -> list[Session]:
    """The transcripts of a project in the order in which they began, without those of subagents."""
    sessions = []
    for path in sorted(folder.rglob("*.jsonl")):
        if "subagents" in path.parts or path.name.startswith("agent-"):
            continue
        lines = list(lines_of(path))
        moments = [line["timestamp"] for line in lines if isinstance(line.get("timestamp"), str)]
        if moments and any("sessionId" in line for line in lines):
            sessions.append(Session(path, min(moments), lines))
    return sorted(sessions, key=lambda session: session.began)


def lines_of(path: Path) -> Iterator[Line]:
    """The objects of a transcript; lines that are damaged are left out."""
    for text in path.read_text().split("\n"):
        with contextlib.suppress(ValueError):
            line = json.loads(text)
            if isinstance(line, dict):
                yield line


def parts_of(line: Line) -> list[Line]:
    content = (line.get("message") or {}).get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content or [] if isinstance(part, dict)]


def prompts_in(session: Session) -> Iterator[str]:
    for line in session.lines:
        if line.get("type") != "user" or line.get("isMeta") or line.get("isSidechain"):
            continue
        texts = [part["text"] for part in parts_of(line) if part.get("type") == "text"]
        prompt = own_words("\n".join(texts))
        if prompt:
            yield prompt


def uses_in(session: Session) -> Iterator[tuple[str, Line]]:
    """The working folder and the payload of each tool use."""
    for line in session.lines:
        if line.get("type") == "assistant" and not line.get("isSidechain"):
            for part in parts_of(line):
                if part.get("type") == "tool_use":
                    payload = {"tool_name": part.get("name", ""), "tool_input": part.get("input")}
                    yield str(line.get("cwd", "")), payload


class Replay:
    """One project, session by session."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.name = folder.name
        root = home / "space"
        (root / ".kinen").mkdir(parents=True)
        settings = {"index.embedding_provider": "none"}
        self.memory = Memory.open(root, home=home / "data", settings=settings)
        self.counts: Counter[str] = Counter()
        self.told: list[Told] = []

    def run(self, session: Session) -> None:
        self.prompts(session)
        self.tools(session)
        self.memory.transfer.import_transcripts(session.path)
        self.memory.consolidation.consolidate()
        self.memory.ledger.learn_remedies()
        self.memory.sync(embed=False)

    def prompts(self, session: Session) -> None:
        existing: set[str] = set()
        for prompt in prompts_in(session):
            trivial = not asks_something(prompt)
            self.counts["prompts"] += 1
            self.counts["short prompts"] += len(prompt) <= SHORT
            self.counts["trivial prompts"] += trivial
            try:
                related = self.memory.searcher.related(
                    prompt, session.path.stem, BUDGET, sorted(existing)
                )
            except KinenError:
                continue
            existing |= set(related.entries)
            if related.text:
                self.counts["prompts told"] += 1
                self.counts["short prompts told"] += len(prompt) <= SHORT
                self._add(session, "UserPromptSubmit", prompt, related.text)

    def tools(self, session: Session) -> None:
        if not self.memory.core.store.exists:
            return
        book = ledger.connect(self.memory.space.data)
        existing: set[str] = set()
        for cwd, message in uses_in(session):
            kind, name = action.subject(message, lambda path, cwd=cwd: relative(path, cwd))
            if not kind:
                continue
            self.counts[f"{kind}s"] += 1
            journal = self.memory.core.store.db
            admission = Admission(self.memory.space.root, journal, trusted=True)
            changed = action.changed_text(message)
            tip = action.tip(journal, book, kind, name, changed, admission)
            if tip and tip[0] not in existing:
                existing.add(tip[0])
                self.counts[f"{kind}s told"] += 1
                self._add(session, "PreToolUse", name, tip[1])
        book.close()

    def _add(self, session: Session, event: str, subject: str, text: str) -> None:
        self.told.append(Told(self.name, session.path.stem[:8], event, subject, text))


def relative(path: str, cwd: str) -> str:
    return path.removeprefix(f"{cwd}/") if cwd else path


def replay(folders: list[Path]) -> tuple[Counter[str], list[Told]]:
    counts: Counter[str] = Counter()
    output: list[Told] = []
    for folder in folders:
        sessions = sessions_of(folder)
        counts["sessions"] += len(sessions)
        with tempfile.TemporaryDirectory() as home:
            project = Replay(folder, Path(home))
            for session in sessions:
                project.run(session)
            project.memory.close()
        counts += project.counts
        output += project.told
    return counts, output


def show(values: list[Told], event: str, most: int, seed: int) -> None:
    chosen = [value for value in values if value.event == event]
    sample = sorted(random.Random(seed).sample(chosen, min(most, len(chosen))))
    print(f"\n{event}: {len(sample)} of {len(chosen)}")
    for number, item in enumerate(sample, 1):
        print(f"\n{number}. [{item.project} {item.session}] {item.subject[:300]!r}")
        print("   " + item.text.replace("\n", "\n   "))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=60, help="texts of each event to print")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    counts, output = replay(options.folders)
    for event in ("PreToolUse", "UserPromptSubmit"):
        show(output, event, options.show, options.seed)
    print()
    for name, count in sorted(counts.items()):
        print(f"{count:>7,} {name}")
    if options.save:
        save("action", dict(counts))


if __name__ == "__main__":
    main()
