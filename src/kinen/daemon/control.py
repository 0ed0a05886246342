"""The daemon from outside: whether there is one, starting, stopping, cleaning up after it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from kinen import __version__, paths
from kinen.errors import KinenError
from kinen.ipc import client
from kinen.model.tuples import NamedTuple
from kinen.privacy import entrance
from kinen.storage import private
from kinen.text import iso

START_SECONDS = 60.0
"""How long a daemon may take to listen."""
STOP_SECONDS = 30.0
"""How long it may take to end."""
KILL_SECONDS = 3.0
"""How long it may take to end on a signal, before it is killed."""
HUNG_SECONDS = 2.0
"""After how long without an answer a daemon that holds the lock hangs."""
ANSWER_SECONDS = 1.0
"""How long a daemon that has started may take for one answer on a busy machine."""
STEP = 0.02


class Presence(NamedTuple):
    """What can be seen of a daemon."""

    state: dict[str, Any]
    """Its state; empty if it does not answer."""
    held: bool
    """Whether a process holds its lock."""
    last: dict[str, Any]
    """The record of the last daemon."""
    refusal: str = ""
    """Why it does not serve this kinen, such as another version."""


def look(home: str, seconds: float = HUNG_SECONDS) -> Presence:
    """The state of the daemon, and what is left of it if it does not answer."""
    answer = client.ask(home, "GET /v1/status", sign=seconds)
    state: dict[str, Any] = {}
    refusal = ""
    if answer is not None and answer.code == 200:
        with contextlib.suppress(ValueError):
            state = json.loads(answer.body).get("daemon") or {}
    elif answer is not None and answer.code == 409:
        refusal = answer.body.decode("utf-8", "replace").strip()
    held = bool(state) or (os.path.isdir(home) and client.running(home))
    return Presence(state=state, held=held, last=last_run(home), refusal=refusal)


def start(home: str) -> tuple[dict[str, Any], bool]:
    """The state of a daemon that answers, and whether it was started here.

    One of an older kinen ends on a request of a newer one; then another is started.
    """
    private.folder(home)
    pid = 0
    patience = HUNG_SECONDS
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        daemon = look(home, patience)
        patience = ANSWER_SECONDS
        if daemon.state:
            return daemon.state, bool(pid)
        if daemon.refusal and not outdated(daemon.last.get("version", "")):
            raise KinenError(daemon.refusal, "`kinen daemon restart` replaces it")
        # A child that has ended is reaped; Windows cannot wait so.
        with contextlib.suppress(OSError, AttributeError):
            if pid and os.waitpid(pid, os.WNOHANG)[0] == pid:
                pid = 0
                break
        if not pid and not daemon.held:
            pid = client.spawn(home)
        time.sleep(STEP)
    if pid:
        hint = "`kinen daemon status` shows when it does, `kinen daemon logs` what it is doing"
        raise KinenError(f"the daemon runs (pid {pid}) and does not answer yet", hint)
    fact = "the daemon did not start"
    if lines := tail(home, 1):
        fact += f": {lines[0].strip()}"
    raise KinenError(fact, "see `kinen daemon logs`")


def outdated(version: str, current: str = __version__) -> bool:
    """Whether a version is older than the current one, by the numbers in it."""
    return _numbers(version) < _numbers(current)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]


def stop(home: str) -> int:
    """End the daemon, by a signal if it does not answer; its pid, 0 if there is none."""
    if not os.path.isdir(home) or not client.running(home):
        return 0
    pid = holder(home)
    answer = client.ask(home, "POST /v1/stop", {}, sign=HUNG_SECONDS)
    if answer is None:
        _kill(pid, signal.SIGTERM)
    if not _wait_for_lock(home, STOP_SECONDS if answer else KILL_SECONDS):
        _kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        if not _wait_for_lock(home, STOP_SECONDS):
            raise KinenError(f"the daemon (pid {pid}) does not end", "kill it")
        _remove_files(home, "killed: it did not answer")
    return pid


def clean_up(home: str) -> str:
    """End a daemon that hangs, and remove the files of a dead one; what was done, if anything."""
    daemon = look(home)
    if daemon.state or daemon.refusal:
        return ""
    if daemon.held:
        pid = stop(home)
        return f"it did not answer (pid {pid}) and was ended"
    if _remove_files(home, "killed; cleaned up by `kinen doctor`"):
        return f"it was dead (pid {daemon.last.get('pid', 'unknown')}); its files were removed"
    return ""


def _remove_files(home: str, reason: str) -> bool:
    """Remove the socket of a daemon that was killed, and complete its record."""
    paths = [os.path.join(home, name) for name in (client.SOCKET, client.PORT)]
    left = [path for path in paths if os.path.lexists(path)]
    for path in left:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    dead = killed(last_run(home))
    if dead:
        Diary(home).end(reason)
    return dead or bool(left)


def holder(home: str) -> int:
    """The pid of the process that holds the lock, 0 if it is unknown."""
    path = os.path.join(home, paths.DAEMON_LOCK)
    with contextlib.suppress(OSError, ValueError):
        return int(private.read(path))
    return int(last_run(home).get("pid") or 0)


def tail(home: str, count: int) -> list[str]:
    """The last lines of the log and of the file before it; all lines for 0."""
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


def _wait_for_lock(home: str, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while client.running(home):
        if time.monotonic() > end:
            return False
        time.sleep(STEP)
    return True


FILE = "daemon.json"
INCIDENTS = 20
"""Incidents that the file holds."""
CLOCK_JUMP = 5.0
"""Seconds by which the clock may be adjusted without an incident."""


def last_run(home: str) -> dict[str, Any]:
    """The record of the last daemon; empty if there was none, or it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        record = json.loads(private.read(os.path.join(home, FILE)))
        if isinstance(record, dict):
            return record
    return {}


