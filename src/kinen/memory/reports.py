"""Standup and handoff: what was done, decided and learned, what comes next and what is broken."""

from __future__ import annotations

import os
import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from kinen.characters import visible
from kinen.memory.sessions import Sessions
from kinen.model import Query
from kinen.recall.clip import cut, plan_text
from kinen.recall.tiers import cited, short_id
from kinen.text import excerpt, iso

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinen.entries import Capsule, Checkpoint

LINE = 300
"""Characters of a line in a report."""
PLAN = 250
"""Tokens of the plan."""
OUTCOME = 300
"""Tokens of what one session came to."""
SESSIONS = 3
"""Sessions that a handoff tells of."""
STANDUP_SESSIONS = 12
COMMITS = 10
CHANGED = 10
"""Changed files that are named."""
POINTS = 6
"""Lines of a list in a report."""
_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,2}[.)])\s+")


class SessionReport(NamedTuple):
    """A session as the next reader needs it."""

    ref: str
    at: str
    agent: str
    open: bool
    parts: dict[str, str]
    """`intent`, `outcome`, `next`, `state`, `decided`, `learned`, `unresolved`, as far as known."""

    def items(self, name: str) -> list[str]:
        """The lines of a part, without their bullets and `and 3 more`."""
        lines = [_BULLET.sub("", line) for line in self.parts.get(name, "").splitlines()]
        return [line for line in lines if line.strip() and not line.startswith("and ")]


