"""Commits that only update dependencies, by the subjects that bots give them.

Hooks import this module: no regular expressions.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

BOT = "[bot]"
"""How the names of bots end on GitHub."""
NAMED = 5
"""Dependencies that a line names."""
SCOPES = ("(deps)", "(deps-dev)", "(dependencies)")
BUMPS = ("bump", "bumps")
VERBS = (*BUMPS, "update", "upgrade", "pin", "lock")
LOCKED = "lock files"
NOUNS = ("dependency", "module")
VERSIONS = ("version", "versions")
"""`Bump version from 1.0 to 1.1` is a release."""


def dependency_of(subject: str) -> str:
    """The dependency that a commit updates; empty for any other commit.

    `Bump vite from 5.0 to 5.1`, `chore(deps): update dependency vite to v5`, `Bump the npm group
    with 3 updates`.
    """
    head, colon, rest = subject.partition(": ")
    is_typed = bool(colon) and " " not in head
    scoped = is_typed and (head == "deps" or head.rstrip("!").endswith(SCOPES))
    words = (rest if is_typed else subject).split()
    if len(words) < 2 or words[0].lower() not in VERBS or words[1] in VERSIONS:
        return ""
    is_bump = words[0].lower() in BUMPS
    if is_bump and words[1] == "the" and "group" in words:
        return " ".join(words[2 : words.index("group") + 1])
    names = words[2:] if words[1] in NOUNS else words[1:]
    is_moved = is_bump and names[1:2] == ["from"] and "to" in names
    is_named = words[1] in NOUNS and names[1:2] == ["to"]
    if scoped or is_moved or is_named or names[1:3] == ["action", "to"]:
        return LOCKED if words[0].lower() == "lock" else names[0] if names else words[1]
    return ""


def updates_line(dependencies: Iterable[str]) -> str:
    """One subject for several commits that update dependencies."""
    names = list(dict.fromkeys(dependencies))
    more = len(names) - NAMED
    return f"Dependencies updated: {', '.join(names[:NAMED])}" + (
        f" and {more} more" if more > 0 else ""
    )
