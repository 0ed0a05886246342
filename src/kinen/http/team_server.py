"""`kinen serve --team`: workers side by side on one socket, each without state of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from dataclasses import dataclass

import uvicorn

from kinen.errors import KinenError
from kinen.http.server import HEAD_BYTES
from kinen.http.team_app import TeamServer
from kinen.http.team_metrics import Metrics
from kinen.postgres.connection import Database
from kinen.team.schema import prepare

GRACE_SECONDS = 10
"""How long requests under way may take after a signal to stop."""
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


def run(options: Options) -> None:
    """Serve until SIGTERM or SIGINT; requests under way are finished first."""
    with Database(options.database) as database:
        prepare(database)
    listener = _listen(options)
    metrics = Metrics()
    scheme = "https" if options.certificate else "http"
    port = listener.getsockname()[1]
    print(f"team server on {scheme}://{options.host}:{port} (pid {os.getpid()})", flush=True)
    _supervise(options, listener, metrics)


def _listen(options: Options) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        return socket.create_server((options.host, options.port), family=family, backlog=512)
    except OSError as error:
        raise KinenError(
            f"cannot listen on {options.host}:{options.port}: {error.strerror}",
            "choose another port or host",
        ) from error


def _supervise(options: Options, listener: socket.socket, metrics: Metrics) -> None:
    """Keep the workers running; a worker that dies is replaced."""
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True
        for pid in list(workers):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                continue

    # The end of this pipe is closed when this process dies, however that happens.
    lifeline = os.pipe()
    workers = {_fork(options, listener, metrics, lifeline) for _ in range(options.workers)}
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    while workers:
        pid, _ = os.wait()
        workers.discard(pid)
        if not stopping:
            time.sleep(PAUSE_SECONDS)
            workers.add(_fork(options, listener, metrics, lifeline))


def _fork(
    options: Options, listener: socket.socket, metrics: Metrics, lifeline: tuple[int, int]
) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.close(lifeline[1])
        threading.Thread(target=_end_with, args=(lifeline[0],), daemon=True).start()
        _work(options, listener, metrics)
        code = 0
    finally:
        os._exit(code)


def _end_with(lifeline: int) -> None:
    """Stop this worker when the process that started it has ended."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _work(options: Options, listener: socket.socket, metrics: Metrics) -> None:
    database = Database(options.database, application="kinen team")
    config = uvicorn.Config(
        TeamServer(database, metrics).app(),
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_certfile=options.certificate or None,
        ssl_keyfile=options.key or None,
    )
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
    database.close()
