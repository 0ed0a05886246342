"""The page Search: hits with their votes, filters in the address, a preview, why X is missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup as Html
from pydantic import ValidationError

from kinen.errors import QueryError
from kinen.ids import short_id
from kinen.memory import Memory
from kinen.memory.federation import search_spaces
from kinen.model.kinds import MODES
from kinen.model.records import KINDS, Chunk, Hit, Hits
from kinen.recall.floor import strength_word
from kinen.recall.passages import best_line
from kinen.recall.search import with_surroundings
from kinen.render.markdown import passage
from kinen.render.markdown import text as escaped
from kinen.render.screen import Style, readable
from kinen.render.text import (
    clipped,
    highlighted,
    hit_lines,
    hit_title,
    place,
    without_titles,
)
from kinen.text import plural, terms
from kinen.verbs.records import resolve
from kinen.verbs.requests import SearchRequest, complaint, values_of
from kinen.verbs.search import Search
from kinen.web import records
from kinen.web.page import ALL, Page, Visit, past_slider

FILTERS = "types agent tags since until as_of mode kinds author session paths".split()
"""Parameters of a search that the form has, or that a link may set."""
BY = {"hybrid": "", "fulltext": ", by words", "semantic": ", by meaning"}
"""How hits were found, by mode; hybrid goes without saying."""
CHIPS = ("", "capsules", "observations", "memories", "commits", "notes", "files")
"""Types that have a link of their own; the first is all of them."""
AROUND = 2
"""Neighbours of a hit on each side."""
LINES = 8
"""Lines of a text without a passage."""
NEIGHBOUR = 1_500
"""Characters of a neighbour."""
WIDTH = 1_200
"""Characters of a line."""
INDEX = "`kinen index`"
"""The command in notes that are beside the point while it runs."""
_BEGIN = "\ue000"
_MATCH = re.compile(f"{_BEGIN}[0-9;]+m(.*?){_BEGIN}0m")
_STYLE = Style(colour=True, mark=_BEGIN)


def parameters(visit: Visit) -> dict[str, object]:
    """The fields of the search that a visit asks for, by the names of the API."""
    several = ("types", "kinds", "tags", "paths")
    fields: dict[str, object] = {"query": visit.fields.get("q")}
    for name in FILTERS:
        values = visit.fields.all(name)
        if values:
            fields[name] = values if name in several else values[0]
    context = visit.fields.number("context", 0, 50)
    return {**fields, "context": context} if context else fields


def page(memory: Memory, visit: Visit) -> Page:
    """The hits in one space."""
    slider = past_slider(memory, visit)
    search = _search(visit)
    if search is None:
        return _page(visit, None, slider=slider)
    query = search.query_in(memory)
    hits = memory.search(query)
    around = visit.fields.get("around")
    if around:
        words = terms(query.text)
        wider = [
            with_surroundings(memory.core.reader, hit, words, AROUND, ())
            if hit.chunk.id == around
            else hit
            for hit in hits
        ]
        hits = Hits(wider, hits.query, hits.mode, hits.notes)
    opened = visit.fields.get("open")
    why = visit.fields.get("why")
    missing = memory.records.get(resolve(memory, why)[0]) if why else None
    return _page(
        visit,
        hits,
        slider=slider,
        titles={
            parent: memory.records.title(parent)
            for hit in hits
            if (parent := str((hit.record.metadata or {}).get("parent") or ""))
        },
        standing=memory.searcher.standing(query, missing) if missing else None,
        preview=records.preview(memory, visit, opened) if opened else None,
    )


def page_of_all(visit: Visit) -> Page:
    """The hits in all spaces."""
    search = _search(visit)
    return _page(visit, search_spaces([ALL], search.query_in) if search else None)


def _search(visit: Visit) -> Search | None:
    """The search that a visit asks for; None if it has no words."""
    if not visit.fields.get("q"):
        return None
    try:
        request = SearchRequest.model_validate(parameters(visit))
        return Search(**values_of(Search, request))
    except ValidationError as error:
        raise QueryError(complaint(error.errors())) from error


def _page(visit: Visit, hits: Hits | None, **more: Any) -> Page:
    """Search results; None before anything was asked for."""
    query_terms = terms(hits.query.text) if hits else ()
    # Hits of one session or file together, in the order of the first of each.
    groups: dict[str, list[dict[str, Any]]] = {}
    for hit in hits or ():
        view = hit_view(visit, hit, query_terms)
        groups.setdefault(view["group"], []).append(view)
    values = {
        "kinds": [("", "everything"), *((plural(kind), plural(kind)) for kind in KINDS)],
        "modes": [("", "as configured"), *((mode, mode) for mode in MODES)],
        "chosen": {name: visit.fields.get(name) for name in FILTERS},
        "asked": hits is not None,
        "notes": [
            note for note in (hits.notes if hits else ()) if not (visit.work and INDEX in note)
        ],
        "by": BY.get(hits.mode, "") if hits else "",
        "groups": list(groups.values()),
        "count": len(hits or ()),
        "chips": [(kind, visit.here(types=kind, open="")) for kind in CHIPS],
        "slider": None,
        "titles": {},
        "standing": None,
        "preview": None,
        **more,
    }
    return Page("Search", "search.html", values, ("search.js",))


def hit_view(visit: Visit, hit: Hit, query_terms: Sequence[str]) -> dict[str, Any]:
    """What a page shows of a hit."""
    title = hit_title(hit)
    hit = readable(hit)
    record = hit.record
    space = hit.space or visit.space
    line = hit.line or hit.display.start_line
    name = place(hit) if record.path else short_id(record.ref)
    chosen = visit.fields.get("around") == hit.chunk.id
    change: dict[str, object] = {"around": "" if chosen else hit.chunk.id}
    if visit.is_all:
        change = {"context": "" if visit.fields.get("context") else AROUND}
    about = record.metadata or {}
    parent = about.get("parent")
    lead = ""
    if record.kind in ("memory", "capsule", "summary") or about.get("event") == "message":
        first, _, rest = title.partition(": ")
        lead = first if rest else ""
        title = rest or title
    text = _text(hit, query_terms)
    if text.striptags() == title:  # once is enough
        title = marked(highlighted(title, query_terms, _STYLE))
        text = Html()
    sides = (("before it", hit.before[-AROUND:]), ("after it", hit.after[:AROUND]))
    return {
        "hit": hit,
        "group": f"{space} {parent or record.path or record.ref}",
        "lead": "" if record.kind == "capsule" else lead,
        "title": title,
        "url": visit.record(record.ref, line, space),
        "place": f"{name}:{line}" if line else name,
        "parent": str(parent or ""),
        "session": visit.record(str(parent), space=space)
        if record.kind == "observation" and parent
        else "",
        "text": text,
        "strength": strength_word(hit.strength),
        "around": chosen,
        "around_url": visit.here(**change),
        "open_url": visit.here(open=record.ref),
        "with_neighbours": chosen or bool(visit.fields.get("context")),
        "neighbours": [
            (side, [_neighbour(hit, chunk) for chunk in chunks]) for side, chunks in sides if chunks
        ],
    }


def _neighbour(hit: Hit, chunk: Chunk) -> Html:
    text = chunk.text[:NEIGHBOUR]
    if records.is_prose(hit.record):
        return passage(text)
    return Html('<p class="said">{}</p>').format(escaped(text))


def _text(hit: Hit, query_terms: Sequence[str]) -> Html:
    """The passage of a hit with the words of the query marked, without the markup around them."""
    if not records.is_prose(hit.record):
        lines = hit_lines(hit, query_terms, _STYLE)
        return Html().join(Html("<p>{}</p>").format(marked(line)) for line in lines)
    lines = hit.display.text.splitlines()
    if hit.passage is None:
        start = best_line(hit.chunk.text, query_terms)
        lines = lines[start : start + LINES]
    lines = without_titles(lines, hit)
    source = "\n".join(clipped(line, query_terms, WIDTH) for line in lines)
    return passage(source, lambda words: marked(highlighted(words, query_terms, _STYLE)))


def marked(line: str) -> Html:
    """A line with the words of the query marked."""
    parts: list[Html] = []
    end = 0
    for match in _MATCH.finditer(line):
        word = Html("<mark>{}</mark>").format(_unmarked(match[1]))
        parts += [_unmarked(line[end : match.start()]), word]
        end = match.end()
    return Html().join([*parts, _unmarked(line[end:])])


def _unmarked(text: str) -> Html:
    """Text without a mark that was in the record itself."""
    return escaped(text.replace(_BEGIN, "\ufffd"))
