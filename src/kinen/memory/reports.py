"""Standup and handoff: what was done, decided and learned, what comes next and what is broken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from kinen.characters import visible
from kinen.ids import short_id
from kinen.journal import queries
from kinen.journal.account import unresolved
from kinen.journal.authors import colleague, signature
from kinen.journal.brief import Entry, by_worth, fresh, plain_lines
from kinen.journal.recent import UNANSWERED
from kinen.journal.summary import on_one_line, trouble_text
from kinen.journal.timeline import title_of
from kinen.memory.sessions import Sessions
from kinen.memory.traces import Traces
from kinen.model.journal import Capsule, Checkpoint, Plan
from kinen.model.kinds import REDACTED
from kinen.model.updates import BOT, dependency_of, updates_line
from kinen.recall.clip import cut, plan_text
from kinen.render.screen import day
from kinen.sources.git.recent import READ, Subject, latest_commits, unpushed_commits
from kinen.space.repository import git_above
from kinen.text import epoch, excerpt, iso, now, terms
from kinen.text.closing import count_results
from kinen.text.statements import points_back
from kinen.times import milliseconds
from kinen.worklog.folder import MOST_FILES, git_state
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
LINE = 300
"""Characters of a line."""
SHORT = 100
"""Characters of an outcome below which a standup also has what came of an earlier request."""
EARLIER = 450
"""Characters of what came of an earlier request, if there are many of them."""
EARLIER_ROOM = 2_400
"""Characters that these have together at least."""
INTENT = 160
"""Characters of an intent."""
OUTCOME = 600
OLDER_OUTCOME = 110
"""Tokens of what the latest session, and each before it, came to."""
FEW = 3
"""Sessions up to which a standup tells more of each."""
MOST_POINTS = 9
"""Lines of a list."""
COMMITS = 10
STANDUP_COMMITS = 30
NOT_PUSHED = 5
CHANGED = 10
"""Changed files that are named."""
SAME = "the same request as above"
_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,2}[.)])\s+")


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
        reported = (pair for pair in reports if pair[1].outcome)
        latest = next(reported, None)
        if latest is None:
            return []
        answered = (pair for pair in reported if not pair[1].outcome.startswith(UNANSWERED))
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
            by=colleague(self._core.store.db, capsule.ref),
            **_in_summary(parts),
        )

    def of_clone(
        self, limit: int = STANDUP_SESSIONS, since: str = "", until: str = ""
    ) -> Iterator[SessionReport]:
        """The latest sessions that came with the repository, of those that began in a time."""
        traces = Traces(self._core)
        for overview in islice(traces.overviews(since=since, until=until), limit):
            record = traces.named(overview.ref)
            if record is not None:
                yield SessionReport(
                    ref=overview.ref,
                    id=short_id(overview.ref),
                    at=overview.ended or overview.started,
                    agent=overview.agent,
                    open=False,
                    intent=overview.title,
                    by=overview.by,
                    **_in_summary(traces.timeline(record).parts),
                )

    def _report(
        self,
        checkpoints: list[Checkpoint],
        reported: list[tuple[Capsule, SessionReport]],
        since: str,
    ) -> Report:
        branch, commit, changed = git_state(self._core.worktree or self._core.space.root)
        sessions = [report for _, report in reported]
        if since:
            following = [point.next for point in checkpoints[:CHECKPOINTS] if point.next]
            following += [point for session in sessions[:1] for point in session.next]
            errors = self._errors([capsule for capsule, _ in reported])
        else:
            sessions += self.of_clone(SESSIONS - len(sessions))
            left = by_worth(self._journal.start().entries())
            following = _left_to_do(left, sessions)
            failed = [entry for entry in left if entry.kind == "failed"][:POINTS]
            errors = [
                Point(entry.text, entry.ref, iso(entry.at / 1000), self._by(entry.ref))
                for entry in failed
            ]
        plan = None if since and following else self._worklog.plan()
        if plan and not following:
            following = _steps_left(plan)
        commits, not_pushed = self._commit_groups(since)
        learned = [*_points(sessions, "learned"), *self._memory_points(since, decisions=False)]
        return Report(
            space=self._core.space.name,
            branch=branch,
            commit=commit,
            since=since,
            plan=f"{plan_text(plan, PLAN)}\n[{plan.ref}]" if plan and not since else "",
            checkpoints=tuple(map(_headline, checkpoints)),
            sessions=tuple(sessions),
            commits=commits,
            not_pushed=not_pushed,
            changed=changed[:MOST_FILES],
            changed_count=len(changed),
            decisions=self._decided(checkpoints, sessions, since),
            lessons=_each_once(learned),
            next=tuple(following),
            unknowns=tuple(text for checkpoint in checkpoints for text in checkpoint.unknowns),
            errors=tuple(errors),
        )

    def decisions(self, since: str, until: str) -> list[Point]:
        """What was decided in a time: as a standup tells it, and in sessions of the repository."""
        sessions = [report for _, report in self._reported(since, STANDUP_SESSIONS)]
        sessions += self.of_clone(since=since, until=until)
        decided = self._decided(list(self._worklog.checkpoints(since)), sessions, since)
        return [point for point in decided if point.at <= until]

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

    def _errors(self, capsules: Sequence[Capsule]) -> list[Point]:
        """Failures of sessions that nothing afterwards put right."""
        oldest_first = sorted(capsules, key=lambda capsule: (capsule.opened_at, capsule.id))
        streams = (self._core.store.stream(capsule.id) for capsule in oldest_first)
        troubles = unresolved(chain.from_iterable(streams))
        return [
            Point(
                trouble_text(trouble),
                f"observation:{trouble.source.id}",
                iso(trouble.source.ts / 1000),
                self._by(f"observation:{trouble.source.id}"),
            )
            for trouble in troubles[:POINTS]
        ]

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
        if not words or any(
            (len(words & other) >= ALIKE * len(words | other)) for other in earlier
        ):
            continue
        earlier.append(words)
        chosen.append(point)
        if len(chosen) == POINTS:
            break
    return tuple(chosen)


def _left_to_do(left: Sequence[Entry], sessions: Sequence[SessionReport]) -> list[str]:
    """What sessions and checkpoints left to do and nobody has done since, with who and when.

    What the latest session left stands beside it.
    """
    latest = sessions[0].ref.partition(":")[2] if sessions else ""
    points = {
        entry.text: ""
        if entry.session == latest or not entry.who
        else f" ({entry.who}, {iso(entry.at / 1000)[:10]})"
        for entry in reversed([entry for entry in left if entry.kind == "next"])
    }
    return [f"{text}{source}" for text, source in reversed(points.items())]


def _steps_left(plan: Plan) -> list[str]:
    """The next steps of a plan, or its beginning if it has none."""
    left = [step.text for step in steps(plan.text) if not step.done]
    return [f"{plan.title}: {text}" for text in left[:STEPS]] or [plan_text(plan, PLAN // 3)]


def _in_summary(parts: Mapping[str, str]) -> dict[str, Any]:
    """What the summary of a session tells for a report."""
    lists = {name: items(parts.get(name, "")) for name in ("next", "earlier", "decided", "learned")}
    state = " ".join(parts.get("state", "").split())
    return {**lists, "outcome": parts.get("outcome", ""), "state": state}


@dataclass(frozen=True, slots=True)
class SessionReport:
    """A session as the next reader needs it."""

    ref: str
    id: str
    at: str
    """When it was closed, else when it was begun."""
    agent: str
    open: bool
    intent: str
    outcome: str
    next: tuple[str, ...]
    state: str
    """The last run of tests, commits and pushes."""
    earlier: tuple[str, ...]
    """What came of its earlier requests."""
    decided: tuple[str, ...]
    learned: tuple[str, ...]
    by: str = ""
    """The colleague whose session it was; empty for one's own."""


