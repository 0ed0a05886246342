"""`kinen tui` and `kinen pick`: the memory in the terminal."""

from __future__ import annotations

import os
import sys
import threading
import time

import click

from kinen.cli.command import space_option
from kinen.cli.run import FOUND, NOTHING
from kinen.errors import KinenError
from kinen.ipc.extras import require


@click.command()
@click.argument("query", nargs=-1)
@space_option
def tui(query: tuple[str, ...], space: str | None) -> int:
    """Browse the memory: search, sessions, memories, plan, issues, and what agents are told.

    `?` shows the keys.

    \b
    Examples:
      kinen tui
      kinen tui token refresh
    """
    _run(query, space)
    return FOUND


@click.command()
@click.argument("query", nargs=-1)
@space_option
def pick(query: tuple[str, ...], space: str | None) -> int:
    """Choose an entry and print its path and line, or its ref. Exit 1 if nothing is chosen.

    \b
    Examples:
      vim $(kinen pick | cut -d: -f1)
      kinen show "$(kinen pick token refresh)"
    """
    chosen = _run(query, space, pick=True)
    if chosen:
        print(chosen)
    return FOUND if chosen else NOTHING


def _run(query: tuple[str, ...], space: str | None, *, pick: bool = False) -> str:
    require("kinen pick" if pick else "kinen tui", "tui")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise KinenError("this needs a terminal", "use `kinen search` in scripts")
    from kinen.tui.app import Browser

    threading.Thread(target=_end_with_terminal, daemon=True).start()
    return Browser(space, " ".join(query), pick=pick).run() or ""


def _end_with_terminal() -> None:
    """End the program when its terminal is closed.

    A hang-up ends it, too, unless hang-ups are ignored, as below `nohup`: then it would read an
    empty input forever, at full speed.
    """
    while os.isatty(sys.stdin.fileno()):
        time.sleep(1)
    os._exit(1)
