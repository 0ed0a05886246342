"""Sessions are counted by SQLite as they are counted when they are read whole."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING

import pytest

from kinen.journal import queries
from kinen.journal.tally import tallies
from kinen.journal.timeline import counts
from kinen.memory import Memory

if TYPE_CHECKING:
    from pathlib import Path

KINDS = ("message", "command", "tool_call", "file_diff", "error", "node_error", "decision")
CONTENTS = (
    "",
    "  ",
    "fix it",
    "<system-reminder>x</system-reminder>",
    "<command-name>/fix</command-name><command-args>it</command-args>",
    "$ pytest -q\n2 failed",
    "$ pytest -q | tail\n12 passed",
    "$ grep -n x y",
    "$ \n",
    "$ make\nError: no rule",
    "Tool: Edit\nFile: a.py\n-a\n+b",
    "Tool: Edit\n",
    "File: a.py\n@@ -1 +1 @@",
    "\nTraceback: ValueError: no",
)
PROVENANCES: tuple[object, ...] = (
    {},
    [],
    {"role": "assistant"},
    {"role": "user"},
    {"role": 3},
    {"command": "pytest -q", "exitCode": 0},
    {"command": "pytest -q", "exitCode": "0"},
    {"command": "grep x y", "exitCode": 1},
    {"command": "make", "exitCode": "2"},
    {"command": " ", "exitCode": None},
    {"command": 7},
    {"command": "make", "exitCode": True},
    {"hasError": True},
    {"hasError": "true", "toolName": "Read"},
    {"hasError": True, "toolName": "Read", "filePath": "a.py"},
    {"filePath": "a.py"},
    {"filePath": ""},
)
FILES = ([], ["a.py"], [""], [" a"], ["", "b.py"])


@pytest.mark.slow
def test_counts_of_sqlite_are_those_of_reading(space: Path) -> None:
    rows = []
    for number, case in enumerate(product(KINDS, CONTENTS, PROVENANCES, FILES, (0, 1))):
        kind, content, provenance, files, redacted = case
        cells = (json.dumps(provenance), json.dumps(files), redacted)
        rows.append((f"o{number}", f"c{number % 900}", kind, content, number, *cells))
    with Memory.open(space) as memory:
        memory.observe("x")
        db = memory.core.store.db
        db.executemany(
            "INSERT INTO observations(id, capsule, kind, content, ts, provenance, files, redacted)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        ids = sorted({row[1] for row in rows})
        sums = tallies(db, [*ids, "nothing"])
        assert sums.pop("nothing").last == 0
        for capsule, tally in sums.items():
            events = list(queries.stream(db, capsule))
            expected = {"last": max(event.ts for event in events), **counts(events)}
            assert tally._asdict() == expected, capsule
