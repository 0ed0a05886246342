"""Endpoints that ask: search, recall, what an agent is told, records, links, git's history."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from kinen import __version__, render
from kinen.api import requests
from kinen.errors import QueryError
from kinen.http import responses as forms
from kinen.http.guard import Refused
from kinen.http.space import Asking, Routes, answer, cursor, key_of, known, moment, text
from kinen.memory import Memory
from kinen.model.records import GIT_KINDS, JOURNAL_KINDS
from kinen.query import place, recall_query, search_query
from kinen.render import history as shown
from kinen.render.journal import recall_json, recall_text
from kinen.text import estimate

router = Routes()
PLAIN, BYTES = "text/plain", "application/octet-stream"
FAR = 1 << 31
Accept = Annotated[str, Header(description="`text/plain` for what the command prints")]
File = Annotated[
    requests.Place, Query(description="from the space's root", examples=["src/auth.py"])
]
TOLD: Any = {
    200: {
        "headers": {
            "X-Kinen-Notes": {"description": "remarks, percent-encoded lines", "schema": {}},
            "X-Kinen-Code": {"description": "1 if nothing was found, else 0", "schema": {}},
        },
        "content": {PLAIN: {"schema": {"type": "string"}, "example": "docs/sessions.md:12"}},
    }
}


# Questions


@router.on("POST GET", "/search", forms.Found, responses=TOLD)
def search(memory: Memory, asked: requests.Search, accept: Accept = "") -> Any:
    """Find things by word and by meaning, each with where it is and why it ranked."""
    names = ("mode", "types", "kinds", "agent", "author", "repo", "session", "tags", "paths")
    query = search_query(
        asked.query,
        memory.config.search,
        **{
            name: getattr(asked, name)
            for name in (*names, "limit", "context", "min_score", "exact")
        },
        since=moment(asked.since),
        until=moment(asked.until, end=True),
        near=[memory.git.current_name(memory.git.inside(one)) for one in asked.near],
    )
    hits = memory.search(query)
    headers = _told(bool(hits), hits.notes)
    if _plain(accept):
        how = {name: getattr(asked, name) for name in ("files", "explain", "colour")}
        return text(render.search_text(hits, **how), PLAIN, headers)
    return answer(render.hits_json(hits), headers)


@router.on("POST GET", "/recall", forms.Recalled, responses=TOLD)
def recall(memory: Memory, asked: requests.Recall, accept: Accept = "") -> Any:
    """The plan, pins, the latest summary and what was found, inside a token budget."""
    names = ("types", "tags", "files", "symbols", "session", "limit", "budget", "min_similarity")
    query = recall_query(
        asked.query,
        **{name: getattr(asked, name) for name in names},
        since=moment(asked.since),
        until=moment(asked.until, end=True),
    )
    by = asked.distiller or ("configured" if asked.distill else "none")
    given = memory.recall(query, full=asked.full, distiller="" if by == "none" else by)
    notes = (*given.notes, *(given.digest.notes if given.digest else ()))
    headers = _told(bool(given.items or given.digest), notes)
    if _plain(accept):
        return text(recall_text(given), PLAIN, headers)
    return answer(recall_json(given), headers)


def _told(found: bool, notes: Any) -> dict[str, str]:
    lines = "\n".join(" ".join(note.split()) for note in notes)
    return {"X-Kinen-Notes": quote(lines), "X-Kinen-Code": str(int(not found))}


def _plain(accept: str) -> bool:
    return PLAIN in accept.lower() and "json" not in accept.lower()


@router.on("POST", "/retrieve", forms.Retrieved)
def retrieve(memory: Memory, asked: requests.Retrieve) -> Any:
    """What the journal has on a question, tier by tier: Kindling's recall."""
    scope, since, until = asked.scope, moment(asked.since), moment(asked.until, end=True)
    how: Any = {"types": JOURNAL_KINDS, "limit": asked.limit, "budget": asked.budget}
    query = recall_query(asked.query, session=scope.session, since=since, until=until, **how)
    query = query._replace(repo=scope.repo, agent=scope.agent, user=scope.user)
    told = recall_json(memory.recall(query, summary=True))
    items = told.pop("items")
    tiers: dict[str, list[Any]] = {
        name: [one for one in items if one["tier"] == name]
        for name in ("plan", "pins", "summary", "hits")
    }
    single = {name: next(iter(tiers[name]), None) for name in ("plan", "summary")}
    kept = ("query", "budget", "tokens", "dropped", "notes")
    return {**{name: told[name] for name in kept}, **tiers, **single}


# What an agent is told


@router.on("POST", "/context/session-start", forms.Brief)
def session_start(memory: Memory, asked: requests.Beginning) -> Any:
    """What an agent is told when it begins: plan, pins, the last summary, memories."""
    return _brief(memory.journal.brief(asked.session, asked.agent, asked.budget))


