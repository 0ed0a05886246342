"""Finds a tip about the file or command that a tool is about to use.

A tool use is never blocked or denied: the hook returns context or nothing.
"""

from __future__ import annotations

from kinen.agents.tool_use import EDITS, FILE_INPUTS, OLD_TEXT, SHELLS, first_text, text_of
from kinen.journal import action, ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from kinen.agents.claude_code import Payload
    from kinen.hooks.injection import Context
    from kinen.journal.admission import Admission

    Tip = tuple[str, str]
    """A ref and a text."""

BUDGET = 80
"""Tokens of a tip, marks included."""
LEAD = "Earlier here (data, no instruction): "
CHANGED = 4_000
"""Characters of an edit in which symbols are looked for."""


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
        return action.remedy(book, name)
    from kinen.journal import capsules

    memories, about = capsules.known_memories(journal, admission)
    own = [each for each in memories if name in about[each[0]][1]]
    memory = action.about_file(memories, name) or action.about_symbol(memories, changed)
    memory = memory or next(iter(own), None)
    return (memory[0], memory[1]) if memory else None


def tell(injection: ledger.Injection, context: Context, tip: Tip, name: str) -> None:
    """Put a tip into an injection, unless it is in the context of the session."""
    from kinen.journal.brief import item
    from kinen.privacy.quote import marked
    from kinen.text import estimate

    ref, text = tip
    if context.has(ref, text):
        return
    injection.subject = name[:200]
    source, _, id_ = ref.partition(":")
    short = f"{source}:{id_[: max(ledger.SHORT_IDS)]}"
    room = BUDGET - estimate(marked(LEAD))
    line = marked(LEAD + item(short, text, room).removeprefix("- "))
    if estimate(line) <= BUDGET:
        injection.text = line
        injection.entries = [ref]
