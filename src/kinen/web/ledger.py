"""The pages of the ledger: everything that agents were sent, by session, byte for byte."""

from __future__ import annotations

from kinen.journal.ledger_queries import Injection, Total
from kinen.memory import Memory
from kinen.text import excerpt, iso
from kinen.times import milliseconds
from kinen.web import html
from kinen.web.html import Html
from kinen.web.markdown import code_line
from kinen.web.page import Page, Visit, about, date, empty, entry, fields_form, ref_link, table
from kinen.web.records import title_of

MOST = 100
FILTERS = ("session", "agent", "event", "since")


def page(memory: Memory, visit: Visit) -> Page:
    chosen = {name: visit.fields.get(name) for name in FILTERS}
    since = milliseconds(chosen["since"])
    filters = {name: chosen[name] for name in ("session", "agent", "event")}
    injections, count = memory.ledger.injections(**filters, since=since, limit=MOST)
    totals = memory.ledger.totals(**filters, since=since)
    fields = [entry(name, name.capitalize(), chosen[name]) for name in FILTERS]
    form = fields_form(visit.url(), "Filter", *fields)
    if not injections:
        body: list[object] = [form, empty("Nothing was sent to an agent yet.")]
        return Page("Ledger", html.join(body), live=True)
    rows = [_row(visit, injection) for injection in injections]
    heads = ("when", "event", "agent", "tokens", "entries", "left out", "first line")
    more = f"{count - len(rows):,} older ones are not shown" if count > len(rows) else ""
    body = [
        form,
        table(heads, rows, "What was sent"),
        html.p(more, class_="quiet") if more else None,
        html.h2("By session"),
        _totals(visit, totals),
    ]
    return Page("Ledger", html.join(body), live=True)


def _row(visit: Visit, injection: Injection) -> Html:
    event = injection.subject if injection.event == "mcp" else injection.event
    return html.tr(
        html.th(
            html.a(date(iso(injection.at / 1000)), href=visit.url("injection", id=injection.id)),
            scope="row",
        ),
        html.td(event, class_="unbroken"),
        html.td(injection.agent),
        html.td(f"{injection.tokens:,}", class_="number"),
        html.td(f"{len(injection.entries):,}", class_="number"),
        html.td(f"{len(injection.dropped):,}", class_="number"),
        html.td(code_line(excerpt(injection.first_line.removeprefix("- "), 120))),
    )


def _totals(visit: Visit, totals: list[Total]) -> Html:
    rows = [
        html.tr(
            html.th(
                html.a(total.session[:24] or "no session", href=visit.url(session=total.session)),
                scope="row",
            ),
            html.td(total.agent),
            html.td(f"{total.injections:,}", class_="number"),
            html.td(f"{total.tokens:,}", class_="number"),
        )
        for total in totals[:MOST]
    ]
    return table(("session", "agent", "times", "tokens"), rows)


def injection_page(memory: Memory, visit: Visit) -> Page:
    """One text that an agent was sent: its entries, what was left out, and the text itself."""
    injection = memory.ledger.injection(visit.fields.get("id"))
    event = injection.subject if injection.event == "mcp" else injection.event
    facts = [
        date(iso(injection.at / 1000)),
        html.span(injection.agent, class_="chip"),
        html.span(f"{injection.tokens:,} tokens"),
        html.a("session", href=visit.url("ledger", session=injection.session))
        if injection.session
        else None,
        *_steps(memory, visit, injection),
        html.span("a secret was masked", class_="chip bad") if injection.masked else None,
    ]
    entries = [html.li(_entry(memory, visit, ref)) for ref in injection.entries]
    dropped = [
        html.li(_entry(memory, visit, ref), html.small(f" {reason}"))
        for ref, reason in injection.dropped
    ]
    body = html.div(
        html.div(about(facts), html.pre(injection.text, tabindex="0")),
        html.aside(
            html.h2(f"Entries ({len(entries)})"),
            html.ul(entries) if entries else empty("none"),
            html.h2(f"Left out ({len(dropped)})"),
            html.ul(dropped) if dropped else empty("none"),
            aria_label="Entries",
        ),
        class_="split",
    )
    return Page(f"Sent at {event}", body)


def _steps(memory: Memory, visit: Visit, injection: Injection) -> list[Html]:
    """Links to what the same session was sent before and after, to follow it from text to text."""
    if not injection.session:
        return []
    sent = memory.ledger.injections(session=injection.session, limit=0)[0]
    ids = [other.id for other in sent if other.session == injection.session]
    at = ids.index(injection.id)
    places = (("earlier", at + 1), ("later", at - 1))
    return [
        html.a(label, href=visit.url(id=ids[place]))
        for label, place in places
        if 0 <= place < len(ids)
    ]


def _entry(memory: Memory, visit: Visit, ref: str) -> Html:
    """An entry by its title, or by its ref if it is no more."""
    title = title_of(memory, ref)
    return ref_link(visit, ref, title if title != ref else "")
