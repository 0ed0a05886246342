"""How every command runs: errors on one line, exit codes, colours on terminals only."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time

from kinen import paths
from kinen.cli.output import ERROR, MARK, coloured, note, raw, terminal_width, wrapped
from kinen.errors import KinenError
from kinen.ids import LATEST_CLOCK, milliseconds
from kinen.render.screen import Style, fit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

    from kinen.index.lock import Work
    from kinen.render.screen import Screen

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


def option(parameter: str) -> str:
    """The option of a parameter, such as `--min-similarity`; `files` is `--file`."""
    name = REPEATABLE.get(parameter, parameter)
    return f"--{name.replace('_', '-')}"


def fail(message: str) -> int:
    print(wrapped(f"kinen: {message}", sys.stderr), file=sys.stderr)
    return ERROR


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


def overview(*, everything: bool = False) -> str:
    """The help of `kinen` itself: the daily commands, or with `everything` all of them."""
    from kinen.verbs.catalogue import COMMANDS

    lines = [
        "Usage: kinen COMMAND [ARGS]...",
        "",
        "  Local, lossless, explained memory for AI coding agents.",
    ]
    if everything:
        section = ""
        for group, name, _, description in COMMANDS:
            if group != section:
                lines += ["", f"{group}:"]
                section = group
            lines.append(f"  {name:<11} {description}")
        lines += ["", "`kinen help NAME` shows what a command has, and its other names."]
    else:
        descriptions = {name: description for _, name, _, description in COMMANDS}
        lines += ["", "Every day:", *(f"  {name:<11} {descriptions[name]}" for name in DAILY)]
        lines += ["", "More:", "  help NAME   show the help of a command"]
        lines.append(f"  help all    list the {len(COMMANDS) - len(DAILY)} other commands")
    return "\n".join([*lines, "", _EXAMPLES, _OPTIONS])


AFTER_SECONDS = 1.0
"""How long work is silent, unless KINEN_PROGRESS says so (`off`: always)."""
EACH_SECONDS = 0.1
"""How often the line is written at most."""
PIPE_SECONDS = 10.0
"""The same in a pipe, where each is a line of its own."""
CLEAR = "\r\x1b[K"


def silence() -> float:
    """Seconds for which work is silent."""
    text = os.environ.get("KINEN_PROGRESS", "")
    if text == "off":
        return float("inf")
    try:
        return float(text)
    except ValueError:
        return AFTER_SECONDS


@contextlib.contextmanager
def bar(*, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """A function to call with the phase, the amount done, and the total (0 if unknown)."""
    import shutil

    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    stream = raw(sys.stderr)
    width = shutil.get_terminal_size().columns - 1
    starts: dict[str, float] = {}
    first = due = time.monotonic() + silence()
    drawn = False

    def update(phase: str, done: int, total: int) -> None:
        nonlocal due, drawn
        now = time.monotonic()
        new = phase not in starts
        start = starts.setdefault(phase, now)
        if quiet or now < first or (now < due and not new):
            return
        text = line(phase, done, total, now - start)
        due = now + (EACH_SECONDS if terminal else PIPE_SECONDS)
        if terminal:
            drawn = True
            stream.write(CLEAR + fit(text, width))
            stream.flush()
        else:
            note(text)

    try:
        yield update
    finally:
        if drawn:
            stream.write(CLEAR)
            stream.flush()


@contextlib.contextmanager
def working(text: str) -> Iterator[None]:
    """Print what is done if it takes long."""
    seconds = silence()
    if seconds == float("inf"):
        yield
        return
    timer = threading.Timer(seconds, note, [text])
    timer.daemon = True
    timer.start()
    if not seconds:
        timer.join()
    try:
        yield
    finally:
        timer.cancel()


def progress_line(work: Work, now: float) -> str:
    """The same line of another process, such as the daemon, at a time in epoch seconds."""
    return line(work.phase, work.done, work.total, max(0.0, now - work.began))


def line(phase: str, done: int, total: int, seconds: float) -> str:
    """Progress such as `making vectors: 6,412 of 27,448 · 21/s · about 16 min`."""
    from kinen.index.lock import PHASES

    amount = f": {done:,} of {total:,}" if total else f": {done:,}" * bool(done)
    parts = [PHASES.get(phase, "indexing") + amount]
    if done and seconds >= 1:
        rate = done / seconds
        parts.append(f"{rate:,.0f}/s" if rate >= 1 else f"{60 * rate:,.0f}/min")
        if total > done:
            parts.append(f"about {_duration((total - done) / rate)}")
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"
