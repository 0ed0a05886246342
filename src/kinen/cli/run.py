"""How every command runs: errors on one line, exit codes, colours on terminals only."""

from __future__ import annotations

import sys

from kinen import paths
from kinen.cli.output import MARK, coloured, terminal_width
from kinen.errors import KinenError
from kinen.ids import LATEST_CLOCK, milliseconds
from kinen.render.style import Style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from kinen.render.screen import Screen

FOUND = 0
NOTHING = 1
ERROR = 2
REPEATABLE = {
    "files": "file",
    "kinds": "kind",
    "paths": "path",
    "symbols": "symbol",
    "tags": "tag",
    "types": "type",
}
"""Parameters with several values, and the repeatable option of each."""


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


def guarded(command: Callable[[], int]) -> int:
    """Run a command and report its error, if any, on one line."""
    try:
        return command()
    except BrokenPipeError:
        raise
    except Exception as error:
        return report(error)


def report(error: Exception) -> int:
    """Print an error as one line on standard error and return the exit code."""
    if isinstance(error, KinenError):
        return fail(error.line(option))
    if isinstance(error, OSError):
        return fail(f"{error.filename or 'the system'}: {error.strerror or error}")
    if isinstance(error, RecursionError):
        return fail("the input is nested too deeply")
    if isinstance(error, OverflowError) and milliseconds() == LATEST_CLOCK:
        return fail("the clock of this machine is beyond the year 2262 · set it")
    if paths.debugging():
        raise error
    name = type(error).__name__
    return fail(f"unexpected {name}: {error} · this is a bug; KINEN_DEBUG=1 shows the traceback")


def with_options(remark: str) -> str:
    """A remark on hits with the option of the command line in place of its description."""
    remark = remark.replace("a minimum score of 0", "--min-score 0")
    return remark.replace("mode hybrid", "--hybrid")


def option(parameter: str) -> str:
    """The option of a parameter, such as `--min-similarity`; `files` is `--file`."""
    name = REPEATABLE.get(parameter, parameter)
    return f"--{name.replace('_', '-')}"


def fail(message: str) -> int:
    print(wrapped(f"kinen: {message}", sys.stderr), file=sys.stderr)
    return ERROR


def wrapped(message: str, stream: TextIO) -> str:
    """A message on one line, or on a terminal wrapped at its width between words."""
    line = " ".join(message.split())
    if not stream.isatty():
        return line
    import shutil
    import textwrap

    return textwrap.fill(
        line,
        max(20, shutil.get_terminal_size().columns),
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def colours(stream: TextIO | None = None) -> Style:
    """Colours for a stream (standard output by default), or none if it is not a terminal."""
    return Style(colour=coloured(stream or sys.stdout), mark=MARK)


def screen() -> Screen:
    """Standard output as a place for lists."""
    from kinen.render.screen import Screen
    from kinen.text import now

    return Screen(colours(), terminal_width(), now())


def synced_text(at: str) -> str:
    """When a space was synced: on a terminal in local time, elsewhere as it is stored."""
    return screen().at(at) if at else "never"


def piped() -> str:
    """The text of standard input; bytes that are not UTF-8 are escaped."""
    return sys.stdin.buffer.read().decode("utf-8", "backslashreplace")


def note(text: str) -> None:
    """Print a remark on standard error."""
    message = wrapped(f"note: {text}", sys.stderr)
    print(colours(sys.stderr)("dim", message), file=sys.stderr)


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
    from kinen.verbs.catalogue import COMMANDS

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
    from kinen.verbs.catalogue import COMMANDS

    lines = []
    section = ""
    for group, name, _, description in COMMANDS:
        if group != section:
            lines += ["", f"{group}:"]
            section = group
        lines.append(f"  {name:<11} {description}")
    return [*lines, "", "`kinen help NAME` shows what a command has, and its other names."]
