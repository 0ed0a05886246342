"""Files, histories and companions as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinen.characters import visible_line
from kinen.render.style import PLAIN, Style, readable
from kinen.text import excerpt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.index.snapshots import Snapshot
    from kinen.model.records import Companion, Record, Revision

SHA = 10
_DID = {"A": "added", "M": "changed", "T": "retyped", "D": "deleted", "R": "renamed"}


def file_json(record: Record) -> dict[str, Any]:
    about = record.metadata or {}
    return {
        "ref": record.ref,
        "path": record.path,
        "tags": list(record.tags),
        "last_modified": record.at or None,
        "alive": about.get("alive", True),
        "commits": about.get("commits", 0),
    }


def files_text(records: Sequence[Record], style: Style = PLAIN) -> str:
    """One path per line, with its tags."""
    lines = []
    for record in records:
        gone = "" if (record.metadata or {}).get("alive", True) else style("warn", "  (deleted)")
        tags = style("dim", visible_line("  " + ", ".join(record.tags))) if record.tags else ""
        lines.append(f"{style('path', visible_line(record.path))}{gone}{tags}")
    return "\n".join(lines)


def revision_json(one: Revision) -> dict[str, Any]:
    shown = dict(one._asdict())
    shown["tags"] = list(one.tags)
    shown["before"] = one.before or None
    return {**shown, "commit": one.ref.partition(":")[2]}


def revisions_text(revisions: Sequence[Revision], style: Style = PLAIN) -> str:
    """One line per commit, oldest first; tags where they change."""
    lines, before = [], set[str]()
    for one in map(readable, revisions):
        what = _DID.get(one.status, one.status)
        if one.before:
            what += f" {one.before} → {one.path}"
        said = [f"+{tag}" for tag in one.tags if tag not in before]
        said += [f"-{tag}" for tag in sorted(before - set(one.tags))]
        before = set(one.tags)
        tags = style("dim", f"  [{' '.join(said)}]") if said else ""
        sha = style("line", one.ref.partition(":")[2][:SHA])
        who = style("dim", f"{one.author}, {what}:")
        lines.append(f"{one.at[:10]} {sha} {who} {excerpt(one.subject, 100)}{tags}")
    return "\n".join(lines)


def companion_json(one: Companion) -> dict[str, Any]:
    return {
        "ref": f"file:{one.path}",
        "path": one.path,
        "count": one.support,
        "jaccard": round(one.jaccard, 6),
        "weight": round(one.weight, 6),
        "score": round(one.score, 6),
        "commits": [{"ref": ref, "subject": subject} for ref, subject in one.commits],
    }


def companions_text(found: Sequence[Companion], style: Style = PLAIN) -> str:
    """A file and why it is there: how often, how exclusively, and the commits that say so."""
    lines = []
    for one in map(readable, found):
        times = "once" if one.support == 1 else f"{one.support} times"
        share = f"{one.jaccard:.0%} of the commits that touch either"
        figures = f"{times}, {share}, weight {one.weight:.2f}, score {one.score:.3f}"
        lines.append(f"{style('path', one.path)}  {style('dim', figures)}")
        for ref, subject in one.commits:
            sha = style("line", ref.partition(":")[2][:SHA])
            lines.append(f"    {sha} {excerpt(subject, 90)}")
    return "\n".join(lines)


def snapshot_json(one: Snapshot) -> dict[str, Any]:
    return {
        "name": one.name,
        "commit": one.head or None,
        "at": one.at,
        "bytes": one.bytes,
        "automatic": one.automatic,
    }


def snapshot_text(one: Snapshot, style: Style = PLAIN) -> str:
    one = readable(one)
    made = "by itself" if one.automatic else "by hand"
    head = one.head[:SHA] or "no commit"
    size = f"{one.bytes / 1e6:,.1f} MB"
    return f"{style('path', one.name)}  at {head}, made {made}, {size}"
