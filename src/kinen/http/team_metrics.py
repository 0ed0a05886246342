"""Counters of a team's server, shared by its workers, in the text form that Prometheus reads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kinen.team.admin import SpaceSize

PATHS = (
    "/v1/team/push /v1/team/pull /v1/team/fetch /v1/team/compare /v1/team/withdraw /v1/team/me"
    " /v1/team/news /v1/team/sign-in /v1/search /metrics /web/"
).split()
BOUNDS = (0.005, 0.02, 0.1, 0.5, 2.0)
"""Seconds of the buckets of request times."""
CHANGES = (0, 1, 10, 100, 1_000, 10_000)
"""Buckets of how many changes a machine is behind when it asks for them."""
POOL = {"pool_size": "open", "pool_available": "free", "requests_waiting": "waiting"}
"""What the pool of connections counts, and our name for it."""
SPACES_SECONDS = 60.0
"""How long the counts of spaces are kept: they read an index of all entries."""


class Metrics:
    """Counters of this process; with a folder, of all processes that are forked later.

    Each of those counts in a file of its own there: one that is killed blocks no other, and what
    it counted remains.
    """

    def __init__(self, folder: str = "") -> None:
        if folder:  # read by prometheus_client when it is imported
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
        from prometheus_client.metrics import disable_created_metrics
        from prometheus_client.multiprocess import MultiProcessCollector

        disable_created_metrics()
        own = CollectorRegistry()
        about = "Requests by path and class of status."
        labels = ("path", "status")
        self._requests = Counter("kinen_team_requests_total", about, labels, registry=own)
        about = "Time of requests."
        self._seconds = Histogram(
            "kinen_team_request_seconds", about, ("path",), buckets=BOUNDS, registry=own
        )
        about = "Versions of entries that were pushed and pulled."
        self._entries = Counter("kinen_team_entries_total", about, ("direction",), registry=own)
        about = "Changes that a machine was behind when it pulled."
        self._behind = Histogram(
            "kinen_team_pull_behind_changes", about, buckets=CHANGES, registry=own
        )
        about = "Requests that are being answered or wait for a thread or a connection."
        self._running = Gauge(
            "kinen_team_requests_in_progress", about, registry=own, multiprocess_mode="livesum"
        )
        about = "Connections to the database, and requests that wait for one."
        self._pool = Gauge(
            "kinen_team_pool", about, ("state",), registry=own, multiprocess_mode="livesum"
        )
        self._sizes: tuple[float, Sequence[SpaceSize]] = (float("-inf"), ())
        for path in PATHS:  # a rate needs a first value before the first request
            self._seconds.labels(path)
            for status in ("2xx", "4xx", "5xx"):
                self._requests.labels(path, status)
        for direction in ("pushed", "pulled"):
            self._entries.labels(direction)
        self._registry = own
        if folder:
            self._registry = CollectorRegistry()
            MultiProcessCollector(self._registry, folder)

    def add(self, direction: str, count: int) -> None:
        """Count entries that were pushed or pulled."""
        self._entries.labels(direction).inc(count)

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a request; a redirect is a success."""
        digit = 2 if status < 400 else min(5, status // 100)
        self._requests.labels(path, f"{digit}xx").inc()
        self._seconds.labels(path).observe(seconds)

    def behind(self, changes: int) -> None:
        """Count a pull of a machine that was some changes behind."""
        self._behind.observe(max(0, changes))

    @contextmanager
    def in_progress(self) -> Iterator[None]:
        with self._running.track_inprogress():
            yield

    def pool(self, stats: Mapping[str, int]) -> None:
        """Note the state of this worker's connections."""
        for name, state in POOL.items():
            self._pool.labels(state).set(stats.get(name, 0))

    def text(self, sizes: Callable[[], Sequence[SpaceSize]]) -> str:
        from prometheus_client import CollectorRegistry, Gauge, generate_latest

        if time.monotonic() - self._sizes[0] > SPACES_SECONDS:
            self._sizes = (time.monotonic(), sizes())
        now = CollectorRegistry()
        about = "Entries of a space, those that were erased included."
        entries = Gauge("kinen_team_space_entries", about, ("space",), registry=now)
        about = "Bytes of a space's entries."
        size = Gauge("kinen_team_space_bytes", about, ("space",), registry=now)
        for space in self._sizes[1]:
            entries.labels(space.name).set(space.entries)
            size.labels(space.name).set(space.bytes)
        return (generate_latest(self._registry) + generate_latest(now)).decode()


def forget_worker(pid: int) -> None:
    """Count what a worker that ended was doing no more."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(pid)
