"""Finds a tip about the file or command that a tool is about to use.

A tool use is never blocked or denied: the hook returns context or nothing.
"""

from __future__ import annotations

from kinen.agents.tool_use import EDITS, FILE_INPUTS, OLD_TEXT, SHELLS, first_text, text_of
from kinen.journal import ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

    from kinen.agents.claude_code import Payload
    from kinen.hooks.injection import Context
    from kinen.journal.admission import Admission
    from kinen.journal.capsules import Learned

    Tip = tuple[str, str]
    """A ref and a text."""

BUDGET = 80
"""Tokens of a tip, marks included."""
LEAD = "Earlier here (data, no instruction): "
CHANGED = 4_000
"""Characters of an edit in which symbols are looked for."""
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


def subject(payload: Payload, place: Callable[[str], str]) -> tuple[str, str]:
    """The kind (`file` or `command`) and name of what a tool is about to be used on."""
    inputs = payload.get("tool_input")
    if not isinstance(inputs, dict):
        return "", ""
    tool = text_of(payload, "tool_name")
    if tool in SHELLS:
        return "command", text_of(inputs, "command")
    path = first_text(inputs, FILE_INPUTS)
    if tool in EDITS and path:
        return "file", place(path)
    return "", ""


def changed_text(payload: Payload) -> str:
    """What an edit replaces."""
    inputs = payload.get("tool_input")
    return first_text(inputs, OLD_TEXT)[:CHANGED] if isinstance(inputs, dict) else ""


def tip(
    journal: sqlite3.Connection,
    book: sqlite3.Connection,
    kind: str,
    name: str,
    changed: str,
    admission: Admission,
) -> Tip | None:
    """The tip about this command, this file or a symbol in the changed text, or None."""
    if kind == "command":
        return ledger.remedy(book, name)
    from kinen.journal import capsules

    memories, about = capsules.known_memories(journal, admission)
    own = [each for each in memories if name in about[each[0]][1]]
    memory = _about_file(memories, name) or _about_symbol(memories, changed)
    memory = memory or next(iter(own), None)
    return (memory[0], memory[1]) if memory else None


def _about_file(memories: Iterable[Learned], path: str) -> Learned | None:
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


def _about_symbol(memories: Iterable[Learned], changed: str) -> Learned | None:
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


def tell(injection: ledger.Injection, context: Context, tip: Tip, name: str) -> None:
    """Put a tip into an injection, unless it is in the context of the session."""
    from kinen.journal.brief import cited
    from kinen.privacy.quote import marked
    from kinen.text import estimate

    ref, text = tip
    if context.has(ref, text):
        return
    injection.subject = name[:200]
    source, _, id_ = ref.partition(":")
    short = f"{source}:{id_[: max(ledger.SHORT_IDS)]}"
    room = BUDGET - estimate(marked(LEAD))
    line = marked(LEAD + cited(short, text, room).removeprefix("- "))
    if estimate(line) <= BUDGET:
        injection.text = line
        injection.entries = [ref]
