"""Asks the client's model (`sampling/createMessage`) while a call of the client is answered.

Only a distiller asks, and only where `distill.order` or `consolidation.order` names `client`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import mcp_types as types
from anyio import from_thread
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from kinen.distill.clis import SYSTEM, Answer
from kinen.distill.process import MOST, Failed
from kinen.text import digest, estimate, excerpt

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

KEY = "sample-"
"""How the keys of such requests begin, where a client repeats its call with the responses."""


class SampleRequired(Exception):
    """The client has to ask its model, and to repeat the call with the answer."""

    def __init__(self, key: str, request: types.CreateMessageRequest) -> None:
        super().__init__(key)
        self.key = key
        self.request = request


class ClientModel:
    """The model of a client, for one call; called in the thread that answers it."""

    def __init__(
        self, ctx: ServerRequestContext[Any], responses: Mapping[str, object] | None
    ) -> None:
        self._ctx = ctx
        self._responses = responses or {}

    def __call__(self, prompt: str, most_tokens: int, seconds: float) -> Answer:
        capabilities = self._ctx.session.client_capabilities
        if capabilities is None or capabilities.sampling is None:
            raise Failed("it does not offer its model (sampling)")
        request = types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[
                    types.SamplingMessage(
                        role="user", content=types.TextContent(type="text", text=prompt)
                    )
                ],
                system_prompt=SYSTEM,
                include_context="none",
                temperature=0,
                max_tokens=most_tokens,
            )
        )
        text = _text_of(self._result(request, prompt, seconds))
        return Answer(text, estimate(prompt), estimate(text))

    def _result(self, request: types.CreateMessageRequest, prompt: str, seconds: float) -> object:
        if self._ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return from_thread.run(self._send, request, seconds)
        key = KEY + digest(prompt)[:16]
        if key in self._responses:
            return self._responses[key]
        if any(name.startswith(KEY) for name in self._responses):
            raise Failed("what it was asked about has changed meanwhile")
        raise SampleRequired(key, request)

    async def _send(
        self, request: types.CreateMessageRequest, seconds: float
    ) -> types.CreateMessageResult:
        try:
            return await self._ctx.session.send_request(
                request,
                types.CreateMessageResult,
                request_read_timeout_seconds=seconds,
                metadata=ServerMessageMetadata(related_request_id=self._ctx.request_id),
            )
        except MCPError as error:
            if error.code == types.REQUEST_TIMEOUT:
                raise Failed(f"no answer within {seconds:g} s") from None
            raise Failed(excerpt(f"refused: {error.message}", 120)) from None
        except ValidationError:
            raise Failed("its answer cannot be read") from None


def _text_of(result: object) -> str:
    """The text of a model's answer; raises Failed where there is none."""
    content = getattr(result, "content", None)
    blocks = content if isinstance(content, list) else [content]
    text = "\n".join(block.text for block in blocks if isinstance(block, types.TextContent)).strip()
    if not text or len(text) > MOST:
        raise Failed("its answer is empty, no text or too long")
    return text
