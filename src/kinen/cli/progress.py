"""A progress bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

from kinen.cli.output import raw

_LABELS = {"read": "reading", "history": "history", "embed": "embedding", "import": "importing"}


@contextlib.contextmanager
def bar(*, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """A function to call with the phase, the amount done, and the total (0 if unknown)."""
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=raw(sys.stderr)), transient=True) as progress:
        tasks = {}

        def update(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = progress.add_task(_LABELS[phase], total=total or None)
            progress.update(tasks[phase], completed=done, total=total or None)

        yield update
