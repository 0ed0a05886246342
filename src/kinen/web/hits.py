"""A hit of a search: its passage as readable text, its votes, and its neighbours on demand."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kinen.memory import Memory
from kinen.model.records import Chunk, Hit, Hits, Record
from kinen.recall.floor import strength_word
from kinen.recall.passages import best_line
from kinen.recall.search import with_surroundings
from kinen.recall.tiers import short_id
from kinen.render.style import Style, readable
from kinen.render.text import (
    clipped,
    highlighted,
    hit_description,
    hit_lines,
    place,
    untitled,
    without_titles,
)
from kinen.text import terms
from kinen.web import html, votes
from kinen.web.html import Html
from kinen.web.markdown import code_line, passage
from kinen.web.page import ALL, Visit, about, date
from kinen.web.records import is_prose

AROUND = 2
"""Neighbours of a hit on each side."""
LINES = 8
"""Lines of a text without a passage."""
NEIGHBOUR = 1_500
"""Characters of a neighbour."""
WIDTH = 1_200
"""Characters of a line."""
_BEGIN = "\ue000"
_MATCH = re.compile(f"{_BEGIN}[0-9;]+m(.*?){_BEGIN}0m")
_STYLE = Style(colour=True, mark=_BEGIN)


def with_neighbours(memory: Memory, visit: Visit, hits: Hits) -> Hits:
    """The hits, with the neighbours of the one that a visit asks for."""
    chosen = visit.fields.get("around")
    if not chosen:
        return hits
    query_terms = terms(hits.query.text)
    wider = [
        with_surroundings(memory.core.reader, hit, query_terms, AROUND, ())
        if hit.chunk.id == chosen
        else hit
        for hit in hits
    ]
    return Hits(wider, hits.query, hits.mode, hits.notes)


def hit_item(visit: Visit, hit: Hit, query_terms: Sequence[str]) -> Html:
    hit = readable(hit)
    record = hit.record
    space = hit.space or visit.space
    line = hit.line or hit.display.start_line
    title = hit_description(hit) or record.title or record.ref
    if title == untitled(record):
        title = title.partition(" ")[0].replace("_", " ").capitalize()
    return html.li(
        html.article(
            html.h2(html.a(code_line(title), href=visit.record(record.ref, line, space))),
            about(_about(visit, hit, space, line)),
            html.div(_text(hit, query_terms), class_="passage"),
            _neighbours(visit, hit),
            _evidence(visit, hit),
            data_ref=record.ref,
        )
    )


def _about(visit: Visit, hit: Hit, space: str, line: int) -> list[object]:
    record = hit.record
    name = place(hit) if record.path else short_id(record.ref)
    session = visit.url("sessions", space, q=record.session)
    return [
        html.span(record.kind, class_=f"chip kind-{record.kind}"),
        html.span(hit.space, class_="chip") if visit.space == ALL else None,
        html.code(f"{name}:{line}" if line else name),
        date(record.at),
        html.a("session", href=session)
        if record.session and record.kind == "observation"
        else None,
    ]


def _evidence(visit: Visit, hit: Hit) -> Html:
    ref = hit.record.ref
    preview = html.a("preview", href=visit.here(open=ref) + "#preview", class_="preview-link")
    shown = visit.fields.get("around") == hit.chunk.id
    change: dict[str, object] = {"around": "" if shown else hit.chunk.id}
    if visit.space == ALL:
        change = {"context": "" if visit.fields.get("context") else AROUND}
    return html.div(
        votes.bar(hit.votes, hit.score),
        html.span(
            f"{hit.strength} {strength_word(hit.strength)}",
            class_="score",
            title="how close it is to the question, from 0 to 100",
        ),
        html.details(
            html.summary("why is this here"), votes.table(hit.votes, hit.score), class_="why"
        ),
        preview if visit.space != ALL else None,
        html.a(
            "hide neighbours" if shown else "neighbours",
            href=visit.here(**change),
            class_="around-link",
        ),
        class_="evidence",
    )


def _neighbours(visit: Visit, hit: Hit) -> Html | None:
    """The chunks before and after a hit, once they are asked for."""
    chosen = visit.fields.get("around") == hit.chunk.id or visit.fields.get("context")
    if not chosen:
        return None
    sides = [("before it", hit.before[-AROUND:]), ("after it", hit.after[:AROUND])]
    blocks = [
        html.section(
            html.p(title, class_="quiet"), [_neighbour(hit.record, chunk) for chunk in chunks]
        )
        for title, chunks in sides
        if chunks
    ]
    if not blocks:
        return html.p("Nothing stands around it: this is the whole record.", class_="quiet")
    return html.div(blocks, class_="neighbours")


def _neighbour(record: Record, chunk: Chunk) -> Html:
    text = chunk.text[:NEIGHBOUR]
    if is_prose(record):
        return html.div(passage(text), class_="neighbour")
    return html.div(html.p(text, class_="said"), class_="neighbour")


def _text(hit: Hit, query_terms: Sequence[str]) -> Html:
    """The passage of a hit with the words of the query marked, without the markup around them."""
    if not is_prose(hit.record):
        return html.join(html.p(marked(line)) for line in hit_lines(hit, query_terms, _STYLE))
    lines = hit.display.text.splitlines()
    if hit.passage is None:
        start = best_line(hit.chunk.text, query_terms)
        lines = lines[start : start + LINES]
    lines = without_titles(lines, hit)
    source = "\n".join(clipped(line, query_terms, WIDTH) for line in lines)
    return passage(source, lambda words: marked(highlighted(words, query_terms, _STYLE)))


def marked(line: str) -> Html:
    """A line with the words of the query marked."""
    parts: list[object] = []
    end = 0
    for match in _MATCH.finditer(line):
        parts += [_unmarked(line[end : match.start()]), html.mark(_unmarked(match[1]))]
        end = match.end()
    return html.join([*parts, _unmarked(line[end:])])


def _unmarked(text: str) -> str:
    """Text without a mark that was in the record itself."""
    return text.replace(_BEGIN, "\ufffd")
