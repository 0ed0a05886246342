"""What commands do around a memory: ask the daemon first, start it for the next, show long work."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Any

    from kinen.memory import Memory


def ask_daemon(
    endpoint: str, words: dict[str, Any], spaces: tuple[str, ...], *, as_json: bool
) -> tuple[int, str, list[str]] | None:
    """The exit code, the text to print and remarks; None if this process has to do the work.

    `spaces` are names of spaces, or `all`; empty for that of the working folder.
    """
    from kinen.paths import DAEMON_LOCK, debug, default_home

    home = default_home(os.environ)
    if not os.path.exists(os.path.join(home, DAEMON_LOCK)):
        return None
    from kinen.ipc import client
    from kinen.space import route

    if client.own_settings(os.environ):
        return None
    space = spaces[0] if len(spaces) == 1 else ""
    if len(spaces) > 1 or space == "all":
        words = {**words, "space": spaces}
        space = ""
    elif not space:
        here = route.here()
        if here is None or not os.path.exists(os.path.join(here.index, "index.db")):
            return None  # the first search builds the index and reports it
        space = here.root
    accept = "application/json" if as_json else "text/plain"
    answer = client.ask(home, endpoint, words, space=space, accept=accept)
    debug(f"{endpoint} of the daemon: {answer.code if answer else 'no answer'}")
    if answer is None or answer.code != 200:
        return None  # this process reports errors in terms of the command line
    notes = client.unquoted(answer.headers.get("x-kinen-notes", ""))
    code = int(answer.headers.get("x-kinen-code", "0"))
    text = answer.body.decode("utf-8", "surrogatepass")
    return code, text, notes.split("\n") if notes else []


def _load_later() -> None:
    """The daemon loads the model, as soon as it runs."""


class daemon_started:  # noqa: N801
    """Starts the daemon at the end of the block, for the next command; words answer this one."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __enter__(self) -> None:
        self._memory.core.words_first = _load_later

    def __exit__(
        self, kind: type[BaseException] | None, _: object, __: TracebackType | None
    ) -> None:
        if kind is None and self._memory.config.daemon.auto_start:
            from kinen.ipc import client

            client.start(self._memory.space.home)


def show_work(memory: Memory) -> None:
    """Have a memory print on standard error what it indexes, if that takes long."""

    def progress() -> AbstractContextManager[Callable[[str, int, int], None]]:
        from kinen.cli.progress import bar

        return bar()

    def on_wait(who: str) -> None:
        from kinen.cli.run import note

        note(f"{who}; waiting for it")

    memory.core.progress = progress
    memory.core.on_wait = on_wait
