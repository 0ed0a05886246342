"""The pages Files and File: where a file comes from, who changed it and why, what goes with it."""

from __future__ import annotations

import contextlib

from kinen.errors import GitError, NotFound, QueryError
from kinen.journal.summary import parse_summary
from kinen.memory import Memory
from kinen.model.documents import Companion, Revision
from kinen.model.journal import Recall
from kinen.model.records import Record
from kinen.recall.tiers import HEADINGS
from kinen.render.text import counted
from kinen.text import excerpt
from kinen.web import html
from kinen.web.html import Html
from kinen.web.markdown import code_block, code_line, markdown
from kinen.web.page import (
    Page,
    Visit,
    about,
    chips,
    date,
    empty,
    entry,
    fields_form,
    ref_link,
    table,
)
from kinen.web.records import title_of

MOST = 100
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
        return Page("Files", empty(error.message))
    links = [
        html.li(html.a(f"#{name} ({count})", href=visit.url(tag=name))) for name, count in tags
    ]
    rows = [
        html.li(
            html.a(record.path, href=visit.record(record.ref)),
            " ",
            date(record.at),
            " ",
            html.join(chips(f"#{name}" for name in record.tags), " "),
        )
        for record in files
    ]
    following = visit.here(offset=offset + MOST) if offset + MOST < total else ""
    form = fields_form(
        visit.url("file"), "Open", entry("path", "Open a file", placeholder="src/auth.py")
    )
    body = html.join(
        [
            form,
            html.ul(links, class_="legend"),
            html.p(f"{total:,} files{f' with #{tag}' if tag else ''}", class_="quiet"),
            html.ul(rows, class_="plain") if rows else empty("No file."),
            html.p(html.a("more", href=following)) if following else None,
        ]
    )
    return Page("Files", body)


def page(memory: Memory, visit: Visit) -> Page:
    """A file: its history through renames, sessions, memories, notes and companions."""
    path = visit.fields.get("path").removeprefix("file:")
    full = memory.git.inside(path)
    revisions = []
    companions: list[Companion] = []
    with contextlib.suppress(NotFound, GitError):
        revisions = memory.git.history(full)
        companions = memory.git.cochanged(full)
    with contextlib.suppress(QueryError):
        around = memory.context.around(file=path, budget=BUDGET)
    if not revisions and not around.items:
        raise NotFound(f"nothing is known of {path}", "Files lists what is")
    edits = memory.records.edits(path)
    body = html.div(
        html.div(
            html.h2(f"History ({counted(len(revisions), 'commits')})"),
            _history(memory, visit, revisions, edits) if revisions else empty("No commit."),
            _companions(visit, companions),
        ),
        html.aside(
            _sessions(memory, visit, edits),
            html.p(html.a("the text", href=visit.url("record", ref=path)), class_="quiet"),
            _around(visit, around),
            aria_label="What belongs to it",
        ),
        class_="split",
    )
    return Page(path, body)


def _history(memory: Memory, visit: Visit, revisions: list[Revision], edits: list[Record]) -> Html:
    """The commits of a file, newest first: who made them, in which session, why, and what changed.

    A commit belongs to the session with the last recorded edit since the commit before it.
    """
    items = []
    before = ""
    opened = visit.fields.get("patch")
    for revision in revisions:
        during = [edit for edit in edits if before < edit.at[:SECOND] <= revision.at[:SECOND]]
        session = _session_link(memory, visit, during[-1]) if during else None
        reason = revision.message.partition("\n")[2].strip()
        renamed = f"{revision.before} → {revision.path}"
        patch = None
        if revision.ref == opened:
            patch = code_block(memory.git.patch(revision)[:PATCH], "diff")
        items.append(
            html.li(
                html.p(
                    date(revision.at),
                    " ",
                    html.a(
                        code_line(excerpt(revision.subject, 120)), href=visit.record(revision.ref)
                    ),
                ),
                about(
                    (
                        html.span(revision.author),
                        session,
                        html.span(renamed) if revision.before else None,
                        *chips(f"#{tag}" for tag in revision.tags),
                        html.a("the change", href=visit.here(patch=revision.ref)),
                    )
                ),
                html.div(markdown(reason[:REASON]), class_="prose") if reason else None,
                patch,
            )
        )
        before = revision.at[:SECOND]
    return html.ol(items[::-1][:MOST], class_="cards")


def _session_link(memory: Memory, visit: Visit, edit: Record) -> Html | None:
    """The session of an edit: its agent and what it was for."""
    metadata = edit.metadata or {}
    parent = str(metadata.get("parent", ""))
    if not parent:
        return html.span(metadata.get("agent", ""), class_="chip")
    title = title_of(memory, parent)
    link = html.a(code_line(title), href=visit.record(parent))
    return html.span(html.span(metadata.get("agent", "agent"), class_="chip"), " in ", link)


def _sessions(memory: Memory, visit: Visit, edits: list[Record]) -> Html | None:
    """The sessions that changed a file, the last first."""
    last = {(edit.metadata or {}).get("parent", ""): edit for edit in edits}
    items = [
        html.li(date(edit.at), " ", _session_link(memory, visit, edit))
        for parent, edit in reversed(last.items())
        if parent
    ]
    if not items:
        return None
    return html.section(html.h2("Sessions that changed it"), html.ul(items, class_="plain"))


def _companions(visit: Visit, companions: list[Companion]) -> Html | None:
    if not companions:
        return None
    rows = [
        html.tr(
            html.th(html.a(other.path, href=visit.url(path=other.path)), scope="row"),
            html.td(f"{other.support:,}", class_="number"),
            html.td(f"{other.score:.0%}", class_="number"),
            html.td(
                html.join([ref_link(visit, ref, subject) for ref, subject in other.commits], "; ")
            ),
        )
        for other in companions
    ]
    heads = ("changes with it", "commits", "how likely", "such as")
    return table(heads, rows, "Companions")


def _around(visit: Visit, recall: Recall) -> list[Html]:
    groups: dict[str, list[Html]] = {}
    for item in recall.items:
        if item.tier in ("commits", "files", "plan"):
            continue
        text = item.text
        if item.ref.startswith("summary:"):
            text = parse_summary(text).get("outcome") or text
        words = html.div(markdown(text), class_="prose")
        groups.setdefault(item.tier, []).append(html.li(words, ref_link(visit, item.ref)))
    return [
        html.section(html.h2(HEADINGS[tier].removeprefix("## ")), html.ul(items, class_="plain"))
        for tier, items in groups.items()
    ]
