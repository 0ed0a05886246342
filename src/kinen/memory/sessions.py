"""Sessions as people see them: recorded by hooks, imported, or kept by hand as folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

from kinen.errors import Ambiguous, NotFound, QueryError, UnsafeFile
from kinen.ids import milliseconds as clock
from kinen.journal import queries
from kinen.journal.authors import colleague, team_author, team_person
from kinen.journal.recent import WORKING, outcome_now
from kinen.journal.summary import parse_summary, summarize
from kinen.journal.tally import tail
from kinen.journal.timeline import (
    TITLE,
    SessionOverview,
    SessionTimeline,
    Step,
    first_sentence,
    steps,
    title_of,
)
from kinen.memory.traces import Traces
from kinen.model.journal import Capsule, Observation
from kinen.model.records import Query
from kinen.recall.floor import CLOSE
from kinen.recall.fuse import evidence
from kinen.storage import inside
from kinen.text import excerpt, iso, spelled, terms
from kinen.text.frontmatter import read_frontmatter
from kinen.times import milliseconds
from kinen.worklog import sessions as folders
from kinen.worklog.sessions import LARGEST, Session

if TYPE_CHECKING:
    from kinen.memory.consolidation import Consolidation
    from kinen.memory.core import Core
    from kinen.memory.journal import Journal
    from kinen.memory.search import Searcher
    from kinen.memory.worklog import Worklog

LAST = "last"
"""Names the newest session."""
MOST_HITS_OF_SESSIONS = 100
"""Hits among which sessions are looked for by their words."""
WHOLE = 0.75
"""What all messages of a session count beside its best entry."""
PAGE = 50
"""Capsules that are read at a time."""
TAIL = 400
"""Observations at the end of a session that its outcome is looked for in."""


@dataclass(slots=True)
class Sessions:
    """Lists and timelines of sessions."""

    _core: Core
    _journal: Journal
    _worklog: Worklog
    _consolidation: Consolidation
    _searcher: Searcher

    def overviews(
        self,
        limit: int = 0,
        *,
        agent: str = "",
        repo: str = "",
        user: str = "",
        since: str = "",
        until: str = "",
        words: str = "",
        counts: bool = True,
    ) -> list[SessionOverview]:
        """Sessions, newest first: those of agents and those that are kept as folders.

        `agent`, `repo` and `user` are beginnings of names, `since` and `until` UTC moments, `words`
        a part of the title, the outcome or an id; a `limit` of 0 means all. Without `counts` the
        entries of most sessions are not read: that is quicker.
        """
        if limit < 0:
            raise QueryError(f"a limit of {limit} makes no sense", "use 0 for all, or more")
        newest = self._newest(agent, repo, user, since, until)
        overviews: list[SessionOverview] = []
        if not (repo or user):
            traces = Traces(self._core).overviews(agent=agent, since=since, until=until)
            overviews = [row for row in traces if _matches(row, words.lower())]
        others = len(overviews)
        while batch := list(islice(newest, limit or None)):
            chosen = [brief for brief in self._briefs(batch) if _matches(brief, words.lower())]
            overviews += self._with_counts(chosen, counts=counts)
            if limit and len(overviews) - others >= limit:
                break
        if others:
            overviews.sort(key=lambda row: (row.started, row.ref), reverse=True)
        return overviews[:limit] if limit else overviews

    def _newest(
        self, agent: str = "", repo: str = "", user: str = "", since: str = "", until: str = ""
    ) -> Iterator[Capsule | Session]:
        """Sessions of a time, newest first, read as far as the caller goes."""
        end = milliseconds(until)
        chosen = queries.EntryFilter(
            agent=agent, repo=repo, user=user, kind="session", before=end, limit=PAGE
        )
        dated: Iterator[tuple[str, Capsule | Session]] = (
            (iso(capsule.opened_at / 1000), capsule)
            for capsule in self._capsules(chosen)
            if not since or iso(max(capsule.opened_at, capsule.closed_at) / 1000) >= since
        )
        if not (agent or repo or user):
            by_hand = [
                (folder.started, folder)
                for folder in self._worklog.sessions()
                if folder.started >= since[: len(folder.started)]
                and (not until or folder.started <= until[: len(folder.started)])
            ]
            by_hand.sort(key=_newest_last, reverse=True)
            dated = merge(dated, by_hand, key=_newest_last, reverse=True)
        return (entry for _, entry in dated)

    def _capsules(self, chosen: queries.EntryFilter) -> Iterator[Capsule]:
        """Capsules, newest first, page by page."""
        if not self._core.store.exists:
            return
        self._core.census.follow(self._core.store.db)
        while page := queries.page(self._core.store.db, "capsules", chosen):
            yield from page
            chosen = chosen._replace(past=(page[-1].opened_at, page[-1].id))

    def _with_counts(
        self, briefs: Iterable[SessionOverview], *, counts: bool = True
    ) -> Iterator[SessionOverview]:
        """Sessions with how much happened in them, without those in which nothing did.

        Without `counts`, only sessions that say nothing of themselves are looked into.
        """
        sessions = list(briefs)
        ids = [
            session.ref.partition(":")[2]
            for session in sessions
            if session.kind == "agent" and (counts or not (session.title or session.outcome))
        ]
        sums = self._core.census.tallies(self._core.store.db, ids) if ids else {}
        for session in sessions:
            tally = sums.get(session.ref.partition(":")[2])
            if session.kind != "agent" or tally is None:
                yield session
            elif session.title or session.outcome or tally.commands or tally.edits:
                amounts = tally._asdict()
                last = amounts.pop("last")
                ended = session.ended or (iso(last / 1000) if last else session.started)
                yield replace(session, ended=ended, **amounts)

    def matching(self, words: str, most: int = 20) -> list[str]:
        """Refs of sessions that answer a question, the best first; none where nothing is close.

        Besides the best entry of a session counts what all of its messages say: the words of a
        question are often spread over a session (`benchmarks/session_ranking.py`).
        """
        kinds = ("observation", "capsule", "summary", "round")
        hits = self._searcher.search(Query(words, limit=MOST_HITS_OF_SESSIONS, kinds=kinds))
        best: dict[str, float] = {}
        for hit in hits:
            parent = str((hit.record.metadata or {}).get("parent", ""))
            own = hit.record.ref if hit.record.kind == "capsule" else ""
            folder = f"session:{hit.record.session}" if hit.record.kind == "round" else ""
            ref = parent or own or folder
            if ref:
                best[ref] = max(best.get(ref, 0.0), hit.score)
        reader = self._core.reader
        sizes = reader.session_counts()
        whole = evidence(map(reader.session_counts, terms(words)), sizes)
        if not (whole or any(hit.strength >= CLOSE for hit in hits)):
            return []
        top = max(best.values(), default=0.0) or 1.0
        most_said = max(whole.values(), default=0.0) or 1.0
        scores = {
            ref: best.get(ref, 0.0) / top + WHOLE * whole.get(ref, 0.0) / most_said
            for ref in best.keys() | whole.keys()
        }
        return sorted(scores, key=lambda ref: (-scores[ref], ref))[:most]

    def briefs(self, refs: Iterable[str]) -> list[SessionOverview]:
        """The sessions of some refs, in their order and without counts."""
        entries: dict[str, Capsule | Session] = {
            entry.ref if isinstance(entry, Capsule) else f"session:{entry.name}": entry
            for entry in self._newest()
        }
        return self._briefs([entries[ref] for ref in refs if ref in entries])

    def timeline(self, name: str = LAST) -> SessionTimeline:
        """A session with its steps: by its id, the client's id or the folder's name, or `last`.

        The beginning of an id and a part of a folder's name are enough. Where nobody worked here,
        `last` is the last session that the repository brought.
        """
        if name.strip() in ("", LAST) and next(self._newest(), None) is None:
            name = next((overview.id for overview in self.overviews(1)), LAST)
        trace = Traces(self._core).named(name)
        if trace is not None:
            return Traces(self._core).timeline(trace)
        entry = self._session_named(name)
        if not isinstance(entry, Capsule):
            overview = self._folder_overview(entry)
            parts = {"outcome": self._body(entry.summary)} if entry.summary else {}
            return SessionTimeline(
                overview,
                tuple(self._rounds(entry)),
                parts,
                tuple(self._consolidation.drawn_from(entry.name)),
                entry.rounds,
                entry.artifacts,
                entry.summary,
            )
        self._core.census.follow(self._core.store.db)
        brief = self._briefs([entry])[0]
        overview = next(self._with_counts([brief]), brief)
        observations = list(self._core.store.stream(entry.id))
        refs = {entry.ref, *(event.ref for event in observations)}
        drawn = [
            memory for memory in self._consolidation.memories() if refs & set(memory.derived_from)
        ]
        parts = self.summary_parts(entry)
        return SessionTimeline(
            overview, tuple(self._signed(entry, observations)), parts, tuple(drawn)
        )

    def _signed(self, capsule: Capsule, observations: Sequence[Observation]) -> Iterator[Step]:
        """The steps of a session; of those that somebody else recorded, who."""
        db = self._core.store.db
        person = team_person(db)
        if not person:
            yield from steps(observations)
            return
        owner = team_author(db, capsule.ref, person) or person
        for step in steps(observations):
            author = team_author(db, step.ref, person) or person
            yield step if author == owner else replace(step, by=author)

    def _session_named(self, name: str) -> Capsule | Session:
        prefix = name.strip().removeprefix("capsule:").removeprefix("session:")
        if prefix in ("", LAST):
            for entry in self._newest():
                if next(self._with_counts(self._briefs([entry])), None) is not None:
                    return entry
            raise NotFound("no session here yet", "`kinen import transcripts` takes in past ones")
        capsules: list[Capsule] = self._journal.entries("capsules")[0]
        near = [
            capsule
            for capsule in capsules
            if capsule.id.startswith((prefix, prefix.upper()))
            or capsule.scope.session.startswith(prefix)
        ]
        exact = [capsule for capsule in near if prefix in (capsule.id, capsule.scope.session)]
        chosen = exact or near
        different = {capsule.scope.session or capsule.id for capsule in chosen}
        if len(different) > 1:
            raise Ambiguous(name, [capsule.ref for capsule in chosen])
        if chosen:
            return chosen[0]
        return folders.session(self._core.space.root, prefix)

    def _briefs(self, entries: Sequence[Capsule | Session]) -> list[SessionOverview]:
        """Sessions without their counts, and those that go on without their end."""
        ids = [entry.id for entry in entries if isinstance(entry, Capsule)]
        shorts = queries.short_ids(self._core.store.db, ids, ("capsules",)) if ids else {}
        return [
            self._capsule_overview(entry, shorts[entry.id])
            if isinstance(entry, Capsule)
            else self._folder_overview(entry)
            for entry in entries
        ]

    def _capsule_overview(self, entry: Capsule, short: str) -> SessionOverview:
        title, outcome = self._core.census.words(
            entry.id,
            lambda: (title_of(entry, self._core.store.stream(entry.id)), self._outcome(entry)),
        )
        if entry.status == "open":
            outcome = outcome_now(self._core.store.db, entry.id, outcome, clock())
        return SessionOverview(
            ref=entry.ref,
            id=short,
            kind="agent",
            session=entry.scope.session,
            agent=entry.scope.agent,
            status=entry.reason or entry.status,
            started=iso(entry.opened_at / 1000),
            ended=iso(entry.closed_at / 1000) if entry.closed_at else "",
            title=title,
            outcome=outcome,
            by=colleague(self._core.store.db, entry.ref),
        )

    def _outcome(self, capsule: Capsule) -> str:
        """The first sentence of what a session came to; a long one that goes on is read at its end.

        What it came to is in its last messages.
        """
        end = tail(self._core.store.db, capsule.id, TAIL)
        return first_sentence(self._parts(capsule, end).get("outcome", ""))

    def summary_parts(self, capsule: Capsule) -> dict[str, str]:
        """What a session came to, by the labels of its summary; one that goes on is read as it is.

        Nothing is made up for a session in which nothing was recorded.
        """
        db = self._core.store.db
        self._core.census.follow(db)
        parts = self._core.census.parts(
            capsule.id, lambda: self._parts(capsule, queries.stream(db, capsule.id))
        )
        outcome = parts.get("outcome", "")
        if capsule.status == "open" and outcome:
            # Not remembered with the rest: a process ends without an event.
            parts["outcome"] = outcome_now(db, capsule.id, outcome, clock())
            if parts["outcome"].startswith(WORKING):
                parts.pop("next", None)  # what it works on
        return parts

    def _parts(self, capsule: Capsule, observations: Iterable[Observation]) -> dict[str, str]:
        """The parts of the summary, which is made of the observations if none was written."""
        text = ""
        if capsule.status != "open":
            newest = queries.EntryFilter(capsule=capsule.id, limit=1)
            summaries = queries.page(self._core.store.db, "summaries", newest)
            text = summaries[0].content if summaries else ""
        if not text:
            text, sources = summarize(capsule, observations)
            if not sources:
                return {}
        return parse_summary(text)

    def _folder_overview(self, folder: Session) -> SessionOverview:
        return SessionOverview(
            ref=f"session:{folder.name}",
            id=folder.name,
            kind="folder",
            session=folder.name,
            agent="",
            status=folder.status,
            started=folder.started,
            ended="",
            title=excerpt(folder.title, TITLE),
            outcome=first_sentence(self._body(folder.summary)),
            rounds=len(folder.rounds),
        )

    def _rounds(self, folder: Session) -> Iterator[Step]:
        """The files of a session by their titles."""
        for path in (*folder.rounds, *folder.artifacts):
            lines = self._body(path, title=True).splitlines()
            heads = (line.lstrip("# ").strip() for line in lines if line.startswith("#"))
            title = next(heads, os.path.basename(path))
            yield Step("round", 0, excerpt(title, TITLE), spelled(path), files=(spelled(path),))

    def _body(self, path: str, *, title: bool = False) -> str:
        """The text of a file of a session without its frontmatter; by default without its title."""
        if not path:
            return ""
        try:
            lines = inside.text(self._core.space.root, path, LARGEST).splitlines()
        except (OSError, UnsafeFile):
            return ""
        body = lines[read_frontmatter(lines).end :]
        content = [line for line in body if title or not line.startswith("# ")]
        return "\n".join(content).strip()


def _matches(session: SessionOverview, words: str) -> bool:
    texts = (session.title, session.outcome, session.session, session.ref, session.id)
    return not words or any(words in text.lower() for text in texts)


def _newest_last(entry: tuple[str, Capsule | Session]) -> tuple[str, str]:
    """By time; those of one second by their names."""
    at, session = entry
    return at, session.id if isinstance(session, Capsule) else session.path
