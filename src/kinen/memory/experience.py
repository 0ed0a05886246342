"""Experience: how an error was fixed before, how a command was used."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from kinen.characters import storable
from kinen.errors import KinenError, QueryError
from kinen.journal import events
from kinen.journal.account import commit_subject
from kinen.model.journal import Observation
from kinen.model.records import Query
from kinen.recall import errors
from kinen.recall.errors import Fix, Outcome, normalised
from kinen.recall.invocations import Invocation, fold
from kinen.text import iso

if TYPE_CHECKING:
    from kinen.memory.core import Core
    from kinen.memory.git import Git
    from kinen.memory.index import Index

CANDIDATES = 200
"""Observations that full text finds for an error."""
COMPARED = 3_000
"""The newest observations of a command that are folded."""
FOLLOWED = 2_000
"""Observations after an error that are read for what came of it."""
WORDS = 24
"""Words of an error that are looked for."""
LIMIT = 5
LIMIT_INVOCATIONS = 20


class Experience:
    """Errors and their fixes, commands and how they are called."""

    def __init__(self, core: Core, index: Index, git: Git) -> None:
        self._core = core
        self._index = index
        self._git = git

    def fix(self, error: str, limit: int = LIMIT) -> list[Fix]:
        """Earlier cases of an error: first those that were fixed for good, then the most similar.

        Empty if no recorded failure is similar enough.
        """
        lines = errors.identifying_lines(storable(error))
        if not lines:
            raise QueryError(
                "too little of an error to tell it from others",
                "give the lines that name the error, such as `ValueError: invalid literal`",
            )
        if not self._core.store.exists:
            return []
        self._index.prepare()
        alike: list[tuple[Observation, float, str]] = []
        for event in sorted(self._failures(lines), key=lambda event: (event.ts, event.id)):
            score, line = errors.compared(lines, events.body(event))
            if score >= errors.FLOOR:
                alike.append((event, score, line or events.error_line(event)))
        fixes: dict[tuple[str, int, str], Fix] = {}
        failures = [event for event, _, _ in alike]
        for event, score, line in alike:
            fix = self._fix(event, line, score, failures)
            earlier = fixes.get((fix.session, fix.fixed_at, fix.command))
            if earlier is None or fix.likeness >= earlier.likeness:
                fixes[(fix.session, fix.fixed_at, fix.command)] = fix
        ranked = sorted(fixes.values(), key=_rank, reverse=True)
        return ranked[:limit] if limit else ranked

    def _failures(self, lines: list[str]) -> Iterator[Observation]:
        """Recorded failures that share words with some lines of an error."""
        words = dict.fromkeys(word for line in lines for word in normalised(line).split())
        terms = [word for word in words if len(word) > 2][:WORDS]
        query = Query(" ".join(terms), events=("error", "node_error", *events.ACTIONS))
        matches = self._core.reader.match(terms, query, CANDIDATES)
        loaded = self._core.reader.load([id_ for id_, _ in matches])
        refs = dict.fromkeys(record.ref for record, _ in loaded.values())
        for event in self._recorded_events(refs):
            if events.failed(event):
                yield event

    def _recorded_events(self, refs: Iterable[str]) -> Iterator[Observation]:
        for ref in refs:
            kind, _, id_ = ref.partition(":")
            entry = self._core.store.entry(kind, id_) if kind == "observation" else None
            if entry and not entry.redacted and not entry.forgotten_at:
                yield entry

    def _fix(
        self, event: Observation, line: str, score: float, failures: Iterable[Observation]
    ) -> Fix:
        """What was done about a failure; others may show that it came back."""
        lines = errors.error_lines(event)
        outcome = self._outcome(event)
        success = outcome.success
        fix = errors.Fix(
            error=line,
            ref=event.ref,
            at=event.ts,
            session=event.scope.session,
            command=events.command(event) or events.tool_use(event),
            likeness=round(score, 3),
        )
        if success is None:
            return fix
        again = [
            other.ts
            for other in failures
            if other.ts > success.ts
            and errors.likeness(lines, errors.error_lines(other)) >= errors.SAME
        ]
        return fix._replace(
            fixed_at=success.ts,
            steps=outcome.steps,
            more_steps=outcome.later_steps,
            success=events.command(success) or events.tool_use(success),
            commit=self._commit_after(success, outcome),
            came_back=min(again, default=0),
        )

    def _outcome(self, event: Observation) -> Outcome:
        return errors.outcome(event, self._after(event))

    def _after(self, event: Observation) -> Iterator[Observation]:
        """What happened in the same session after an observation."""
        if not event.capsule:
            return
        stream = self._core.store.stream(event.capsule, (event.ts, event.id))
        for later in islice(stream, FOLLOWED):
            if later.id != event.id and not later.redacted:
                yield later

    def _commit_after(self, success: Observation, outcome: Outcome) -> str:
        """The next commit of the session, else the next one that touched an edited file."""
        for event in self._after(success):
            line = events.command(event)
            if "git commit" in events.programs(line) and not events.failed(event):
                return commit_subject(event, line)
        moment = iso(success.ts / 1000)
        for step in outcome.steps:
            if step.kind != "edit" or not self._core.git_folders[0]:
                continue
            with contextlib.suppress(KinenError):
                for revision in self._git.history(step.text):
                    if revision.at >= moment:
                        return f"{revision.subject} ({revision.ref.partition(':')[2][:7]})"
        return ""

    def how(
        self, name: str, limit: int = LIMIT_INVOCATIONS, *, failed: bool = False
    ) -> list[Invocation]:
        """The invocations of a command or an agent's tool that worked here, newest first.

        With `failed` those that never worked instead.
        """
        words = storable(name).split()
        if not words:
            raise QueryError("no command is named", "name one, such as pytest or docker compose")
        words[0] = words[0].rsplit("/", 1)[-1] or words[0]  # ./deploy is known as deploy
        if not self._core.store.exists:
            return []
        self._index.prepare()
        invocations = fold(self._recorded_events(self._uses(words)), words)
        chosen = [invocation for invocation in invocations if bool(invocation.succeeded) != failed]
        return chosen[:limit] if limit else chosen

    def _uses(self, words: list[str]) -> list[str]:
        """Refs of the newest observations that name a command or a tool."""
        kinds = ("error", *events.ACTIONS)
        query = Query("", events=kinds, required=(" ".join(words),))
        if len(words) > 1:  # there may be spaces, options or quotes between them
            query = query._replace(required=tuple(words))
        ids = self._core.reader.newest(query, COMPARED)
        loaded = self._core.reader.load(ids)
        return [loaded[id_][0].ref for id_ in ids if id_ in loaded]


def _rank(fix: Fix) -> tuple[bool, bool, float, int]:
    return fix.works, bool(fix.fixed_at), round(fix.likeness, 1), fix.at
