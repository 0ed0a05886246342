"""Which page an address shows, and what a form does."""

from __future__ import annotations

import os
from collections.abc import Callable

from kinen.cli import editor
from kinen.errors import NotFound
from kinen.memory import Memory
from kinen.model.tuples import NamedTuple
from kinen.space import registry
from kinen.storage import inside
from kinen.verbs.records import resolve
from kinen.web import files, graph, health, memories, records, search, sent, sessions, today
from kinen.web.page import Page, Visit

VIEWS: dict[str, Callable[[Memory, Visit], Page]] = {
    "search": search.page,
    "record": records.page,
    "today": today.page,
    "week": today.week_page,
    "errors": today.errors_page,
    "sessions": sessions.list_page,
    "session": sessions.page,
    "erase": sessions.erase_page,
    "knowledge": memories.page,
    "compare": memories.compare_page,
    "code": files.list_page,
    "file": files.page,
    "why": files.why_page,
    "graph": graph.page,
    "told": sent.page,
    "sent": sent.sent_page,
    "injection": sent.injection_page,
    "health": health.page,
}
"""Pages of one space by the last part of their address."""
SHARED = ("search", "record", "today", "sessions", "session", "knowledge")
"""Pages of a team's server; the others are about files and programs of one machine."""
VIEWS_OF_ALL: dict[str, Callable[[Visit], Page]] = {
    "search": search.page_of_all,
    "today": today.page_of_all,
    "sessions": sessions.page_of_all,
    "knowledge": memories.page_of_all,
}
"""Pages that show all spaces at once."""
DATA: dict[str, Callable[[Memory, Visit], Callable[[], bytes]]] = {
    "graph": graph.data,
    "labels": graph.labels,
    "health": health.progress,
    "session": sessions.share,
}
"""What scripts draw, and what is shared: read from a memory, then made without it."""


class Change(NamedTuple):
    """What a form did, and the page to show next."""

    place: str
    event: str = ""
    """The kind of event that listeners get; empty for none."""
    ref: str = ""


def pin(memory: Memory, visit: Visit) -> Change:
    """Have every recall begin with a record."""
    name, _, _ = resolve(memory, visit.fields.get("ref"))
    pinned = memory.journal.pin(name, visit.fields.get("note"))
    return Change(visit.url(ref=pinned.target), "pin", pinned.ref)


def unpin(memory: Memory, visit: Visit) -> Change:
    name, _, _ = resolve(memory, visit.fields.get("ref"))
    memory.journal.unpin(name)
    return Change(visit.url(ref=name), "pin", name)


def _done(visit: Visit, done: str, ref: str, undo: str = "", other: str = "") -> Change:
    place = visit.url(done=done, ref=ref, undo=undo, other=other)
    return Change(place, "memory", ref)


def hide_memory(memory: Memory, visit: Visit) -> Change:
    hidden = memory.consolidation.hide(visit.fields.get("ref"))
    return _done(visit, "hidden", hidden.ref, "restore")


def restore_memory(memory: Memory, visit: Visit) -> Change:
    shown = memory.consolidation.restore(visit.fields.get("ref"))
    return _done(visit, "restored", shown.ref, "hide")


def pin_memory(memory: Memory, visit: Visit) -> Change:
    target = memory.consolidation.get(visit.fields.get("ref")).ref
    memory.journal.pin(target)
    return _done(visit, "pinned", target, "unpin")


def unpin_memory(memory: Memory, visit: Visit) -> Change:
    target = memory.consolidation.get(visit.fields.get("ref")).ref
    memory.journal.unpin(target)
    return _done(visit, "unpinned", target)


def edit_memory(memory: Memory, visit: Visit) -> Change:
    old = memory.consolidation.get(visit.fields.get("ref"))
    new = memory.consolidation.edit(old.ref, visit.fields.get("content"))
    return _done(visit, "edited", new.ref, "unedit", old.ref)


def unedit_memory(memory: Memory, visit: Visit) -> Change:
    """Hide the new wording and show the former one."""
    old = memory.consolidation.restore(visit.fields.get("other"))
    return _done(visit, "restored", old.ref)


