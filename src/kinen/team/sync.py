"""One round of synchronising: erasures first in both directions, then everything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kinen.ports import Team
from kinen.team.replica import Replica

BATCH = 200
"""Versions of one request."""
MOST_ROUNDS = 3
"""How often what a merge changed here is pushed in the same run."""


@dataclass(slots=True)
class Report:
    """What a run did."""

    pushed: int = 0
    pulled: int = 0
    refused: int = 0
    """Entries of others that this journal cannot hold."""
    kept: int = 0
    """Colleagues' entries that were forgotten here and stay in the team."""


Progress = Callable[[Report], None]


def synchronize(
    replica: Replica,
    team: Team,
    peer: str,
    *,
    batch: int = BATCH,
    progress: Progress = lambda _: None,
) -> Report:
    """Bring a replica and its team to the same state.

    It may stop anywhere, also by the death of the process: what was acknowledged stays, and the
    next run continues.
    """
    exchange = Exchange(replica, team, batch, progress)
    replica.begin(peer)
    exchange.pull(erased=True)
    replica.scan()
    for _ in range(MOST_ROUNDS):
        exchange.round()
        replica.scan()
        if not replica.waiting():
            break
    return exchange.finish()


def receive(replica: Replica, team: Team, peer: str) -> Report:
    """Take over what is new in the team, and send nothing."""
    exchange = Exchange(replica, team, BATCH, lambda _: None)
    replica.begin(peer)
    exchange.pull(erased=True)
    exchange.pull(erased=False)
    return exchange.finish()


class Exchange:
    """One run of a replica with its team."""

    def __init__(self, replica: Replica, team: Team, batch: int, progress: Progress) -> None:
        self._replica = replica
        self._team = team
        self._batch = batch
        self._progress = progress
        self._report = Report()

    def round(self) -> None:
        """Push and pull once."""
        self.push(erased=True)
        self.push(erased=False)
        self.pull(erased=False)

    def push(self, *, erased: bool) -> None:
        """Send what the team has not acknowledged."""
        while versions := self._replica.pending(self._batch, erased=erased):
            self._report.kept += self._team.push(versions).refused
            self._replica.acknowledge(versions)
            self._report.pushed += len(versions)
            self._progress(self._report)
            if len(versions) < self._batch:
                break

    def pull(self, *, erased: bool) -> None:
        """Take over what the team got since the last time."""
        more = True
        while more:
            state = self._replica.state
            after = state.erased_cursor if erased else state.cursor
            page = self._team.pull(after, self._batch, erased=erased)
            cursors = {"erased" if erased else "cursor": page.cursor}
            self._report.pulled += self._replica.apply(page.versions, **cursors)
            self._progress(self._report)
            more = page.more

    def finish(self) -> Report:
        self._report.refused = self._replica.refused
        return self._report
