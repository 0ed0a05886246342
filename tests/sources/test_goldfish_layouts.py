"""What older versions of Goldfish left on disk, taken over once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinen.model.journal import Checkpoint
from kinen.transfer.goldfish import is_goldfish, older
from kinen.worklog.checkpoints import checkpoint_id, format_checkpoint, read_checkpoint
from kinen.worklog.folder import Memories

DAY = """\
# Checkpoints for 2025-11-05

## 14:30 - Tokens rotate now

<!--
timestamp: 2025-11-05T14:30:22.123Z
summary: Tokens rotate
charCount: 17
-->

- **Tags**: auth, tokens
- **Branch**: main
- **Commit**: abc123
- **Files**: src/x.ts, src/y z.ts

## 15:05 - First line
second line of it

## Not an entry: 10:00

- a list that belongs to it

- **Branch**: main

## 25:99 - invalid time

## 16:00 - the last one
"""
AT = "2025-11-09T1"
LINES = [
    f'{{"type":"decision","content":"Use SQLite","timestamp":"{AT}0:30:00.000Z","tags":["db"]}}',
    f'{{"type":"bug-fix","source":"user","content":"Closed it","timestamp":"{AT}1:00:00.000Z"}}',
    "",
    f'{{"type":"user","message":{{}},"timestamp":"{AT}1:00:00.000Z"}}',
    "not json",
    '{"type":"insight","source":"agent","content":"WAL helps","timestamp":"never"}',
    f'{{"type":"feature","content":"Search","timestamp":"{AT}2:00:00.000Z","tags":["feature"]}}',
]
MEMORY = """\
decisions:
  - "2026-03-01 | Keep it small: one file per checkpoint."
  - 2026-03-02 | unquoted: with a colon
open_questions:
  - "what has no date"
deferred_work: []
gotchas:
  - "2026-03-24 | setTimeout(fn, Infinity) fires at once."
  - "2026-99-99 | no such day"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "project"


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_day_in_one_markdown_file(tmp_path: Path) -> None:
    workspace = tmp_path / ".goldfish/kettle"
    file = put(workspace / "checkpoints/2025-11-05.md", DAY)
    put(workspace / "plans/auth.md", "---\nid: auth\n---\n")
    warnings: list[str] = []
    first, second, last = older(str(workspace), warnings)
    assert first == Checkpoint(
        id=checkpoint_id("2025-11-05T14:30:22.123Z", "Tokens rotate now"),
        at="2025-11-05T14:30:22.123Z",
        text="Tokens rotate now",
        tags=("auth", "tokens"),
        branch="main",
        commit="abc123",
        files=("src/x.ts", "src/y z.ts"),
        summary="Tokens rotate",
    )
    assert second.at == "2025-11-05T15:05:00.000Z"
    assert second.text == (
        "First line\nsecond line of it\n\n## Not an entry: 10:00\n\n- a list that belongs to it"
    )
    assert (second.branch, second.tags) == ("main", ())
    assert (last.at, last.text) == ("2025-11-05T16:00:00.000Z", "the last one")
    assert warnings == [f"{file}: 25:99: invalid time"]
    assert list(older(str(workspace / "checkpoints"))) == [first, second, last]
    assert list(older(str(file))) == [first, second, last]
    windows = put(tmp_path / "2025-11-05.md", "\ufeff" + DAY.replace("\n", "\r\n"))
    assert list(older(str(windows))) == [first, second, last]


def test_a_day_in_lines_of_json(project: Path) -> None:
    file = put(project / ".goldfish/memories/2025-11-09.jsonl", "\n".join(LINES))
    warnings: list[str] = []
    imported = list(older(str(project), warnings))
    assert [(checkpoint.type, checkpoint.tags, checkpoint.text) for checkpoint in imported] == [
        ("decision", ("db", "decision"), "Use SQLite"),
        ("incident", ("bug-fix",), "Closed it"),
        ("checkpoint", ("feature",), "Search"),
    ]
    assert imported[0].at == "2025-11-09T10:30:00.000Z"
    assert imported[0].id == checkpoint_id(imported[0].at, "Use SQLite")
    assert [line.removeprefix(str(file)) for line in warnings] == [
        ":4: not a memory of Goldfish",
        ":5: not a memory of Goldfish",
        ":6: invalid time",
    ]


