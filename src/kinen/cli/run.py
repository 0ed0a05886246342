"""How every command runs: errors on one line, exit codes, colours only for people."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kinen.cli.output import MARK, coloured
from kinen.errors import KinenError
from kinen.render.style import Style

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

FOUND, NOTHING, ERROR = 0, 1, 2
REPEATED = {
    "files": "file",
    "kinds": "kind",
    "paths": "path",
    "symbols": "symbol",
    "tags": "tag",
    "types": "type",
}
"""Parameters that take several values, and the option that is given once for each."""


def guarded(command: Callable[[], int]) -> int:
    """Run a command; whatever a user can cause becomes one line that says what to do."""
    try:
        return command()
    except BrokenPipeError:
        raise
    except Exception as error:
        return explained(error)


def explained(error: Exception) -> int:
    """One line on standard error for what went wrong, and the exit code."""
    if isinstance(error, KinenError):
        return fail(error.line(option))
    if isinstance(error, OSError):
        return fail(f"{error.filename or 'the system'}: {error.strerror or error}")
    if isinstance(error, RecursionError):
        return fail("the input is nested too deeply")
    if os.environ.get("KINEN_DEBUG"):
        raise error
    name = type(error).__name__
    return fail(f"unexpected {name}: {error} · this is a bug; KINEN_DEBUG=1 shows where")


def option(parameter: str) -> str:
    """The option of a parameter, such as `--min-similarity`; `files` is `--file`."""
    name = REPEATED.get(parameter, parameter)
    return f"--{name.replace('_', '-')}"


def fail(message: str) -> int:
    line = " ".join(message.split())
    print(f"kinen: {line}", file=sys.stderr)
    return ERROR


def colours(stream: TextIO | None = None) -> Style:
    """Colours for a stream, standard output by default; none where it is not a terminal."""
    return Style(colour=coloured(stream or sys.stdout), mark=MARK)


def piped() -> str:
    """What standard input has; whatever is no text in it is spelled out."""
    return sys.stdin.buffer.read().decode("utf-8", "backslashreplace")


def note(text: str) -> None:
    """A remark for people, apart from the output that a pipe reads."""
    print(colours(sys.stderr)("dim", f"note: {text}"), file=sys.stderr)
