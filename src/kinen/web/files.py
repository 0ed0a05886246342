"""The pages Files and File: where a file comes from, who changed it and why, what goes with it."""

from __future__ import annotations

import contextlib
from typing import Any

from kinen.errors import GitError, NotFound, QueryError
from kinen.journal.summary import parse_summary
from kinen.memory import Memory
from kinen.model.documents import Companion, Revision
from kinen.model.journal import Recall
from kinen.model.records import Record
from kinen.render.treemap import treemap
from kinen.sources.git.messages import readable_message
from kinen.web.page import Page, Visit
from kinen.web.records import title_of

MOST = 100
EDITED = 60
"""Files that agents edited which are listed."""
TILES = 40
MAP = (1200, 260)
"""Width and height of the map of these."""
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
    """The files of the repository, by tag."""
    tag = visit.fields.get("tag")
    offset = visit.fields.number("offset", 0, 1 << 30)
    try:
        files, total = memory.git.files(tags=[tag] if tag else [], limit=MOST, offset=offset)
        tags = memory.git.tags()[:TAGS]
    except GitError as error:
        return Page("Code", "files.html", {"problem": error.message})
    following = visit.here(offset=offset + MOST) if offset + MOST < total else ""
    edited = [] if tag or offset else memory.journal.edited_files(most=EDITED)
    values = {
        "tag": tag,
        "tags": tags,
        "files": files,
        "total": total,
        "following": following,
        "edited": edited,
        "tiles": treemap(edited[:TILES], MAP),
    }
    return Page("Code", "files.html", {"problem": "", **values})


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
    last = {(edit.metadata or {}).get("parent", ""): edit for edit in edits}
    values = {
        "path": path,
        "lines": lines,
        "count": len(revisions),
        "commits": _commits(memory, visit, revisions, edits),
        "companions": companions,
        "sessions": [
            (edit.at, _session(memory, edit)) for parent, edit in reversed(last.items()) if parent
        ],
        "around": _around(around),
    }
    return Page(path, "file.html", values)


def _commits(
    memory: Memory, visit: Visit, revisions: list[Revision], edits: list[Record]
) -> list[dict[str, Any]]:
    """The commits of a file, newest first: who made them, in which session, why, and what changed.

    A commit belongs to the session with the last recorded edit since the commit before it.
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
                "reason": readable_message(revision.message).partition("\n")[2].strip()[:REASON],
                "patch": memory.git.patch(revision)[:PATCH] if chosen else "",
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
    return str(metadata.get("agent", "agent")), parent, title_of(memory, parent)


def _around(recall: Recall) -> dict[str, list[tuple[str, str]]]:
    """What belongs to a file besides commits, by tier: refs and texts."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for item in recall.items:
        if item.tier in ("commits", "files", "plan"):
            continue
        text = item.text
        if item.ref.startswith("summary:"):
            text = parse_summary(text).get("outcome") or text
        groups.setdefault(item.tier, []).append((item.ref, text))
    return groups


def why_page(memory: Memory, visit: Visit) -> Page:
    """Why a line, a commit or a memory is there."""
    because = memory.reasons.why(visit.fields.get("target"))
    return Page(
        f"Why {because.target}", "why.html", {"because": because, "readable": readable_message}
    )
