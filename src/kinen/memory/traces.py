"""Sessions that travel with the repository, as lists and timelines show them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kinen.errors import Ambiguous
from kinen.model.journal import Capsule, Observation, Scope
from kinen.model.records import Query, Record
from kinen.text import epoch, excerpt, iso

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen.journal.timeline import SessionOverview, SessionTimeline
    from kinen.memory.core import Core

LEAST = 6
"""Characters of an id that stand for it."""
EVENTS = {"prompt": "prompts", "file_diff": "edits", "command": "commands", "error": "errors"}


class Traces:
    """The sessions of others in the index; the journal has none of them."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def counts(self) -> list[tuple[str, str, int]]:
        """How many sessions of each tool and agent there are, the most first."""
        return self._core.reader.trace_counts() if self._indexed else []

    def fetch_command(self) -> str:
        """The command that gets Git AI's notes; empty if they are here, or nothing names them."""
        from kinen.sources.traces.notes import GIT_AI, is_unfetched
        from kinen.space.repository import git_above

        git = git_above(self._core.space.root)
        return f"git fetch origin {GIT_AI}:{GIT_AI}" if git and is_unfetched(git) else ""

    @property
    def _indexed(self) -> bool:
        return os.path.exists(self._core.file("index.db"))

    def overviews(
        self, *, agent: str = "", since: str = "", until: str = ""
    ) -> list[SessionOverview]:
        """All of them that began in a time, newest first, each `by` its author and tool."""
        if not self._indexed:
            return []
        events = self._core.reader.trace_events()
        rows = [
            self._overview(record, events.get(record.ref, {}))
            for record in self._capsules()
            if record.at >= since and (not until or record.at <= until)
        ]
        return [row for row in rows if row.agent.startswith(agent)]

    def edits(self, after: int, before: int) -> list[tuple[str, str, int]]:
        """Their edits in a time, in milliseconds: the file, the session and the moment of each."""
        if not self._indexed:
            return []
        rows = self._core.reader.trace_edits(iso(after / 1000), iso(before / 1000))
        return [(path, session, epoch(at)) for path, session, at in rows]

    def hours(self) -> dict[tuple[str, int], int]:
        """Their events by agent and hour since 1970."""
        rows = self._core.reader.trace_hours() if self._indexed else []
        return {
            (agent or "", epoch(f"{hour}:00:00Z") // 3_600_000): count
            for agent, hour, count in rows
        }

    def _capsules(self) -> list[Record]:
        return sorted(self._core.reader.traces(), key=lambda row: (row.at, row.ref), reverse=True)

    def _overview(self, record: Record, events: dict[str, int]) -> SessionOverview:
        from kinen.journal.timeline import TITLE, SessionOverview

        about = record.metadata or {}
        numbers = {name: events.get(event, 0) for event, name in EVENTS.items()}
        return SessionOverview(
            ref=record.ref,
            id=record.ref.partition(":")[2],
            kind="agent",
            session=record.session,
            agent=str(about.get("agent", "")),
            status="closed",
            started=record.at,
            ended=str(about.get("closed_at", "")),
            title=excerpt(record.title, TITLE),
            outcome=str(about.get("outcome", "")),
            by=str(about["by"]),
            **numbers,
        )

    def named(self, name: str) -> Record | None:
        """The session of an id, of the client's id, or of the beginning of either."""
        prefix = name.strip().removeprefix("capsule:")
        if not self._indexed or len(prefix) < LEAST:
            return None
        near = [
            row
            for row in self._capsules()
            if row.session.startswith(prefix) or row.ref[8:].startswith((prefix, prefix.upper()))
        ]
        if len(near) > 1 and not any(prefix in (row.session, row.ref[8:]) for row in near):
            raise Ambiguous(name, [row.ref for row in near])
        return next(iter(near), None)

    def timeline(self, record: Record) -> SessionTimeline:
        """A session with its steps and what it came to."""
        from kinen.journal.events import role
        from kinen.journal.summary import parse_summary, summarize
        from kinen.journal.timeline import SessionTimeline, first_sentence, steps

        about = record.metadata or {}
        scope = Scope(session=record.session, agent=str(about.get("agent", "")))
        capsule = Capsule(
            record.ref[8:], "session", record.title, "closed", epoch(record.at), scope=scope
        )
        query = Query("", kinds=("observation",), parents=(record.ref,))
        events = sorted(self._core.reader.matching(query), key=lambda row: (row.at, row.ref))
        observations = [self.observation(row) for row in events]
        text, sources = summarize(capsule, iter(observations))
        parts = parse_summary(text) if sources else {}
        tally: dict[str, int] = {}
        for event in observations:
            kind = "prompt" if role(event) == "user" else event.kind
            tally[kind] = tally.get(kind, 0) + 1
        overview = self._overview(record, tally)
        if parts.get("outcome"):
            from dataclasses import replace

            overview = replace(overview, outcome=first_sentence(parts["outcome"]))
        return SessionTimeline(overview, tuple(steps(observations)), parts, ())

    def after(self, event: Observation) -> Iterator[Observation]:
        """What happened in the same session after an observation."""
        parents = (str(event.provenance.get("parent", "")),)
        records = self._core.reader.matching(Query("", kinds=("observation",), parents=parents))
        for record in sorted(records, key=lambda row: (row.at, row.ref)):
            if (epoch(record.at), record.ref) > (event.ts, event.ref):
                yield self.observation(record)

    def observation(self, record: Record) -> Observation:
        """An observation of the index with its text."""
        about = record.metadata or {}
        chunks = self._core.reader.between(record.ref, 0, 1 << 31)
        return Observation(
            record.ref.partition(":")[2],
            str(about.get("event", "")),
            "\n".join(chunk.text for chunk in chunks),
            epoch(record.at),
            Scope(session=record.session, agent=str(about.get("agent", ""))),
            provenance=about,
            files=tuple(about.get("files", ())),
            branch=str(about.get("branch", "")),
            by=str(about.get("by", "")),
        )


def counts_line(counts: list[tuple[str, str, int]]) -> str:
    """What a clone brings: `98 sessions of claude-code by Entire`."""
    parts = [
        f"{count:,} {'session' if count == 1 else 'sessions'} of {agent or 'an agent'} by {origin}"
        for origin, agent, count in counts
    ]
    return ", ".join(parts)