def killed(last: dict[str, Any]) -> bool:
    """Whether the daemon that wrote this was killed."""
    return bool(last.get("pid")) and not last.get("ended")


class Diary:
    """The record of one daemon."""

    def __init__(
        self,
        home: str,
        *,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        import logging  # whoever only reads the record does not pay for it

        self._log = logging.getLogger("kinen.daemon")
        self._home = home
        self._clock = clock
        self._steady = steady
        self._offset = clock() - steady()
        last = last_run(home)
        incidents = last.get("happened")
        self.happened: list[dict[str, str]] = []
        if isinstance(incidents, list):
            self.happened = incidents[-INCIDENTS:]
        self.about: dict[str, Any] = {
            "pid": os.getpid(),
            "version": __version__,
            "started": iso(clock()),
            "ended": None,
        }
        if killed(last):
            since = last.get("started", "an unknown time")
            self.note(f"the last daemon (pid {last['pid']}, since {since}) was killed")
        else:
            self._write()

    def note(self, what: str) -> None:
        """Add an incident that users should know of."""
        what = entrance.name(what)
        self._log.warning(what)
        self.happened.append({"at": iso(self._clock()), "what": what})
        self.happened = self.happened[-INCIDENTS:]
        self._write()

    def end(self, reason: str) -> None:
        self._log.info("stopped: %s", reason)
        self.about.update(ended=iso(self._clock()), why=reason)
        self._write()

    def check_clock(self) -> None:
        """Note that the clock was set, or that the machine slept."""
        offset = self._clock() - self._steady()
        jump = offset - self._offset
        self._offset = offset
        if abs(jump) > CLOCK_JUMP:
            direction = "forward, or the machine slept," if jump > 0 else "back"
            self.note(f"the clock went {direction} by {abs(jump):,.0f} s")

    def _write(self) -> None:
        text = json.dumps({**self.about, "happened": self.happened}, ensure_ascii=False, indent=1)
        with contextlib.suppress(OSError):  # a full disk must not end the daemon
            os.stat(self._home)  # do not create a home that was deleted
            private.write(os.path.join(self._home, FILE), text + "\n")