@dataclass(frozen=True, slots=True)
class Point:
    """Something that was decided, learned or done, with its source."""

    text: str
    ref: str
    at: str
    by: str = ""
    """The colleague who wrote it; empty for one's own."""


@dataclass(frozen=True, slots=True)
class Commits:
    """Commits of one subject: the latest of them, and how many there are."""

    sha: str
    subject: str
    at: str
    count: int
    author: str = ""
    """Who made the latest of them."""


@dataclass(frozen=True, slots=True)
class Report:
    """The state of the work in one space."""

    space: str
    branch: str
    commit: str
    since: str
    """The beginning of the time that it is about; empty for the latest."""
    plan: str
    checkpoints: tuple[Point, ...]
    sessions: tuple[SessionReport, ...]
    """Newest first."""
    commits: tuple[Commits, ...]
    not_pushed: tuple[Commits, ...]
    """Commits of HEAD that no remote-tracking branch has."""
    changed: tuple[str, ...]
    """Files that are changed and not committed, the first of them."""
    changed_count: int
    decisions: tuple[Point, ...]
    lessons: tuple[Point, ...]
    next: tuple[str, ...]
    unknowns: tuple[str, ...]
    errors: tuple[Point, ...]
    """Failures that nothing afterwards put right."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing but a clean working tree to tell of."""
        return not any(
            (self.plan, self.checkpoints, self.sessions, self.commits, self.decisions, self.errors)
        )


