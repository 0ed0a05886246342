"""The page Health: the checks of `doctor`, agents and their last events, disk, what was masked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kinen.memory import Memory
from kinen.memory.checks import Check, check_memory
from kinen.render.sessions import duration
from kinen.space import registry
from kinen.text import iso
from kinen.web import html
from kinen.web.html import Html
from kinen.web.markdown import code_line
from kinen.web.page import Page, Visit, banner, date, empty, mutation, table

FIXES = {
    "kinen index": ("sync", "Update the index"),
    "kinen index --rebuild": ("rebuild", "Build the index again"),
    "kinen list observations": ("collect", "Take in the spool"),
    "kinen daemon restart": ("restart", "Restart the daemon"),
}
"""What `kinen doctor` suggests, as actions of this page.

`kinen trust` and `kinen install` decide what may run on this machine: they are for the command line
alone, and are shown as commands.
"""
DONE = {
    "synced": "The index is up to date.",
    "rebuilt": "The index was built again.",
    "collected": "The spool is empty.",
    "removed": "The space was removed from the list; its data is still there.",
    "restarted": "The daemon was restarted.",
    "busy": "It takes a while and goes on in the background.",
}
"""What the last form did."""
REMOVE = "kinen space remove "
_OK = html.span("ok", class_="chip good")
_BAD = html.span("bad", class_="chip bad")
_MOMENT = re.compile(r"\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+Z")


def page(memory: Memory, visit: Visit) -> Page:
    state = memory.index.status()
    checks = [
        html.tr(
            html.th(check.subject, scope="row"),
            html.td(_OK if check.ok else _BAD),
            html.td(
                code_line(_MOMENT.sub(r"\1 \2", check.detail)),
                None if check.ok else _fix(visit, check.fix),
            ),
        )
        for check in (*check_memory(memory), *_check_spaces(memory), *_check_daemon(visit))
    ]
    kinds = sorted(state.kinds.items(), key=lambda pair: -pair[1])
    agents = [
        (html.span(agent or "by hand"), f"{count:,}", date(iso(last / 1000)))
        for agent, count, last in memory.journal.agents()
    ]
    masked = [(name, f"{count:,}") for name, count in memory.journal.masked()]
    body = html.join(
        [
            banner(visit, DONE),
            table(("check", "", "detail"), checks),
            _repairs(visit, state.synced),
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


def _check_spaces(memory: Memory) -> Iterable[Check]:
    """Spaces whose folder is gone, as `doctor` reports them."""
    for space in registry.registered(memory.space.home):
        if space.missing:
            detail = f"{space.name}: {space.root} does not exist"
            yield Check("space", False, detail, f"{REMOVE}{space.name}")


def _check_daemon(visit: Visit) -> Iterable[Check]:
    """What the daemon could not do for a space."""
    for space in visit.daemon.get("spaces", ()):
        if space.get("error"):
            yield Check("daemon", False, f"{space['name']}: {space['error']}", "kinen daemon logs")


def _repairs(visit: Visit, synced: str) -> Html:
    """Every repair that can be made here, with what it does."""
    last = f"last {synced[:16].replace('T', ' ')}" if synced else "never yet"
    rows = [
        ("kinen index", f"reads what is new in files, git and the journal; {last}"),
        ("kinen index --rebuild", "reads everything again; nothing is lost"),
        ("kinen list observations", "stores what hooks wrote while the journal was busy"),
    ]
    if visit.can_restart:
        rows.append(("kinen daemon restart", "after an update, or if it hangs; you stay signed in"))
    items = [
        html.li(mutation(visit, *FIXES[fix]), " ", html.span(what, class_="quiet"), title=fix)
        for fix, what in rows
    ]
    return html.section(html.h2("Repairs"), html.ul(items, class_="plain"), id="repairs")


def _fix(visit: Visit, fix: str) -> Html | None:
    """A button for what `doctor` suggests, or the command."""
    if fix.startswith(REMOVE):
        fields = {"name": fix.removeprefix(REMOVE)}
        return html.p(mutation(visit, "remove", "Remove it", fields=fields), " ", html.code(fix))
    if fix in FIXES:
        return html.p(mutation(visit, *FIXES[fix]), " ", html.code(fix))
    return html.p(html.code(fix)) if fix else None


def _rows(heads: Iterable[str], rows: list[tuple[Any, ...]], nothing: str) -> Html:
    if not rows:
        return empty(nothing)
    lines = (
        html.tr(html.th(first, scope="row"), [html.td(cell) for cell in rest])
        for first, *rest in rows
    )
    return table(heads, lines)


def _daemon(state: Mapping[str, Any]) -> Html:
    shown: dict[str, tuple[str, Callable[[Any], object]]] = {
        "pid": ("process", str),
        "version": ("version", str),
        "started": ("started", date),
        "memory_mb": ("memory", lambda size: f"{size:,} MB"),
        "answered": ("requests", lambda count: f"{count:,}"),
        "idle_seconds_left": ("stops when idle for", duration),
    }
    rows = [
        (label, show(state[name]))
        for name, (label, show) in shown.items()
        if state.get(name) is not None
    ]
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
