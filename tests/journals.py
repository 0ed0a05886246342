"""Journals as bare databases, closed at the end of each test that uses `closed_journals`."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kinen.journal
from kinen.storage.database import statements

if TYPE_CHECKING:
    from collections.abc import Iterator

MIGRATIONS = sorted((Path(kinen.journal.__file__).parent / "migrations").glob("*.sql"))
OPEN: list[sqlite3.Connection] = []


@pytest.fixture
def closed_journals() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


def connected(path: str) -> sqlite3.Connection:
    OPEN.append(sqlite3.connect(path, isolation_level=None))
    return OPEN[-1]


def journal(path: str = ":memory:") -> sqlite3.Connection:
    """A new journal of the present version."""
    db = connected(path)
    for script in MIGRATIONS:
        for statement in statements(script.read_text()):
            db.execute(statement)
    return db
