"""As of: the field and slider that put a page back to what was known at a time or commit."""

from __future__ import annotations

from datetime import UTC, datetime

from kinen.memory import Memory
from kinen.memory.past import Moment
from kinen.text import now
from kinen.web import html
from kinen.web.html import Html
from kinen.web.page import AS_OF, Visit, entry, fields_form


def moment(memory: Memory, visit: Visit) -> Moment | None:
    """The time that a page is put back to; None for now."""
    words = visit.fields.get(AS_OF)
    return memory.past.moment(words) if words else None


def fields(memory: Memory | None, visit: Visit) -> Html:
    """A field for a date or commit, and with a script a slider over the days of the space."""
    chosen = visit.fields.get(AS_OF)
    slider = _slider(memory, chosen) if memory else None
    field = entry(AS_OF, "As of", chosen, placeholder="2026-03-01, 2w, HEAD~3", autocomplete="off")
    back = html.a("Back to now", href=visit.here(as_of=""), data_now=True)
    return html.div(field, slider, back, class_="fields as-of")


def form(memory: Memory, visit: Visit) -> Html:
    """The field as a form of its own, which keeps the other parameters of the page."""
    hidden = html.hidden_inputs(visit.fields.pairs(AS_OF, "done", "undo", "ref", "other"))
    return html.details(
        html.summary("As of another time"),
        fields_form(visit.url(), "Go back", hidden, fields(memory, visit)),
        open=bool(visit.fields.get(AS_OF)),
    )


def banner(memory: Memory, at: Moment | None, *more: object) -> Html | None:
    """Says that a page shows an earlier time."""
    if at is None:
        return None
    return html.div(html.strong("Shown " + memory.past.remark(at)), *more, class_="banner")


def _slider(memory: Memory, chosen: str) -> Html | None:
    first = memory.past.beginning()
    today = datetime.fromtimestamp(now(), UTC).date()
    start = datetime.fromtimestamp(first, UTC).date() if first else today
    days = (today - start).days
    if days < 1:
        return None
    place = days
    if chosen:
        day = datetime.fromisoformat(memory.past.moment(chosen).at).date()
        place = max(0, min(days, (day - start).days))
    label = html.span(f"{start:%Y-%m-%d} to today")
    slider = html.input_(
        type="range", min=0, max=days, value=place, data_first=start.isoformat(), id="as-of"
    )
    return html.label(label, slider, class_="scripted")
