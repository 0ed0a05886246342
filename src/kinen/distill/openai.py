"""Asks a model of any service that speaks OpenAI's chat protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kinen.distill.clis import SYSTEM, Answer
from kinen.distill.post import count, post, spoken
from kinen.distill.process import Failed
from kinen.ipc.endpoints import with_version
from kinen.text import estimate

if TYPE_CHECKING:
    from kinen.config.keys import DistillSection


def openai(prompt: str, settings: DistillSection, env: Mapping[str, str], budget: int) -> Answer:
    """The answer of a model, or the reason why there is none."""
    model = settings.openai_model
    if not model:
        raise Failed("no model is configured (distill.openai_model)")
    key = env.get(settings.openai_key_env, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise Failed("the API key has characters that no key has (distill.openai_key_env)")
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
    body = post(
        f"{with_version(settings.openai_endpoint, '/chat/completions')}/chat/completions",
        {
            "model": model,
            "messages": messages,
            "temperature": 0,
            "max_tokens": max(1024, 4 * budget),
        },
        settings.timeout,
        {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {}),
    )
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    text = spoken(message.get("content") if isinstance(message, dict) else None)
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    read = count(usage.get("prompt_tokens"))
    written = count(usage.get("completion_tokens"))
    return Answer(text, read or estimate(prompt), written or estimate(text))