def items(text: str) -> tuple[str, ...]:
    """The lines of a part of a summary, without their bullets and `and 3 more`."""
    lines = [_BULLET.sub("", line) for line in text.splitlines()]
    return tuple(line for line in lines if line.strip() and not line.startswith("and "))


def standup_text(report: Report) -> str:
    """What was done, decided and learned, what comes next and what is open, as markdown.

    Empty where nothing was done: changed files alone are not worth a report.
    """
    if report.empty:
        return ""
    room = 2 * LINE if len(report.sessions) <= FEW else LINE
    done = list(map(_checkpoint, report.checkpoints))
    several = len({_who(session) for session in report.sessions}) > 1
    last = ""
    for session in _with_intents_once(report.sessions):
        heading = day(epoch(session.at) / 1000, now())
        done += [f"### {heading}"] * (heading != last)
        last = heading
        done.append(_story(session, room, several))
    listed = {point for session in report.sessions for point in session.next}
    parts = [
        "\n".join(["## Done", *done]) if done else "",
        _section("Commits", _first(report.commits, STANDUP_COMMITS), most=STANDUP_COMMITS + 1),
        _section("Not pushed", _first(report.not_pushed, NOT_PUSHED)),
        _section("Changed files", _changed(report)),
        _section("Decided", map(_signed, report.decisions)),
        _section("Learned", map(_signed, report.lessons)),
        _section("Next", (point for point in report.next if point not in listed)),
        _section("Open questions", report.unknowns),
        _section("Unresolved errors", map(_signed, report.errors)),
    ]
    return visible("\n\n".join(filter(None, parts)))


def handoff_text(report: Report) -> str:
    """What the next agent or person to work here needs to know, as markdown; empty if nothing."""
    if report.empty and not (report.branch or report.changed):
        return ""
    where = f"on {report.branch} at {report.commit}" if report.branch and report.commit else ""
    where = where or report.branch
    state = [f"{report.space}{f', {where}' if where else ''}", *_changed(report)]
    decided = [*_sourced(report.decisions)]
    lines = (excerpt(one_line(point.text), LINE) for point in (*report.decisions, *report.lessons))
    points = [line for line in lines if not line.endswith("…")]  # an outcome may have all of it
    # What is next is signed if an older session left it.
    left = (point for session in report.sessions for point in session.next)
    points += [point for point in left if any(each.startswith(point) for each in report.next)]
    listed = plain_lines("\n".join([*report.next, *points]))
    sessions = [
        replace(session, outcome=fresh(session.outcome, listed) or session.outcome)
        for session in _with_intents_once(report.sessions)
    ]
    latest = sessions[:1]
    older = sessions[1:]
    checkpoints = [point for point in report.checkpoints if fresh(point.text, listed)]
    parts = [
        _section("State", state),
        _section("Not pushed", _first(report.not_pushed, NOT_PUSHED)),
        f"## Plan\n{report.plan}" if report.plan else "",
        "\n\n".join(_block(session, OUTCOME) for session in latest),
        _section("Next", report.next),
        _section("Unresolved errors", map(_signed, report.errors)),
        _section("Open questions", report.unknowns),
        _section("Decided", decided),
        _section("Learned", _sourced(report.lessons)),
        "\n".join(["## Checkpoints", *map(_checkpoint, checkpoints)]) if checkpoints else "",
        "\n\n".join(_block(session, OLDER_OUTCOME) for session in older),
        _section("Latest commits", map(_commits, report.commits), most=COMMITS),
    ]
    return visible("\n\n".join(filter(None, parts)))


