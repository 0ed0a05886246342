"""Asks a model over HTTP: of Ollama, or of any service that speaks OpenAI's chat protocol."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from kinen.config.keys import DistillSection
from kinen.distill.clis import MOST, SYSTEM, Answer, Failed, claude, gemini
from kinen.ipc.loopback import is_local, with_version
from kinen.model.kinds import CLIENT
from kinen.text import estimate, excerpt

Sampler = Callable[[str, int, float], Answer]
"""The answer to a prompt, given the most tokens of it and the seconds to wait; raises Failed."""
sampler: ContextVar[Sampler | None] = ContextVar("sampler", default=None)
"""Set by the MCP server for the time of a call."""


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
    options = {"num_ctx": window, "num_predict": length, "temperature": 0}
    body = _post(
        f"{endpoint.rstrip('/').removesuffix('/api')}/api/chat",
        {
            "model": model,
            "stream": bool(on_text),
            "messages": _messages(prompt),
            "options": options,
        },
        seconds,
        on_block=_Pieces(on_text) if on_text else None,
    )
    text = _spoken(_content(body))
    read = _count(body.get("prompt_eval_count"))
    written = _count(body.get("eval_count"))
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
            value = _parsed(line) or {}
            self.last |= value
            self._text += _content(value) or ""
            thoughts, mark, _ = self._text.rpartition("</think>")
            if self._text.lstrip().startswith("<think>") and not mark:
                continue
            start = max(self._shown, len(thoughts + mark))
            if self._text[start:]:
                self._on_text(self._text[start:])
            self._shown = len(self._text)
        return {**self.last, "message": {"content": self._text}}


def _content(body: dict[str, Any]) -> str | None:
    message = body.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    return text if isinstance(text, str) else None


def openai(prompt: str, settings: DistillSection, env: Mapping[str, str], budget: int) -> Answer:
    """The answer of a model, or the reason why there is none."""
    model = settings.openai_model
    if not model:
        raise Failed("no model is configured (distill.openai_model)")
    key = env.get(settings.openai_key_env, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise Failed("the API key has characters that no key has (distill.openai_key_env)")
    body = _post(
        f"{with_version(settings.openai_endpoint, '/chat/completions')}/chat/completions",
        {
            "model": model,
            "messages": _messages(prompt),
            "temperature": 0,
            "max_tokens": max(1024, 4 * budget),
        },
        settings.timeout,
        {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {}),
    )
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    text = _spoken(_content(first) if isinstance(first, dict) else None)
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    read = _count(usage.get("prompt_tokens"))
    written = _count(usage.get("completion_tokens"))
    return Answer(text, read or estimate(prompt), written or estimate(text))


def _messages(prompt: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]


def _post(
    url: str,
    payload: dict[str, Any],
    seconds: float,
    headers: Mapping[str, str] | None = None,
    on_block: Callable[[bytes], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The JSON object that a service answers with; raises Failed with the reason otherwise.

    `on_block` is given a streamed answer while it arrives; what it returns last is the whole.
    """
    import httpx

    end = time.monotonic() + seconds
    try:
        with (
            httpx.Client(timeout=seconds, trust_env=not is_local(url)) as client,
            client.stream(
                "POST", url, content=json.dumps(payload).encode(), headers=headers
            ) as response,
        ):
            data = b""
            body: dict[str, Any] | None = None
            for block in response.iter_bytes():
                data += block
                if on_block and response.is_success:
                    on_block(block)
                if time.monotonic() > end or len(data) > MOST:
                    raise Failed(f"no end of its answer within {seconds:g} s and {MOST:,} bytes")
            if on_block and response.is_success:
                body = on_block(b"\n")  # the last line may lack its end
    except httpx.TimeoutException:
        raise Failed(f"no answer within {seconds:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Failed(f"cannot be reached: {excerpt(str(error), 80)}") from None
    body = body or _parsed(data)
    fault = body.get("error") if body else ""
    if isinstance(fault, dict):
        fault = fault.get("message") or "error"
    if not response.is_success or fault:
        # Services quote the key, or half of it, when they refuse it.
        reason = "" if response.status_code in (401, 403) else fault or ""
        raise Failed(excerpt(f"refused with status {response.status_code}: {reason}", 120))
    if body is None:
        raise Failed("its answer cannot be read")
    return body


def _parsed(data: bytes) -> dict[str, Any] | None:
    """A JSON object, or nothing where it is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _spoken(text: object) -> str:
    """The answer of a model without its thoughts; raises Failed where there is none."""
    if not isinstance(text, str):
        raise Failed("its answer cannot be read")
    answer = text.rpartition("</think>")[2].strip()
    if not answer:
        raise Failed("its answer is empty")
    return answer


def _count(value: object) -> int:
    """A number of tokens as a service reports it; 0 where it does not."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def ask(
    name: str,
    prompt: str,
    settings: DistillSection,
    env: Mapping[str, str],
    budget: int,
    on_text: Callable[[str], None] | None = None,
) -> Answer:
    """The answer of one of `MODELS` or of `CLIENT`; raises Failed with the reason otherwise.

    `on_text` is given its pieces while they arrive, by models that can.
    """
    if name == CLIENT:
        sample = sampler.get()
        if sample is None:
            raise Failed("no MCP client is connected that offers its model")
        return sample(prompt, max(1024, 4 * budget), settings.timeout)
    if name == "openai":
        return openai(prompt, settings, env, budget)
    if name == "ollama":
        endpoint = settings.ollama_endpoint
        return ollama(prompt, settings.ollama_model, settings.timeout, endpoint, budget, on_text)
    if name == "gemini":
        return gemini(prompt, settings.gemini_model, settings.timeout, env)
    return claude(prompt, settings.claude_model, settings.timeout, env, on_text)
