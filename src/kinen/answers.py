"""Digests that were given before, kept as they were printed, with what they rest on.

A digest that is asked for again is answered by a process that opens no database: an answer holds as
long as no file has moved that it was made of. Light on purpose, as `route` is.
"""

from __future__ import annotations

import os
import time

from kinen.space import route
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = "answers"
MOST = 200
_VERSION, _END = "answer 3", "end"
_DATABASES = ("index.db", "index.db-wal", "journal.db", "journal.db-wal")
_SETTINGS = ".kinen/config.yml"
_PLANS = (".memories/.active-plan", ".memories/.active-brief")


def look(asked: str) -> tuple[int, str, str] | None:
    """The exit code, output and remarks of the same question, if nothing has moved since."""
    here = route.here()
    if here is None:
        return None
    try:
        text = private.read(_file(here.data, asked)).decode()
        head, _, said = text.partition(f"\n{_END}\n")
        version, key, state, end, code, *stamps = head.split("\n")
        if (version, key, state) != (_VERSION, _key(asked), _state(here)):
            return None
        if time.time() > float(end) or any(route.stamp(line) != line for line in stamps):
            return None
    except (OSError, ValueError):  # none, or a damaged one
        return None
    remarks, _, output = said.partition(f"\n{_END}\n")
    return int(code), output, remarks


def keep(
    asked: str,
    code: int,
    output: str,
    remarks: str,
    paths: Iterable[str],
    hours: float,
    began: float,
) -> None:
    """Remember an answer that rests on these files of the space, for so many hours.

    It is not, where one of them has moved since the answer was begun: by then it may be old.
    """
    here = route.here()
    if here is None or hours <= 0:
        return
    from contextlib import suppress

    databases = [os.path.join(here.data, name) for name in _DATABASES]
    told = [os.path.join(here.root, path) for path in (*_PLANS, *paths)]
    settings = [route.user_file(), os.path.join(here.root, _SETTINGS)]
    settings.append(os.path.join(route.default_home(), "trust.json"))
    stamps = [route.stamp(path) for path in dict.fromkeys((*databases, *told, *settings))]
    if any(_time(path) > began for path in (*databases, *told)) or "\n" in "".join(stamps):
        return
    end = str(time.time() + 3600 * hours)
    head = "\n".join([_VERSION, _key(asked), _state(here), end, str(code), *stamps])
    with suppress(OSError, ValueError):  # what cannot be kept is made again
        folder = os.path.join(here.data, FOLDER)
        private.write(_file(here.data, asked), f"{head}\n{_END}\n{remarks}\n{_END}\n{output}")
        kept = sorted((os.path.join(folder, name) for name in os.listdir(folder)), key=_time)
        for path in kept[: max(0, len(kept) - MOST)]:
            os.unlink(path)


def _time(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _state(here: route.Route) -> str:
    """What else an answer depends on: the commit, and settings in variables."""
    return repr((*route.head(here.git, here.common), here.env))


def _key(asked: str) -> str:
    return route.digest(repr((os.getcwd(), asked)))


def _file(data: str, asked: str) -> str:
    from binascii import crc32

    return os.path.join(data, FOLDER, f"{crc32(os.fsencode(_key(asked))):08x}")
