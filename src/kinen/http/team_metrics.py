"""Counters of a team's server, shared by its workers, in the text form that Prometheus reads."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator

PATHS = (
    "/v1/team/push /v1/team/pull /v1/team/withdraw /v1/team/me /v1/search /metrics /web/".split()
)
CLASSES = (2, 4, 5)
BOUNDS = (0.005, 0.02, 0.1, 0.5, 2.0)
"""Seconds of the buckets of request times."""
ENTRIES = ("pushed", "pulled")


class Metrics:
    """Counters in memory that processes forked later share."""

    def __init__(self) -> None:
        names = [f"{path} {digit}" for path in PATHS for digit in CLASSES]
        names += [f"{path} le {bound}" for path in PATHS for bound in (*BOUNDS, "+Inf")]
        names += [f"{path} microseconds" for path in PATHS]
        names += ENTRIES
        self._places = {name: place for place, name in enumerate(names)}
        self._numbers = multiprocessing.get_context("fork").Array("Q", len(names))

    def add(self, name: str, count: int) -> None:
        with self._numbers.get_lock():
            self._numbers[self._places[name]] += count

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a request; unknown paths are not counted."""
        if path not in PATHS:
            return
        self.add(
            f"{path} {min(5, max(2, status // 100))}" if status // 100 != 3 else f"{path} 2", 1
        )
        for bound in (*BOUNDS, "+Inf"):
            if bound == "+Inf" or seconds <= float(bound):
                self.add(f"{path} le {bound}", 1)
        self.add(f"{path} microseconds", round(seconds * 1_000_000))

    def _value(self, name: str) -> int:
        return int(self._numbers[self._places[name]])

    def text(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# HELP kinen_team_requests_total Requests by path and class of status."
        yield "# TYPE kinen_team_requests_total counter"
        for path in PATHS:
            for digit in CLASSES:
                labels = f'path="{path}",status="{digit}xx"'
                yield f"kinen_team_requests_total{{{labels}}} {self._value(f'{path} {digit}')}"
        yield "# HELP kinen_team_request_seconds Time of requests."
        yield "# TYPE kinen_team_request_seconds histogram"
        for path in PATHS:
            for bound in (*BOUNDS, "+Inf"):
                count = self._value(f"{path} le {bound}")
                yield f'kinen_team_request_seconds_bucket{{path="{path}",le="{bound}"}} {count}'
            total = self._value(f"{path} microseconds") / 1_000_000
            yield f'kinen_team_request_seconds_sum{{path="{path}"}} {total:g}'
            count = self._value(f"{path} le +Inf")
            yield f'kinen_team_request_seconds_count{{path="{path}"}} {count}'
        yield "# HELP kinen_team_entries_total Versions of entries that were pushed and pulled."
        yield "# TYPE kinen_team_entries_total counter"
        for name in ENTRIES:
            yield f'kinen_team_entries_total{{direction="{name}"}} {self._value(name)}'
