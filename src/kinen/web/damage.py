"""The page that stands in place of any other when a database of the space is damaged."""

from __future__ import annotations

from kinen.errors import KinenError
from kinen.memory import Memory
from kinen.web import html
from kinen.web.html import Html
from kinen.web.page import Page, Visit, mutation

STATUS = 500


def page(memory: Memory, visit: Visit, error: Exception) -> Page:
    """What is damaged and how to repair it: the index by a button, the journal by hand."""
    try:
        journal = memory.journal.state()
        problem = journal.problem or journal.lost
        path = journal.path
    except KinenError as damage:
        problem = damage.message
        path = memory.core.file("journal.db")
    if problem:
        return Page("The journal is damaged", _journal(problem, path), status=STATUS)
    return Page("The index is damaged", _index(visit, error), status=STATUS)


def _index(visit: Visit, error: Exception) -> Html:
    return html.join(
        [
            html.p(
                "Nothing is lost: the index is made of your files, git and the journal, and can be"
                " built again from them."
            ),
            html.div(
                mutation(visit, "rebuild", "Build the index again", page="health"),
                html.span("or run ", html.code("kinen index --rebuild")),
                class_="actions",
            ),
            html.p("SQLite says: ", html.code(error), class_="quiet"),
        ]
    )


def _journal(problem: str, path: str) -> Html:
    steps = (
        ("Stop the daemon: ", "kinen daemon stop"),
        ("Keep a copy of the file: ", path),
        ("Save what can be read: ", "kinen export memory.json"),
        ("Move the damaged file away and read it back: ", "kinen import memory.json"),
    )
    items = [html.li(words, html.code(code)) for words, code in steps]
    return html.join(
        [
            html.p(
                "The journal has what agents did, and cannot be built again. kinen has not changed"
                " it. If you have a backup, restore ",
                html.code("journal.db"),
                " together with ",
                html.code("journal.db-wal"),
                ". Otherwise:",
            ),
            html.ol(items),
            html.p("Found: ", html.code(problem), class_="quiet"),
        ]
    )
