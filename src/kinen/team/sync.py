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


def synchronize(
    replica: Replica,
    team: Team,
    peer: str,
    *,
    batch: int = BATCH,
    progress: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Bring a replica and its team to the same state.

    It may stop anywhere, also by the death of the process: what was acknowledged stays, and the
    next run continues.
    """
    report = Report()
    replica.begin(peer)
    _pull(replica, team, report, progress, batch, erased=True)
    for _ in range(MOST_ROUNDS):
        replica.scan()
        before = report.pushed
        for erased in (True, False):
            _push(replica, team, report, progress, batch, erased=erased)
        pulled = report.pulled
        _pull(replica, team, report, progress, batch, erased=False)
        if report.pulled == pulled and report.pushed == before:
            break
    report.refused = replica.refused
    return report


def _push(
    replica: Replica,
    team: Team,
    report: Report,
    progress: Callable[[Report], None],
    batch: int,
    *,
    erased: bool,
) -> None:
    while versions := replica.pending(batch, erased=erased):
        team.push(versions)
        replica.acknowledge(versions)
        report.pushed += len(versions)
        progress(report)
        if len(versions) < batch:
            break


def _pull(
    replica: Replica,
    team: Team,
    report: Report,
    progress: Callable[[Report], None],
    batch: int,
    *,
    erased: bool,
) -> None:
    more = True
    while more:
        state = replica.state
        page = team.pull(state.erased_cursor if erased else state.cursor, batch, erased=erased)
        if erased:
            report.pulled += replica.apply(page.versions, erased=page.cursor)
        else:
            report.pulled += replica.apply(page.versions, cursor=page.cursor)
        progress(report)
        more = page.more
