"""The one thing to know before a file is edited or a command is run: by look-up, for hooks.

Imports nothing that `sqlite3` does not load.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    Learned = tuple[str, str, int, float]
    """A ref, its text, when it was written, how certain it is."""

SURE = 0.7
"""Confidence below which a memory is not told before an action."""
DISTINCT = 9
"""Characters of a symbol that is not met by chance."""
COMMON_NAMES = frozenset(
    """__init__.py __main__.py main.py main.rs main.go main.ts index.ts index.js index.tsx
    mod.rs lib.rs readme.md package.json cargo.toml pyproject.toml makefile dockerfile config.py
    conftest.py utils.py types.ts app.py models.py mix.exs""".split()
)
"""Names that many folders have: only a path tells such files apart."""
_DEFINING = "def class func fn function struct type interface trait enum const module".split()
_BACKWARD = frozenset("they it this that these those he she there so then".split())
_EDGES = "`'\"()[]{}<>,.:;!?*"
_QUIET_PIPES = ("tail", "head", "cat", "less")


def bare_command(line: str) -> str:
    """A command line without what only shortens or redirects its output."""
    words = line.split(" ") if "\n" in line else line.split()
    text = " ".join(word for word in words if word not in ("2>&1", "2>/dev/null"))
    while "|" in text:
        head, _, last = text.rpartition("|")
        if last.split()[:1] and last.split()[0] in _QUIET_PIPES and not head.endswith("|"):
            text = head.rstrip()
        else:
            break
    return text.strip()


def about_file(memories: Iterable[Learned], path: str) -> Learned | None:
    """The surest and newest memory that names exactly this file."""
    name = path.rpartition("/")[2]
    names = {path}
    if name.lower() not in COMMON_NAMES and "." in name[1:]:
        names.add(name)
    return _best(
        memory
        for memory in memories
        if not names.isdisjoint(word.strip(_EDGES) for word in memory[1].replace("`", " ").split())
    )


def about_symbol(memories: Iterable[Learned], changed: str) -> Learned | None:
    """The surest and newest memory that names, in backticks, a symbol that is defined in some text.

    A text that only uses a symbol is about something else.
    """
    if not changed:
        return None
    return _best(memory for memory in memories if _is_defined(memory[1], changed))


def _is_defined(text: str, changed: str) -> bool:
    quoted = text.split("`")[1::2]
    for part in quoted:
        symbol = part.partition("(")[0].strip().rpartition(".")[2]
        distinct = len(symbol) >= DISTINCT and ("_" in symbol or symbol != symbol.lower())
        if distinct and any(f"{keyword} {symbol}" in changed for keyword in _DEFINING):
            return True
    return False


def _best(memories: Iterable[Learned]) -> Learned | None:
    sure = [memory for memory in memories if memory[3] >= SURE and _stands_alone(memory[1])]
    return max(sure, key=lambda memory: (memory[3], memory[2], memory[0]), default=None)


def _stands_alone(text: str) -> bool:
    """Whether a text does not begin with what only the message before it explains."""
    return text.partition(" ")[0].partition("'")[0].lower() not in _BACKWARD


def remedy(db: sqlite3.Connection, command: str) -> tuple[str, str] | None:
    """The ref and text of what is known about exactly this command."""
    row = db.execute(
        "SELECT ref, text FROM remedies WHERE command = ?", (bare_command(command),)
    ).fetchone()
    return (row[0], row[1]) if row else None
