"""Counters of a team's server, shared by its workers, in the text form that Prometheus reads."""

from __future__ import annotations

import os

PATHS = (
    "/v1/team/push /v1/team/pull /v1/team/fetch /v1/team/compare /v1/team/withdraw /v1/team/me"
    " /v1/search /metrics /web/"
).split()
BOUNDS = (0.005, 0.02, 0.1, 0.5, 2.0)
"""Seconds of the buckets of request times."""


class Metrics:
    """Counters of this process; with a folder, of all processes that are forked later.

    Each of those counts in a file of its own there: one that is killed blocks no other, and what
    it counted remains.
    """

    def __init__(self, folder: str = "") -> None:
        if folder:  # read by prometheus_client when it is imported
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        from prometheus_client import CollectorRegistry, Counter, Histogram
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
        for path in PATHS:  # a rate needs a first value before the first request
            self._seconds.labels(path)
            for status in ("2xx", "4xx", "5xx"):
                self._requests.labels(path, status)
        for direction in ("pushed", "pulled"):
            self._entries.labels(direction)
        self._shown = own
        if folder:
            self._shown = CollectorRegistry()
            MultiProcessCollector(self._shown, folder)

    def add(self, direction: str, count: int) -> None:
        """Count entries that were pushed or pulled."""
        self._entries.labels(direction).inc(count)

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a request; a redirect is a success."""
        digit = 2 if status < 400 else min(5, status // 100)
        self._requests.labels(path, f"{digit}xx").inc()
        self._seconds.labels(path).observe(seconds)

    def text(self) -> str:
        from prometheus_client import generate_latest

        return generate_latest(self._shown).decode()
