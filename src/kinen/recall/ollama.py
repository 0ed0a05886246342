"""Asks a model of Ollama, usually on this machine."""

from __future__ import annotations

from kinen.recall.clis import SYSTEM, Answer
from kinen.recall.post import count, post, spoken
from kinen.recall.process import Failed
from kinen.text import estimate


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
    body = post(
        f"{endpoint.rstrip('/').removesuffix('/api')}/api/chat",
        {"model": model, "stream": False, "messages": said, "options": options},
        seconds,
    )
    message = body.get("message")
    text = spoken(message.get("content") if isinstance(message, dict) else None)
    read = count(body.get("prompt_eval_count"))
    written = count(body.get("eval_count"))
    return Answer(text, read or cost, written or estimate(text))
