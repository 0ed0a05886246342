"""The page of a record: its text with line anchors, links in and out, what was drawn from it."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from kinen.api.refs import resolve
from kinen.characters import visible_line
from kinen.cli import editor
from kinen.errors import GitError, NotFound, QueryError
from kinen.markdown.frontmatter import read_frontmatter
from kinen.memory import Memory
from kinen.model.documents import Revision
from kinen.model.records import Edge, Record
from kinen.render.text import counted, untitled
from kinen.text import excerpt
from kinen.web import asof, html
from kinen.web.html import Html
from kinen.web.markdown import code_block, code_line, markdown
from kinen.web.page import Page, Visit, about, chips, date, empty, mutation, ref_link

REVISIONS = 20
COMPANIONS = 8
MOST_EDGES = 200
PREVIEW = 6_000
"""Characters of a text in a preview."""
PROSE = ("memory", "summary", "pin", "capsule", "commit")
"""Kinds of records outside files whose text is markdown."""
SPOKEN = ("message", "prompt", "decision")
"""Kinds of observations whose text is markdown."""
SUFFIXES = (".md", ".markdown", ".mdx")
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


def page(memory: Memory, visit: Visit) -> Page:
    name, _, _ = resolve(memory, visit.fields.get("ref"))
    record = memory.records.get(name)
    edges = memory.records.links(record.ref)[:MOST_EDGES]
    title = visible_line(record.title) or untitled(record)
    at = asof.moment(memory, visit)
    body = html.div(
        html.div(
            asof.banner(memory, at, html.a("as it is now", href=visit.here(as_of=""))),
            _about(visit, record),
            None if visit.reader else _actions(memory, visit, record),
            html.article(_text(memory, visit, record, edges), class_="prose", id="text"),
        ),
        html.aside(
            _edges(memory, visit, record, edges),
            _history(memory, visit, record),
            aria_label="Links and history",
        ),
        class_="split",
    )
    return Page(excerpt(title, 120), body, ("record.js",))


def preview(memory: Memory, visit: Visit, ref: str) -> Html:
    """The beginning of a record, for beside a list."""
    record = memory.records.get(resolve(memory, ref)[0])
    edges = memory.records.links(record.ref)[:MOST_EDGES]
    title = visible_line(record.title) or untitled(record)
    return html.join(
        [
            html.h2(html.a(code_line(excerpt(title, 120)), href=visit.record(record.ref))),
            _about(visit, record),
            html.div(_text(memory, visit, record, edges, PREVIEW), class_="prose"),
        ]
    )


def _about(visit: Visit, record: Record) -> Html:
    metadata = record.metadata or {}
    parts = [
        html.span(record.kind, class_=f"chip kind-{record.kind}"),
        html.code(record.path or record.ref),
        date(record.at),
        *chips([metadata.get("agent")]),
        html.span(f"by {metadata['by']}") if metadata.get("by") else None,
        html.span(metadata["author"]) if metadata.get("author") else None,
        html.a("its session", href=visit.record(str(metadata["parent"])))
        if metadata.get("parent")
        else None,
        *chips(f"#{tag}" for tag in record.tags),
    ]
    return about(parts)


def _actions(memory: Memory, visit: Visit, record: Record) -> Html:
    pins = [pin for pin in memory.journal.entries("pins")[0] if pin.target == record.ref]
    ref = {"ref": record.ref}
    buttons = [
        mutation(visit, "unpin", "Unpin", fields=ref)
        if pins
        else mutation(visit, "pin", "Pin", fields=ref)
    ]
    buttons.append(html.a("Neighbourhood", href=visit.url("graph", ref=record.ref)))
    if record.path:
        copy = f"kinen open {shlex.quote(record.path)}"
        buttons.append(
            mutation(visit, "open", "Open in editor", fields=ref)
            if editor.graphical(os.environ)
            else html.button("Copy “kinen open”", type="button", data_copy=copy, class_="scripted")
        )
        buttons.append(
            html.button("Copy path", type="button", data_copy=record.path, class_="scripted")
        )
    return html.div(buttons, class_="actions")


def _text(
    memory: Memory, visit: Visit, record: Record, edges: Sequence[Edge], most: int = 0
) -> Html:
    """The text of a record: markdown with its lines as anchors, or chunks as they are."""
    follow = _resolver(visit, record, edges)
    at = asof.moment(memory, visit)
    source = memory.records.source_text(record)
    if source and at and record.path:
        source = memory.past.text(record.path, at) or ""
        if not source:
            return empty("The commit of that time does not have this file.")
    if source:
        lines = source.splitlines()
        front = read_frontmatter(lines)
        text = "\n".join(lines[front.end :])
        parts = [_front(front.values), markdown(_cut(text, most), follow, front.end + 1)]
        return html.join(parts)
    with contextlib.suppress(NotFound):
        chunks = memory.records.show(record.ref)[1]
        if is_prose(record):
            text = "\n\n".join(chunk.text for chunk in chunks)
            return markdown(_cut(text, most), follow)
        parts = []
        room = most or 1 << 30
        for chunk in chunks:
            if room <= 0:
                break
            text = chunk.text[:room]
            room -= len(text)
            anchor = f"L{chunk.start_line}" if chunk.start_line else None
            parts.append(code_block(text, "", id=anchor))
        if parts:
            return html.join(parts)
    return empty("It has no text.")


def _cut(text: str, most: int) -> str:
    return text if not most or len(text) <= most else text[:most].rpartition("\n")[0] + "\n\n…"


def _front(values: dict[str, object]) -> Html | None:
    if not values:
        return None
    rows = [
        (html.dt(key), html.dd(", ".join(map(str, value)) if isinstance(value, list) else value))
        for key, value in values.items()
    ]
    return html.dl(rows, class_="front")


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


def _edges(memory: Memory, visit: Visit, record: Record, edges: Sequence[Edge]) -> list[Html]:
    groups: dict[str, list[Html]] = {}
    for edge in edges:
        outgoing = edge.source == record.ref
        other = edge.target if outgoing else edge.source
        heading = EDGES.get(edge.type, (edge.type, edge.type))[0 if outgoing else 1]
        if not other:
            item = html.li(html.span(edge.written, class_="broken"), " leads nowhere")
            groups.setdefault("broken links", []).append(item)
            continue
        words = edge.sentence or (edge.text if edge.text != edge.written else "")
        item = html.li(
            ref_link(visit, other, title_of(memory, other)),
            html.small(" “", code_line(excerpt(visible_line(words), 200)), "”") if words else None,
        )
        groups.setdefault(heading, []).append(item)
    return [
        html.section(html.h2(heading.capitalize()), html.ul([*dict.fromkeys(items)]))
        for heading, items in groups.items()
    ]


def is_prose(record: Record) -> bool:
    """Whether the text of a record is markdown, and not code, data or output."""
    if record.kind == "observation":
        return (record.metadata or {}).get("event") in SPOKEN
    return record.kind in PROSE or record.path.lower().endswith(SUFFIXES)


def title_of(memory: Memory, ref: str) -> str:
    with contextlib.suppress(NotFound):
        record = memory.records.get(ref)
        text = record.title
        if record.kind in ("memory", "observation") or not text:
            text = memory.records.whole_text(ref)
        return excerpt(visible_line(" ".join(text.split()) or ref), 100)
    return ref


def _history(memory: Memory, visit: Visit, record: Record) -> Html | None:
    """The commits of a file, and the files that change with it."""
    if not record.path or record.kind == "file":
        return None
    try:
        revisions = memory.git.history(record.path)
    except (GitError, NotFound, QueryError):
        return None
    link = html.a("the whole history", href=visit.url("file", path=record.path))
    companions = [
        html.li(
            html.a(other.path, href=visit.url("file", path=other.path)),
            html.small(f" in {counted(other.support, 'commits')}"),
        )
        for other in memory.git.cochanged(record.path, COMPANIONS)
        if other.support > 1
    ]
    return html.section(
        html.h2("History"),
        revision_list(visit, revisions[-REVISIONS:][::-1]),
        html.p(link),
        [html.h2("Changes together with"), html.ul(companions)] if companions else None,
    )


def revision_list(visit: Visit, revisions: Sequence[Revision]) -> Html:
    """Commits, each with its date, author, and the tags that the file had after it."""
    items = [
        html.li(
            date(revision.at),
            " ",
            html.a(code_line(excerpt(revision.subject, 100)), href=visit.record(revision.ref)),
            html.small(f" {revision.author}"),
            html.small(f" {revision.before} → {revision.path}") if revision.before else None,
            " ",
            html.join(chips(f"#{tag}" for tag in revision.tags), " "),
        )
        for revision in revisions
    ]
    return html.ul(items, class_="plain")
