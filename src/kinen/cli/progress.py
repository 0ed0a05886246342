"""A line of progress on a terminal, nothing elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

from kinen.cli.output import raw
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
EACH_SECONDS = 0.1
"""How often the line is written at most."""
CLEAR = "\r\x1b[K"


@contextlib.contextmanager
def bar(*, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """A function to call with the phase, the amount done, and the total (0 if unknown)."""
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda *_: None
        return
    import shutil

    stream = raw(sys.stderr)
    width = shutil.get_terminal_size().columns - 1
    starts: dict[str, float] = {}
    last = 0.0

    def update(phase: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        start = starts.setdefault(phase, now)
        if now - last >= EACH_SECONDS:
            last = now
            stream.write(CLEAR + fit(line(_LABELS[phase], done, total, now - start), width))
            stream.flush()

    try:
        yield update
    finally:
        if starts:
            stream.write(CLEAR)
            stream.flush()


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
