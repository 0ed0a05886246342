"""Endpoints of the journal: observations, capsules, pins, export and import."""

import contextlib
import io
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from kinen.api import requests, responses
from kinen.errors import Busy, Conflict, DiskFull, StoreError
from kinen.http.guard import Refused
from kinen.http.space import CurrentSpace, json_response, milliseconds
from kinen.memory import Memory
from kinen.render.journal import loaded_json

router = APIRouter()
BLOCK_BYTES = 1 << 18
SPOOL_BYTES = 8 << 20
"""Bytes of a bundle that are held in memory; the rest is in a temporary file."""
FORMS = {"json": "application/json", "jsonl": "application/x-ndjson", "html": "text/html"}
BUNDLE = {
    "schema": {"type": "object"},
    "example": {"version": "1.0", "exported_at": 1767225600000, "observations": []},
}


class Spool(SpooledTemporaryFile[bytes]):
    """A bundle that is being sent or received."""

    name = "the bundle"


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {kind: {"schema": {}} for kind in FORMS.values()}}},
)
async def export(
    request: Annotated[requests.Export, Query()], space: CurrentSpace
) -> StreamingResponse:
    """The journal, or a part of it, as one bundle or page; the same journal, the same entries."""

    def write(memory: Memory) -> Spool:
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(Spool(SPOOL_BYTES))
            out = io.TextIOWrapper(file, "utf-8", "surrogatepass", newline="\n")
            memory.transfer.export(
                out,
                session=request.session,
                repo=request.repo,
                form=request.form,
                after=milliseconds(request.since),
                before=milliseconds(request.until),
            )
            out.detach()
            file.seek(0)
            stack.pop_all()
        return file

    async def blocks(file: Spool) -> AsyncIterator[bytes]:
        with file:
            while block := await space.backend.pool.thread(file.read, BLOCK_BYTES):
                yield block

    file = await space.call(write, apart=True)
    # A page has scripts of its own: it is saved, and not shown in the place of this server.
    headers = {"Content-Disposition": "attachment"} if request.form == "html" else None
    return StreamingResponse(blocks(file), media_type=FORMS[request.form], headers=headers)


@router.post(
    "/import",
    response_model=responses.ImportReport,
    openapi_extra={"requestBody": {"required": True, "content": {FORMS["json"]: BUNDLE}}},
)
async def import_(
    request: Request,
    space: CurrentSpace,
    on_conflict: Literal["skip", "overwrite", "error"] = "skip",
    dry_run: bool = False,
) -> Response:
    """Import a bundle of kinen or Kindling, JSON, JSONL or a page: all of it or nothing."""
    with Spool(SPOOL_BYTES) as file:
        async for block in request.stream():
            await space.backend.pool.thread(file.write, block)
        file.seek(0)

        def load(memory: Memory) -> Any:
            report = loaded_json(_load(memory, file, on_conflict, dry_run), dry_run)
            space.publish("import", memory, report)
            return report

        return json_response(await space.call(load, apart=True))


def _load(memory: Memory, file: IO[bytes], on_conflict: Any, dry_run: bool) -> Any:
    try:
        return memory.transfer.load(file, on_conflict=on_conflict, dry_run=dry_run)
    except StoreError as error:
        if isinstance(error, (Busy, Conflict, DiskFull)):
            raise
        raise Refused(400, error.fact(), error.hint) from error
