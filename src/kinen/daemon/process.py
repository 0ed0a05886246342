"""The daemon's process: its lock, its sockets, the application behind them, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from typing import Any

from kinen import __version__, config, paths
from kinen.characters import visible, visible_line
from kinen.config.keys import Config
from kinen.daemon.control import Diary, outdated
from kinen.daemon.scheduler import Scheduler
from kinen.daemon.team import TeamThreads
from kinen.errors import Busy, KinenError, SpaceError
from kinen.http.guard import Access, failure
from kinen.http.server import IdleServer
from kinen.ipc import client, loopback
from kinen.journal.mark import glance
from kinen.memory import Memory
from kinen.memory.core import Core
from kinen.ports import Embedder
from kinen.privacy import entrance
from kinen.space import find as spaces
from kinen.space import registry
from kinen.space.registry import Space
from kinen.storage import private

TOKEN_FILE = "http.token"  # noqa: S105
NO_AGENTS = "KINEN_DISTILLING"
"""Set so that the daemon starts no agent, even if an agent started it."""
LOCK_SECONDS = 0.5
"""How long to wait for the lock: a process that only tests it holds it for a moment."""
END_SECONDS = 5.0
"""How long a sync may take to stop when the daemon ends."""
LOG_BYTES = 1 << 20
LOG_FILES = 3
log = logging.getLogger("kinen.daemon")
PAGES = "KINEN_HANDOVER"
"""The socket of the pages, and the digest of a browser's cookie, for the daemon that follows."""
RESTED = "KINEN_LAST_USE"
"""When a daemon that starts again at rest was used last, by the steady clock."""
_DIGEST = re.compile("[0-9a-f]{64}|")
NAME = "journal.db"
LOG = "journal.db-wal"


@dataclass(frozen=True, slots=True)
class Options:
    home: str
    port: int | None = None
    """The port to serve HTTP on, 0 for any; none if it is None."""
    stay: bool = False
    """Whether there is no idle timeout."""
    folder: str = ""
    """In the space that requests without a space mean."""


def run(options: Options) -> None:
    """Serve until a request or a signal ends it, or until it has been idle for long enough."""
    home = options.home
    for name in client.own_settings(os.environ):  # of the process that started it
        del os.environ[name]
    os.environ["KINEN_HOME"] = home
    os.environ[NO_AGENTS] = "1"
    os.umask(0o077)
    private.folder(home)
    lock = _take_lock(home)
    try:
        os.chdir(os.path.abspath(os.sep))
        write_log_to(os.path.join(home, client.LOG))
        daemon = Daemon(options)
        daemon.run()
    finally:
        os.close(lock)
    if daemon.handover:
        line = [sys.executable, "-P", "-m", "kinen", "daemon", "run"]
        line += ["--stay"] if options.stay else []
        os.execve(sys.executable, line, {**os.environ, **daemon.handover})  # noqa: S606


def _take_lock(home: str) -> int:
    end = time.monotonic() + LOCK_SECONDS
    while True:
        lock = client.hold(home)
        if lock is not None:
            os.ftruncate(lock, 0)
            if os.name != "nt":
                os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
            return lock
        if time.monotonic() > end:
            raise Busy("a daemon is already running", "`kinen daemon status` shows it")
        time.sleep(0.02)


