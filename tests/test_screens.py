"""What a person reads in a terminal: titles, days, times and columns."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory
from kinen.model.journal import Learned
from kinen.model.records import Record
from kinen.render.journal import memories_table
from kinen.render.screen import Screen, clock, columns, day, fit, when
from kinen.render.text import title
from kinen.text import epoch, iso
from terminal import COLUMNS, on_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = epoch("2026-11-18T12:00:00.000Z") / 1000


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def observation(text: str, event: str, **about: Any) -> str:
    record = Record("observation:1", "observation", "", metadata={"event": event, **about})
    return title(record, text)


@pytest.mark.parametrize(
    ("text", "event", "about", "shown"),
    [
        ("**Done.** All of it", "message", {"role": "assistant", "agent": "codex"}, "codex: Done."),
        ("why?", "message", {"role": "user", "agent": "codex"}, "user: why?"),
        ("why?", "message", {"role": "user", "by": "ada"}, "ada: why?"),
        ("$ make\nok", "command", {"command": "make"}, "$ make"),
        ("$ make\nok", "command", {}, "$ make"),
        ("$ make\nno", "error", {"command": "make", "exitCode": 2}, "$ make (exit 2)"),
        (
            "Tool: Edit\nFile: a.py\n+1",
            "file_diff",
            {"toolName": "Edit", "filePath": "a.py"},
            "Edit a.py",
        ),
        (
            "Tool: Glob\nPattern: **/*.rs",
            "tool_call",
            {"toolName": "Glob", "pattern": "**/*.rs"},
            "Glob **/*.rs",
        ),
        (
            "Agent: Explore\nFound it",
            "node_end",
            {"toolName": "Task", "description": "look"},
            "Task look",
        ),
        ("Agent: Explore\nFound it", "node_end", {}, "Found it"),
    ],
)
def test_a_title_says_what_was_done_or_said_and_not_the_kind_of_a_record(
    text: str, event: str, about: dict[str, Any], shown: str
) -> None:
    assert observation(text, event, **about).startswith(shown)


def test_other_records_are_called_by_their_heading_subject_or_outcome() -> None:
    note = Record("note:a.md", "note", "Tea", "a.md")
    assert title(note, "text", "Tea > Green") == "Tea > Green"
    assert title(note) == "Tea"
    summary = Record("summary:1", "summary", "fix the kettle")
    assert title(summary, "**Intent**: x\n**Outcome**: It boils.\nmore") == "outcome: It boils."
    assert title(summary, "no label") == "fix the kettle"
    memory = Record("memory:1", "memory", "", metadata={"type": "decision"})
    assert title(memory, "Green tea") == "decision: Green tea"
    assert title(Record("observation:1", "observation", "[redacted]")) == "[redacted]"


@pytest.mark.usefixtures("utc")
def test_times_are_relative_and_days_are_headings() -> None:
    for at, moment, heading, within in (
        ("2026-11-18T11:59:30.000Z", "just now", "Today", "just now"),
        ("2026-11-18T11:50:00.000Z", "10 min ago", "Today", "10 min ago"),
        ("2026-11-18T08:30:00.000Z", "3 h ago", "Today", "3 h ago"),
        ("2026-11-17T08:30:00.000Z", "yesterday 08:30", "Yesterday", "08:30"),
        ("2026-11-16T08:30:00.000Z", "16 Nov 08:30", "Mon 16 Nov", "08:30"),
        ("2026-11-16T00:00:00.000Z", "16 Nov", "Mon 16 Nov", ""),
        ("2026-11-18", "today", "Today", ""),
        ("2025-11-16T08:30:00.000Z", "16 Nov 2025", "Sun 16 Nov 2025", "08:30"),
        ("2026-11-18T14:00:00.000Z", "14:00", "Today", "14:00"),
    ):
        seconds = epoch(at) / 1000
        assert (when(seconds, NOW), day(seconds, NOW), clock(seconds, NOW)) == (
            moment,
            heading,
            within,
        ), at


def test_a_moment_is_counted_as_the_calendar_does() -> None:
    for seconds in (0, 951_782_400, 1_772_452_800.25, 4_107_542_399.999):
        assert epoch(iso(seconds)) == round(seconds * 1000)
    assert epoch("2026-13-40") == epoch("") == epoch("someday") == 0


@pytest.mark.usefixtures("utc")
def test_a_list_names_a_day_once_and_leaves_fifty_columns_for_the_title() -> None:
    times = [NOW - 7200, NOW - 7300, NOW - 90_000]
    text = "word " * 40
    pairs: Any = [
        (Learned(f"id-{n}", "decision", text, 0.9, int(at * 1000)), None)
        for n, at in enumerate(times)
    ]
    names = {memory.ref: memory.id for memory, _ in pairs}
    lines = memories_table(pairs, Screen(width=80, now=NOW), names).splitlines()
    assert [line for line in lines if not line.startswith("id")] == ["Today", "Yesterday"]
    assert all(columns(line) <= 80 and line.count("word") >= 10 for line in lines if "id" in line)


def test_wide_letters_marks_and_pictures_are_counted_as_terminals_show_them() -> None:
    assert columns("日本") == 4
    assert columns("e\u0301") == 1
    assert columns("\u0e01\u0e31") == 1
    assert columns("🚀") == 2
    assert fit("日本語の文章", 7) == "日本語…"


def test_ten_hits_fit_a_screen_and_a_pipe_cuts_nothing(space: Path, write: Any, kinen: Any) -> None:
    long = "The kettle " + "boils and boils " * 12 + "for tea."
    for n in range(12):
        write(f"docs/a-folder-with-a-long-name/note-{n}.md", f"# Note {n}\n\n{long}\n")
    with Memory.open(space) as memory:
        memory.sync(embed=False)
    _, shown = on_terminal("search", "--fulltext", "kettle", cwd=space, NO_COLOR="1")
    lines = [line for line in shown.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 30
    assert all(columns(line) <= COLUMNS for line in lines)
    assert lines[0].startswith("Note ")
    assert lines[1].startswith("  docs/a-folder-with-a-long-name/note-")
    assert "kettle" in lines[2]
    assert long in kinen("search", "--fulltext", "kettle").out


def test_no_title_carries_a_control_character_or_a_second_line() -> None:
    for about in (
        {"role": "user", "by": "a\x1b[2Jda"},
        {"toolName": "Ed\nit", "filePath": "a\x07.py"},
        {"command": "ls\n\x1b]0;x"},
    ):
        for event in ("message", "tool_call"):
            assert observation("x\x1b[31m\ny", event, **about).isprintable()