def _with_intents_once(sessions: Iterable[SessionReport]) -> list[SessionReport]:
    """The sessions; a program that starts them often begins each with the same words."""
    intents = set[str]()
    sessions_once = []
    for session in sessions:
        intent = excerpt(session.intent, INTENT)
        repeated = bool(intent) and intent in intents
        sessions_once.append(replace(session, intent=SAME) if repeated else session)
        intents.add(intent)
    return sessions_once


def _checkpoint(point: Point) -> str:
    name = point.ref.rpartition("/")[2].rpartition(".")[0]
    return f"- {one_line(point.text)} ({name})"


def _signed(point: Point, source: str = "") -> str:
    """A point with the colleague who wrote it, and what it is from."""
    end = f"{signature(point.by)}{source}"
    return excerpt(one_line(point.text), LINE - len(end)) + end


def _sourced(points: Iterable[Point]) -> Iterator[str]:
    """Points with what they are from, since the next agent has not seen it."""
    for point in points:
        yield _signed(point, f" [{short_id(point.ref)}]")


def _story(report: SessionReport, room: int, several: bool) -> str:
    """A session in a few lines: intent → outcome → next; the outcome in `room` characters.

    Where there are `several` agents or people, also whose it was.
    """
    outcome = on_one_line(report.outcome)
    if len(outcome) < SHORT:
        outcome = " ".join((outcome, *report.earlier[:1]))
    agent = f"{_who(report)}: " if several and _who(report) else ""
    title = excerpt(report.intent, INTENT) or "a session"
    going = " (still open)" if report.open else ""
    lines = [f"- {agent}{title}{going} [{short_id(report.ref)}]"]
    lines.append(f"  → {excerpt(outcome, room)}")
    if report.next and not report.outcome.startswith(UNANSWERED):
        lines.append(f"  → next: {excerpt('; '.join(report.next), LINE)}")
    return "\n".join(lines)


def _who(report: SessionReport) -> str:
    """The agent of a session, and the colleague whose it was: `codex by ada`."""
    return f"{report.agent}{signature(report.by)}".strip()


def _block(report: SessionReport, tokens: int) -> str:
    """A session with its outcome and state."""
    going = ", still open" if report.open else ""
    agent = f" {_who(report)}" if report.agent or report.by else ""
    lines = [f"## Session of {report.at[:10]}{agent}{going} [{short_id(report.ref)}]"]
    if report.intent:
        lines.append(f"- Intent: {excerpt(report.intent, LINE)}")
    outcome = cut(report.outcome, tokens)
    lines.append(f"- Outcome: {outcome.strip()}".replace("\n", "\n  "))
    if report.state:
        lines.append(f"- State: {excerpt(report.state, LINE)}")
    earlier = [line for line in report.earlier if not points_back(line) or count_results(line)]
    each = max(EARLIER, EARLIER_ROOM // max(1, len(earlier)))
    lines += [f"- Before that: {excerpt(line, each)}" for line in earlier]
    return "\n".join(lines)


def _commits(commits: Commits) -> str:
    times = f" ×{commits.count}" if commits.count > 1 else ""
    author = f" by {commits.author}" if commits.author else ""
    return f"{commits.subject}{times} ({commits.sha[:7]}{author})"


def _first(groups: Sequence[Commits], most: int) -> list[str]:
    """The latest of them, and how many more there are, as far as they were read."""
    lines = [_commits(group) for group in groups[:most]]
    more = sum(group.count for group in groups[most:])
    least = "at least " if sum(group.count for group in groups) >= READ else ""
    return [*lines, f"and {least}{more:,} more"] if more else lines


def _changed(report: Report) -> list[str]:
    if not report.changed:
        return []
    names = ", ".join(report.changed[:CHANGED])
    more = report.changed_count - CHANGED
    return [f"{report.changed_count:,} changed: {names}{f' and {more:,} more' if more > 0 else ''}"]


def _section(title: str, lines: Iterable[str], most: int = MOST_POINTS) -> str:
    """A heading and a list, each line once; nothing if there is nothing to say."""
    distinct = dict.fromkeys(one_line(line) for line in lines if line.strip())
    some = [line for line in distinct if line][:most]
    return "\n".join([f"## {title}", *(f"- {line}" for line in some)]) if some else ""


def one_line(text: str) -> str:
    """A text as an item of a list: on one line, without a bullet or a heading of its own."""
    bare = " ".join(text.split())
    return excerpt(_BULLET.sub("", bare).lstrip("# "), LINE)
