"""`kinen serve --team`: workers side by side on one socket, each without state of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import signal
import socket
import ssl
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn

from kinen.errors import KinenError
from kinen.http.server import HEAD_BYTES
from kinen.http.team_app import TeamServer
from kinen.http.team_gate import LIMITS, Limits
from kinen.http.team_metrics import Metrics, forget_worker
from kinen.http.team_mirror import Mirrors
from kinen.journal.recent import process_exists
from kinen.postgres.connection import Database
from kinen.team.audit import forget_before
from kinen.team.schema import prepare
from kinen.text import iso

if TYPE_CHECKING:
    from kinen.http.team_sign_in import Settings

GRACE_SECONDS = 10
"""How long requests under way may take after a signal to stop."""
STANDBY_SECONDS = 2
"""How long a connection to the standby may take: the database answers as well."""
TRIM_SECONDS = 3600
PAUSE_SECONDS = 0.5
"""Between the death of a worker and its successor."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a team is served."""

    database: str
    host: str = "127.0.0.1"
    port: int = 7336
    workers: int = 2
    certificate: str = ""
    key: str = ""
    limits: Limits = LIMITS
    log: str = "text"
    """`json` writes one line for each request, with its id; `text` only what went wrong."""
    forwarded: str = ""
    """Addresses of proxies whose X-Forwarded-For and -Proto are believed."""
    audit_days: int = 0
    """How long the audit is kept; 0 for ever."""
    sign_in: Settings | None = None
    """How people sign in at a company's provider."""
    replica: str = ""
    """The address of a standby of the database, to read copies of spaces from."""


def run(options: Options) -> None:
    """Serve until SIGTERM or SIGINT; requests under way are finished first."""
    with Database(options.database) as database:
        prepare(database)
    if options.certificate:  # no worker could use one that cannot be loaded
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(options.certificate, options.key, password=lambda: "")
        except (OSError, ssl.SSLError) as error:
            raise KinenError(
                f"the certificate or its key cannot be used: {error.strerror or error}",
                "give PEM files that belong together, the key without a passphrase",
            ) from error
    try:
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        listener = socket.create_server((options.host, options.port), family=family, backlog=512)
    except OSError as error:
        raise KinenError(
            f"cannot listen on {options.host}:{options.port}: {os.strerror(error.errno or 0)}",
            "choose another port or host",
        ) from error
    # Or a body waits 40 ms for an ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    scheme = "https" if options.certificate else "http"
    port = listener.getsockname()[1]
    print(f"team server on {scheme}://{options.host}:{port} (pid {os.getpid()})", flush=True)
    # A private folder for copies of spaces; those of servers that were killed are removed.
    prefix = f"kinen-team-{os.getuid()}-"
    above = tempfile.gettempdir()
    for name in os.listdir(above):
        pid = name.removeprefix(prefix).partition("-")[0]
        if name.startswith(prefix) and pid.isdecimal() and not process_exists(int(pid)):
            shutil.rmtree(os.path.join(above, name), ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-")
    try:
        Supervisor(options, listener, folder).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Supervisor:
    """Keeps the workers running; a worker that dies is replaced."""

    def __init__(self, options: Options, listener: socket.socket, folder: str) -> None:
        self._options = options
        self._listener = listener
        self._folder = folder
        counts = os.path.join(folder, "metrics")
        os.mkdir(counts)
        self._metrics = Metrics(counts)
        self._workers: set[int] = set()
        self._stopping = False
        # The end of this pipe is closed when this process dies, however that happens.
        self._lifeline = os.pipe()

    def run(self) -> None:
        """Serve until a signal to stop."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        while len(self._workers) < self._options.workers and not self._stopping:
            self._fork()
        while self._workers:
            pid, _ = os.wait()
            self._workers.discard(pid)
            forget_worker(pid)
            if not self._stopping:
                time.sleep(PAUSE_SECONDS)
                self._fork()

    def _stop(self, *_: object) -> None:
        self._stopping = True
        for pid in list(self._workers):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def _fork(self) -> None:
        pid = os.fork()
        if pid:
            self._workers.add(pid)
            if self._stopping:  # the signal came before this worker was known
                self._stop()
            return
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.close(self._lifeline[1])
            thread = threading.Thread(target=_end_with, args=(self._lifeline[0],), daemon=True)
            thread.start()
            self._work()
            code = 0
        finally:
            os._exit(code)

    def _work(self) -> None:
        """Answer requests, in a process of its own."""
        options = self._options
        if options.log == "json":
            handler = logging.StreamHandler()
            handler.setFormatter(JsonLines())
            logging.basicConfig(level=logging.INFO, handlers=[handler])
        database = Database(options.database, application="kinen team")
        if options.audit_days:
            keep = (database, options.audit_days)
            threading.Thread(target=_trim_audit, args=keep, name="audit", daemon=True).start()
        standby = None
        if options.replica:
            name = "kinen team standby"
            standby = Database(options.replica, application=name, patience=STANDBY_SECONDS)
        mirrors = Mirrors(database, os.path.join(self._folder, "copies"), standby)
        server = TeamServer(database, self._metrics, mirrors, options.limits, options.sign_in)
        config = uvicorn.Config(
            server.app(),
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(options.forwarded),
            forwarded_allow_ips=options.forwarded or None,
            h11_max_incomplete_event_size=HEAD_BYTES,
            timeout_graceful_shutdown=GRACE_SECONDS,
            ssl_certfile=options.certificate or None,
            ssl_keyfile=options.key or None,
        )
        asyncio.run(_Worker(config, server).serve(sockets=[self._listener]))
        database.close()
        if standby:
            standby.close()


class _Worker(uvicorn.Server):
    """Ends without waiting for machines that wait for news."""

    def __init__(self, config: uvicorn.Config, server: TeamServer) -> None:
        super().__init__(config)
        self._team = server

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._team.news.close()
        await super().shutdown(sockets)


class JsonLines(logging.Formatter):
    """A record of the log as an object of JSON on one line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": iso(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "about", {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _trim_audit(database: Database, days: int) -> None:
    """Remove old requests from the audit, now and every hour."""
    while True:
        with suppress(KinenError):
            forget_before(database, days)
        time.sleep(TRIM_SECONDS)


def _end_with(lifeline: int) -> None:
    """Stop this worker when the process that started it has ended."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)
