"""JSON tables in kinen's home, such as `spaces.json`: read, checked and changed under a lock."""

from __future__ import annotations

import json
import os

from kinen.errors import StoreError, Untrusted
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")
    Table = dict[str, Any]

VERSION = 1


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def table_file(home: str, name: str) -> str:
    return os.path.join(home, f"{name}.json")


def read(home: str, name: str, valid: Callable[[Any], bool] = _is_text) -> Table:
    """The table of that name, empty if there is none yet.

    `valid` checks one entry. A damaged table raises StoreError and is copied first, since the
    hint may have the user delete it.
    """
    path = table_file(home, name)
    try:
        data = private.read(path)
    except FileNotFoundError:
        return {}
    except Untrusted:
        raise
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", "check its permissions") from None
    try:
        loaded = json.loads(data)
        newer = loaded["version"] > VERSION
        table: Table = loaded[name]
        sound = newer or all(valid(entry) for entry in table.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        newer = sound = False
    if newer:
        raise StoreError(f"{path} was written by a newer kinen", "update kinen")
    if not sound:
        raise _damaged(home, path, data)
    return table


def _damaged(home: str, path: str, data: bytes) -> StoreError:
    copy = f"{path}.damaged-{int(os.stat(path).st_mtime)}"
    try:
        if not os.path.exists(copy):
            private.write(copy, data)
    except OSError:
        copy = path
    return StoreError(
        f"{path} is damaged (a copy is in {copy})",
        "repair it, or delete it and run `kinen init` again in each project; "
        f"the memories in {os.path.join(home, 'spaces')} are not affected",
    )


def update(
    home: str, name: str, change: Callable[[Table], T], valid: Callable[[Any], bool] = _is_text
) -> T:
    """Read, change and write a table while other writers wait; returns what `change` does.

    The lock is a SQLite transaction, so that a crash frees it.
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
            table = read(home, name, valid)
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
        raise StoreError(f"cannot lock {home}: {error}", "try again, or check KINEN_HOME") from None
