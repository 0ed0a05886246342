"""A plugin of `llm`: fragments and tools from the memory of the working folder.

llm -f kinen:'how do we deploy?' 'write the release notes'
llm -T kinen_recall -T kinen_remember 'what did we decide about the cart?'
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from kinen.ipc import extras

try:
    import llm
except ImportError as error:
    raise ImportError(extras.missing("kinen.frameworks.llm", "llm")) from error


BUDGET = 1_000
"""Tokens of a fragment, and of the answer of a tool."""


def kinen_recall(question: str) -> str:
    """Recall what is known about a question in this project: decisions, notes, past work."""
    from kinen.frameworks import history

    text = history.quietly(
        "", lambda: history.recall(history.memory_of(os.getcwd()), question, BUDGET)
    )
    return text or "The memory has nothing about that."


def kinen_remember(text: str) -> str:
    """Store a decision, fact or lesson for later sessions in this project."""
    from kinen.frameworks import history

    scope = {"agent": "llm"}
    stored = history.quietly(
        None, lambda: history.memory_of(os.getcwd()).observe(text, scope=scope)
    )
    return "Stored." if stored else "Not stored: the memory cannot be written to."


def fragment(question: str) -> llm.Fragment:
    """What the memory knows about a question: `-f kinen:QUESTION`."""
    return llm.Fragment(kinen_recall(question), source=f"kinen:{question}")


@llm.hookimpl  # type: ignore[untyped-decorator]
def register_tools(register: Callable[..., Any]) -> None:
    register(kinen_recall)
    register(kinen_remember)


@llm.hookimpl  # type: ignore[untyped-decorator]
def register_fragment_loaders(register: Callable[..., Any]) -> None:
    register("kinen", fragment)
