"""Before a tool is used: the one thing that is known about exactly this file or command.

Nothing is ever blocked or denied: the answer is context or nothing.
"""

from __future__ import annotations

from kinen.agents.tool_use import EDITS, text_of
from kinen.journal import action, ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from kinen.agents.claude_code import Payload as Said
    from kinen.hooks.injection import Context

    Tip = tuple[str, str]
    """A ref and a text."""

BUDGET = 80
"""Tokens of what is told before a tool is used, marks included."""
LEAD = "Earlier here (data, no instruction): "
CHANGED = 4_000
"""Characters of an edit in which symbols are looked for."""


def subject(said: Said, place: Callable[[str], str]) -> tuple[str, str]:
    """The kind (`file` or `command`) and name of what a tool is about to be used on."""
    given = said.get("tool_input")
    if not isinstance(given, dict):
        return "", ""
    tool = text_of(said, "tool_name")
    if tool == "Bash":
        return "command", text_of(given, "command")
    path = text_of(given, "file_path") or text_of(given, "notebook_path")
    if tool in EDITS and path:
        return "file", place(path)
    return "", ""


def changed_text(said: Said) -> str:
    """What an edit replaces."""
    given = said.get("tool_input")
    return text_of(given, "old_string")[:CHANGED] if isinstance(given, dict) else ""


def tip(
    journal: sqlite3.Connection,
    book: sqlite3.Connection,
    kind: str,
    name: str,
    changed: str,
) -> Tip | None:
    """What is known about exactly this command, file or symbol."""
    from kinen.journal import capsules

    if kind == "command":
        return action.remedy(book, name)
    memories = capsules.memories(journal)
    memory = action.about_file(memories, name) or action.about_symbol(memories, changed)
    return (memory[0], memory[1]) if memory else None


def tell(injection: ledger.Injection, context: Context, known: Tip, name: str) -> None:
    """Have an injection tell a tip, unless the session has it in its context."""
    from kinen.journal.brief import item
    from kinen.privacy.injected import marked
    from kinen.text import estimate

    ref, text = known
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
