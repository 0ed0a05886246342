"""Journals that live in PostgreSQL between two commands: `pytest --engine postgres tests/cli`.

After each command what it wrote is sent to the database, the journal's file is removed, and the
next command finds what the database gives back. Notes, git and the index stay where they are.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING

from kinen.errors import KinenError
from kinen.memory import Memory
from kinen.space.registry import registered
from kinen.storage.database import remove_database

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_FILE = "marks on files stay on the machine that has the files"
LOCAL = {
    "test_a_file_can_be_pinned": _FILE,
    "test_a_file_is_hidden_and_shown_again_but_not_emptied": _FILE,
    "test_a_hidden_checkpoint_is_not_listed": _FILE,
    "test_pins_are_no_hits": _FILE,
    "test_what_was_hidden_or_looks_like_a_secret_is_not_told": _FILE,
    "test_a_memory_is_edited_merged_superseded_and_each_is_undone": "a machine undoes its own",
    "test_status_tells_how_much_is_new_and_a_threshold_begins_an_epoch": "each counts its epochs",
}
"""Tests of what a database does not have by design, and why."""


class Shelf:
    """The journals of one test."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._prefix = secrets.token_hex(6)
        self._states: dict[str, tuple[tuple[int, int], ...]] = {}

    def around(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A runner of commands whose journals are in the database after each."""

        def wrapped(*words: str, **options: Any) -> Any:
            done = run(*words, **options)
            for home in {options.get("KINEN_HOME", ""), os.environ["KINEN_HOME"]} - {""}:
                self._exchange(home)
            return done

        return wrapped

    def _exchange(self, home: str) -> None:
        for space in registered(home):
            path = os.path.join(space.data, "journal.db")
            state = _state(path)
            if space.missing or not state or self._states.get(path) == state:
                continue
            # a test may damage the journal on purpose
            with contextlib.suppress(KinenError):
                self._sync(space.root, home, space.id)
                remove_database(path)
                self._sync(space.root, home, space.id)
            self._states[path] = _state(path)

    def _sync(self, root: str, home: str, space: str) -> None:
        settings = {
            "team.url": self._url,
            "team.share": "all",
            "team.name": "tester",
            "team.space": f"{self._prefix}-{space}",
        }
        with Memory.open(root, home=home, settings=settings) as memory:
            memory.team.sync()


def _state(path: str) -> tuple[tuple[int, int], ...]:
    """The sizes and times of a journal's files; empty without any."""
    files = [file for file in (path, f"{path}-wal") if os.path.exists(file)]
    return tuple((os.stat(file).st_mtime_ns, os.stat(file).st_size) for file in files)
