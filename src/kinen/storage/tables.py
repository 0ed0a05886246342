"""JSON tables in kinen's home, such as `spaces.json`: read, checked and changed under a lock."""

from __future__ import annotations

import os
import time

from kinen.errors import StoreError, Untrusted
from kinen.model.late import json
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")
    Table = dict[str, Any]

VERSION = 1
DAMAGED = ".damaged-"
"""What follows the name of a damaged table that was replaced; then comes the time."""
REPORTED = ".reported"
HINT = "try again, or check KINEN_HOME"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def table_file(home: str, name: str) -> str:
    return os.path.join(home, f"{name}.json")


def read(
    home: str,
    name: str,
    valid: Callable[[Any], bool] = _is_text,
    rebuild: Callable[[], Table] = dict,
) -> Table:
    """The table of that name, empty if there is none yet.

    `valid` checks one entry. A table that is damaged or gone is replaced by what `rebuild` returns,
    and a damaged one is kept beside it: see `set_aside`. One of a newer kinen raises StoreError.
    """
    table, exists = _load(table_file(home, name), name, valid)
    if table is not None:
        return table
    table = rebuild()
    if not exists and not table:
        return table
    try:
        return update(home, name, lambda repaired: repaired, valid, rebuild)
    except StoreError:
        if not table:
            raise
        return table  # the home cannot be written now: commands that read work all the same


def _load(path: str, name: str, valid: Callable[[Any], bool]) -> tuple[Table | None, bool]:
    """A table, None if it is damaged or missing, and whether there is something in its place."""
    try:
        data = private.read(path)
    except FileNotFoundError:
        return None, False
    except Untrusted:
        raise
    except (IsADirectoryError, PermissionError):
        return None, True
    except OSError as error:  # too many open files, say: the table may be sound
        raise StoreError(f"cannot read {path}: {error.strerror}", HINT) from None
    try:
        loaded = json.loads(data)
        newer = loaded["version"] > VERSION
        table: Table = loaded[name]
        sound = newer or all(valid(entry) for entry in table.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, True
    if newer:
        raise StoreError(f"{path} was written by a newer kinen", "update kinen")
    return (table if sound else None), True


def update(
    home: str,
    name: str,
    change: Callable[[Table], T],
    valid: Callable[[Any], bool] = _is_text,
    rebuild: Callable[[], Table] = dict,
) -> T:
    """Read, change and write a table while other writers wait; returns what `change` does.

    The lock is a SQLite transaction, so that a crash frees it. A damaged table is renamed first; a
    process that is killed before it wrote the new one leaves none, which is rebuilt as well.
    """
    import sqlite3

    path = table_file(home, name)
    try:
        private.folder(home)
        file = private.database(os.path.join(home, "registry.lock"))
        lock = sqlite3.connect(file, timeout=10)
        try:
            lock.isolation_level = None
            lock.execute("BEGIN EXCLUSIVE")
            table, exists = _load(path, name, valid)
            if table is None:
                if exists:
                    stem = f"{path}{DAMAGED}{time.strftime('%Y%m%d-%H%M%S')}"
                    names = (f"{stem}-{number}" if number else stem for number in range(1_000_000))
                    os.rename(path, next(name for name in names if not os.path.lexists(name)))
                table = rebuild()
            result = change(table)
            private.write(path, json.dumps({"version": VERSION, name: table}, indent=1) + "\n")
            return result
        finally:
            lock.close()
    except Untrusted:
        raise
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}", "check KINEN_HOME") from None
    except sqlite3.Error as error:
        raise StoreError(f"cannot lock {home}: {error}", HINT) from None


def set_aside(home: str, *, new: bool = False) -> list[str]:
    """The damaged tables that were replaced; with `new` those that no command has reported yet.

    What is returned as new is marked as reported.
    """
    try:
        names = sorted(name for name in os.listdir(home) if f".json{DAMAGED}" in name)
    except OSError:
        return []
    paths = [os.path.join(home, name) for name in names]
    if not new:
        return paths
    unseen = [path for path in paths if not path.endswith(REPORTED)]
    for path in unseen:
        try:
            os.rename(path, path + REPORTED)
        except OSError:
            continue  # it is reported once more
    return [path + REPORTED for path in unseen]
