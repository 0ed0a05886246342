"""The pages Files and File: where a file comes from, who changed it and why, what goes with it."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from kinen.errors import GitError, NotFound, QueryError
from kinen.journal.queries import FileEdits
from kinen.journal.summary import on_one_line, parse_summary
from kinen.memory import Memory
from kinen.model.documents import Companion, Revision
from kinen.model.journal import Item, Recall
from kinen.model.records import Record
from kinen.model.tuples import NamedTuple
from kinen.render.heat import EPOCH, Counts, Heat, Period, add, heat_map
from kinen.render.html import cut
from kinen.render.treemap import treemap
from kinen.sources.git.messages import readable_message
from kinen.text import excerpt, now
from kinen.verbs.why import known, reason
from kinen.web.page import Page, Visit

MOST = 100
EDITED = 12
"""Files that agents edited which are listed."""
YEAR = 365
"""The most days of the heat map."""
TILES = 40
LINES = 2_000
"""Lines of a file that are shown with where they come from."""
TAGS = 40
SECOND = 19
"""Characters of a time up to its seconds: git has no more."""
PATCH = 20_000
"""Characters of a change that are shown."""
REASON = 2_000
"""Characters of a commit message below its subject."""
BUDGET = 4_000
"""Tokens of what belongs to a file."""


def list_page(memory: Memory, visit: Visit) -> Page:
    """What agents edited, and the files of the repository as a tree or by tag."""
    tag = visit.fields.get("tag")
    folder = visit.fields.get("folder").strip("/")
    offset = visit.fields.number("offset", 0, 1 << 30)
    edited = memory.journal.edited_files(0, round(1000 * now()))
    files: list[Record] = []
    problem = ""
    tags: list[tuple[str, int]] = []
    try:
        files = memory.git.files(tags=[tag] if tag else [])[0]
        tags = memory.git.tags()[:TAGS]
    except GitError as error:
        problem = error.message
    rows = level(files, "" if tag else folder, edited, flat=bool(tag))
    first = not (tag or folder or offset)
    parts = folder.split("/") if folder else []
    values = {
        "problem": problem,
        "tag": tag,
        "tags": tags,
        "folder": folder,
        "path": [(part, "/".join(parts[: n + 1])) for n, part in enumerate(parts)],
        "rows": rows[offset : offset + MOST],
        "total": len(files),
        "following": visit.here(offset=offset + MOST) if offset + MOST < len(rows) else "",
        "edited": edited if first else [],
        "most": EDITED,
        "tiles": treemap(edited[:TILES]) if first else (),
        "heat": _heat(visit, edited) if first and edited else None,
    }
    return Page("Code", "files.html", values)


class Row(NamedTuple):
    """A folder or file of the tree."""

    name: str
    path: str
    files: int
    """How many files a folder has; 0 for a file."""
    edits: int
    at: str
    """When a file was last committed, or the last file of a folder."""


def level(
    files: Sequence[Record], folder: str, edited: Sequence[FileEdits], *, flat: bool = False
) -> list[Row]:
    """What a folder has, folders first; or all files by their whole paths."""
    counts = {file.path: file.edits for file in edited}
    begin = f"{folder}/" if folder else ""
    rows: dict[tuple[bool, str], Row] = {}
    for record in files:
        if not record.path.startswith(begin):
            continue
        name, slash, _ = record.path[len(begin) :].partition("/")
        is_file = flat or not slash
        name = record.path if flat else name
        row = rows.get((is_file, name), Row(name, begin + name, 0, 0, ""))
        rows[is_file, name] = row._replace(
            files=0 if is_file else row.files + 1,
            edits=row.edits + counts.get(record.path, 0),
            at=max(row.at, record.at),
        )
    return [row for _, row in sorted(rows.items())]


def _heat(visit: Visit, edited: Sequence[FileEdits]) -> Heat:
    """The edits of agents by folder and time, as far back as there are any, a year at most."""
    today = datetime.fromtimestamp(now(), UTC).date()
    first = EPOCH + timedelta(days=min(day for file in edited for day in file.days))
    period = Period(max(first, today - timedelta(days=YEAR)), today, today)
    counts: Counts = {}
    for file in edited:
        name = "/".join(file.path.split("/")[:-1][:2]) or "(top)"
        hours = {24 * day: count for day, count in file.days.items() if 24 * day in period.hours}
        add(counts.setdefault(name, {}), hours)
    busy = {name: hours for name, hours in counts.items() if hours}
    url = visit.url("today", days=1)
    return heat_map(busy, period, lambda _, last: f"{url}&until={last}", noun="edits")


def page(memory: Memory, visit: Visit) -> Page:
    """A file: its history through renames, sessions, memories, notes and companions."""
    path = visit.fields.get("path").removeprefix("file:")
    full = memory.git.inside(path)
    revisions: list[Revision] = []
    companions: list[Companion] = []
    with contextlib.suppress(NotFound, GitError):
        revisions = memory.git.history(full)
        companions = memory.git.cochanged(full)
    with contextlib.suppress(QueryError):
        around = memory.context.around(file=path, budget=BUDGET)
    if not revisions and not around.items:
        raise NotFound(f"nothing is known of {path}", "Code lists what is")
    lines = memory.reasons.line_origins(path)[1][:LINES] if visit.fields.get("lines") else ()
    edits = memory.records.edits(path)
    counts = Counter(tag for revision in revisions for tag in revision.tags)
    common = [tag for tag, count in counts.items() if 2 * count > len(revisions)]
    last = {(edit.metadata or {}).get("parent", ""): edit for edit in edits}
    values = {
        "path": path,
        "lines": lines,
        "count": len(revisions),
        "tags": common,
        "commits": _commits(memory, visit, revisions, edits, common),
        "companions": companions,
        "sessions": [
            (edit.at, _session(memory, edit)) for parent, edit in reversed(last.items()) if parent
        ],
        "around": _around(memory, around, last),
    }
    return Page(path, "file.html", values)


def _commits(
    memory: Memory,
    visit: Visit,
    revisions: list[Revision],
    edits: list[Record],
    common: Collection[str],
) -> list[dict[str, Any]]:
    """The commits of a file, newest first: who made them, in which session, why, and what changed.

    A commit belongs to the session with the last recorded edit since the commit before it. Tags
    that most of them have are not repeated.
    """
    commits = []
    before = ""
    opened = visit.fields.get("patch")
    for revision in revisions:
        during = [edit for edit in edits if before < edit.at[:SECOND] <= revision.at[:SECOND]]
        chosen = revision.ref == opened
        commits.append(
            {
                "revision": revision,
                "session": _session(memory, during[-1]) if during else None,
                "reason": cut(
                    readable_message(revision.message).partition("\n")[2].strip(), REASON
                ),
                "patch": cut(memory.git.patch(revision), PATCH) if chosen else "",
                "tags": [tag for tag in revision.tags if tag not in common],
            }
        )
        before = revision.at[:SECOND]
    return commits[::-1][:MOST]


def _session(memory: Memory, edit: Record) -> tuple[str, str, str]:
    """The session of an edit: its agent, its ref, and what it was for."""
    metadata = edit.metadata or {}
    parent = str(metadata.get("parent", ""))
    if not parent:
        return str(metadata.get("agent", "")), "", ""
    title = memory.records.title(parent).removeprefix("session: ")
    return str(metadata.get("agent", "agent")), parent, title


def _around(
    memory: Memory, recall: Recall, listed: Collection[str]
) -> dict[str, list[tuple[Item, str, str]]]:
    """What else belongs to a file, by tier: each with its title, and what it says besides."""
    groups: dict[str, list[tuple[Item, str, str]]] = {}
    for item in recall.items:
        if item.tier in ("commits", "files", "plan") or item.ref in listed:
            continue
        title = memory.records.title(item.ref).removeprefix("session: ")
        text = item.text
        if item.ref.startswith(("summary:", "capsule:")):
            text = on_one_line(parse_summary(text).get("outcome", ""))
        groups.setdefault(item.tier, []).append((item, title, text.removeprefix(title).strip()))
    return groups


def why_page(memory: Memory, visit: Visit) -> Page:
    """Why a line, a commit or a memory is there."""
    because = memory.reasons.why(visit.fields.get("target"))
    values = {"because": because, "answer": reason(because), "known": known}
    name = because.target if because.path or not because.text else excerpt(because.text, 100)
    return Page(f"Why: {name}", "why.html", {**values, "readable": readable_message})
