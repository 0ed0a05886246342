"""Endpoints of the journal: observations, capsules, pins, and the journal as a whole."""

import contextlib
import io
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from kinen.api import requests
from kinen.errors import Busy, QueryError, StoreError
from kinen.http import responses as forms
from kinen.http.guard import Refused
from kinen.http.space import Asking, Routes, answer, cursor, key_of, known, milliseconds
from kinen.memory import Memory
from kinen.memory.pool import JOURNAL
from kinen.model.journal import Scope
from kinen.privacy.injected import without_injected
from kinen.render.journal import entry_json, loaded_json

router = Routes()
Id = Annotated[requests.Id, Path(description="an id, or the beginning of one")]
BLOCK = 1 << 18
ROOM = 8 << 20
"""Bytes of a bundle that are held in memory; what is more is in a temporary file."""
FORMS = {"json": "application/json", "jsonl": "application/x-ndjson"}
BUNDLE = {
    "schema": {"type": "object"},
    "example": {"version": "1.0", "exported_at": 1767225600000, "observations": []},
}


class Spool(SpooledTemporaryFile[bytes]):
    """A bundle on its way."""

    name = "the bundle"


# Observations


@router.on("POST", "/observations", forms.Kept, "observation", JOURNAL)
def observe(memory: Memory, asked: requests.Observe) -> Any:
    """Keep something that happened; when this answers, it is on disk, its secrets masked."""
    there = bool(asked.id) and memory.journal.observed(asked.id)
    kept = memory.observe(
        without_injected(asked.content),
        kind=asked.kind,
        scope=_scope(asked.scope),
        files=[memory.git.inside(file) for file in asked.files],
        capsule=asked.capsule,
        provenance=asked.provenance,
        at=milliseconds(asked.at),
        id=asked.id,
    )
    return {**entry_json(kept), "deduplicated": there}


@router.on("POST", "/observations/list", forms.ObservationPage)
def list_observations(memory: Memory, asked: requests.Observations) -> Any:
    """Observations, newest first: from `since` on, and before `until`."""
    return _page(
        memory,
        "observations",
        asked,
        asked.scope,
        kinds=tuple(asked.kinds),
        capsule=asked.capsule.removeprefix("capsule:"),
        after=milliseconds(asked.since),
        before=max(1, milliseconds(asked.until) - 1) if asked.until != "" else 0,
        redacted=asked.include_redacted,
    )


@router.on("POST", "/observations/{id}/forget", forms.Forgotten, "forgotten")
def forget_observation(memory: Memory, id: Id) -> Any:  # noqa: A002
    """Leave only a tombstone of an observation: its text is in no file that kinen wrote."""
    erased = memory.journal.forget(f"observation:{id}")
    return {"forgotten": erased.refs, **erased._asdict()}


# Capsules


@router.on("POST", "/capsules", forms.Capsule, "capsule", JOURNAL)
def open_capsule(memory: Memory, asked: requests.Open) -> Any:
    """Begin a capsule: a session, or a step of a workflow."""
    how: Any = {"type": asked.type, "resume": asked.resume, "id": asked.id}
    return entry_json(memory.journal.open_capsule(asked.intent, scope=_scope(asked.scope), **how))


@router.on("GET", "/capsules", forms.CapsulePage)
def list_capsules(memory: Memory, asked: requests.Capsules) -> Any:
    """Capsules, newest first."""
    return _page(memory, "capsules", asked, asked, kind=asked.type, status=asked.status)


@router.on("GET", "/capsules/open", forms.CapsulePage)
def list_open_capsules(memory: Memory, asked: requests.Pins) -> Any:
    """Capsules that go on, newest first."""
    return _page(memory, "capsules", asked, asked, status="open")


@router.on("GET", "/capsules/{id}", forms.Story)
def show_capsule(memory: Memory, id: Id) -> Any:  # noqa: A002
    """A capsule with its summaries and what happened in it."""
    found, observations, summaries = memory.journal.capsule(f"capsule:{id}")
    parts: dict[str, list[Any]] = {"summaries": summaries, "observations": observations}
    told = {name: [entry_json(one) for one in part] for name, part in parts.items()}
    return {**entry_json(found), **told}


