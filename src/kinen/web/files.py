"""The pages Files and File: where a file comes from, who changed it and why, what goes with it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kinen.errors import GitError, NotFound, QueryError
from kinen.memory import Memory
from kinen.recall.tiers import HEADINGS
from kinen.web import html
from kinen.web.markdown import markdown
from kinen.web.page import Page, Visit, chips, date, empty, entry, ref_link
from kinen.web.records import revision_list

if TYPE_CHECKING:
    from kinen.model.documents import Companion
    from kinen.model.journal import Recall
    from kinen.web.html import Html

MOST = 200
TAGS = 40
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
    form = html.form(
        entry("path", "Open a file", placeholder="src/auth.py"),
        html.button("Open", type="submit"),
        method="get",
        action=visit.url("file"),
        class_="fields",
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
    body = html.div(
        html.div(
            html.h2(f"History ({len(revisions):,} commits)"),
            revision_list(visit, revisions[::-1][:MOST]) if revisions else empty("No commit."),
            _companions(visit, companions),
        ),
        html.aside(
            html.p(html.a("the text", href=visit.url("record", ref=path)), class_="quiet"),
            _around(visit, around),
            aria_label="What belongs to it",
        ),
        class_="split",
    )
    return Page(path, body)


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
    table = html.table(
        html.thead(html.tr(html.th(head, scope="col") for head in heads)), html.tbody(rows)
    )
    return html.div(table, class_="wide", tabindex="0", role="region", aria_label="Companions")


def _around(visit: Visit, recall: Recall) -> list[Html]:
    groups: dict[str, list[Html]] = {}
    for item in recall.items:
        if item.tier in ("commits", "files", "plan"):
            continue
        words = html.div(markdown(item.text), class_="prose")
        groups.setdefault(item.tier, []).append(html.li(words, ref_link(visit, item.ref)))
    return [
        html.section(html.h2(HEADINGS[tier].removeprefix("## ")), html.ul(items, class_="plain"))
        for tier, items in groups.items()
    ]
