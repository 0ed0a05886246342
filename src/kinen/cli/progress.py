"""What takes more than a second says what it does: a line on a terminal, some lines elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

from kinen.cli.output import raw
from kinen.cli.run import note
from kinen.render.screen import fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kinen.index.lock import Work

_LABELS = {
    "read": "reading",
    "history": "reading the history:",
    "embed": "embedding",
    "import": "importing",
}
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
        text = line(_LABELS[phase], done, total, now - start)
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
    label = _LABELS.get(work.phase, "indexing")
    return line(label, work.done, work.total, max(0.0, now - work.began))


def line(label: str, done: int, total: int, seconds: float) -> str:
    """Progress such as `embedding 6,412 of 27,448 · 21/s · about 16 min`."""
    parts = [f"{label} {done:,} of {total:,}" if total else f"{label} {done:,}"]
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