class Daemon:
    """Everything that runs in the process."""

    def __init__(self, options: Options) -> None:
        self.home = options.home
        self._options = options
        settings = config.load(self.home, None).daemon
        self._idle = 0 if options.stay else 60 * settings.idle_shutdown_minutes
        self._rest = settings.model_idle_seconds
        self._rest_timer: asyncio.TimerHandle | None = None
        """Frees memory once nothing has happened for a while; none while there is none to free."""
        self._debounce = settings.watch_debounce_ms / 1000
        self._diary = Diary(self.home)
        self._models: dict[tuple[object, ...], Embedder | None] = {}
        rested = os.environ.pop(RESTED, "")
        self._rested = bool(rested)
        self._last_use = float(rested) if rested else time.monotonic()
        self._answered = 0
        self._port = 0
        self._token = ""
        self._end_reason = ""
        self._journals: dict[str, JournalWatch] = {}
        """By the folder that each is in."""
        self._missing: set[str] = set()
        """Indexes of spaces in which nobody has searched yet."""
        self._team: TeamThreads | None = None
        self._pages: asyncio.Server | None = None
        """What accepts the browsers of the pages, once one has needed it."""
        self.handover: dict[str, str] = {}
        """Variables for the daemon that follows in this process; none if none does."""

    def run(self) -> None:
        log.info("kinen %s, pid %d, in %s", __version__, os.getpid(), self.home)
        try:
            asyncio.run(self._serve(self._listeners()))
        except BaseException as error:
            self._end_reason = str(error) if isinstance(error, KinenError) else repr(error)
            raise
        finally:
            for name in (client.SOCKET, client.PORT, client.STARTED):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(self.home, name))
            self._diary.end(self._end_reason)

    def _listeners(self) -> list[socket.socket]:
        """The socket of this home, and a port if the options or the system need one."""
        path = client.socket_path(self.home)
        listeners = []
        if self._options.port is not None or not path:
            self._token = loopback.token(os.path.join(self.home, TOKEN_FILE))
            listener = loopback.listen(self._options.port or 0)
            listeners.append(listener)
            self._port = listener.getsockname()[1]
        if not path:
            address = f"{self._port} {self._token}\n"
            private.write(os.path.join(self.home, client.PORT), address)
            return listeners
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # left by a killed daemon: we hold the lock
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(path)
        os.chmod(path, 0o600)
        return [*listeners, unix]

    async def _serve(self, listeners: list[socket.socket]) -> None:
        from kinen.daemon.scheduler import Scheduler
        from kinen.daemon.watch import Watch
        from kinen.http import server
        from kinen.http.app import create_app
        from kinen.http.space import Hub
        from kinen.memory.pool import MemoryPool

        self._hub = Hub()
        self._pool = pool = MemoryPool(self._open_scheduled)
        self._access = access = Access(self._token, self._port)
        app = create_app(
            pool,
            hub=self._hub,
            state=self.state,
            access=access,
            default=self._options.folder,
            used=self._count_use,
            open_port=self._open_port,
            restart=self._restart if self._options.port is None and os.name != "nt" else None,
        )
        self._server: IdleServer = server.make(self._for_this_version(app, access), failure)
        self._scheduler: Scheduler = Scheduler(
            self.open,
            debounce=self._debounce,
            note=self._diary.note,
            publish=self._publish,
            watch=lambda changed: Watch(self._with_home(changed)),
        )
        loop = self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, self.stop, signal.Signals(number).name)
        if self._idle:
            loop.call_later(self._idle_left(), self._end_if_idle, loop)
        self._await_rest()
        if not self._rested:
            threading.Thread(target=self._load_model, daemon=True).start()
        self._scheduler.watch.watch((self.home, (self.home,), self._of_home, self._of_home))
        self._scheduler.start()
        self._schedule_spaces()
        left = take(os.environ)
        if left is not None and not self._port:
            listener, session = left
            self._access.browsers.admit(session)
            # Serve the pages at the port of the daemon before this one.
            self._server.ready = lambda: loop.create_task(self._add_pages(listener))
        else:
            self._server.ready = self._announce
        try:
            await self._server.serve(sockets=listeners)
        finally:
            self._hub.close()
            await pool.close()
            if self._team is not None:
                await asyncio.to_thread(self._team.stop, END_SECONDS)
            await asyncio.to_thread(self._scheduler.stop, END_SECONDS)

    async def _open_port(self) -> int:
        """The port of the pages; one is opened when the first browser needs it.

        It serves no endpoint of the API, since there is no token for it.
        """
        if not self._port:
            try:
                listener = loopback.listen(loopback.USUAL_PORT)
            except KinenError:  # used by another program
                listener = loopback.listen(0)
            await self._add_pages(listener)
        return self._port

    async def _add_pages(self, listener: socket.socket) -> None:
        self._port = listener.getsockname()[1]
        self._access.listen(self._port)
        self._pages = await self._server.add(listener)

    def _restart(self, cookie: str) -> Callable[[], None]:
        """Have a new daemon take over the port and the browser with this cookie.

        From here on browsers wait for it; calling the result ends this daemon.
        """
        if self._pages is not None:
            session = self._access.browsers.pass_on(cookie)
            descriptor = os.dup(self._pages.sockets[0].fileno())  # it is closed here
            os.set_inheritable(descriptor, True)
            self.handover = {PAGES: f"{descriptor} {session}"}
            self._pages.close()
        return lambda: self.stop("restarted from a page")

    def _announce(self) -> None:
        if self._options.port is not None:
            print(f"http://{client.HOST}:{self._port}/v1", flush=True)
            print(f"kinen: the bearer token is in {self.home}/{TOKEN_FILE}", file=sys.stderr)

    def stop(self, reason: str) -> None:
        if self._end_reason:  # nobody follows where a signal comes meanwhile
            self.handover = {}
        self._end_reason = self._end_reason or reason
        self._hub.close()
        self._server.stop()

    def _for_this_version(self, app: Any, access: Access) -> Any:
        """The application, for requests of the same kinen with the same settings.

        A client of another version gets 409; if it is newer, this daemon ends. Requests without
        access go to the application, which refuses them.
        """
        settings = client.quoted(paths.user_file())

        async def call(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http" or not access.allows(scope):
                await app(scope, receive, send)
                return
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            version = headers.get(b"x-kinen-version", __version__)
            if (scope["method"], scope["path"]) == ("POST", "/v1/stop"):
                await _send_text(send, 202, "stopping")
                self.stop("on request")
            elif version != __version__:
                await _send_text(send, 409, f"this daemon is of kinen {__version__}")
                if outdated(__version__, version):
                    self.stop(f"replaced by kinen {version}")
            elif headers.get(b"x-kinen-config", settings) != settings:
                await _send_text(send, 409, f"this daemon has its settings from {settings}")
            else:
                await app(scope, receive, send)

        return call

    def open(self, folder: str) -> Memory:
        """The memory of the space around a folder, with the models that all of them share."""
        return self._memory(spaces.find(folder, home=self.home, anyway=True))

    def _memory(self, space: Space) -> Memory:
        settings = config.load(self.home, space.root)
        if settings.team.url and space.registered:
            self._team_threads().follow(space.root)
        return Memory(space, settings, models=self._models, on_repair=self._diary.note)

    def _team_threads(self) -> TeamThreads:
        """The threads of spaces that have a team; made for the first of them."""
        if self._team is None:
            from kinen.daemon.team import TeamThreads

            self._team = TeamThreads(self._team_memory, self._diary.note)
        return self._team

    def _team_memory(self, root: str) -> Memory:
        space = spaces.find(root, home=self.home, anyway=True)
        return Memory(space, config.load(self.home, space.root))

    def _open_scheduled(self, folder: str) -> Memory:
        """The memory of a space that is synced from now on."""
        root = spaces.locate(folder, home=self.home) if folder else ""
        if not root:
            raise SpaceError(f"{folder or 'nowhere'} is in no space", "run `kinen init` there")
        memory = self._memory(spaces.at(root, home=self.home))
        if memory.space.registered and os.path.exists(memory.core.index_file):
            self._scheduler.add(memory.space)
            self._watch_journal(memory.space)
        return memory

    def _load_model(self) -> None:
        """Load the model before a request waits for it."""
        try:
            settings = config.load(self.home, None)
            space = Space(self.home, "", "", "", "", self.home)
            log.info(
                "the model is %s", Memory(space, settings, models=self._models).index.try_model()
            )
        except Exception as error:
            log.warning("the model: %s", error)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._await_rest)

    def _with_home(self, changed: Any) -> Any:
        """The callback of the watcher: changes of the home itself are about all spaces.

        A journal that grows needs no sync, since searches read it: only listeners are told.
        """

        def call(root: str, folders: bool) -> None:
            if root in self._journals:
                journal = self._journals[root]
                if journal.grew():
                    self._publish("recorded", {"space": journal.space})
                return
            if root != self.home and root not in self._missing:
                changed(root, folders)
                return
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._schedule_spaces)

        return call

    def _watch_journal(self, space: Space) -> None:
        """Tell listeners from now on when something is recorded in a space."""
        if space.data not in self._journals:
            self._journals[space.data] = JournalWatch(space.data, space.name)
            target = (space.data, (space.data,), counts, never)
            self._scheduler.watch.watch(target)

    def _of_home(self, path: str, *_: object) -> bool:
        """Whether a path is a file of the home that says which spaces there are, or its lock."""
        return path == self.home or os.path.basename(path) in ("spaces.json", paths.DAEMON_LOCK)

    def _schedule_spaces(self) -> None:
        """Sync every registered space that was indexed once; end if the home is gone."""
        if not os.path.exists(os.path.join(self.home, paths.DAEMON_LOCK)):
            self.stop(f"{self.home} is gone")
            return
        try:
            checkouts = registry.checkouts(self.home)
        except KinenError as error:
            self._diary.note(str(error))
            return
        files = {space.root: self._index_file(space) for space in checkouts}
        # Come again as soon as one of the indexes is there that is missing.
        watch = self._scheduler.watch
        before = self._missing
        missing = {file for file in files.values() if not os.path.exists(file)}
        self._missing = before | missing
        for file in missing - before:
            watch.watch((file, (os.path.dirname(file),), _only(file), never))
        # One may have come before it was watched.
        self._missing = {file for file in missing if not os.path.exists(file)}
        for file in (before | missing) - self._missing:
            watch.forget(file)
        indexed = [space for space in checkouts if files[space.root] not in self._missing]
        self._scheduler.replace(indexed)
        for space in indexed:
            self._watch_journal(space)
        # Follow the teams of spaces, also where nobody has searched yet: hooks only write.
        for space in checkouts:
            with contextlib.suppress(KinenError):
                if config.load(self.home, space.root).team.url:
                    self._team_threads().follow(space.root)

    def _index_file(self, space: Space) -> str:
        try:
            settings = config.load(self.home, space.root)
        except KinenError:  # noted when the space is synced
            settings = Config()
        return Core(space, settings).index_file

    def _publish(self, kind: str, data: dict[str, Any]) -> None:
        self._diary.check_clock()
        self._hub.publish(kind, data)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._await_rest)

    def _count_use(self) -> None:
        self._last_use = time.monotonic()
        self._answered += 1
        self._await_rest()

    def _await_rest(self) -> None:
        """Free the model and vectors once the daemon is at rest; each is loaded again if used."""
        if self._rest and self._rest_timer is None:
            self._rest_timer = self._loop.call_later(self._rest, self._free_at_rest)

    def _free_at_rest(self) -> None:
        self._rest_timer = None
        if self._scheduler.busy or time.monotonic() < self._last_use + self._rest:
            self._await_rest()
            return
        self._loop.create_task(self._free())

    async def _free(self) -> None:
        await self._pool.release()
        for model in self._models.values():
            drop = getattr(model, "drop", None)
            if drop:
                drop()
        await asyncio.to_thread(return_memory)
        log.info("at rest: %d MB", resident() / 1e6)
        if "numpy" not in sys.modules or self._port or os.name == "nt":
            return
        if self._server.server_state.connections or self._scheduler.busy:
            self._await_rest()
            return
        self.handover = {RESTED: str(self._last_use)}  # libraries stay in memory otherwise
        self.stop("starts again at rest")

    def _end_if_idle(self, loop: asyncio.AbstractEventLoop) -> None:
        left = self._idle_left()
        if left > 0:
            loop.call_later(left, self._end_if_idle, loop)
        else:
            self.stop(f"idle for {self._idle / 60:g} minutes")

    def _idle_left(self) -> float:
        """Seconds until it ends unless it is used.

        It does not while it works, a browser is signed in, or a space has a team: colleagues' work
        comes at any time.
        """
        if self._scheduler.busy or (self._team is not None and self._team.spaces):
            self._last_use = time.monotonic()
        end = max(self._last_use + self._idle, self._access.browsers.end)
        return end - time.monotonic()

    def state(self) -> dict[str, Any]:
        """What `status` shows."""
        self._diary.check_clock()
        states = self._scheduler.state()
        ends = self._idle and not (self._team and self._team.spaces)
        idle_left = round(max(0.0, self._idle_left())) if ends else None
        return {
            **{name: self._diary.about[name] for name in ("pid", "version", "started")},
            "socket": client.socket_path(self.home) or None,
            "port": self._port or None,
            "memory_mb": round(resident() / 1e6, 1),
            "answered": self._answered,
            "idle_seconds_left": idle_left,
            "debounce_ms": round(self._debounce * 1000),
            "queue": [
                space["name"] for space in states if space["state"] in ("waiting", "syncing")
            ],
            "spaces": states,
            "happened": self._diary.happened,
        }


