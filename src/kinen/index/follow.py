"""Brings the git part of an index up to date, by the shortest way that gives the same index."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kinen.database import translated, writing
from kinen.errors import GitError
from kinen.index.history import SOURCE, History
from kinen.index.settle import retag, settle
from kinen.model import Report
from kinen.text import digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from kinen.index.history import Settings
    from kinen.index.writer import Writer
    from kinen.ports import Past

HEAD = ""
"""The key under which an index remembers the last commit, as its source's mark."""
_FACTS = ("tags", "hands", "hidden")


class Mark(NamedTuple):
    """How far an index has followed a history, and by which rules."""

    head: str = ""
    rules: str = ""
    tags: str = ""
    hands: str = "0"
    hidden: str = ""


def follow(writer: Writer, past: Past, settings: Settings, done: Callable[[int], None]) -> Report:
    """Take in what is new at the head, whatever happened to the history before it."""
    history, before = History(writer, settings), _mark(writer)
    if before.head and before.rules != past.rules:
        history.void()
        before = Mark()
    head = past.head()
    refs = sorted(ref for ref in settings.hidden if ref.startswith(("commit:", "file:")))
    mark = Mark(head, past.rules, settings.rules, str(len(settings.hands)), digest(str(refs)))
    if mark == before:
        return Report(unchanged=writer.count(SOURCE))
    if not head:
        history.void()
        _remember(writer, Mark(), [])
        return Report()
    if before.hidden and mark.hidden != before.hidden:
        history.hide()
    tagged = settings.hands[int(before.hands) :]
    now = all(hand.head == head for hand in tagged) and before == mark._replace(hands=before.hands)
    if not now or not retag(history, tagged):
        added = _read(history, past, before.head, done) if not now else 0
        grew = before.head and before == mark._replace(head=before.head)
        settle(history, head, before.head, lambda: past.tree(head), anew=not grew)
    else:
        added = 0
    _remember(writer, mark, past.notes)
    count, notes = writer.count(SOURCE), tuple(past.notes)
    return Report(added=added, unchanged=max(0, count - added), skipped=len(notes), notes=notes)


def _read(history: History, past: Past, old: str, done: Callable[[int], None]) -> int:
    """Read the commits that are not known yet; git may have lost the one read last."""
    head = past.head()
    fresh = history.fresh
    with history.writer.loading(bulk=fresh):
        try:
            if not old and not fresh:
                raise GitError("cut short the last time")
            return history.add(past.since(head, old), inside=past.inside, done=done)
        except GitError:
            missing = past.among(head, history.known())
            return history.add(missing, inside=past.inside, done=done)


def _mark(writer: Writer) -> Mark:
    states = writer.states(SOURCE)
    if HEAD not in states:
        return Mark()
    facts = (states[key].stamp if key in states else "" for key in _FACTS)
    return Mark(states[HEAD].stamp, states[HEAD].digest, *facts)


def _remember(writer: Writer, mark: Mark, notes: list[str]) -> None:
    rows = [(HEAD, mark.head, mark.rules, "")] if mark.head else []
    rows += [(key, getattr(mark, key), "", "") for key in _FACTS]
    rows += [(f"git {n}", "", "", note) for n, note in enumerate(notes, 1)]
    with translated(writer.path), writing(writer.db):
        writer.db.execute("DELETE FROM states WHERE source = ?", (SOURCE,))
        writer.db.executemany(f"INSERT INTO states VALUES ('{SOURCE}', ?, ?, ?, ?)", rows)
