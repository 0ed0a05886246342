"""The page Health: the checks of `doctor`, agents and their last events, disk, what was masked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kinen.memory import Memory
from kinen.memory.checks import check_memory
from kinen.text import iso
from kinen.web import html
from kinen.web.page import Page, Visit, date, empty, mutation

if TYPE_CHECKING:
    from kinen.web.html import Html


FIXES = {
    "kinen index": ("sync", "Update the index"),
    "kinen index --rebuild": ("rebuild", "Build the index again"),
    "kinen list observations": ("collect", "Take in the spool"),
}
"""What the checks suggest, as actions of this page. `kinen trust` is for the command line alone."""


def page(memory: Memory, visit: Visit) -> Page:
    state = memory.index.status()
    checks = [
        html.tr(
            html.th(check.subject, scope="row"),
            html.td(html.span("ok", class_="chip good") if check.ok else _bad()),
            html.td(check.detail, None if check.ok else _fix(visit, check.fix)),
        )
        for check in check_memory(memory)
    ]
    kinds = sorted(state.kinds.items(), key=lambda pair: -pair[1])
    agents = [
        (html.span(agent or "by hand"), f"{count:,}", date(iso(last / 1000)))
        for agent, count, last in memory.journal.agents()
    ]
    masked = [(name, f"{count:,}") for name, count in memory.journal.masked()]
    body = html.join(
        [
            html.div(
                mutation(visit, "sync", "Update the index"),
                html.span(f"last {state.synced[:16].replace('T', ' ')}", class_="quiet")
                if state.synced
                else None,
                class_="actions",
            ),
            _table(("check", "", "detail"), checks),
            html.h2("Agents"),
            _rows(("agent", "events", "last"), agents, "No agent has recorded anything here."),
            html.h2("Contents"),
            _rows(
                ("type", "records"),
                [(kind, f"{count:,}") for kind, count in kinds],
                "Nothing is indexed yet.",
            ),
            html.p(
                f"{state.counts.chunks:,} chunks, {state.counts.vectors:,} with a vector;"
                f" {state.bytes / 1e6:,.1f} MB in {state.data}",
                class_="quiet",
            ),
            html.h2("Privacy"),
            html.p("Secrets that were masked before they were stored, by class.", class_="quiet"),
            _rows(("class", "observations"), masked, "Nothing was masked."),
            html.h2("Daemon"),
            _daemon(visit.daemon),
        ]
    )
    return Page("Health", body, live=True)


def _fix(visit: Visit, fix: str) -> Html | None:
    """A button for what `doctor` suggests, or the command."""
    if fix in FIXES:
        return html.p(mutation(visit, *FIXES[fix]), " ", html.code(fix))
    return html.p(html.code(fix)) if fix else None


def _bad() -> Html:
    return html.span("bad", class_="chip bad")


def _table(heads: Iterable[str], rows: Iterable[Html]) -> Html:
    table = html.table(
        html.thead(html.tr(html.th(head, scope="col") if head else html.td() for head in heads)),
        html.tbody(rows),
    )
    return html.div(table, class_="wide")


def _rows(heads: Iterable[str], rows: list[tuple[Any, ...]], nothing: str) -> Html:
    if not rows:
        return empty(nothing)
    return _table(
        heads,
        (
            html.tr(html.th(first, scope="row"), [html.td(cell) for cell in rest])
            for first, *rest in rows
        ),
    )


def _daemon(state: Mapping[str, Any]) -> Html:
    names = ("pid", "version", "started", "memory_mb", "answered", "idle_seconds_left")
    rows = [(name.replace("_", " "), state[name]) for name in names if state.get(name) is not None]
    spaces = [
        (space["name"], space["state"], space.get("error") or "")
        for space in state.get("spaces", ())
    ]
    return html.join(
        [
            _rows(("", ""), rows, "It has no state to show."),
            _rows(("space", "state", "error"), spaces, "") if spaces else None,
        ]
    )
