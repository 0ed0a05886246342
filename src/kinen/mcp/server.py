"""The server of the MCP SDK: for HTTP, and for clients in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from threading import Event
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from kinen import __version__
from kinen.mcp.calls import Calls
from kinen.mcp.protocol import INFO, TOOLS_CACHE_MS, Catalogue, ProtocolError, Refused
from kinen.memory import Memory

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

REQUESTS: dict[str, tuple[type[Any], type[BaseModel]]] = {
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResult),
}
"""What a client is asked, and what it answers."""
COMPLETE = {"resultType": "complete"}
"""Required by the modern protocol, and dropped by the SDK in earlier ones."""
REPORT_SECONDS = 5.0


def create_server(
    memory: Memory | Callable[[str], Memory], *, read_only: bool = False, everything: bool = False
) -> Server[Any]:
    """A server of the SDK; see `Calls` for its memories and `Catalogue` for what it lists."""
    catalogue = Catalogue(read_only=read_only, everything=everything)
    listed = [tool["name"] for tool in catalogue.tools]
    calls = Calls(memory, read_only=read_only, listed=listed)
    schemas = {tool["name"]: tool["inputSchema"] for tool in catalogue.tools}

    async def list_tools(_ctx: object, _params: object) -> Any:
        return COMPLETE | catalogue.list_tools()

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> Any:
        client = SdkClient(ctx, params)
        return COMPLETE | await calls.call(client, params.name, params.arguments or {}, Event())

    async def list_prompts(_ctx: object, _params: object) -> Any:
        return COMPLETE | catalogue.list_prompts()

    async def get_prompt(_ctx: object, params: types.GetPromptRequestParams) -> Any:
        try:
            return COMPLETE | catalogue.get_prompt(params.name, params.arguments or {})
        except ProtocolError as error:
            raise MCPError(error.code, error.message) from None

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            await asyncio.shield(asyncio.ensure_future(calls.pool.close()))

    return Server(
        INFO["name"],
        version=__version__,
        title=INFO["title"],
        instructions=catalogue.instructions,
        lifespan=lifespan,
        cache_hints={
            "tools/list": CacheHint(TOOLS_CACHE_MS, "public"),
            "prompts/list": CacheHint(),
        },
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


class SdkClient:
    """The client of one call, behind the SDK."""

    def __init__(self, ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> None:
        about = ctx.session.client_params
        offered = ctx.session.client_capabilities
        self.name = about.client_info.name if about else ""
        self.capabilities = _wire(offered) if offered else {}
        self.modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        self.responses = {key: _wire(row) for key, row in (params.input_responses or {}).items()}
        self._ctx = ctx
        self._loop = asyncio.get_running_loop()

    async def request(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        request_type, result_type = REQUESTS[method]
        request = request_type.model_validate({"method": method, "params": params})
        try:
            result = await self._ctx.session.send_request(
                request,
                result_type,
                request_read_timeout_seconds=seconds,
                metadata=ServerMessageMetadata(related_request_id=self._ctx.request_id),
            )
        except MCPError as error:
            if error.code == types.REQUEST_TIMEOUT:
                raise TimeoutError from None
            raise Refused(error.message) from None
        except ValidationError:
            raise Refused("its answer cannot be read") from None
        return _wire(result)

    def report(self, progress: float, total: float, message: str) -> None:
        sent = self._ctx.session.report_progress(progress, total, message)
        with suppress(Exception):  # nobody needs to know how far it is
            asyncio.run_coroutine_threadsafe(sent, self._loop).result(REPORT_SECONDS)


def _wire(value: Any) -> dict[str, Any]:
    """A value of the SDK as the protocol has it."""
    if not isinstance(value, BaseModel):
        return dict(value) if isinstance(value, dict) else {}
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)
