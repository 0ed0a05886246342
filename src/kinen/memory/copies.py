"""Copies of a team's spaces: each is a memory with a journal and an index of its own.

Search and every other question then work as in a local space, and no word, count or score of
another space shows in it. A copy holds nothing that the team has not, until something is written to
it and published. It searches by words: making vectors of a whole space would take longer than the
answer is worth.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from kinen.memory.memory import Memory
from kinen.storage import private

if TYPE_CHECKING:
    from kinen.ports import Team

SETTINGS = {"index.embedding_provider": "none", "team.share": "none", "daemon.auto_start": False}
WRITABLE = {**SETTINGS, "team.share": "all"}
"""Settings of a copy that is written to: whoever names the database means to share with it."""


def open_copy(folder: str, name: str) -> Memory:
    """The memory of a copy below a folder, empty at first. Close it, then remove the folder."""
    root = root_of(folder)
    private.folder(os.path.join(private.folder(root), ".kinen"))
    settings = json.dumps({"space": {"id": os.path.basename(folder), "name": name}})
    private.write(os.path.join(root, ".kinen", "config.yml"), settings)
    return Memory.open(root, home=home_of(folder), settings=SETTINGS)


def root_of(folder: str) -> str:
    return os.path.join(folder, "space")


def home_of(folder: str) -> str:
    """Where the journal and the index of a copy are."""
    return os.path.join(folder, "home")


def follow(memory: Memory, team: Team) -> None:
    """Take over what the team got since the last time, and index it."""
    memory.team.follow(team)
    memory.sync()


def publish(folder: str, team: Team) -> int:
    """Send what was written to a copy; how many entries of colleagues could not be forgotten."""
    with Memory.open(root_of(folder), home=home_of(folder), settings=WRITABLE) as memory:
        return memory.team.exchange(team).kept
