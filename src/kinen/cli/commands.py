"""The help of `kinen` itself. Reading it imports no command."""

from __future__ import annotations

from kinen.verbs.catalogue import COMMANDS

DAILY = "search ask recall handoff session save plan import status install".split()
"""The commands that the help of `kinen` shows first."""
_EXAMPLES = """Examples:
  kinen demo                              try it in a folder of its own
  kinen init                              make this folder a space
  kinen install claude-code               record sessions of an agent
  kinen import transcripts                import the sessions so far
  kinen search why did we drop redis      search by word and by meaning
  kinen save 'Tokens now rotate'          save what was done and why
"""
_OPTIONS = """Options:
  --space NAME   use another space than that of the current folder
  --version      show the version
  --help         show this help"""


def overview(*, everything: bool = False) -> str:
    """The help of `kinen` itself: the daily commands, or with `everything` all of them."""
    lines = [
        "Usage: kinen COMMAND [ARGS]...",
        "",
        "  Local, lossless, explained memory for AI coding agents.",
    ]
    lines += _sections() if everything else _daily()
    return "\n".join([*lines, "", _EXAMPLES, _OPTIONS])


def _daily() -> list[str]:
    descriptions = {name: description for _, name, _, description in COMMANDS}
    others = len(COMMANDS) - len(DAILY)
    return [
        "",
        "Every day:",
        *(f"  {name:<11} {descriptions[name]}" for name in DAILY),
        "",
        "More:",
        "  help NAME   show the help of a command",
        f"  help all    list the {others} other commands",
    ]


def _sections() -> list[str]:
    lines = []
    section = ""
    for group, name, _, description in COMMANDS:
        if group != section:
            lines += ["", f"{group}:"]
            section = group
        lines.append(f"  {name:<11} {description}")
    return [*lines, "", "`kinen help NAME` shows what a command has, and its other names."]
