"""Asks the model of the MCP client whose call is being answered (sampling), if it offers one."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from kinen.distill.clis import Answer
from kinen.distill.process import Failed

Sampler = Callable[[str, int, float], Answer]
"""The answer to a prompt, given the most tokens of it and the seconds to wait; raises Failed."""
sampler: ContextVar[Sampler | None] = ContextVar("sampler", default=None)
"""Set by the MCP server for the time of a call."""


def client(prompt: str, budget: int, seconds: float) -> Answer:
    """The answer of the client's model, or Failed with the reason."""
    ask = sampler.get()
    if ask is None:
        raise Failed("no MCP client is connected that offers its model")
    return ask(prompt, max(1024, 4 * budget), seconds)
