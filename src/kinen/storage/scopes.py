"""How a filter names a session, repository, agent or user: the same in every table."""

from __future__ import annotations


def begins(column: str, value: str = "?") -> str:
    """SQL for: the column, or a word in it, begins with the value, ignoring case.

    Words are separated by `/`, `-` or spaces, so `flask` matches `github.com/pallets/flask`.
    """
    return f"instr(' ' || {_words(column)}, ' ' || {_words(value)}) > 0"


def _words(text: str) -> str:
    return f"replace(replace(lower({text}), '/', ' '), '-', ' ')"
