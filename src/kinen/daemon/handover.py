"""A daemon that puts a new one in its own place: the port of the pages and a browser stay.

The process runs the program anew, so a supervisor sees the same pid. The port stays open meanwhile:
connections wait in its queue until the new daemon accepts them.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, NoReturn

from kinen.model.tuples import NamedTuple

if TYPE_CHECKING:
    import asyncio

VARIABLE = "KINEN_HANDOVER"
_DIGEST = re.compile("[0-9a-f]{64}|")


class Handover(NamedTuple):
    """What the next daemon gets."""

    descriptor: int
    """The listening socket of the pages."""
    session: str
    """The digest of a browser's cookie."""

    @classmethod
    def of(cls, pages: asyncio.Server, session: str) -> Handover:
        """Keep the socket of the pages open when it is closed here."""
        return cls(os.dup(pages.sockets[0].fileno()), session)

    def exec(self, stay: bool) -> NoReturn:
        """Run a new daemon in this process."""
        os.set_inheritable(self.descriptor, True)
        line = [sys.executable, "-P", "-m", "kinen", "daemon", "run"]
        line += ["--stay"] if stay else []
        env = {**os.environ, VARIABLE: f"{self.descriptor} {self.session}"}
        os.execve(sys.executable, line, env)  # noqa: S606


def take(environ: MutableMapping[str, str]) -> tuple[socket.socket, str] | None:
    """The socket and session that a daemon before this one left, if it did."""
    number, _, session = environ.pop(VARIABLE, "").partition(" ")
    if not number.isdigit() or not _DIGEST.fullmatch(session):
        return None
    with contextlib.suppress(OSError, ValueError):
        listener = socket.socket(fileno=int(number))
        os.set_inheritable(listener.fileno(), False)
        if listener.getsockname()[0] == "127.0.0.1":
            return listener, session
    return None
