"""Asks a model of Ollama, usually on this machine."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import urlsplit

from kinen.recall.clis import SYSTEM, Answer
from kinen.recall.process import MOST, Failed
from kinen.text import estimate, excerpt

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def ollama(prompt: str, model: str, seconds: float, endpoint: str, budget: int) -> Answer:
    """The answer of a model, or the reason why there is none."""
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
        {"model": model, "stream": False, "messages": said, "options": options},
        seconds,
    )
    message = body.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        raise Failed("its answer cannot be read")
    text = text.rpartition("</think>")[2].strip()
    if not text:
        raise Failed("its answer is empty")
    counts = [body.get("prompt_eval_count"), body.get("eval_count")]
    read, made = (one if isinstance(one, int) else 0 for one in counts)
    return Answer(text, read or cost, made or estimate(text))


def _posted(url: str, payload: dict[str, Any], seconds: float) -> dict[str, Any]:
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
                if time.monotonic() > end or len(data) > MOST:
                    raise Failed(f"no end of its answer within {seconds:g} s and {MOST:,} bytes")
    except httpx.TimeoutException:
        raise Failed(f"no answer within {seconds:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Failed(f"cannot be reached: {excerpt(str(error), 80)}") from None
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        body = None
    fault = body.get("error") if isinstance(body, dict) else ""
    if not response.is_success or fault:
        raise Failed(excerpt(f"refused with status {response.status_code}: {fault or ''}", 120))
    if not isinstance(body, dict):
        raise Failed("its answer cannot be read")
    return body
