"""What belongs to a prompt: whether it asks for anything, and which hits are worth its context."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Related(NamedTuple):
    """What an agent is told with a prompt, and what it is not told and why."""

    text: str = ""
    entries: tuple[str, ...] = ()
    """Refs that the text cites."""
    dropped: tuple[tuple[str, str], ...] = ()
    """Refs that were found and left out, each with the reason."""


class Candidate(NamedTuple):
    """A hit for a prompt."""

    ref: str
    text: str
    relevant: bool
    """Whether it shares enough with the prompt."""


def choose(
    candidates: Iterable[Candidate], known: Iterable[str], most: int
) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """The candidates to tell, at most so many, and the others, each with the reason.

    Refs in `known` are in the agent's context already.
    """
    in_context = set(known)
    chosen: dict[str, Candidate] = {}
    dropped: dict[str, str] = {}
    for candidate in candidates:
        ref = candidate.ref
        if ref in chosen:
            continue
        if not candidate.relevant:
            dropped.setdefault(ref, "unrelated")
        elif ref in in_context:
            dropped[ref] = "told before"
        elif len(chosen) >= most:
            dropped[ref] = "limit"
        else:
            chosen[ref] = candidate
            dropped.pop(ref, None)
    return list(chosen.values()), list(dropped.items())
