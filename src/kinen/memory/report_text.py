"""What a standup and a handoff have to say, as values and as markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kinen.characters import visible
from kinen.ids import short_id
from kinen.journal.authors import signature
from kinen.journal.closing import count_results
from kinen.journal.recent import UNANSWERED
from kinen.journal.statements import points_back
from kinen.journal.summary import on_one_line
from kinen.journal.worth import fresh, plain_lines
from kinen.recall.clip import cut
from kinen.render.screen import day
from kinen.sources.git.recent import READ
from kinen.text import epoch, excerpt, now

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
POINTS = 9
"""Lines of a list."""
COMMITS = 10
STANDUP_COMMITS = 30
NOT_PUSHED = 5
CHANGED = 10
"""Changed files that are named."""
SAME = "the same request as above"
_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,2}[.)])\s+")


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
    """Files that are changed and not committed."""
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
    told = {point for session in report.sessions for point in session.next}
    parts = [
        "\n".join(["## Done", *done]) if done else "",
        _section("Commits", _first(report.commits, STANDUP_COMMITS), most=STANDUP_COMMITS + 1),
        _section("Not pushed", _first(report.not_pushed, NOT_PUSHED)),
        _section("Changed files", _changed(report)),
        _section("Decided", map(_signed, report.decisions)),
        _section("Learned", map(_signed, report.lessons)),
        _section("Next", (point for point in report.next if point not in told)),
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
    points = [point.text for point in (*report.decisions, *report.lessons)]
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
    told = set[str]()
    shown = []
    for session in sessions:
        intent = excerpt(session.intent, INTENT)
        repeated = bool(intent) and intent in told
        shown.append(replace(session, intent=SAME) if repeated else session)
        told.add(intent)
    return shown


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
    """A session in a few lines: intent → outcome → next; the outcome in `room` characters."""
    outcome = on_one_line(report.outcome)
    if len(outcome) < SHORT:
        outcome = " ".join((outcome, *report.earlier[:1]))
    lines = [f"- {_title(report, several)} [{short_id(report.ref)}]"]
    lines.append(f"  → {excerpt(outcome, room)}")
    if report.next and not report.outcome.startswith(UNANSWERED):
        lines.append(f"  → next: {excerpt('; '.join(report.next), LINE)}")
    return "\n".join(lines)


def _title(report: SessionReport, several: bool) -> str:
    """What a session was for, and whose it was if there are several agents or people."""
    going = " (still open)" if report.open else ""
    agent = f"{_who(report)}: " if several and _who(report) else ""
    return f"{agent}{excerpt(report.intent, INTENT) or 'a session'}{going}"


def _who(report: SessionReport) -> str:
    """The agent of a session, and the colleague whose it was: `codex by ada`."""
    return f"{report.agent} by {report.by}".strip() if report.by else report.agent


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
    named = ", ".join(report.changed[:CHANGED])
    more = len(report.changed) - CHANGED
    return [f"{len(report.changed)} changed: {named}{f' and {more} more' if more > 0 else ''}"]


def _section(title: str, lines: Iterable[str], most: int = POINTS) -> str:
    """A heading and a list, each line once; nothing if there is nothing to say."""
    shown = dict.fromkeys(one_line(line) for line in lines if line.strip())
    some = [line for line in shown if line][:most]
    return "\n".join([f"## {title}", *(f"- {line}" for line in some)]) if some else ""


def one_line(text: str) -> str:
    """A text as an item of a list: on one line, without a bullet or a heading of its own."""
    bare = " ".join(text.split())
    return excerpt(_BULLET.sub("", bare).lstrip("# "), LINE)