@router.on("PATCH", "/capsules/{id}/close", forms.Closed, "capsule")
def close_capsule(memory: Memory, id: Id, asked: requests.Close) -> Any:  # noqa: A002
    """End a capsule, with a summary of yours or one made of what happened in it."""
    summary = without_injected(asked.summary)
    closed, written = memory.journal.close_capsule(
        f"capsule:{id}", summary, confidence=asked.confidence
    )
    return {**entry_json(closed), "summary": entry_json(written) if written else None}


# Pins


@router.on("POST", "/pins", forms.Pin, "pin")
def pin(memory: Memory, asked: requests.MakePin) -> Any:
    """Have every recall in a scope begin with an entry, a note or any other record."""
    if bool(asked.target) == bool(asked.target_type and asked.target_id):
        raise QueryError("nothing or two to pin", "give target, or targetType and targetId")
    name = known(memory, asked.target or f"{asked.target_type}:{asked.target_id}")
    ttl = asked.ttl or asked.ttl_ms / 1000
    return entry_json(memory.journal.pin(name, asked.note, ttl=ttl, scope=_scope(asked.scope)))


@router.on("GET", "/pins", forms.PinPage)
def list_pins(memory: Memory, asked: requests.Pins) -> Any:
    """Pins that hold, newest first."""
    return _page(memory, "pins", asked, asked)


@router.on("DELETE", "/pins/{id}", forms.Unpinned, "pin")
def unpin(memory: Memory, id: Id) -> Any:  # noqa: A002
    """Take away a pin."""
    return {"unpinned": memory.journal.unpin(f"pin:{id}")}


def _scope(scope: requests.Flat) -> Scope:
    return Scope(**{name: getattr(scope, name) for name in requests.SCOPE})


def _page(memory: Memory, plural: str, asked: Any, scope: requests.Flat, **wanted: Any) -> Any:
    past = key_of(asked.cursor)
    found, last = memory.journal.page(plural, asked.limit, scope=_scope(scope), past=past, **wanted)
    return {plural: [entry_json(one) for one in found], "next": cursor(last)}


# The whole journal


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {kind: {"schema": {}} for kind in FORMS.values()}}},
)
async def export(asked: Annotated[requests.Export, Query()], at: Asking) -> Response:
    """The journal, or a part of it, as one bundle; the same journal gives the same entries."""

    def call(memory: Memory) -> Spool:
        times = {"after": milliseconds(asked.since), "before": milliseconds(asked.until)}
        with contextlib.ExitStack() as undo:
            file = undo.enter_context(Spool(ROOM))
            out = io.TextIOWrapper(file, "utf-8", "surrogatepass", newline="\n")
            memory.transfer.export(
                out, session=asked.session, repo=asked.repo, form=asked.form, **times
            )
            out.detach()
            file.seek(0)
            undo.pop_all()
        return file

    async def blocks(file: Spool) -> AsyncIterator[bytes]:
        with file:
            while data := await at.door.thread(file.read, BLOCK):
                yield data

    file = await at.ask(call, apart=True)
    return StreamingResponse(blocks(file), media_type=FORMS[asked.form])


@router.post(
    "/import",
    response_model=forms.Loaded,
    openapi_extra={"requestBody": {"required": True, "content": {FORMS["json"]: BUNDLE}}},
)
async def import_(
    request: Request,
    at: Asking,
    on_conflict: Literal["skip", "overwrite", "error"] = "skip",
    dry_run: bool = False,
) -> Response:
    """Take in a bundle of kinen or Kindling, JSON or JSONL: all of it or nothing."""
    with Spool(ROOM) as file:
        async for data in request.stream():
            await at.door.thread(file.write, data)
        file.seek(0)

        def call(memory: Memory) -> Any:
            done = loaded_json(_loaded(memory, file, on_conflict, dry_run), dry_run)
            at.tell("import", memory, done)
            return done

        return answer(await at.ask(call, apart=True))


def _loaded(memory: Memory, file: IO[bytes], on_conflict: Any, dry_run: bool) -> Any:
    try:
        return memory.transfer.load(file, on_conflict=on_conflict, dry_run=dry_run)
    except StoreError as error:
        if isinstance(error, Busy) or error.hint.startswith("free some space"):
            raise
        status = 409 if "is in the journal already" in error.message else 400
        hint = error.hint.replace("--on-conflict", "on_conflict")
        raise Refused(status, error.message, hint) from error
