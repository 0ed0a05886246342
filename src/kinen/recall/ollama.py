"""Asks a model of Ollama, usually on this machine."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kinen.recall.clis import SYSTEM, Answer
from kinen.recall.process import MOST, Failed
from kinen.text import estimate, excerpt

if TYPE_CHECKING:
    from collections.abc import Callable

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def ollama(
    prompt: str,
    model: str,
    seconds: float,
    endpoint: str,
    budget: int,
    on_text: Callable[[str], None] | None = None,
) -> Answer:
    """The answer of a model; `on_text` is given its pieces while they arrive.

    Raises Failed with the reason where there is none.
    """
    if not model:
        raise Failed("no model is configured (distill.ollama_model)")
    cost = estimate(prompt)
    length = max(1024, 4 * budget)
    window = 8192
    # What does not fit in the window is cut off in silence, and another window loads the model
    # again: hence few and large ones.
    while window < cost + cost // 4 + length:
        window *= 2
    said = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
    options = {"num_ctx": window, "num_predict": length, "temperature": 0}
    body = _posted(
        f"{endpoint.rstrip('/').removesuffix('/api')}/api/chat",
        {"model": model, "stream": bool(on_text), "messages": said, "options": options},
        seconds,
        _Pieces(on_text) if on_text else None,
    )
    text = _content(body)
    if text is None:
        raise Failed("its answer cannot be read")
    text = text.rpartition("</think>")[2].strip()
    if not text:
        raise Failed("its answer is empty")
    counts = [body.get("prompt_eval_count"), body.get("eval_count")]
    read, made = (one if isinstance(one, int) else 0 for one in counts)
    return Answer(text, read or cost, made or estimate(text))


class _Pieces:
    """Gives the pieces of an answer to a function, without what a model thinks before it."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._rest = b""
        self._text = ""
        self._shown = 0
        self.last: dict[str, Any] = {}

    def __call__(self, block: bytes) -> None:
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            self._take(line)

    def body(self) -> dict[str, Any]:
        """The whole answer, as one that was not streamed would be."""
        self._take(self._rest)
        return {**self.last, "message": {"content": self._text}}

    def _take(self, line: bytes) -> None:
        value = _parsed(line) or {}
        self.last |= value
        self._text += _content(value) or ""
        if self._text.lstrip().startswith("<think>") and "</think>" not in self._text:
            return
        start = max(
            self._shown,
            self._text.rfind("</think>") + len("</think>") if "</think>" in self._text else 0,
        )
        if self._text[start:]:
            self._on_text(self._text[start:])
        self._shown = len(self._text)


def _content(body: dict[str, Any]) -> str | None:
    message = body.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    return text if isinstance(text, str) else None


def _parsed(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _posted(
    url: str, payload: dict[str, Any], seconds: float, pieces: _Pieces | None
) -> dict[str, Any]:
    import httpx

    end = time.monotonic() + seconds
    try:
        local = urlsplit(url).hostname in LOOPBACK  # then it is not the proxy's business
        with (
            httpx.Client(timeout=seconds, trust_env=not local) as client,
            client.stream("POST", url, content=json.dumps(payload).encode()) as response,
        ):
            data = b""
            for block in response.iter_bytes():
                data += block
                if pieces and response.is_success:
                    pieces(block)
                if time.monotonic() > end or len(data) > MOST:
                    raise Failed(f"no end of its answer within {seconds:g} s and {MOST:,} bytes")
    except httpx.TimeoutException:
        raise Failed(f"no answer within {seconds:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Failed(f"cannot be reached: {excerpt(str(error), 80)}") from None
    body = pieces.body() if pieces and response.is_success else _parsed(data)
    fault = body.get("error") if body else ""
    if not response.is_success or fault:
        raise Failed(excerpt(f"refused with status {response.status_code}: {fault or ''}", 120))
    if body is None:
        raise Failed("its answer cannot be read")
    return body