def test_checkpoints_in_files_of_json(tmp_path: Path) -> None:
    old = {"id": "checkpoint_69a4", "timestamp": 1770901662, "description": "old", "tags": ["t"]}
    put(tmp_path / "flat/b.json", json.dumps(old))
    put(tmp_path / "flat/package.json", '{"name": "x", "version": "1.0.0"}')
    put(tmp_path / "flat/c.json", json.dumps({**old, "id": "c", "description": ""}))
    warnings: list[str] = []
    (imported,) = older(str(tmp_path / "flat"), warnings)
    assert (imported.id, imported.at) == ("checkpoint_69a4", "2026-02-12T13:07:42.000Z")
    assert [Path(line.split(": ")[0]).name for line in warnings] == ["c.json", "package.json"]
    put(tmp_path / "days/2026-02-12/130742_69a4.json", json.dumps(old))
    assert list(older(str(tmp_path / "days"))) == [imported]


def test_the_memories_of_another_project_with_what_they_came_to(project: Path) -> None:
    written, _ = Memories(str(project)).save("of the other", now=1_772_701_661, tags=["x"])
    put(project / ".memories/memory.yaml", MEMORY)
    put(project / ".memories/plans/p.md", "---\nid: p\n---\n")
    warnings: list[str] = []
    first, *rest = older(str(project), warnings)
    assert first == written._replace(path="")
    assert [
        (checkpoint.at[:10], checkpoint.type, checkpoint.tags[0], checkpoint.text)
        for checkpoint in rest
    ] == [
        ("2026-03-01", "decision", "decision", "Keep it small: one file per checkpoint."),
        ("2026-03-02", "decision", "decision", "unquoted: with a colon"),
        ("2026-03-02", "learning", "open-question", "what has no date"),
        ("2026-03-24", "learning", "gotcha", "setTimeout(fn, Infinity) fires at once."),
        ("2026-03-24", "learning", "gotcha", "no such day"),
    ]
    assert not warnings
    assert list(older(str(project / ".memories"))) == [first, *rest]
    assert list(older(str(project / ".memories/memory.yaml"))) == rest


def test_taking_over_twice_adds_nothing(project: Path, space: Path) -> None:
    put(project / ".memories/memory.yaml", MEMORY)
    put(project / ".goldfish/memories/2025-11-09.jsonl", "\n".join(LINES))
    put(project / "checkpoints/2025-11-05.md", DAY)
    Memories(str(project)).save("of the other", now=1_772_701_661)
    imported = list(older(str(project)))
    assert len(imported) == 12
    assert all(Memories(str(space)).add(checkpoint) for checkpoint in imported)
    assert not any(Memories(str(space)).add(checkpoint) for checkpoint in older(str(project)))
    memories = Memories(str(space))
    there = {checkpoint._replace(path="") for checkpoint in memories.checkpoints()}
    assert there == set(imported)
    assert not memories.warnings
    assert set(older(str(space))) == set(imported)


def test_what_is_taken_over_reads_as_goldfish_would_write_it(project: Path) -> None:
    put(project / "checkpoints/2025-11-05.md", DAY)
    for checkpoint in older(str(project)):
        assert read_checkpoint(format_checkpoint(checkpoint).encode(), "a.md") == checkpoint


def test_other_folders_and_files_are_not_goldfish(tmp_path: Path, project: Path) -> None:
    put(project / "package.json", "{}")
    put(project / "notes/2025-11-05.md", "# A day\n\n## 14:30 - Meeting\n")
    put(project / "README.md", DAY)
    put(project / "session.jsonl", LINES[3])
    others = ("project/notes", "project/session.jsonl", "project/README.md")
    for path in ("project", *others, "gone"):
        assert not is_goldfish(str(tmp_path / path)), path
    put(project / ".goldfish/memories/2025-11-09.jsonl", LINES[0])
    for path in ("project", "project/.goldfish/memories"):
        assert is_goldfish(str(tmp_path / path)), path


def test_broken_files_give_warnings(project: Path) -> None:
    put(project / ".memories/memory.yaml", "decisions: [\n")
    put(project / ".memories/2026-03-05/090741_aaaa.md", "no frontmatter\n")
    (project / ".memories/2026-03-05/090742_bbbb.md").write_bytes(b"\0\1\2")
    put(project / ".memories/2026-03-05/notes.txt", "not ours\n")
    put(project / ".memories/2026-03-06.md", "## 14:30 - a diary\n")
    warnings: list[str] = []
    assert not list(older(str(project), warnings))
    assert [line.split(": ")[1] for line in warnings] == [
        "no frontmatter",
        "binary file",
        "no checkpoints of Goldfish",
        "invalid YAML",
    ]
