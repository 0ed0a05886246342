"""Dealing with the daemon from outside: whether there is one, starting, stopping, mending."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from typing import Any, NamedTuple

from kinen import __version__
from kinen.daemon import diary
from kinen.errors import KinenError
from kinen.ipc import client
from kinen.storage import private

STARTING, STOPPING, DYING = 60.0, 30.0, 3.0
"""Seconds that it may take to listen, to end, and to end if it does not listen."""
HUNG = 2.0
"""Seconds without a sign after which one that holds the lock is taken for dead."""
STEP = 0.02


class Seen(NamedTuple):
    """What there is of a daemon."""

    state: dict[str, Any]
    """What it says of itself; empty if it says nothing."""
    held: bool
    """Whether some process holds its lock."""
    last: dict[str, Any]
    """What the last one wrote."""
    refusal: str = ""
    """Why it does not serve this kinen, such as that it is of another version."""


def look(home: str, sign: float = HUNG) -> Seen:
    """Ask the daemon how it is, and look at what lies around if it does not say."""
    answer = client.ask(home, "GET /v1/status", sign=sign)
    state: dict[str, Any] = {}
    refusal = ""
    if answer is not None and answer.code == 200:
        with contextlib.suppress(ValueError):
            state = json.loads(answer.body).get("daemon") or {}
    elif answer is not None and answer.code == 409:
        refusal = answer.body.decode("utf-8", "replace").strip()
    held = bool(state) or (os.path.isdir(home) and client.running(home))
    return Seen(state, held, diary.read(home), refusal)


def start(home: str) -> tuple[dict[str, Any], bool]:
    """A daemon that answers, and whether it was started for that.

    One of an older kinen ends by itself when a newer one asks; then another is started.
    """
    private.folder(home)
    pid = 0
    sign = HUNG
    end = time.monotonic() + STARTING
    while time.monotonic() < end:
        seen = look(home, sign)
        sign = STEP
        if seen.state:
            return seen.state, bool(pid)
        if seen.refusal and not outdated(seen.last.get("version", "")):
            raise KinenError(seen.refusal, "`kinen daemon restart` replaces it")
        if pid and _ended(pid):
            break
        if not pid and not seen.held:
            pid = client.spawn(home)
        time.sleep(STEP)
    said = last_words(home)
    raise KinenError(f"no daemon came up{f': {said}' if said else ''}", "see `kinen daemon logs`")


def outdated(version: str, current: str = __version__) -> bool:
    """Whether a version is older than another, by the numbers in it."""
    return _numbers(version) < _numbers(current)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]


def stop(home: str) -> int:
    """End the daemon, by force if it does not listen; its pid, 0 if there is none."""
    if not os.path.isdir(home) or not client.running(home):
        return 0
    pid = holder(home)
    answer = client.ask(home, "POST /v1/stop", {}, sign=HUNG)
    if answer is None:
        _kill(pid, signal.SIGTERM)
    if not _free(home, STOPPING if answer else DYING):
        _kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        if not _free(home, STOPPING):
            raise KinenError(f"the daemon (pid {pid}) does not end", "end it by hand")
        _put_away(home, "it did not listen, and was ended by force")
    return pid


def mend(home: str) -> str:
    """Put away what is left of a daemon that died or hangs; what was done, or nothing."""
    seen = look(home)
    if seen.state or seen.refusal:
        return ""
    if seen.held:
        pid = stop(home)
        return f"it did not answer (pid {pid}) and was ended"
    if _put_away(home, "it was dead, and put away by `kinen doctor`"):
        return f"it was dead (pid {seen.last.get('pid', 'unknown')}) and was put away"
    return ""


def _put_away(home: str, why: str) -> bool:
    """Remove what a daemon left that did not end by itself; whether there was something."""
    paths = [os.path.join(home, name) for name in (client.SOCKET, client.PORT)]
    left = [path for path in paths if os.path.lexists(path)]
    for path in left:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    dead = diary.killed(diary.read(home))
    if dead:
        diary.Diary(home).end(why)
    return dead or bool(left)


def holder(home: str) -> int:
    """The pid of the one that holds the lock, 0 if it does not say."""
    path = os.path.join(home, client.LOCK)
    with contextlib.suppress(OSError, ValueError):
        return int(private.read(path))
    return int(diary.read(home).get("pid") or 0)


def last_words(home: str) -> str:
    """The last line of the log."""
    lines = tail(home, 1)
    return lines[0].strip() if lines else ""


def tail(home: str, count: int) -> list[str]:
    """The last lines of the log, from the file before it too if there are too few."""
    lines: list[str] = []
    for name in (f"{client.LOG}.1", client.LOG):
        with contextlib.suppress(OSError):
            path = os.path.join(home, name)
            lines += private.read(path).decode("utf-8", "replace").splitlines()
    return lines[-count:] if count else lines


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        if pid > 0:
            os.kill(pid, number)


def _ended(pid: int) -> bool:
    """Whether a child of ours has ended; it is not left behind as one that nobody asked for."""
    with contextlib.suppress(OSError, AttributeError):
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    return False


def _free(home: str, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while client.running(home):
        if time.monotonic() > end:
            return False
        time.sleep(STEP)
    return True