def merge_memory(memory: Memory, visit: Visit) -> Change:
    merged = memory.consolidation.get(visit.fields.get("ref"))
    other = visit.fields.get("other")
    memory.consolidation.merge(merged.ref, other)
    return _done(visit, "merged", merged.ref, "restore" if other else "")


def supersede_memory(memory: Memory, visit: Visit) -> Change:
    """Mark a memory as replaced by another; without one it holds again."""
    other = visit.fields.get("other")
    old = memory.consolidation.supersede(visit.fields.get("ref"), other)
    done, undo = ("superseded", "unsupersede") if other else ("restored", "")
    return _done(visit, done, old.ref, undo)


def erase(memory: Memory, visit: Visit) -> Change:
    """Erase an entry and what was made of it; a file or commit is hidden."""
    erased = memory.journal.forget(visit.fields.get("ref"))
    if erased.suppressed:
        return Change(visit.url("health", done="hidden", ref=erased.refs[0]), "forgotten")
    done = "erased_later" if erased.waiting else "erased"
    return Change(visit.url("sessions", done=done), "forgotten", erased.refs[0])


def unhide(memory: Memory, visit: Visit) -> Change:
    """Show a file or commit again."""
    ref = memory.journal.restore(visit.fields.get("ref"))
    return Change(visit.url("record", ref=ref), "synced", ref)


def open_record(memory: Memory, visit: Visit) -> Change:
    """Open the file of a record in the user's editor, on the machine of the daemon."""
    record = memory.records.get(resolve(memory, visit.fields.get("ref"))[0])
    if not record.path or not inside.is_file(memory.space.root, record.path):
        raise NotFound(f"{record.ref} has no file")
    editor.launch(os.path.join(memory.space.root, record.path))
    return Change(visit.url(ref=record.ref))


def consolidate(memory: Memory, visit: Visit) -> Change:
    """Draw memories from everything since the last time."""
    memory.consolidation.consolidate()
    return Change(visit.url(), "memory")


def rebuild(memory: Memory, visit: Visit) -> Change:
    """Build the index again from files, git and the journal."""
    memory.sync(rebuild=True, embed=False)
    return Change(visit.url(done="rebuilt"), "synced")


def collect(memory: Memory, visit: Visit) -> Change:
    """Take in observations that wait in the spool."""
    memory.journal.entries("observations", limit=1)
    return Change(visit.url(done="collected"), "observation")


def sync(memory: Memory, visit: Visit) -> Change:
    """Bring the full-text index up to date; vectors follow in the background."""
    memory.sync(embed=False)
    return Change(visit.url(done="synced"), "synced")


def remove_space(memory: Memory, visit: Visit) -> Change:
    """Remove a space whose folder is gone from the list of spaces; its data stays."""
    name = visit.fields.get("name")
    home = memory.space.home
    if name not in [space.name for space in registry.registered(home) if space.missing]:
        raise NotFound(f"no space {name!r} without a folder")
    registry.unregister(home, name)
    return Change(visit.url(done="removed"))


ACTIONS: dict[str, Callable[[Memory, Visit], Change]] = {
    "record/pin": pin,
    "record/unpin": unpin,
    "record/open": open_record,
    "erase/forget": erase,
    "erase/restore": unhide,
    "told/pin": pin,
    "told/unpin": unpin,
    "told/drop": hide_memory,
    "knowledge/hide": hide_memory,
    "knowledge/restore": restore_memory,
    "knowledge/pin": pin_memory,
    "knowledge/unpin": unpin_memory,
    "knowledge/edit": edit_memory,
    "knowledge/unedit": unedit_memory,
    "knowledge/merge": merge_memory,
    "knowledge/supersede": supersede_memory,
    "knowledge/unsupersede": supersede_memory,
    "knowledge/consolidate": consolidate,
    "health/sync": sync,
    "health/rebuild": rebuild,
    "health/collect": collect,
    "health/remove": remove_space,
}
"""What forms do, by page and name."""
SLOW = ("erase/forget", "erase/restore", "knowledge/consolidate", "health/sync", "health/rebuild")
"""Actions that may take long: they run apart from other requests, in the background if need be."""
RESTART = "health/restart"
"""The action that restarts the daemon, if it can."""
