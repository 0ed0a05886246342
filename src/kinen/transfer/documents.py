"""Checkpoints and plans in a bundle: the text of their files, and their fields for the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import Any

from kinen.errors import Conflict, StoreError, Unreadable, UnsafeFile
from kinen.extract.decode import decode
from kinen.model.journal import Checkpoint, Plan
from kinen.privacy.entrance import masked
from kinen.storage import inside
from kinen.text import spelled
from kinen.transfer.intake import FIX, UNCHANGED
from kinen.transfer.sections import encode
from kinen.worklog.checkpoints import read_checkpoint, read_plan
from kinen.worklog.folder import Memories
from kinen.worklog.plans import LARGEST, Folder

PATHS = {
    "checkpoint": re.compile(r"\.memories/\d{4}-\d{2}-\d{2}/[^/\\\x00-\x1f]{1,200}\.(?:md|json)"),
    "plan": re.compile(r"\.memories/(?:plans|briefs)/[^/\\\x00-\x1f]{1,200}\.md"),
}
"""Where the files of documents may be."""
MOST_BYTES = 256 << 20
"""Bytes of all documents of an import: they are written after the journal was."""


def documents(
    memories: Memories, since: str, until: str, hidden: Collection[str]
) -> Iterator[tuple[str, str, str]]:
    """The noun, ref and JSON of checkpoints and plans of a time, without those that are hidden."""
    for checkpoint in memories.checkpoints(since, until):
        yield from _document(memories, "checkpoint", checkpoint, hidden)
    for plan in memories.plans():
        at = plan.updated or plan.created
        if at >= since and (not until or at <= until):
            yield from _document(memories, "plan", plan, hidden)


def _document(
    memories: Memories, noun: str, entry: Checkpoint | Plan, hidden: Collection[str]
) -> Iterator[tuple[str, str, str]]:
    if entry.path in hidden or not PATHS[noun].fullmatch(entry.path):
        return
    try:
        source = masked(decode(inside.read(memories.root, entry.path, LARGEST)))[0]
        clean = _parse(noun, source, entry.path)
    except (OSError, Unreadable, UnsafeFile):  # removed since, or not readable once it is masked
        return
    fields = {name: value for name, value in clean._asdict().items() if value and name != "text"}
    if entry.path.endswith(".json"):
        fields["text"] = clean.text
    if getattr(entry, "current", False):
        fields["current"] = True
    yield noun, entry.ref, encode({**fields, "path": entry.path, "source": source})


def _parse(noun: str, source: str, path: str) -> Checkpoint | Plan:
    data = source.encode("utf-8", "replace")
    return read_checkpoint(data, path) if noun == "checkpoint" else read_plan(data, path)


class DocumentIntake:
    """Checkpoints and plans of one import; nothing is written before `store`.

    A file that is there already stays as it is.
    """

    def __init__(self, memories: Memories, name: str, *, refuse: bool) -> None:
        self._memories = memories
        self._name = name
        self._refuse = refuse
        self._folder = Folder(memories.root)
        self._waiting: list[tuple[Checkpoint | Plan, str]] = []
        self._bytes = 0
        self.added: dict[str, int] = {}
        self.skipped: dict[str, int] = {}

    @cached_property
    def _ids(self) -> set[str]:
        """The checkpoints that are there, and those that were taken."""
        return {checkpoint.id for checkpoint in self._memories.checkpoints()}

    def takers(self) -> dict[str, Callable[[Any], object]]:
        """What takes the members of a bundle, by noun. Links follow from the texts."""
        return {
            "checkpoint": lambda item: self._take("checkpoint", item),
            "plan": lambda item: self._take("plan", item),
            "link": lambda _: None,
        }

    def _take(self, noun: str, item: Any) -> None:
        path = item.get("path") if type(item) is dict else None
        source = item.get("source") if type(item) is dict else None
        if type(path) is not str or type(source) is not str or not PATHS[noun].fullmatch(path):
            raise StoreError(f"{self._name}: a {noun} without a path and a text", FIX)
        source = masked(source)[0]
        self._bytes += len(source.encode())
        if len(source) > LARGEST or self._bytes > MOST_BYTES:
            raise StoreError(f"{self._name}: {spelled(path)} is too large", FIX)
        try:
            entry = _parse(noun, source, path)
        except Unreadable as error:
            raise StoreError(f"{self._name}: {spelled(path)}: {error.message}", FIX) from error
        if noun == "checkpoint":
            is_new = entry.id not in self._ids
        else:
            is_new = not inside.is_file(self._memories.root, path)
        if self._refuse and not is_new:
            hint = f"{UNCHANGED}; use skip or overwrite"
            raise Conflict(f"{self._name}: {spelled(path)} exists", hint, parameter="on_conflict")
        tally = self.added if is_new else self.skipped
        tally[f"{noun}s"] = tally.get(f"{noun}s", 0) + 1
        if is_new:
            self._folder.check_writable()
            if noun == "checkpoint":
                self._ids.add(entry.id)
            self._waiting.append((entry._replace(path=path), source))

    def store(self) -> bool:
        """Write the files that are missing; whether there were any."""
        for entry, source in self._waiting:
            created = self._folder.create(entry.path, source)
            if not created and isinstance(entry, Checkpoint):  # another one has its name
                self._memories.add(entry)
        return bool(self._waiting)