def _only(file: str) -> Callable[[str, bool], bool]:
    """Whether a change is one of this file."""
    return lambda path, _: path == file


def return_memory() -> None:
    """Give free memory back to the system; the C library of Linux keeps it otherwise."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def resident() -> int:
    """Bytes of memory of this process; its peak where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


async def _send_text(send: Any, code: int, text: str) -> None:
    body = (text + "\n").encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def take(environ: MutableMapping[str, str]) -> tuple[socket.socket, str] | None:
    """The socket and session that a daemon before this one left, if it did."""
    number, _, session = environ.pop(PAGES, "").partition(" ")
    if not number.isdigit() or not _DIGEST.fullmatch(session):
        return None
    with contextlib.suppress(OSError, ValueError):
        listener = socket.socket(fileno=int(number))
        os.set_inheritable(listener.fileno(), False)
        if listener.getsockname()[0] == "127.0.0.1":
            return listener, session
    return None


class JournalWatch:
    """The journal of a space, as far as it was seen."""

    def __init__(self, data: str, space: str) -> None:
        """`data` is the folder that the journal is in."""
        self.space = space
        self._path = os.path.join(data, NAME)
        self._stamps = self._stat()
        self._mark = glance(self._path)

    def grew(self) -> bool:
        """Whether there is something new since the last call.

        Reading a journal can create and remove an empty log beside it. Files are compared first, so
        that this reading is not taken for a change.
        """
        stamps = self._stat()
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        mark = glance(self._path)
        grew = mark != self._mark
        self._mark = mark
        return grew

    def _stat(self) -> tuple[tuple[int, int], ...]:
        folder = os.path.dirname(self._path)
        return tuple(_stamp(os.path.join(folder, name)) for name in (NAME, LOG))


