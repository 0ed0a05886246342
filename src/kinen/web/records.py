"""The page of a record: its text with line anchors, links in and out, what was drawn from it."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from markupsafe import Markup as Html

from kinen.characters import visible_line
from kinen.cli import editor
from kinen.errors import GitError, NotFound, QueryError
from kinen.memory import Memory
from kinen.model.documents import Companion, Revision
from kinen.model.records import Edge, Record
from kinen.render.html import fragment
from kinen.render.markdown import code_block, markdown
from kinen.text import excerpt
from kinen.text.frontmatter import read_frontmatter
from kinen.text.sentences import plain
from kinen.verbs.records import resolve
from kinen.web.page import Page, Visit, past_moment, past_remark

REVISIONS = 20
COMPANIONS = 8
MOST_EDGES = 200
PREVIEW = 6_000
"""Characters of a text in a preview."""
PROSE = ("memory", "summary", "pin", "capsule", "commit")
"""Kinds of records outside files whose text is markdown."""
SPOKEN = ("message", "prompt", "decision")
"""Kinds of observations whose text is markdown."""
EDGES = {
    "links": ("links to", "linked from"),
    "derived_from": ("drawn from", "memories drawn from it"),
    "part_of": ("part of", "contains"),
    "summarizes": ("summary of", "summaries"),
    "pins": ("pins", "pinned by"),
    "touches": ("changes", "changed by"),
    "renames": ("renames", "renamed by"),
    "reverts": ("reverts", "reverted by"),
    "fixes": ("fixes", "fixed by"),
    "refs": ("refers to", "referred to by"),
}
"""What an edge is called, seen from its source and from its target."""
CHANGES = {"A": "added", "D": "deleted", "R": "renamed", "C": "copied", "T": "type"}
"""What a commit did with a file, by git's letter; a file that was edited goes without saying."""


def page(memory: Memory, visit: Visit) -> Page:
    record = memory.records.get(resolve(memory, visit.fields.get("ref"))[0])
    edges = memory.records.links(record.ref)[:MOST_EDGES]
    pinned = any(pin.target == record.ref for pin in memory.journal.entries("pins")[0])
    revisions, companions = _history(memory, record)
    at = past_moment(memory, visit)
    values = {
        "record": record,
        "remark": past_remark(memory, at),
        "pinned": pinned,
        "graphical": editor.graphical(os.environ),
        "open_command": f"kinen open {shlex.quote(record.path)}",
        "text": _text(memory, visit, record, edges),
        "edges": _edges(memory, record, edges),
        "revisions": revisions,
        "companions": companions,
    }
    return Page(memory.records.title(record.ref), "record.html", values, ("record.js",))


def preview(memory: Memory, visit: Visit, ref: str) -> Html:
    """The beginning of a record, for beside a list."""
    record = memory.records.get(resolve(memory, ref)[0])
    edges = memory.records.links(record.ref)[:MOST_EDGES]
    text = _text(memory, visit, record, edges, PREVIEW)
    return fragment(
        "preview.html",
        visit=visit,
        record=record,
        title=memory.records.title(record.ref),
        text=text,
    )


def _text(
    memory: Memory, visit: Visit, record: Record, edges: Sequence[Edge], most: int = 0
) -> dict[str, Any]:
    """The text of a record: markdown with its lines as anchors, or chunks as they are."""
    follow = _resolver(visit, record, edges)
    at = past_moment(memory, visit)
    source = memory.records.source_text(record)
    past = memory.past.text(record.path, at) or "" if source and at and record.path else source
    if source and not past:
        return {"missing": "The commit of that time does not have this file."}
    if past:
        lines = past.splitlines()
        front = read_frontmatter(lines)
        text = "\n".join(lines[front.end :])
        titled = text.lstrip().startswith(f"# {record.title}\n")
        body = markdown(_cut(text, most), follow, front.end + 1)
        return {"front": front.values, "titled": titled, "html": body}
    with contextlib.suppress(NotFound):
        chunks = memory.records.show(record.ref)[1]
        if is_prose(record):
            text = "\n\n".join(chunk.text for chunk in chunks)
            title = memory.records.title(record.ref)
            said = title.endswith(plain(text).replace("`", ""))
            text = "" if said else text.removeprefix(title).strip()
            return {"html": markdown(_cut(text, most), follow)}
        blocks = []
        room = most or 1 << 30
        for chunk in chunks:
            if room <= 0:
                break
            anchor = f"L{chunk.start_line}" if chunk.start_line else ""
            blocks.append(code_block(chunk.text[:room], "", anchor))
            room -= len(chunk.text)
        if blocks:
            return {"html": Html().join(blocks)}
    return {"missing": "It has no text."}


def _cut(text: str, most: int) -> str:
    return text if not most or len(text) <= most else text[:most].rpartition("\n")[0] + "\n\n…"


def _resolver(visit: Visit, record: Record, edges: Sequence[Edge]) -> Callable[[str], str]:
    """Leads links as written to the pages of the records that they name."""
    targets = {
        edge.written: edge.target for edge in edges if edge.source == record.ref and edge.target
    }

    def resolve_link(written: str) -> str:
        for name in (written, unquote(written), unquote(written).partition("#")[0]):
            if name in targets:
                return visit.record(targets[name])
        return ""

    return resolve_link


def _edges(
    memory: Memory, record: Record, edges: Sequence[Edge]
) -> dict[str, list[tuple[str, str, str]]]:
    """What a record is linked with, by heading: the ref, its title and the words of the link.

    Of a link that leads nowhere there is no ref, and its target as written is the title.
    """
    groups: dict[str, dict[tuple[str, str, str], None]] = {}
    for edge in edges:
        outgoing = edge.source == record.ref
        other = edge.target if outgoing else edge.source
        heading = EDGES.get(edge.type, (edge.type, edge.type))[0 if outgoing else 1]
        if not other:
            groups.setdefault("broken links", {})["", edge.written, ""] = None
            continue
        words = edge.sentence or (edge.text if edge.text != edge.written else "")
        if edge.type == "touches":
            words = CHANGES.get(edge.text[:1], "")
        kind, _, path = other.partition(":")
        title = path if kind == "file" else memory.records.title(other)
        item = (other, title, excerpt(visible_line(words), 200))
        groups.setdefault(heading, {})[item] = None
    return {heading: list(items) for heading, items in groups.items()}


def is_prose(record: Record) -> bool:
    """Whether the text of a record is markdown, and not code, data or output."""
    if record.kind == "observation":
        return (record.metadata or {}).get("event") in SPOKEN
    return record.kind in PROSE or record.path.lower().endswith((".md", ".markdown", ".mdx"))


def _history(memory: Memory, record: Record) -> tuple[list[Revision], list[Companion]]:
    """The last commits of a file, newest first, and the files that change with it."""
    if not record.path or record.kind == "file":
        return [], []
    try:
        revisions = memory.git.history(record.path)
    except (GitError, NotFound, QueryError):
        return [], []
    companions = memory.git.cochanged(record.path, COMPANIONS)
    return revisions[-REVISIONS:][::-1], [other for other in companions if other.support > 1]
