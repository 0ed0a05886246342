"""Asks the client's model (`sampling/createMessage`) while a call of the client is answered.

Only a distiller asks, and only where `distill.order` or `consolidation.order` names `client`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kinen.distill.clis import SYSTEM, Answer
from kinen.distill.process import MOST, Failed
from kinen.mcp.protocol import InputRequired, Refused
from kinen.text import digest, estimate, excerpt

if TYPE_CHECKING:
    from kinen.ports import ToolClient

KEY = "sample-"
"""How the keys of such requests begin, where a client repeats its call with the responses."""


class ClientModel:
    """The model of a client, for one call; made on the event loop, called in a thread."""

    def __init__(self, client: ToolClient) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()

    def __call__(self, prompt: str, most_tokens: int, seconds: float) -> Answer:
        if self._client.capabilities.get("sampling") is None:
            raise Failed("it does not offer its model (sampling)")
        params: dict[str, Any] = {
            "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
            "systemPrompt": SYSTEM,
            "includeContext": "none",
            "temperature": 0,
            "maxTokens": most_tokens,
        }
        # The text of a model's answer; raises Failed where there is none.
        content = self._result(params, prompt, seconds).get("content")
        blocks = content if isinstance(content, list) else [content]
        texts = [
            block["text"]
            for block in blocks
            if isinstance(block, dict)
            and block.get("type") == "text"
            and isinstance(block.get("text"), str)
        ]
        text = "\n".join(texts).strip()
        if not text or len(text) > MOST:
            raise Failed("its answer is empty, no text or too long")
        return Answer(text, estimate(prompt), estimate(text))

    def _result(self, params: dict[str, Any], prompt: str, seconds: float) -> dict[str, Any]:
        method = "sampling/createMessage"
        if not self._client.modern:
            request = self._client.request(method, params, seconds)
            try:
                return asyncio.run_coroutine_threadsafe(request, self._loop).result()
            except TimeoutError:
                raise Failed(f"no answer within {seconds:g} s") from None
            except Refused as error:
                raise Failed(excerpt(f"refused: {error}", 120)) from None
        key = KEY + digest(prompt)[:16]
        responses = self._client.responses
        if key in responses:
            return responses[key]
        if any(name.startswith(KEY) for name in responses):
            raise Failed("what it was asked about has changed meanwhile")
        raise InputRequired({key: {"method": method, "params": params}})
