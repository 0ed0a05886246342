"""Asks a model of Ollama, usually on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinen.distill.clis import SYSTEM, Answer
from kinen.distill.post import count, parsed, post, spoken
from kinen.distill.process import Failed
from kinen.text import estimate


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
    body = post(
        f"{endpoint.rstrip('/').removesuffix('/api')}/api/chat",
        {"model": model, "stream": bool(on_text), "messages": said, "options": options},
        seconds,
        on_block=_Pieces(on_text) if on_text else None,
    )
    text = spoken(_content(body))
    read = count(body.get("prompt_eval_count"))
    written = count(body.get("eval_count"))
    return Answer(text, read or cost, written or estimate(text))


class _Pieces:
    """Gives the pieces of an answer to a function, without what a model thinks before it."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._rest = b""
        self._text = ""
        self._shown = 0
        self.last: dict[str, Any] = {}

    def __call__(self, block: bytes) -> dict[str, Any]:
        """Take a block; the answer so far, as one that was not streamed would be."""
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            self._take(line)
        return {**self.last, "message": {"content": self._text}}

    def _take(self, line: bytes) -> None:
        value = parsed(line) or {}
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
