"""The page Budget: what an agent would be sent now, token by token, and what would be left out."""

from __future__ import annotations

from collections.abc import Sequence

from kinen.memory import Memory
from kinen.model.journal import Recall
from kinen.query import MOST, recall_query
from kinen.recall.tiers import HEADINGS
from kinen.text import estimate
from kinen.web import asof, html
from kinen.web.html import Html
from kinen.web.markdown import passage
from kinen.web.page import (
    Page,
    Visit,
    about,
    cards,
    empty,
    entry,
    fields_form,
    notes,
    ref_link,
    table,
)
from kinen.web.votes import strip


def page(memory: Memory, visit: Visit) -> Page:
    question = visit.fields.get("q")
    agent = visit.fields.get("agent")
    start = visit.fields.number("start", memory.config.hooks.budget, MOST["budget"])
    budget = visit.fields.number("budget", memory.config.recall.budget, MOST["budget"])
    at = asof.moment(memory, visit)
    recall = memory.recall(
        recall_query(question, budget=max(1, budget), as_of=visit.fields.get("as_of"))
    )
    form = fields_form(
        visit.url(),
        "Show",
        entry("q", "Question of a recall", question, type="search"),
        entry("budget", "Tokens of a recall", str(budget), type="number", min="1"),
        entry("start", "Tokens at session start", str(start), type="number", min="0"),
        entry("agent", "Agent", agent),
    )
    body = html.join(
        [
            asof.banner(memory, at, html.span("what a session start sent then is in the ledger")),
            form,
            asof.form(memory, visit),
            None if at else _session_start(memory.journal.brief("", agent, start), start),
            html.section(
                html.h2(
                    f"A recall{' of this question' if question else ' without a question'}:"
                    f" {recall.tokens:,} of {recall.budget:,} tokens"
                ),
                notes(recall.notes),
                _bar(_tiers(recall), recall.budget),
                _items(visit, recall),
                _dropped(visit, recall),
            ),
        ]
    )
    return Page("Budget", body)


def _session_start(brief: str, budget: int) -> Html:
    return html.section(
        html.h2(f"When a session starts: {estimate(brief):,} of {budget:,} tokens"),
        _bar(_sections(brief), budget),
        html.details(html.summary("the text"), html.pre(brief, tabindex="0"), open=True)
        if brief
        else empty("Nothing would be sent."),
    )


def _sections(brief: str) -> list[tuple[str, int]]:
    """The parts of a brief by their headings, each with its tokens."""
    parts: list[tuple[str, int]] = []
    title = "frame"
    lines: list[str] = []
    for line in [*brief.splitlines(), "## "]:
        if line.startswith("## "):
            if lines:
                parts.append((title, estimate("\n".join(lines))))
            title = line.removeprefix("## ")
            lines = []
        lines.append(line)
    return parts


def _tiers(recall: Recall) -> list[tuple[str, int]]:
    sizes: dict[str, int] = {}
    for item in recall.items:
        sizes[item.tier] = sizes.get(item.tier, 0) + item.tokens
    rest = recall.tokens - sum(sizes.values())
    return [*sizes.items(), *([("headings", rest)] if rest > 0 else [])]


def _bar(parts: Sequence[tuple[str, int]], budget: int) -> Html | None:
    """Parts of a budget as one bar with its legend."""
    if not parts:
        return None
    whole = max(budget, sum(size for _, size in parts), 1)
    bars = [
        (f"{name}: {size} tokens", 1000 * size / whole, f"t{number % 6}")
        for number, (name, size) in enumerate(parts)
    ]
    label = ", ".join(f"{name} {size}" for name, size in parts)
    legend = [
        html.li(html.span("", class_=f"key t{number % 6}"), f"{name} {size:,}")
        for number, (name, size) in enumerate(parts)
    ]
    picture = strip(bars, (1000, 14), f"tokens: {label}, of {budget}", "tiers")
    return html.join([picture, html.ul(legend, class_="legend")])


def _items(visit: Visit, recall: Recall) -> Html:
    items = [
        html.li(
            about(
                (
                    html.span(HEADINGS[item.tier].removeprefix("## "), class_="chip"),
                    ref_link(visit, item.ref),
                    html.span(f"{item.tokens:,} tokens"),
                    html.span(f"score {item.score:.3f}") if item.score else None,
                )
            ),
            html.div(passage(item.text), class_="prose"),
        )
        for item in recall.items
    ]
    return cards(items, "A recall would say nothing.")


def _dropped(visit: Visit, recall: Recall) -> Html | None:
    if not recall.dropped:
        return None
    rows = [
        html.tr(
            html.th(ref_link(visit, entry.ref), scope="row"),
            html.td(entry.tier),
            html.td(f"{entry.tokens:,}", class_="number"),
            html.td(entry.reason),
        )
        for entry in recall.dropped
    ]
    return table(("left out", "tier", "tokens", "why"), rows, "What was left out")
