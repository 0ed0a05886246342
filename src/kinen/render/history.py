"""Text and JSON of files, their commits, files that change together, and snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kinen.journal.queries import beginnings
from kinen.model.documents import Companion, Revision
from kinen.render.screen import PLAIN, Style, distinct, readable
from kinen.render.text import counted, size_text
from kinen.text import epoch, excerpt

if TYPE_CHECKING:
    from kinen.index.snapshots import Snapshot
    from kinen.render.screen import Screen

SHORT_SHA = 10
SUBJECT = 100
"""Characters of a commit's subject."""
LEAST_SUBJECT = 30
_STATUS = {"A": "added", "M": "changed", "T": "retyped", "D": "deleted", "R": "renamed"}


def revision_json(revision: Revision) -> dict[str, Any]:
    return {
        **revision._asdict(),
        "tags": list(revision.tags),
        "before": revision.before or None,
        "commit": revision.ref.partition(":")[2],
    }


def revisions_text(revisions: Sequence[Revision], style: Style = PLAIN) -> str:
    """A line per commit, newest first, with the tags that it added and removed.

    The revisions are given oldest first.
    """
    return "\n".join(reversed(revision_lines(revisions, style)))


def message_texts(revisions: Sequence[Revision]) -> list[str]:
    """Each commit, oldest first as given: the line of `revisions_text`, then the whole message."""
    texts = []
    for line, revision in zip(revision_lines(revisions), revisions, strict=True):
        message = readable(revision, lines=True).message
        body = message.strip().partition("\n")[2].strip("\n")
        texts.append("\n".join([line, *(f"  {row}".rstrip() for row in body.splitlines())]))
    return texts


def revision_lines(revisions: Sequence[Revision], style: Style = PLAIN) -> list[str]:
    """A line per commit, in the order of the revisions, which is oldest first."""
    lines = []
    for revision, action, tags in _changes(revisions):
        sha = style("line", revision.ref.partition(":")[2][:SHORT_SHA])
        author = style("dim", f"{revision.author}, {action}:")
        change = style("dim", f"  {tags}") if tags else ""
        lines.append(
            f"{revision.at[:10]} {sha} {author} {excerpt(revision.subject, SUBJECT)}{change}"
        )
    return lines


def revisions_table(revisions: Sequence[Revision], page: slice, screen: Screen) -> str:
    """Commits for a terminal by day, newest first; names and actions that all share are left out.

    The revisions are given oldest first, with those before the `page` that is shown.
    """
    rows = _changes(revisions)[page][::-1]
    authors = distinct(row[0].author for row in rows)

    def cells(row: tuple[Revision, str, str]) -> tuple[str, str]:
        revision, action, tags = row
        about = [revision.author if authors else "", action if action != _STATUS["M"] else ""]
        note = ", ".join(filter(None, about))
        text = " ".join(filter(None, (revision.subject, f"({note})" if note else "", tags)))
        return revision.ref.partition(":")[2][:SHORT_SHA], text

    return screen.by_day(rows, lambda row: epoch(row[0].at) / 1000, cells)


def _changes(revisions: Sequence[Revision]) -> list[tuple[Revision, str, str]]:
    """Each commit with what it did to the file, and the tags that it added and removed."""
    changes = []
    known: set[str] = set()
    for revision in map(readable, revisions):
        action = _STATUS.get(revision.status, revision.status)
        if revision.before:
            action += f" {revision.before} → {revision.path}"
        tags = [f"+{tag}" for tag in revision.tags if tag not in known]
        tags += [f"-{tag}" for tag in sorted(known - set(revision.tags))]
        known = set(revision.tags)
        changes.append((revision, action, f"[{' '.join(tags)}]" if tags else ""))
    return changes


def companions_text(companions: Sequence[Companion], style: Style = PLAIN, width: int = 0) -> str:
    """A file per line with how often, and below it the commits that count most."""
    room = min(SUBJECT, max(LEAST_SUBJECT, width - SHORT_SHA - 5)) if width else SUBJECT
    lines = []
    for companion in map(readable, companions):
        either = round(companion.support / companion.jaccard) if companion.jaccard else 0
        commits = counted(max(either, companion.support), "commits")
        phrase = f"in {companion.support:,} of the {commits} that touch either"
        lines.append(f"{style('path', companion.path)}  {style('dim', phrase)}")
        for ref, subject in companion.commits:
            sha = style("line", ref.partition(":")[2][:SHORT_SHA])
            lines.append(f"    {sha} {excerpt(subject, room)}")
    return "\n".join(lines)


def snapshot_json(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "name": snapshot.name,
        "commit": snapshot.head or None,
        "at": snapshot.at,
        "bytes": snapshot.bytes,
        "automatic": snapshot.automatic,
    }


def snapshots_table(snapshots: Sequence[Snapshot], screen: Screen) -> str:
    """Snapshots for a terminal with short names; otherwise a line each with the whole name."""
    if not screen.terminal:
        return "\n".join(snapshot_text(snapshot, screen.style) for snapshot in snapshots)
    names = beginnings(snapshot.name for snapshot in snapshots)
    return screen.rows(
        (
            names[snapshot.name],
            screen.at(snapshot.at),
            snapshot.head[:SHORT_SHA] or "no commit",
            size_text(snapshot.bytes),
            "made automatically" if snapshot.automatic else "made by hand",
        )
        for snapshot in snapshots
    )


def snapshot_text(snapshot: Snapshot, style: Style = PLAIN) -> str:
    snapshot = readable(snapshot)
    origin = "made automatically" if snapshot.automatic else "made by hand"
    head = snapshot.head[:SHORT_SHA] or "no commit"
    size = size_text(snapshot.bytes)
    return f"{style('path', snapshot.name)}  at {head}, {origin}, {size}"
