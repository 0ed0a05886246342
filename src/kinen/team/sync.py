"""One round of synchronising: erasures first in both directions, then everything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kinen.characters import visible_line
from kinen.ports import Team
from kinen.team.replica import Replica

BATCH = 200
"""Versions of one request."""
MOST_ROUNDS = 3
"""How often what a merge changed here is pushed in the same run."""
MOST_PAGES = 10_000
"""Pages that one run takes over; the next one continues. A server could send pages without end."""


@dataclass(slots=True)
class Report:
    """What a run did."""

    pushed: int = 0
    pulled: int = 0
    kept: int = 0
    """Colleagues' entries that were forgotten here and stay in the team."""
    unread: dict[str, str] = field(default_factory=dict)
    """Why entries of others were not taken over, by ref."""
    unsent: dict[str, str] = field(default_factory=dict)
    """Why entries of this machine were not taken by the team, by ref; they are sent again."""
    replaced: list[str] = field(default_factory=list)
    """Refs of entries that were written here and that the team has with other values."""


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
        self._refused: dict[str, tuple[str, str]] = {}

    def round(self) -> None:
        """Push and pull once."""
        self.push(erased=True)
        self.push(erased=False)
        self.pull(erased=False)

    def push(self, *, erased: bool) -> None:
        """Send what the team has not acknowledged."""
        after = ("", "")
        while versions := self._replica.pending(self._batch, erased=erased, after=after):
            after = (versions[-1].id, versions[-1].noun)
            pushed = self._team.push(versions)
            stored = []
            for version in versions:
                ref = visible_line(version.ref)
                if ref in pushed.invalid:
                    self._refused[ref] = version.key
                else:
                    stored.append(version)
            self._replica.acknowledge(stored)
            self._report.kept += pushed.refused
            self._report.unsent.update(pushed.invalid)
            self._report.pushed += len(stored)
            self._progress(self._report)

    def pull(self, *, erased: bool) -> None:
        """Take over what the team got since the last time."""
        for _ in range(MOST_PAGES):
            state = self._replica.state
            after = state.erased_cursor if erased else state.cursor
            page = self._team.pull(after, self._batch, erased=erased)
            cursors = {"erased" if erased else "cursor": page.cursor}
            self._report.pulled += self._replica.apply(page.versions, **cursors)
            self._report.unread.update(page.unread)
            self._progress(self._report)
            if not page.more or page.cursor <= after:
                break

    def finish(self) -> Report:
        for ref, key in self._refused.items():
            if not self._replica.offers(*key):  # the team's version was taken over instead
                self._report.unsent.pop(ref, None)
        self._report.unread.update(self._replica.unread)
        self._report.unsent.update(self._replica.unsent)
        self._report.replaced = sorted({*self._replica.replaced})
        return self._report
