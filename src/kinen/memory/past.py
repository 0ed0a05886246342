"""What was known at an earlier time: files, memories and the plan as of a date or commit."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from kinen.errors import GitError, NotFound, QueryError, Unreadable
from kinen.journal import memories as learn
from kinen.journal import queries
from kinen.journal.queries import first_at
from kinen.model.tuples import NamedTuple
from kinen.sources.files.layout import Hidden
from kinen.text import iso, now, parse_time
from kinen.times import milliseconds
from kinen.worklog.checkpoints import read_plan
from kinen.worklog.plans import MARKS, Plans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.memory.core import Core
    from kinen.memory.git import Git
    from kinen.model.journal import Learned, Plan

NOT_COVERED = "text that was removed from files since then is not searched"


class Moment(NamedTuple):
    """A time to go back to."""

    at: str
    """ISO 8601, UTC."""
    commit: str = ""
    """The last commit before it on the current branch; empty without a repository."""


class PastPlan(NamedTuple):
    plan: Plan
    exact: bool
    """Whether git has its text of that time; otherwise it is the text of today."""


class Compared(NamedTuple):
    """The memories of two moments, by what became of them."""

    new: list[Learned]
    reworded: list[tuple[Learned, Learned]]
    """The former wording and the later one."""
    superseded: list[tuple[Learned, Learned | None]]
    """With the memory that holds instead, if it is not hidden."""
    gone: list[Learned]
    """Hidden, forgotten or merged in between."""
    same: int


def compared(before: Sequence[Learned], after: Sequence[Learned]) -> Compared:
    """What is new, reworded, superseded and gone in the memories of a later moment."""
    then = {memory.id: memory for memory in before}
    now = {memory.id: memory for memory in after}
    new = {memory.id: memory for memory in after if memory.id not in then}
    gone = []
    reworded = []
    for memory in before:
        if memory.id in now:
            continue
        again = [
            other
            for other in new.values()
            if (other.type, other.derived_from) == (memory.type, memory.derived_from)
            and memory.derived_from
        ]
        if again:
            reworded.append((memory, new.pop(again[0].id)))
        else:
            gone.append(memory)
    superseded = [
        (memory, now.get(memory.superseded_by))
        for memory in after
        if memory.id in then and memory.superseded_by and not then[memory.id].superseded_by
    ]
    same = len(then) - len(gone) - len(reworded) - len(superseded)
    return Compared([*new.values()], reworded, superseded, gone, same)


class Past:
    """What was known at a time."""

    def __init__(self, core: Core, git: Git) -> None:
        self._core = core
        self._git = git

    def moment(self, words: str) -> Moment:
        """A time (`2026-03-01`, `3d`, `yesterday`), or that of a commit, branch or tag."""
        try:
            at = parse_time(words, now(), end=True)
        except QueryError:
            return self._commit_moment(words)
        at = min(at, iso(now()))
        return Moment(at, self._commit_before(at))

    def _commit_moment(self, words: str) -> Moment:
        with contextlib.suppress(GitError, NotFound):
            sha = self._git.commit(words)
            if sha:
                return Moment(self._git.commit_time(sha), sha)
        hint = "use 2026-03-01, 3d, 2w, yesterday, or a commit, branch or tag"
        raise QueryError(f"invalid time or commit {words!r}", hint, parameter="as_of")

    def _commit_before(self, at: str) -> str:
        with contextlib.suppress(GitError):
            return self._git.last_before(at)
        return ""

    def beginning(self) -> float:
        """Epoch seconds of the first observation or commit; 0 if there is none."""
        times = []
        if self._core.store.exists:
            first = first_at(self._core.store.db)
            times += [first / 1000] if first else []
        if os.path.exists(self._core.index_file):
            begun = self._core.reader.first_commit_at()
            times += [milliseconds(begun) / 1000] if begun else []
        return min(times, default=0.0)

    def remark(self, moment: Moment) -> str:
        commit = f", commit {moment.commit[:7]}" if moment.commit else ""
        return f"as of {moment.at[:16].replace('T', ' ')} UTC{commit}"

    def remarks(self, moment: Moment) -> list[str]:
        """Notes on a moment: the time, and what a search does not cover."""
        remarks = [self.remark(moment)]
        remarks += (
            [NOT_COVERED] if moment.commit else ["files count by their dates: no commit then"]
        )
        hidden = len(self._hidden_since(moment))
        if hidden:
            remarks.append(f"memories hidden since then are listed, not searched: {hidden:,}")
        return remarks

    def text(self, path: str, moment: Moment) -> str | None:
        """The text of a file in the commit of a moment; None if it was not in it."""
        if not moment.commit:
            return None
        try:
            return self._git.read(self._git.inside(path), moment.commit)
        except (GitError, NotFound, QueryError, Unreadable):
            return None

    def memories(self, moment: Moment, type: str = "") -> list[Learned]:  # noqa: A002
        """The memories that held then, newest first.

        Those that were hidden or superseded later come back; forgotten ones do not.
        """
        if not self._core.store.exists:
            return []
        end = milliseconds(moment.at)
        db = self._core.store.db
        hidden = queries.suppressed_at(db)
        everything = {memory.id: memory for memory in learn.memories(db, everything=True)}
        known = []
        for memory in everything.values():
            if memory.forgotten_at or memory.created_at > end or type not in ("", memory.type):
                continue
            if hidden.get(memory.ref, end + 1) <= end:
                continue
            newer = everything.get(memory.superseded_by)
            later = newer is not None and newer.created_at > end
            known.append(memory._replace(superseded_by="") if later else memory)
        return known

    def _hidden_since(self, moment: Moment) -> list[Learned]:
        if not self._core.store.exists:
            return []
        hidden = queries.suppressed_at(self._core.store.db)
        end = milliseconds(moment.at)
        away = {ref for ref, at in hidden.items() if at > end}
        return [memory for memory in self.memories(moment) if memory.ref in away] if away else []

    def plan(self, moment: Moment) -> PastPlan | None:
        """The plan that was active then; from git, or else the one that is there today.

        None that the user has hidden since.
        """
        past = self._plan_then(moment)
        store = self._core.store
        refs = queries.suppressed(store.db) if store.exists else ()
        hidden = Hidden(refs, self._core.config.privacy.exclude)
        return past if past and past.plan.ref not in hidden else None

    def _plan_then(self, moment: Moment) -> PastPlan | None:
        for folder, mark in MARKS.items():
            name = (self.text(mark, moment) or "").strip()
            path = f"{folder}/{name}.md"
            text = self.text(path, moment) if name and "/" not in name else None
            if text is not None:
                plan = read_plan(text.encode(), path)
                if plan.status == "active":
                    return PastPlan(plan._replace(current=True), exact=True)
        plans = [
            plan
            for plan in Plans(self._core.space.root).plans()
            if plan.created and plan.created <= moment.at
            if plan.current or (plan.status != "active" and plan.updated > moment.at)
        ]
        newest = max(plans, key=lambda plan: (plan.current, plan.created), default=None)
        if newest is None:
            return None
        return PastPlan(newest, exact=newest.updated <= moment.at)
