"""The process: one per home by a lock, a socket, the application behind it, and a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import signal
import socket
import sys
import threading
import time
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, Any

from kinen import __version__, config, paths
from kinen.characters import visible, visible_line
from kinen.daemon.control import outdated
from kinen.daemon.diary import Diary
from kinen.errors import Busy, KinenError, SpaceError
from kinen.http.guard import by_socket, failure
from kinen.ipc import client, loopback
from kinen.memory import Memory
from kinen.privacy import entrance
from kinen.space import find as spaces
from kinen.space import registry
from kinen.space.registry import Space
from kinen.storage import private

if TYPE_CHECKING:
    from kinen.daemon.scheduler import Syncs
    from kinen.http.server import Quiet
    from kinen.ports import Embedder

TOKEN_FILE = "http.token"  # noqa: S105
GUARD = "KINEN_DISTILLING"
"""The daemon starts no agent, whatever it was started by."""
PATIENCE = 0.5
"""Seconds that a lock has to get free: whoever only looks at it holds it for a moment."""
ENDING = 5.0
"""Seconds that a sync under way has to stop when the daemon ends."""
LOG_BYTES, LOG_FILES = 1 << 20, 3
log = logging.getLogger("kinen.daemon")


class Options:
    """How a daemon runs: with a port for others, for good, for the space of a folder."""

    def __init__(
        self, home: str, *, port: int | None = None, stay: bool = False, folder: str = ""
    ) -> None:
        self.home, self.port, self.stay, self.folder = home, port, stay, folder


def run(options: Options) -> None:
    """Serve until told to stop, or until nobody has asked for long enough."""
    home = options.home
    for name in client.own_settings(os.environ):  # those of whoever started it
        del os.environ[name]
    os.environ["KINEN_HOME"] = home
    os.environ[GUARD] = "1"
    os.umask(0o077)
    private.folder(home)
    lock = _locked(home)
    try:
        os.chdir(os.path.abspath(os.sep))
        _log_to(os.path.join(home, client.LOG))
        Daemon(options).run()
    finally:
        os.close(lock)


def _locked(home: str) -> int:
    end = time.monotonic() + PATIENCE
    while True:
        lock = client.hold(home)
        if lock is not None:
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0) if os.name != "nt" else None
            return lock
        if time.monotonic() > end:
            raise Busy("a daemon runs already", "`kinen daemon status` shows it")
        time.sleep(0.02)


class PrivateLog(RotatingFileHandler):
    """A log that only its owner may read, and that follows no link."""

    def _open(self) -> Any:
        return open(self.baseFilename, self.mode, encoding="utf-8", opener=private.opener)


def _log_to(path: str) -> None:
    os.close(private.opener(path, os.O_WRONLY | os.O_CREAT))  # a link is refused
    handler = PrivateLog(path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, delay=True)
    form = _Lines("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    form.converter = time.gmtime
    handler.setFormatter(form)
    logging.raiseExceptions = False  # a full disk is told in other places
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.INFO)


class _Lines(logging.Formatter):
    """Lines without the secrets and the control characters of what they quote.

    A message is on one line; a traceback keeps its lines.
    """

    def format(self, record: logging.LogRecord) -> str:
        return visible(entrance.name(super().format(record)))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return visible_line(super().formatMessage(record))


class Daemon:
    """Everything that runs in the process, from the first socket to the last file."""

    def __init__(self, options: Options) -> None:
        self.home, self._options = options.home, options
        settings = config.load(self.home, None).daemon
        self._idle = 0 if options.stay else 60 * settings.idle_shutdown_minutes
        self._debounce = settings.watch_debounce_ms / 1000
        self._diary = Diary(self.home)
        self._models: dict[tuple[object, ...], Embedder | None] = {}
        self._used, self._answered = time.monotonic(), 0
        self._port = 0
        self._token = ""
        self._why = ""

    def run(self) -> None:
        log.info("kinen %s, pid %d, in %s", __version__, os.getpid(), self.home)
        try:
            asyncio.run(self._serve(self._doors()))
        except BaseException as error:
            self._why = str(error) if isinstance(error, KinenError) else repr(error)
            raise
        finally:
            for name in (client.SOCKET, client.PORT, client.STARTED):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(self.home, name))
            self._diary.end(self._why)

    # Where it listens

    def _doors(self) -> list[socket.socket]:
        """A port if one was asked for, and the socket of this home."""
        path = client.socket_path(self.home)
        made = []
        if self._options.port is not None or not path:
            self._token = loopback.token(os.path.join(self.home, TOKEN_FILE))
            door = loopback.listening(self._options.port or 0)
            made.append(door)
            self._port = door.getsockname()[1]
        if not path:
            told = f"{self._port} {self._token}\n"
            private.write(os.path.join(self.home, client.PORT), told)
            return made
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # of one that was killed: we hold the lock
        made.append(socket.socket(socket.AF_UNIX))
        made[-1].bind(path)
        os.chmod(path, 0o600)
        return made

    async def _serve(self, doors: list[socket.socket]) -> None:
        from kinen.daemon.scheduler import Syncs
        from kinen.daemon.watch import Watch
        from kinen.http import server
        from kinen.http.app import create_app
        from kinen.http.events import Hub
        from kinen.memory.pool import Spaces

        threading.Thread(target=self._warm, daemon=True).start()
        self._hub = Hub()
        opened = Spaces(self._met)
        app = create_app(
            opened,
            hub=self._hub,
            state=self.state,
            token=self._token,
            port=self._port,
            default=self._options.folder,
            used=self._touch,
        )
        self._server: Quiet = server.make(self._porch(app), failure)
        self._syncs: Syncs = Syncs(
            self.open,
            debounce=self._debounce,
            tell=self._diary.note,
            publish=self._publish,
            watch=lambda changed: Watch(self._noticing(changed)),
        )
        loop = self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, self.stop, signal.Signals(number).name)
        if self._idle:
            loop.call_later(self._idle, self._look_if_idle, loop)
        self._syncs.watch.watch((self.home, (self.home,), self._ours, self._ours))
        self._syncs.start()
        self._look_around()
        self._server.ready = self._announce
        try:
            await self._server.serve(sockets=doors)
        finally:
            self._hub.close()
            await asyncio.to_thread(opened.close)
            await asyncio.to_thread(self._syncs.stop, ENDING)

    def _announce(self) -> None:
        if self._options.port is not None:
            print(f"http://{loopback.HOST}:{self._port}/v1", flush=True)
            print(f"kinen: the bearer token is in {self.home}/{TOKEN_FILE}", file=sys.stderr)

    def stop(self, why: str) -> None:
        self._why = self._why or why
        self._hub.close()
        self._server.stop()

    def _porch(self, app: Any) -> Any:
        """What is said between a kinen and its daemon, before anything is asked."""
        settings = client.quoted(paths.user_file())

        async def call(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            heads = {name: value.decode("latin-1") for name, value in scope["headers"]}
            version = heads.get(b"x-kinen-version", __version__)
            stops = (scope["method"], scope["path"]) == ("POST", "/v1/stop")
            if not self._known(heads, scope):
                await app(scope, receive, send)  # which refuses it
            elif stops:
                await _short(send, 202, "it ends")
                self.stop("it was told to")
            elif version != __version__:
                await _short(send, 409, f"this daemon is of kinen {__version__}")
                if outdated(__version__, version):
                    self.stop(f"kinen {version} is there now")
            elif heads.get(b"x-kinen-config", settings) != settings:
                await _short(send, 409, f"this daemon has its settings from {settings}")
            else:
                await app(scope, receive, send)

        return call

    def _known(self, heads: dict[bytes, str], scope: Any) -> bool:
        """Whether a request comes from the socket of this home, or shows the token."""
        if by_socket(scope):
            return True
        shown = heads.get(b"authorization", "")
        return hmac.compare_digest(shown.encode(), f"Bearer {self._token}".encode())

    # Memories

    def open(self, folder: str) -> Memory:
        """The memory of the space around a folder, with the models that all of them share."""
        space = spaces.find(folder, home=self.home, anyway=True)
        settings = config.load(self.home, space.root)
        return Memory(space, settings, models=self._models, on_repair=self._diary.note)

    def _met(self, folder: str) -> Memory:
        if not folder or not spaces.locate(folder, home=self.home):
            raise SpaceError(f"{folder or 'nowhere'} is in no space", "run `kinen init` there")
        memory = self.open(folder)
        if os.path.exists(os.path.join(memory.space.data, "index.db")):
            self._syncs.meet(memory.space)
        return memory

    def _warm(self) -> None:
        """Load the model before somebody waits for it."""
        try:
            settings = config.load(self.home, None)
            space = Space(self.home, "", "", "", "", self.home)
            log.info(
                "the model is %s", Memory(space, settings, models=self._models).index.try_model()
            )
        except Exception as error:
            log.warning("the model: %s", error)

    # What it notices

    def _noticing(self, changed: Any) -> Any:
        """Changes of the home itself are ours: spaces that come and go, and its own end."""

        def call(root: str, folders: bool) -> None:
            if root == self.home:
                self._loop_call(self._look_around)
            else:
                changed(root, folders)

        return call

    def _ours(self, path: str, *_: object) -> bool:
        """Files of the home that tell of its spaces, or of its end."""
        return path == self.home or os.path.basename(path) in ("spaces.json", client.LOCK)

    def _loop_call(self, call: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call)

    def _look_around(self) -> None:
        """Tend every registered space that was indexed once."""
        if not os.path.exists(os.path.join(self.home, client.LOCK)):
            self.stop(f"{self.home} is gone")
            return
        try:
            known = registry.registered(self.home)
        except KinenError as error:
            self._diary.note(str(error))
            return
        indexed = (one for one in known if os.path.exists(os.path.join(one.data, "index.db")))
        self._syncs.tend(indexed)

    def _publish(self, kind: str, data: dict[str, Any]) -> None:
        self._diary.look_at_the_clock()
        self._hub.publish(kind, data)

    # Use and idleness

    def _touch(self) -> None:
        self._used = time.monotonic()
        self._answered += 1

    def _look_if_idle(self, loop: asyncio.AbstractEventLoop) -> None:
        left = self._used + self._idle - time.monotonic()
        if left > 0:
            loop.call_later(left, self._look_if_idle, loop)
        else:
            self.stop(f"nobody asked for {self._idle / 60:g} minutes")

    def state(self) -> dict[str, Any]:
        """What `status` shows."""
        self._diary.look_at_the_clock()
        tended = self._syncs.state()
        ends = self._used + self._idle - time.monotonic() if self._idle else None
        return {
            **{name: self._diary.about[name] for name in ("pid", "version", "started")},
            "socket": client.socket_path(self.home) or None,
            "port": self._port or None,
            "memory_mb": round(resident() / 1e6, 1),
            "answered": self._answered,
            "idle_seconds_left": None if ends is None else round(max(0.0, ends)),
            "debounce_ms": round(self._debounce * 1000),
            "queue": [one["name"] for one in tended if one["state"] in ("waiting", "syncing")],
            "spaces": tended,
            "happened": self._diary.happened,
        }


def resident() -> int:
    """Bytes of memory that this process has, or had at most where that is not told."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


async def _short(send: Any, code: int, text: str) -> None:
    body = (text + "\n").encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": body})