def counts(path: str, *_: object) -> bool:
    """Whether a path is a file that new entries change."""
    return os.path.basename(path) in (NAME, LOG)


def never(*_: object) -> bool:
    """No change of a file means other folders to watch."""
    return False


def _stamp(path: str) -> tuple[int, int]:
    """Size and time of a file; that of a missing file equals that of an empty one."""
    try:
        stat = os.stat(path)
    except OSError:
        return (0, 0)
    return (stat.st_size, stat.st_mtime_ns) if stat.st_size else (0, 0)


class PrivateLog(RotatingFileHandler):
    """A log that only its owner may read, and that follows no link."""

    def _open(self) -> Any:
        return open(self.baseFilename, self.mode, encoding="utf-8", opener=private.opener)


def write_log_to(path: str) -> None:
    os.close(private.opener(path, os.O_WRONLY | os.O_CREAT))  # a link is refused
    handler = PrivateLog(path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, delay=True)
    formatter = _Formatter("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.raiseExceptions = False  # a full disk is reported elsewhere
    log.handlers = [handler]
    log.propagate = False
    level = os.environ.get("KINEN_LOG_LEVEL", "").strip().upper()
    log.setLevel(logging.getLevelNamesMapping().get(level, logging.INFO))


class _Formatter(logging.Formatter):
    """Masks secrets and escapes control characters.

    A message is on one line; a traceback keeps its lines.
    """

    def format(self, record: logging.LogRecord) -> str:
        return visible(entrance.name(super().format(record)))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return visible_line(super().formatMessage(record))
