"""One round of synchronising: erasures first in both directions, then everything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kinen.characters import visible_line
from kinen.ports import Team
from kinen.team.merge import range_digest
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
    compared: bool = False
    """Whether the team's history had changed, so that everything was compared."""
    repaired: int = 0
    """Entries that the team had lost, or had otherwise, and gets again."""
    lost: int = 0
    """Entries of colleagues that the team has lost: their machines send them."""
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
    exchange.fetch(replica.take_unread())
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


def meet(replica: Replica, team: Team, peer: str) -> Report:
    """Bring two copies of one's own to the same state, by comparing all that they hold."""
    exchange = Exchange(replica, team, BATCH, lambda _: None)
    replica.begin(peer)
    replica.scan()
    exchange.compare()
    exchange.push(erased=True)
    exchange.push(erased=False)
    report = exchange.finish()
    report.compared = False
    return report


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
            if page.epoch and (page.epoch != state.epoch or after > page.newest):
                if not state.epoch and not state.cursor:
                    self._replica.settle(page.epoch, 0)  # the first run of all
                else:
                    self.compare()
                    continue
            cursors = {"erased" if erased else "cursor": page.cursor}
            self._report.pulled += self._replica.apply(page.versions, **cursors)
            self._report.unread.update(page.unread)
            self._progress(self._report)
            if not page.more or page.cursor <= after:
                break

    def compare(self) -> None:
        """Find what this machine and the team hold differently, after the team's history changed.

        A database that was restored, or a standby that took over, may have lost what was
        acknowledged, and counts from an earlier number.
        """
        remote = self._team.compare()
        here = self._replica.ranges()
        differing: list[str] = []
        offered: dict[str, bool] = {}
        for name in sorted({*here, *remote.digests}):
            own = here.get(name, {})
            if own and range_digest(own.values()) == remote.digests.get(name):
                continue
            theirs = self._team.prints(name) if name in remote.digests else {}
            differing += [ref for ref, print_ in theirs.items() if own.get(ref) != print_]
            offered |= {ref: ref in theirs for ref, mine in own.items() if theirs.get(ref) != mine}
        self.fetch(differing)
        known = {ref for ref, there in offered.items() if there}
        sent, self._report.lost = self._replica.offer(offered, known)
        self._report.compared = True
        self._report.repaired += sent
        self._replica.settle(remote.epoch, remote.newest)

    def fetch(self, refs: Sequence[str]) -> None:
        """Take over the team's versions of some entries."""
        rest = list(refs)
        while rest:
            batch = rest[: self._batch]
            page = self._team.fetch(batch)
            self._report.pulled += self._replica.apply(page.versions)
            self._report.unread.update(page.unread)
            got = {version.ref for version in page.versions}
            left = [ref for ref in batch if ref not in got] if page.more else []
            rest = left + rest[self._batch :]

    def finish(self) -> Report:
        for ref, key in self._refused.items():
            if not self._replica.offers(*key):  # the team's version was taken over instead
                self._report.unsent.pop(ref, None)
        self._replica.keep_unread({*self._report.unread} | self._replica.unreadable)
        self._report.unread.update(self._replica.unread)
        self._report.unsent.update(self._replica.unsent)
        self._report.replaced = sorted({*self._replica.replaced})
        return self._report
