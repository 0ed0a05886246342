"""The models that can be asked, by the names that the configuration knows them by."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kinen.config.keys import DistillSection
from kinen.distill.client import client
from kinen.distill.clis import Answer, claude, gemini
from kinen.distill.services import ollama, openai
from kinen.model.kinds import CLIENT


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
        return client(prompt, budget, settings.timeout)
    if name == "openai":
        return openai(prompt, settings, env, budget)
    if name == "ollama":
        endpoint = settings.ollama_endpoint
        return ollama(prompt, settings.ollama_model, settings.timeout, endpoint, budget, on_text)
    if name == "gemini":
        return gemini(prompt, settings.gemini_model, settings.timeout, env)
    return claude(prompt, settings.claude_model, settings.timeout, env, on_text)
