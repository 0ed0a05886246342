"""Standup and handoff: what was done, decided and learned, what comes next and what is broken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING

from kinen.ids import short_id
from kinen.journal import queries
from kinen.journal.account import unresolved
from kinen.journal.authors import colleague
from kinen.journal.recent import UNANSWERED
from kinen.journal.summary import trouble_text
from kinen.journal.timeline import title_of
from kinen.journal.worth import Entry, by_worth
from kinen.memory.report_text import Commits, Point, Report, SessionReport, items, one_line
from kinen.memory.sessions import Sessions
from kinen.model.journal import Capsule, Checkpoint, Plan
from kinen.model.kinds import REDACTED
from kinen.model.updates import BOT, dependency_of, updates_line
from kinen.recall.clip import plan_text
from kinen.sources.git.recent import Subject, latest_commits, unpushed_commits
from kinen.space.repository import git_above
from kinen.text import iso, terms
from kinen.times import milliseconds
from kinen.worklog.folder import git_state
from kinen.worklog.plans import steps

if TYPE_CHECKING:
    from kinen.memory.consolidation import Consolidation
    from kinen.memory.core import Core
    from kinen.memory.journal import Journal
    from kinen.memory.worklog import Worklog

PLAN = 250
"""Tokens of the plan."""
SESSIONS = 3
"""Sessions that a handoff tells of."""
STANDUP_SESSIONS = 12
CHECKPOINTS = 3
"""Checkpoints that a handoff tells of."""
STEPS = 3
"""Steps of a plan that come next."""
POINTS = 20
"""Decisions, lessons and errors of each kind that a report has."""
DECISIONS = ("decision", "pattern")
ALIKE = 0.8
"""The share of words in common from which on two points say the same."""


@dataclass(slots=True)
class Reports:
    """Standup and handoff."""

    _core: Core
    _journal: Journal
    _worklog: Worklog
    _consolidation: Consolidation
    _sessions: Sessions

    def standup_report(self, since: str) -> Report:
        """What was done since then: sessions, checkpoints, commits, decisions, open points."""
        capsules = self._reported(since, STANDUP_SESSIONS)
        return self._report(list(self._worklog.checkpoints(since)), capsules, since)

    def handoff_report(self) -> Report:
        """Where the work stands: the latest sessions, checkpoints and commits."""
        checkpoints = list(islice(self._worklog.checkpoints(), CHECKPOINTS))
        return self._report(checkpoints, self._reported("", SESSIONS), "")

    def _reported(self, since: str, limit: int) -> list[tuple[Capsule, SessionReport]]:
        """The latest sessions in which something was answered; without `since`, those with work.

        If there is none, the latest session of all.
        """
        after = milliseconds(since)
        capsules = [
            capsule
            for capsule in self._journal.entries("capsules")[0]
            if max(capsule.opened_at, capsule.closed_at) >= after and capsule.intent != REDACTED
        ]
        capsules.sort(
            key=lambda capsule: (capsule.closed_at or capsule.opened_at, capsule.id), reverse=True
        )
        if not since:
            by_id = {capsule.id: capsule for capsule in capsules}
            order = self._journal.start().order()
            # Without one that worked, the latest of all.
            capsules = [by_id[id_] for id_ in order if id_ in by_id] or capsules
            limit = limit if order else 1
        reports = ((capsule, self._session_report(capsule)) for capsule in capsules)
        told = (pair for pair in reports if pair[1].outcome)
        latest = next(told, None)
        if latest is None:
            return []
        answered = (pair for pair in told if not pair[1].outcome.startswith(UNANSWERED))
        return [latest, *islice(answered, limit - 1)]

    def _session_report(self, capsule: Capsule) -> SessionReport:
        parts = self._sessions.summary_parts(capsule)
        return SessionReport(
            ref=capsule.ref,
            id=short_id(capsule.ref),
            at=iso((capsule.closed_at or capsule.opened_at) / 1000),
            agent=capsule.scope.agent,
            open=capsule.status == "open",
            intent=title_of(capsule, self._core.store.stream(capsule.id)),
            outcome=parts.get("outcome", ""),
            next=items(parts.get("next", "")),
            state=" ".join(parts.get("state", "").split()),
            earlier=items(parts.get("earlier", "")),
            decided=items(parts.get("decided", "")),
            learned=items(parts.get("learned", "")),
            by=colleague(self._core.store.db, capsule.ref),
        )

    def _report(
        self,
        checkpoints: list[Checkpoint],
        reported: list[tuple[Capsule, SessionReport]],
        since: str,
    ) -> Report:
        branch, commit, changed = git_state(self._core.worktree or self._core.space.root)
        sessions = [report for _, report in reported]
        plan = None if since else self._worklog.plan()
        commits, not_pushed = self._commit_groups(since)
        left = [] if since else by_worth(self._journal.start().entries())
        learned = [*_points(sessions, "learned"), *self._memory_points(since, decisions=False)]
        return Report(
            space=self._core.space.name,
            branch=branch,
            commit=commit,
            since=since,
            plan=f"{plan_text(plan, PLAN)}\n[{plan.ref}]" if plan else "",
            checkpoints=tuple(map(_headline, checkpoints)),
            sessions=tuple(sessions),
            commits=commits,
            not_pushed=not_pushed,
            changed=changed,
            decisions=self._decided(checkpoints, sessions, since),
            lessons=_each_once(learned),
            next=self._next(checkpoints, sessions) if since else self._left(left, sessions),
            unknowns=tuple(text for checkpoint in checkpoints for text in checkpoint.unknowns),
            errors=self._errors([capsule for capsule, _ in reported])
            if since
            else tuple(
                Point(entry.text, entry.ref, iso(entry.at / 1000), self._by(entry.ref))
                for entry in left
                if entry.kind == "failed"
            )[:POINTS],
        )

    def decisions(self, since: str) -> tuple[Point, ...]:
        """What was decided since then, as a standup tells it."""
        sessions = [report for _, report in self._reported(since, STANDUP_SESSIONS)]
        return self._decided(list(self._worklog.checkpoints(since)), sessions, since)

    def _decided(
        self, checkpoints: Sequence[Checkpoint], sessions: Sequence[SessionReport], since: str
    ) -> tuple[Point, ...]:
        chosen = [checkpoint for checkpoint in checkpoints if checkpoint.decision]
        return _each_once(
            [
                *(Point(each.decision, each.ref, each.at) for each in chosen),
                *_points(sessions, "decided"),
                *self._memory_points(since, decisions=True),
            ]
        )

    def _memory_points(self, since: str, *, decisions: bool) -> Iterator[Point]:
        """Memories, newest first: decisions and patterns, or all other types."""
        memories = [memory for memory in self._consolidation.memories() if not memory.superseded_by]
        for memory in sorted(memories, key=lambda item: item.created_at, reverse=True):
            at = iso(memory.created_at / 1000)
            if at >= since and (memory.type in DECISIONS) == decisions:
                yield Point(memory.content, memory.ref, at, memory.by)

    def _by(self, ref: str) -> str:
        return colleague(self._core.store.db, ref)

    def _left(self, left: Sequence[Entry], sessions: Sequence[SessionReport]) -> tuple[str, ...]:
        """What sessions and checkpoints left to do and nobody has done since, with who and when.

        What the latest session left stands beside it; without anything, the steps of the plan.
        """
        latest = sessions[0].ref.partition(":")[2] if sessions else ""
        points = {
            entry.text: ""
            if entry.session == latest or not entry.who
            else f" ({entry.who}, {iso(entry.at / 1000)[:10]})"
            for entry in reversed([entry for entry in left if entry.kind == "next"])
        }
        plan = None if points else self._worklog.plan()
        texts = [f"{text}{source}" for text, source in reversed(points.items())]
        return tuple(texts) or (_steps_left(plan) if plan else ())

    def _next(
        self, checkpoints: Sequence[Checkpoint], sessions: Sequence[SessionReport]
    ) -> tuple[str, ...]:
        """The next steps of the latest checkpoints and session, or else of the plan."""
        points = [checkpoint.next for checkpoint in checkpoints[:CHECKPOINTS] if checkpoint.next]
        points += [point for session in sessions[:1] for point in session.next]
        plan = None if points else self._worklog.plan()
        return tuple(points) or (_steps_left(plan) if plan else ())

    def _errors(self, capsules: Sequence[Capsule]) -> tuple[Point, ...]:
        """Failures of sessions that nothing afterwards put right."""
        oldest_first = sorted(capsules, key=lambda capsule: (capsule.opened_at, capsule.id))
        streams = (self._core.store.stream(capsule.id) for capsule in oldest_first)
        troubles = unresolved(chain.from_iterable(streams))
        return tuple(
            Point(
                trouble_text(trouble),
                f"observation:{trouble.source.id}",
                iso(trouble.source.ts / 1000),
                self._by(f"observation:{trouble.source.id}"),
            )
            for trouble in troubles[:POINTS]
        )

    def _commit_groups(self, since: str) -> tuple[tuple[Commits, ...], tuple[Commits, ...]]:
        """The latest commits, and those that are not pushed, by their subjects."""
        tree = self._core.worktree or self._core.space.root
        git = git_above(tree)
        if git is None or not git.folder:
            return (), ()
        hidden = queries.suppressed(self._core.store.db) if self._core.store.exists else set()
        after = datetime.fromisoformat(since).timestamp() if since else 0.0
        latest = latest_commits(git, "" if self._core.worktree else tree, after)
        return _groups(latest, hidden), _groups(unpushed_commits(git), hidden)


def _groups(subjects: Iterable[Subject], hidden: set[str]) -> tuple[Commits, ...]:
    """Commits grouped by subject, each group at the position of its newest commit.

    Those that only update a dependency are one group. Commits of bots come last.
    """
    groups: dict[str, Commits] = {}
    dependencies: list[str] = []
    for commit in sorted(subjects, key=lambda commit: commit.author.endswith(BOT)):
        if f"commit:{commit.sha}" in hidden:
            continue
        dependency = dependency_of(commit.text)
        key = "" if dependency else commit.text
        dependencies += [dependency] if dependency else []
        group = groups.setdefault(
            key, Commits(commit.sha, commit.text, commit.at, 0, commit.author)
        )
        groups[key] = replace(group, count=group.count + 1)
    if len(dependencies) > 1:
        groups[""] = replace(groups[""], subject=updates_line(dependencies))
    return tuple(groups.values())


def _headline(checkpoint: Checkpoint) -> Point:
    text = checkpoint.summary or next(
        (line for line in checkpoint.text.splitlines() if line.strip()), ""
    )
    return Point(text, checkpoint.ref, checkpoint.at)


def _points(sessions: Iterable[SessionReport], name: str) -> Iterator[Point]:
    """What sessions decided or learned."""
    for session in sessions:
        for text in getattr(session, name):
            yield Point(text, session.ref, session.at, session.by)


def _each_once(points: Iterable[Point]) -> tuple[Point, ...]:
    """Points without near duplicates of earlier points."""
    chosen: list[Point] = []
    earlier: list[frozenset[str]] = []
    for point in points:
        words = frozenset(terms(one_line(point.text)))
        if not words or any(_alike(words, other) for other in earlier):
            continue
        earlier.append(words)
        chosen.append(point)
        if len(chosen) == POINTS:
            break
    return tuple(chosen)


def _alike(words: frozenset[str], others: frozenset[str]) -> bool:
    return len(words & others) >= ALIKE * len(words | others)


def _steps_left(plan: Plan) -> tuple[str, ...]:
    """The next steps of a plan, or its beginning if it has none."""
    left = [step.text for step in steps(plan.text) if not step.done]
    return tuple(f"{plan.title}: {text}" for text in left[:STEPS]) or (plan_text(plan, PLAN // 3),)