@router.on("POST", "/context/pre-compact", forms.Brief)
def pre_compact(memory: Memory, asked: requests.Beginning) -> Any:
    """What an agent has to keep when it sums up its session: plan and pins."""
    return _brief(memory.journal.brief(asked.session, asked.agent, asked.budget, compacting=True))


@router.on("POST", "/context/prompt", forms.Related)
def prompt(memory: Memory, asked: requests.Prompt) -> Any:
    """What belongs to a prompt, of other sessions and files."""
    size = asked.budget or memory.config.hooks.budget
    try:
        related = memory.context.related(asked.prompt, asked.session, size, asked.known)
    except QueryError:  # nothing in it to look for
        return {**_brief(""), "entries": [], "dropped": []}
    dropped = [{"ref": ref, "reason": reason} for ref, reason in related.dropped]
    return {**_brief(related.text), "entries": list(related.entries), "dropped": dropped}


def _brief(told: str) -> Any:
    return {"text": told, "tokens": estimate(told)}


# Records


@router.on("GET", "/records/{ref:path}", forms.Whole)
def record(
    memory: Memory, ref: requests.Place, line: Annotated[int, Query(ge=-1, lt=FAR)] = -1
) -> Any:
    """What is remembered of a ref or path, or of a line of it (`docs/auth.md:42`)."""
    name, there, n = place(ref)
    if max(there, n) >= FAR:
        raise QueryError(f"no such line: {max(there, n)}", "give a smaller number")
    found, chunks = memory.records.show(known(memory, name), line if line >= 0 else there, n)
    told = {**render.record_json(found), "chunks": [one._asdict() for one in chunks]}
    if found.kind in GIT_KINDS:
        told["edges"] = render.edges_json(memory.records.links(found.ref))
    return told


@router.on("GET", "/links", forms.Links)
def links(
    memory: Memory,
    ref: Annotated[requests.Place, Query(examples=["note:docs/sessions.md"])],
    depth: Annotated[int, Query(ge=1, le=6)] = 1,
) -> Any:
    """The edges around a record, both directions."""
    found = memory.records.get(known(memory, ref))
    return {"ref": found.ref, "edges": render.edges_json(memory.records.links(found.ref, depth))}


@router.on("GET", "/history", forms.History)
def history(memory: Memory, path: File) -> Any:
    """What commits did to a file, oldest first, through renames, with its tags."""
    full = memory.git.inside(path)
    told = [shown.revision_json(one) for one in memory.git.history(full)]
    return {"path": path, "revisions": told, "by_hand": memory.git.tagged_by_hand(full)}


@router.on("GET", "/cochange", forms.Companions)
def cochange(
    memory: Memory,
    path: Annotated[list[requests.Place], Query(min_length=1, max_length=100)],
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
) -> Any:
    """Files that usually change together with these, and why."""
    found = memory.git.cochanged([memory.git.inside(one) for one in path], limit)
    return {"paths": path, "files": [shown.companion_json(one) for one in found]}


@router.on("GET", "/tags", forms.TagPage)
def tags(memory: Memory, asked: requests.Page) -> Any:
    """The tags of the repository's files, the most frequent first."""
    after, found = key_of(asked.cursor), memory.git.tags()
    left = [one for one in found if not after or (-one[1], one[0]) > (-after[0], after[1])]
    part = left[: asked.limit]
    more = cursor((part[-1][1], part[-1][0])) if len(left) > len(part) else None
    return {"tags": [{"tag": tag, "count": count} for tag, count in part], "next": more}


@router.on("POST", "/vectors", None, responses={200: {"content": {BYTES: {"schema": {}}}}})
def vectors(memory: Memory, asked: requests.Texts) -> Any:
    """Vectors of texts as rows of little-endian float32; 409 if the space has another model."""
    try:
        return Response(memory.index.vectors(asked.texts, asked.model), media_type=BYTES)
    except QueryError as error:
        raise Refused(409, error.message, error.hint) from error


# The daemon


@router.get("/health", response_model=forms.Health)
async def health(request: Request) -> Response:
    """Whether the daemon answers."""
    told = request.app.state.door.state()
    return answer({"status": "ok", "version": __version__, "daemon": told})


@router.get("/status", response_model=forms.State)
async def status(at: Asking) -> Response:
    """How the daemon is, and the space if one is named."""
    named = at.name or at.door.default
    space = (
        render.status_json(await at.ask(lambda memory: memory.index.status())) if named else None
    )
    return answer({"space": space, "daemon": at.door.state()})


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"example": "id: 7\nevent: sync\ndata: {}"}}}
    },
)
async def events(
    request: Request, last: Annotated[int, Header(alias="Last-Event-ID", ge=-1, lt=1 << 63)] = -1
) -> Response:
    """What happens from now on, or after an event that was read before, as server-sent events.

    A listener that is far behind loses the oldest, and is told how many by `lost`.
    """
    hub = request.app.state.door.hub
    if hub.full:
        raise Refused(503, "too many listeners", "end one of them, then try again")
    return StreamingResponse(hub.subscribe(last), media_type="text/event-stream")
