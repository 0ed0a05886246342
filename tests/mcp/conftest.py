"""Both servers, for the real client of the SDK: that of the SDK, and kinen's own by lines."""

from __future__ import annotations

import os
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from anyio import to_thread
from mcp.shared.message import SessionMessage

from kinen.mcp.protocol import Catalogue
from kinen.mcp.server import create_server
from kinen.mcp.stdio import Connection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from kinen.memory import Memory


def by_sdk(memory: Memory | Callable[[str], Memory], **options: bool) -> Any:
    return create_server(memory, **options)


@asynccontextmanager
async def by_lines(
    memory: Memory | Callable[[str], Memory], *, read_only: bool = False, everything: bool = False
) -> AsyncIterator[Any]:
    """The streams of a client whose server reads and writes pipes in a thread."""
    questions, asking = os.pipe()
    answering, answers = os.pipe()
    catalogue = Catalogue(read_only=read_only, everything=everything)

    def serve() -> None:
        with os.fdopen(questions, "rb") as source, os.fdopen(answers, "wb") as target:
            Connection(target, lambda: memory, catalogue, read_only=read_only).run(source)

    thread = threading.Thread(target=serve)
    thread.start()
    received, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, sent = anyio.create_memory_object_stream[SessionMessage](0)

    async def receive() -> None:
        with os.fdopen(answering, "rb") as file:
            async with received:
                while line := await to_thread.run_sync(file.readline):
                    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                    try:
                        await received.send(SessionMessage(message))
                    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                        continue

    async def send() -> None:
        with os.fdopen(asking, "wb") as file:
            async with sent:
                async for item in sent:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    file.write(text.encode() + b"\n")
                    file.flush()

    async with anyio.create_task_group() as group:
        group.start_soon(receive)
        group.start_soon(send)
        yield read, write
        await write.aclose()
        await read.aclose()
        await to_thread.run_sync(thread.join)


@pytest.fixture(params=[by_sdk, by_lines], ids=["sdk", "lines"])
def serve(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Makes what a client connects to, of a memory or of a function that opens memories."""
    made: Callable[..., Any] = request.param
    return made


@pytest.fixture(params=[(by_sdk, "auto"), (by_lines, "legacy")], ids=["sdk", "lines"])
def pair(request: pytest.FixtureRequest) -> tuple[Callable[..., Any], str]:
    """Each server and each generation of the protocol once; test_stdio.py compares all four."""
    made: tuple[Callable[..., Any], str] = request.param
    return made
