"""Installs the slash commands of the plugin as files of an agent's settings.

What was written, and which folders were made for it, is recorded in kinen's home. Removing the
commands deletes that; a file that somebody else wrote or changed is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from kinen.errors import KinenError
from kinen.hooks.entries import command_files, locations
from kinen.hooks.install import AGENTS, Done, backup_path
from kinen.model.tuples import NamedTuple
from kinen.storage import inside, private
from kinen.text import digest

LARGEST = 1 << 20
"""Bytes of a file of commands."""


class Folder(NamedTuple):
    """Where the commands of a scope go: a folder below a root that no path may lead out of."""

    root: str
    below: str

    @property
    def path(self) -> str:
        return os.path.join(self.root, self.below)

    def read(self, name: str) -> str:
        """The text of a file, empty if there is none."""
        try:
            return inside.read(self.root, f"{self.below}/{name}", LARGEST).decode(errors="replace")
        except FileNotFoundError:
            return ""

    def missing(self) -> list[str]:
        """The folders that have to be made, outermost first."""
        parts = self.below.split("/")
        inner = [os.path.join(self.root, *parts[:n]) for n in range(1, len(parts) + 1)]
        return [path for path in (self.root, *inner) if not os.path.lexists(path)]


class Record(NamedTuple):
    """What an install wrote: digests of the files by name, and the folders made for them."""

    files: dict[str, str]
    folders: list[str]


def install(name: str, scope: str, here: str, *, dry_run: bool = False) -> list[Done]:
    """Write each command; none if the scope has no folder for commands."""
    folder = _folder(name, scope, here)
    if folder is None:
        return []
    record = _recorded(folder)
    plans = [
        _plan(folder, file, text, record) for file, text in command_files(AGENTS[name]).items()
    ]
    if not dry_run and any(plan.before != plan.after for plan in plans):
        missing = folder.missing()
        files = {
            os.path.basename(plan.path): digest(plan.after)
            for plan in plans
            if plan.before != plan.after
        }
        new = Record({**record.files, **files}, [*record.folders, *missing])
        try:
            private.write(_record_file(folder), json.dumps(new._asdict()))
            os.makedirs(folder.root, exist_ok=True)
            for plan in plans:
                if plan.before != plan.after:
                    path = f"{folder.below}/{os.path.basename(plan.path)}"
                    inside.replace(folder.root, path, plan.after.encode())
        except OSError as error:
            raise _unwritable(folder, error) from None
    return plans


def uninstall(name: str, scope: str, here: str, *, dry_run: bool = False) -> list[Done]:
    """Delete the commands that an install wrote, and the folders that it made."""
    folder = _folder(name, scope, here)
    if folder is None:
        return []
    record = _recorded(folder)
    packaged = command_files(AGENTS[name])
    plans = []
    for file in sorted({*record.files, *packaged}):
        before = folder.read(file)
        same = before == packaged.get(file) or record.files.get(file) == digest(before)
        ours = bool(before) and same
        done = "removed" if ours else "kept" if before else "not installed"
        after = "" if ours else before
        plans.append(Done(os.path.join(folder.path, file), done, before, after, root=folder.root))
    if not dry_run:
        try:
            for plan in plans:
                if plan.done == "removed":
                    inside.remove(folder.root, f"{folder.below}/{os.path.basename(plan.path)}")
        except OSError as error:
            raise _unwritable(folder, error) from None
        for path in reversed(record.folders):
            with contextlib.suppress(OSError):  # somebody else keeps files in it
                os.rmdir(path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_record_file(folder))
    return plans


def _folder(name: str, scope: str, here: str) -> Folder | None:
    agent = AGENTS[name]
    if scope not in agent.commands:
        return None
    root, below = agent.commands[scope]
    names = locations(agent, here)
    return Folder(os.path.normpath(root.format(**names)), below.format(**names))


def _plan(folder: Folder, file: str, text: str, record: Record) -> Done:
    before = folder.read(file)
    if before == text:
        done = "unchanged"
    elif not before:
        done = "installed"
    elif record.files.get(file) == digest(before):
        done = "updated"
    else:
        done = "kept"
        text = before
    return Done(os.path.join(folder.path, file), done, before, text, root=folder.root)


def _recorded(folder: Folder) -> Record:
    try:
        record: Any = json.loads(private.read(_record_file(folder)))
        return Record(dict(record["files"]), list(record["folders"]))
    except (OSError, ValueError, TypeError, KeyError):
        return Record({}, [])


def _record_file(folder: Folder) -> str:
    return backup_path(folder.path) + ".json"


def _unwritable(folder: Folder, error: OSError) -> KinenError:
    return KinenError(f"cannot write {folder.path}: {error.strerror}", "check who may write there")