class Reports(Sessions):
    """Standup and handoff."""

    def session_reports(self, since: str = "", limit: int = SESSIONS) -> list[SessionReport]:
        """What the latest sessions came to, the newest first; one that goes on is read as it is."""
        if not self._journal.exists:
            return []
        from datetime import datetime

        after = round(datetime.fromisoformat(since).timestamp() * 1000) if since else 0
        capsules = [
            capsule
            for capsule in self.entries("capsules")[0]
            if max(capsule.opened_at, capsule.closed_at) >= after
        ]
        capsules.sort(key=lambda one: (one.closed_at or one.opened_at, one.id), reverse=True)
        reports = (self._session_report(capsule) for capsule in capsules)
        return list(islice((report for report in reports if report.parts.get("outcome")), limit))

    def _session_report(self, capsule: Capsule) -> SessionReport:
        from kinen.journal import reading
        from kinen.journal.summary import parse_summary, summarize

        db = self._journal.db
        going = capsule.status == "open"
        text = ""
        if not going:
            wanted = reading.Wanted(capsule=capsule.id, limit=1)
            summaries = reading.entries(db, "summaries", wanted)[0]
            text = summaries[0].content if summaries else ""
        if not text:
            text = summarize(capsule, reading.stream(db, capsule.id))[0]
        parts = parse_summary(text)
        parts.setdefault("intent", capsule.intent)
        at = iso((capsule.closed_at or capsule.opened_at) / 1000)
        return SessionReport(capsule.ref, at, capsule.scope.agent, going, parts)

    def standup(self, since: str) -> str:
        """What was done since then, what comes next and what is open, as markdown."""
        self._first_sync()
        checkpoints = list(self.checkpoints(since))
        sessions = self.session_reports(since, STANDUP_SESSIONS)
        decided = [one.decision for one in checkpoints if one.decision]
        unknown = [text for one in checkpoints for text in one.unknowns]
        done = [*map(_headline, checkpoints), *map(_session_line, sessions)]
        parts = [
            _section("Done", [*done, *self._commit_lines(since)], most=30),
            _section("Decided", [*decided, *_gathered(sessions, "decided")]),
            _section("Learned", _gathered(sessions, "learned")),
            _section("Next", self._next(checkpoints, sessions)),
            _section("Open", [*unknown, *_gathered(sessions, "unresolved")]),
        ]
        return visible("\n\n".join(filter(None, parts)))

    def _next(self, checkpoints: list[Checkpoint], sessions: list[SessionReport]) -> list[str]:
        """What the latest checkpoint and session leave to do; else what the plan has."""
        points = [one.next for one in checkpoints[:3] if one.next]
        points += _gathered(sessions[:1], "next")
        plan = self.plan()
        return points or ([plan_text(plan, PLAN // 3)] if plan else [])

    def _commit_lines(self, since: str, limit: int = 30) -> list[str]:
        """The commits since a time, merges left out; equal subjects are one line with a count."""
        records = self._recent(Query("", limit=limit, kinds=("commit",), since=since))
        commits = [one for one in records if not (one.metadata or {}).get("merge")]
        counts = Counter(one.title for one in commits)
        lines: dict[str, str] = {}
        for one in commits:
            times = f" ×{counts[one.title]}" if counts[one.title] > 1 else ""
            sha = one.ref.removeprefix("commit:")[:7]
            lines.setdefault(one.title, f"{one.title}{times} ({sha})")
        return list(lines.values())

    def handoff(self) -> str:
        """What the next agent or person to work here has to know, as markdown."""
        from kinen.sources.memories import git_state

        branch, commit, changed = git_state(self._worktree or self.space.root)
        self._first_sync()
        plan = self.plan()
        checkpoints = list(islice(self.checkpoints(), 3))
        sessions = self.session_reports()
        memories = [one.content for one in self.memories() if not one.superseded_by]
        where = f"on {branch} at {commit}" if branch and commit else branch
        state = [f"{self.space.name}{f', {where}' if where else ''}"]
        state += [f"{len(changed)} changed: {', '.join(changed[:CHANGED])}"] if changed else []
        unknown = [text for one in checkpoints for text in one.unknowns]
        parts = [
            _section("State", state),
            f"## Plan\n{plan_text(plan, PLAN)}" if plan else "",
            "\n\n".join(_session_block(one) for one in sessions),
            _section("Checkpoints", map(_headline, checkpoints)),
            _section("Next", self._next(checkpoints, sessions)),
            _section("Not known", unknown),
            _section(
                "Decided",
                [*(one.decision for one in checkpoints), *_gathered(sessions, "decided")],
            ),
            _section("Learned", _gathered(sessions, "learned")),
            _section("Remembered", memories, most=POINTS),
            _section("Unresolved errors", _gathered(sessions[:1], "unresolved")),
            _section("Latest commits", self._commit_lines("", COMMITS), most=COMMITS),
        ]
        empty = not (where or state[1:] or any(parts[1:]))
        return "" if empty else visible("\n\n".join(filter(None, parts)))


def _headline(one: Checkpoint) -> str:
    text = one.summary or next((line for line in one.text.splitlines() if line.strip()), "")
    return f"{text} ({os.path.splitext(os.path.basename(one.path))[0]})"


def _session_line(report: SessionReport) -> str:
    """A session on one line: intent → outcome."""
    outcome = " ".join(_BULLET.sub("", line) for line in report.parts["outcome"].splitlines())
    intent = excerpt(report.parts.get("intent", ""), 80)
    line = f"{intent} → {outcome}" if intent else outcome
    citation = f" {cited(report.ref, report.at)}"
    return excerpt(line, LINE - len(citation)) + citation


def _session_block(report: SessionReport) -> str:
    """A session with its outcome and state."""
    going = ", goes on" if report.open else ""
    agent = f" {report.agent}" if report.agent else ""
    lines = [f"## Session of {report.at[:10]}{agent}{going} [{short_id(report.ref)}]"]
    if report.parts.get("intent"):
        lines.append(f"- Intent: {excerpt(report.parts['intent'], LINE)}")
    outcome = cut(report.parts["outcome"], OUTCOME)
    lines.append(f"- Outcome: {outcome.strip()}".replace("\n", "\n  "))
    if report.parts.get("state"):
        lines.append(f"- {excerpt(' '.join(report.parts['state'].split()), LINE)}")
    lines += [f"- Before that: {excerpt(line, LINE)}" for line in report.items("earlier")]
    return "\n".join(lines)


def _gathered(sessions: Iterable[SessionReport], name: str) -> list[str]:
    return [line for report in sessions for line in report.items(name)]


def _section(title: str, lines: Iterable[str], most: int = POINTS) -> str:
    """A heading and a list, each line once; nothing if there is nothing to say."""
    shown = dict.fromkeys(_one_line(line) for line in lines if line.strip())
    some = [line for line in shown if line][:most]
    return "\n".join([f"## {title}", *(f"- {line}" for line in some)]) if some else ""


def _one_line(text: str) -> str:
    bare = " ".join(text.split())
    return excerpt(_BULLET.sub("", bare).lstrip("# "), LINE)
