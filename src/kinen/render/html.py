"""Pages as HTML: the templates of `templates/`, in which everything is escaped.

Text is escaped where a template shows it. HTML as it is comes from `render.markdown` and from the
templates' own macros alone. Decision: docs/decisions/0017-pages.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kinen.characters import visible, visible_line
from kinen.ids import short_id
from kinen.journal import events
from kinen.journal.authors import signature
from kinen.journal.timeline import first_sentence
from kinen.model.records import KINDS, Vote
from kinen.recall.tiers import HEADINGS
from kinen.render import markdown, treemap
from kinen.render.screen import SIGNS
from kinen.render.sessions import duration
from kinen.render.text import counted
from kinen.text import excerpt, iso, now, plural

FOLDER = os.path.dirname(__file__)
MEANINGS = {
    "fulltext": "words of the query",
    "neighbours": "words in the passages beside it",
    "semantic": "meaning",
    "phrase": "several words of the query in a row",
    "recency": "how new it is",
    "date": "the time that the question names",
    "files": "the files that it changed",
}
"""What each retriever looks at; others are shown by their names."""
NEAR = 6
"""Days up to which a moment is told by how long ago it was."""


def _shown(value: object) -> object:
    """What a template shows of a value: nothing of None, and control characters spelled out."""
    if value is None:
        return ""
    return visible(value) if type(value) is str else value


def strip(
    parts: Iterable[tuple[str, float, str]], whole: float
) -> Iterator[tuple[str, float, float, str]]:
    """Parts of a whole side by side: the title, start, width and class of each."""
    start = 0.0
    for title, part, name in parts:
        width = max(0.0, min(part, whole - start))
        yield title, start, width, name
        start += width


def points(share: float) -> str:
    """A share of the score as points of 100."""
    return f"{100 * share:.1f}"


def vote_parts(votes: Sequence[Vote]) -> list[tuple[str, float, str]]:
    return [
        (f"{vote.retriever} {points(vote.share)}", 100 * vote.share, f"vote {vote_class(vote)}")
        for vote in votes
    ]


def vote_class(vote: Vote) -> str:
    return f"v-{vote.retriever}" if vote.retriever in MEANINGS else "v-other"


def day(at: str) -> str:
    """The day of a UTC moment as a heading: `Today`, `Yesterday`, `Mon 16 Nov`."""
    try:
        date = datetime.fromisoformat(at[:10]).date()
    except ValueError:
        return "Undated"
    today = datetime.fromtimestamp(now(), UTC).date()
    near = {0: "Today", 1: "Yesterday"}.get((today - date).days)
    return near or f"{date:%a %-d %b}{f' {date.year}' if date.year != today.year else ''}"


def ago(at: str) -> str:
    """How long ago a UTC moment was: `5 min ago`, `yesterday`, `4 days ago`, `16 Nov`, `in 2 h`."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return at
    whole_day = len(at) == len("2026-01-01")
    then = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    today = datetime.fromtimestamp(now(), UTC)
    days = (today.date() - then.date()).days
    seconds = (today - then).total_seconds()
    if days < 0 or days > NEAR:
        return f"{then:%-d %b}{f' {then.year}' if then.year != today.year else ''}"
    if days or whole_day:
        return {0: "today", 1: "yesterday"}.get(days, f"{days} days ago")
    if abs(seconds) < 60:
        return "just now"
    unit, size = ("min", 60) if abs(seconds) < 3_600 else ("h", 3_600)
    span = f"{abs(seconds) // size:.0f} {unit}"
    return f"{span} ago" if seconds > 0 else f"in {span}"


def groupby_day(sessions: Iterable[tuple[Any, str]]) -> list[tuple[str, list[tuple[Any, str]]]]:
    """Sessions with their spaces by the day on which they began, in their order."""
    days: dict[str, list[tuple[Any, str]]] = {}
    for session, space in sessions:
        days.setdefault(day(session.started), []).append((session, space))
    return list(days.items())


def cut(text: str, limit: int) -> str:
    """The first words of a text with its lines, and how much is missing; not for a short rest."""
    if len(text) <= limit + len("… (99 characters more)"):
        return text
    begin = text[:limit].rpartition(" ")[0] or text[:limit]
    return f"{begin}… ({len(text) - len(begin):,} characters more)"


def kind_name(kind: str) -> str:
    """What a kind of record is called."""
    return {"capsule": "session", "observation": "event"}.get(kind, kind)


_pages = Environment(
    loader=FileSystemLoader(os.path.join(FOLDER, "templates")),
    autoescape=True,
    auto_reload=False,
    finalize=_shown,
    lstrip_blocks=True,
    trim_blocks=True,
    undefined=StrictUndefined,
)
_pages.filters.update(
    signature=signature,
    ago=ago,
    day=day,
    code=markdown.code_line,
    code_block=markdown.code_block,
    counted=counted,
    cut=cut,
    duration=duration,
    excerpt=excerpt,
    first_line=first_sentence,
    groupby_day=groupby_day,
    inline=markdown.inline,
    int_text="{:.0f}".format,
    kind_name=kind_name,
    line=visible_line,
    markdown=markdown.markdown,
    moment=lambda milliseconds: iso(milliseconds / 1000),
    n="{:,}".format,
    passage=markdown.passage,
    plural=plural,
    points=points,
    short_id=short_id,
    vote_class=vote_class,
    vote_parts=vote_parts,
)
_pages.globals.update(
    HEADINGS=HEADINGS,
    KINDS=KINDS,
    MAP=(treemap.WIDTH, treemap.HEIGHT),
    MEANINGS=MEANINGS,
    SIGNS=SIGNS,
    body_of=events.body,
    strip=strip,
)


def render(template: str, **values: Any) -> str:
    """A template as text."""
    return _pages.get_template(template).render(values)


def stream(template: str, **values: Any) -> Iterator[str]:
    """A template piece by piece: what it loops over is read as the pieces are."""
    return _pages.get_template(template).generate(values)


def fragment(template: str, **values: Any) -> Markup:
    """A template as a part of another."""
    return Markup(render(template, **values))  # noqa: S704
