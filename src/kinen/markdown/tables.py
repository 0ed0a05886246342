"""Markdown tables without a token for every cell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from markdown_it.rules_block import table
from markdown_it.token import Token

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock

_LINKING = re.compile(r"[\[#]")
_CELLS = frozenset(("th_open", "th_close", "td_open", "td_close"))


def light_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """markdown-it's rule for tables, keeping only cells that may contain a link or a tag.

    Three tokens per cell take a kilobyte: a table of a million cells would take a gigabyte.
    """
    if start + 1 >= end or state.isEmpty(start + 1):  # no second line, as below most paragraphs
        return False
    push = state.push
    spare = Token("", "", 0)

    def light(kind: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        if kind in _CELLS:
            return spare
        # The rule sets the content of a cell after pushing it, so check the previous cell now.
        last = state.tokens[-1] if state.tokens else spare
        if last.type == "inline" and not _LINKING.search(last.content):
            state.tokens.pop()
        return push(kind, tag, nesting)

    state.push = light  # type: ignore[assignment, method-assign]
    try:
        return table(state, start, end, silent)
    finally:
        state.push = push  # type: ignore[method-assign]
