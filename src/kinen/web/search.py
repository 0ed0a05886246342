"""The page Search: hits with their votes, filters in the address, a preview, why X is missing."""

from __future__ import annotations

from pydantic import ValidationError

from kinen.api import requests
from kinen.api.complaints import complaint
from kinen.api.refs import resolve
from kinen.errors import QueryError
from kinen.http.queries import search_of
from kinen.memory import Memory
from kinen.memory.federation import search_spaces
from kinen.memory.search import Standing
from kinen.model.kinds import MODES
from kinen.model.records import KINDS, Hits
from kinen.render.text import counted
from kinen.text import plural, terms
from kinen.web import asof, html, records, votes
from kinen.web.hits import hit_item, with_neighbours
from kinen.web.html import Html
from kinen.web.page import ALL, Page, Visit, choices, empty, entry, notes

FILTERS = "types agent tags since until as_of mode kinds author session paths".split()
"""Parameters of a search that the form has, or that a link may set."""
BY = {"hybrid": "", "fulltext": ", by words", "semantic": ", by meaning"}
"""How hits were found, by mode; hybrid goes without saying."""


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
    request = _request(visit)
    if request is None:
        return _page(visit, None, memory=memory)
    query = search_of(memory, request)
    opened = visit.fields.get("open")
    why = visit.fields.get("why")
    return _page(
        visit,
        with_neighbours(memory, visit, memory.search(query)),
        memory.searcher.standing(query, memory.records.get(resolve(memory, why)[0]))
        if why
        else None,
        records.preview(memory, visit, opened) if opened else None,
        memory,
    )


def page_of_all(visit: Visit) -> Page:
    """The hits in all spaces."""
    request = _request(visit)
    if request is None:
        return _page(visit, None)
    return _page(visit, search_spaces([ALL], lambda memory: search_of(memory, request)))


def _request(visit: Visit) -> requests.Search | None:
    """The search that a visit asks for; None if it has no words."""
    if not visit.fields.get("q"):
        return None
    try:
        return requests.Search.model_validate(parameters(visit))
    except ValidationError as error:
        raise QueryError(complaint(error.errors())) from error


def _page(
    visit: Visit,
    hits: Hits | None,
    standing: Standing | None = None,
    preview: Html | None = None,
    memory: Memory | None = None,
) -> Page:
    """Search results; None before anything was asked for."""
    if hits is None:
        results: Html = empty(
            "Search notes, sessions, commits, memories and everything else that is indexed here."
        )
    elif not hits:
        results = html.join([notes(hits.notes), empty("No hits. Try fewer words or filters.")])
    else:
        query_terms = terms(hits.query.text)
        items = [hit_item(visit, hit, query_terms) for hit in hits]
        count = counted(len(items), "hits") + BY.get(hits.mode, "")
        results = html.join(
            [notes(hits.notes), html.p(count, class_="quiet"), html.ol(items, class_="hits")]
        )
    parts = html.div(
        html.section(
            results,
            _missing(visit, standing) if hits is not None else None,
            id="results",
            aria_label="Results",
        ),
        html.aside(preview, id="preview", aria_label="Preview") if preview else None,
        class_="split" if preview else None,
    )
    return Page("Search", html.join([_form(visit, memory), parts]), ("search.js",))


def _form(visit: Visit, memory: Memory | None) -> Html:
    kinds = [("", "everything"), *((plural(kind), plural(kind)) for kind in KINDS)]
    modes = [("", "as configured"), *((mode, mode) for mode in MODES)]
    chosen = {name: visit.fields.get(name) for name in FILTERS}
    hidden = ("kinds", "author", "session", "paths")
    fields = html.div(
        choices("types", "Type", kinds, chosen["types"]),
        entry("agent", "Agent", chosen["agent"], autocomplete="off"),
        entry("tags", "Tag", chosen["tags"], autocomplete="off"),
        entry("since", "Since", chosen["since"], placeholder="2w, 2026-03-01", autocomplete="off"),
        entry("until", "Until", chosen["until"], placeholder="yesterday", autocomplete="off"),
        choices("mode", "Mode", modes, chosen["mode"]),
        class_="fields",
    )
    return html.form(
        html.div(
            html.label(
                html.span("Search for", class_="hidden"),
                html.input_(
                    type="search",
                    name="q",
                    value=visit.fields.get("q"),
                    placeholder="why did we …",
                    autocomplete="off",
                    spellcheck="false",
                    autofocus=not visit.fields.get("q"),
                    aria_keyshortcuts="/",
                ),
            ),
            html.button("Search", type="submit"),
            class_="ask",
        ),
        html.details(
            html.summary("Filters and time"),
            fields,
            asof.fields(memory, visit),
            open=any(chosen.values()),
        ),
        html.hidden_inputs((name, chosen[name]) for name in hidden if chosen[name]),
        method="get",
        action=visit.url("search"),
        role="search",
        id="search",
    )


def _missing(visit: Visit, standing: Standing | None) -> Html | None:
    """Why a record is not among the hits: a form, and the answer."""
    if visit.space == ALL:
        return None
    form = html.form(
        html.hidden_inputs(visit.fields.pairs("why", "open")),
        entry("why", "Why is this not here?", visit.fields.get("why"), placeholder="ref or path"),
        html.button("Explain", type="submit"),
        method="get",
        action=visit.url("search"),
        class_="ask-why",
    )
    return html.div(form, _standing(visit, standing) if standing else None, id="why")


def _standing(visit: Visit, standing: Standing) -> Html:
    path = standing.record.path
    link = html.a(
        standing.record.title or standing.record.ref, href=visit.record(standing.record.ref)
    )
    return html.div(
        html.p(link, ": ", standing.reason),
        votes.bar(standing.hit.votes, standing.hit.score) if standing.hit else None,
        votes.table(standing.hit.votes, standing.hit.score) if standing.hit else None,
        html.p(html.a("ask for this record alone", href=visit.here(why="", paths=path)))
        if path
        else None,
        class_="standing",
    )
