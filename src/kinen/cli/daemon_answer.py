"""Questions that the daemon answers for a command, and the daemon that a question starts."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from kinen.memory import Memory


def answered(
    line: str, words: dict[str, Any], space: str, *, as_json: bool
) -> tuple[int, str, list[str]] | None:
    """The exit code, what is to be printed, and remarks; None where it has to be found out here."""
    from kinen import paths
    from kinen.ipc import client
    from kinen.space import route

    home = paths.default_home(os.environ)
    if not os.path.exists(os.path.join(home, client.LOCK)) or client.own_settings(os.environ):
        return None
    if not space:
        here = route.here()
        if here is None or not os.path.exists(os.path.join(here.data, "index.db")):
            return None  # the first search makes an index, and says so
        space = here.root
    accept = "application/json" if as_json else "text/plain"
    answer = client.ask(home, line, words, space=space, accept=accept)
    if answer is None or answer.code != 200:
        return None  # whatever is wrong is said here, in the words of the command line
    notes = client.unquoted(answer.headers.get("x-kinen-notes", ""))
    told = answer.body.decode("utf-8", "surrogatepass")
    return int(answer.headers.get("x-kinen-code", "0")), told, notes.split("\n") if notes else []


class started:  # noqa: N801
    """What is done in it starts the daemon, for the next time."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, _: object, __: TracebackType | None
    ) -> None:
        if kind is None and self._memory.config.daemon.auto_start:
            from kinen.ipc import client

            client.start(self._memory.space.home)
