"""Experience: how an error was fixed before, how a command was used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from kinen.characters import storable
from kinen.consolidation.claims import MOST, Claim, claim, share
from kinen.errors import KinenError, QueryError
from kinen.journal import events
from kinen.journal.account import commit_subject
from kinen.journal.queries import EntryFilter
from kinen.memory.traces import Traces
from kinen.model.journal import Observation
from kinen.model.records import Hits, Query, Record
from kinen.recall import errors
from kinen.recall.errors import Correction, Fix, Fixes, Friction, Outcome, normalised
from kinen.recall.invocations import Invocations, fold
from kinen.text import iso
from kinen.text.statements import rules_of

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
FOLLOWED_IN_ALL = 20_000
"""The same for all similar errors together; the most similar come first."""
FAILING = ("error", "node_error", *events.ACTIONS)
READ = 20_000
"""The newest events that are read for errors that came back."""
WORDS = 24
"""Words of an error that are looked for."""
NEAREST = 3
"""Search hits for an error that is unknown."""
QUESTION = 300
"""Characters of an error that are searched for."""
LIMIT = 5
LIMIT_INVOCATIONS = 20


class Experience:
    """Errors and their fixes, commands and how they are called."""

    def __init__(self, core: Core, index: Index, git: Git) -> None:
        self._core = core
        self._index = index
        self._git = git
        self._traces = Traces(core)

    def fix(self, error: str, limit: int = LIMIT) -> Fixes:
        """Earlier cases of an error: first those that were fixed for good, then the most similar.

        None if no recorded failure is similar enough.
        """
        lines = errors.asked_lines(storable(error))
        if not lines:
            raise QueryError(
                "too little of an error to tell it from others",
                "give the lines that name the error, such as `ValueError: invalid literal`",
            )
        self._index.prepare()
        alike: list[tuple[Observation, float, str]] = []
        for event in self._failures(lines):
            score, line = errors.compared(lines, events.body(event))
            # A line of a prompt that names no error is one if it is the one that is looked for.
            names_error = not events.role(event) or events.named_error(event)
            if score >= (errors.FLOOR if names_error else errors.PART):
                alike.append((event, score, line or events.error_line(event)))
        alike.sort(key=lambda case: (case[1], case[0].ts, case[0].id), reverse=True)
        fixes: dict[tuple[str, int, str], Fix] = {}
        failures = [event for event, _, _ in alike]
        rows = iter(range(FOLLOWED_IN_ALL))
        omitted = 0
        for n, (event, score, line) in enumerate(alike):
            fix = self._fix(event, line, score, failures, rows)
            if next(rows, None) is None:  # what came of it is not known
                omitted = len(alike) - n
                break
            fixes.setdefault((fix.session, fix.fixed_at, fix.command), fix)
        ranked = sorted(fixes.values(), key=_rank, reverse=True)
        return Fixes(ranked[:limit] if limit else ranked, omitted)

    def _failures(self, lines: list[str]) -> Iterator[Observation]:
        """Recorded failures and prompts that share words with some lines of an error."""
        words = dict.fromkeys(word for line in lines for word in normalised(line).split())
        terms = [word for word in words if len(word) > 2][:WORDS]
        kinds = (*FAILING, "message")
        query = Query(" ".join(terms), events=kinds)
        matches = self._core.reader.match(terms, query, CANDIDATES)
        loaded = self._core.reader.load([id_ for id_, _ in matches])
        for event in self._events(record for record, _ in loaded.values()):
            if events.failed(event) or events.role(event) == "user":
                yield event

    def _events(self, records: Iterable[Record]) -> Iterator[Observation]:
        """The observations among records, each once: of the journal, or of a clone's session."""
        for record in {record.ref: record for record in records}.values():
            kind, _, id_ = record.ref.partition(":")
            about = record.metadata or {}
            if kind == "observation" and about.get("origin"):
                yield self._traces.observation(record)
            elif kind == "observation":
                entry = self._core.store.entry(kind, id_)
                if entry and not entry.redacted and not entry.forgotten_at:
                    yield entry._replace(by=about.get("by", ""))

    def _fix(
        self,
        event: Observation,
        line: str,
        score: float,
        failures: Iterable[Observation],
        rows: Iterator[int],
    ) -> Fix:
        """What was done about a failure; others may show that it came back.

        As many observations are read as there are `rows` left.
        """
        fix = errors.Fix(
            error=line,
            ref=event.ref,
            at=event.ts,
            session=event.scope.session,
            command=events.command(event) or events.tool_use(event),
            likeness=round(score, 3),
            by=event.by,
        )
        if events.role(event):
            return fix._replace(pasted=True, answer=self._closing(event, rows))
        outcome = errors.outcome(event, self._after(event, rows))
        success = outcome.success
        if success is None:
            return fix
        lines = errors.error_lines(event)
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
            commit=self._commit_after(success, outcome, rows),
            came_back=min(again, default=0),
        )

    def _closing(self, prompt: Observation, rows: Iterator[int]) -> str:
        """What the agent said last before the user wrote again."""
        said = ""
        for event in self._after(prompt, rows):
            role = events.role(event)
            if role == "user":
                break
            said = event.content if role else said
        return said

    def _after(self, event: Observation, rows: Iterator[int]) -> Iterator[Observation]:
        """What happened in the same session after an observation."""
        stream: Iterable[Observation] = ()
        if event.provenance.get("origin"):
            stream = self._traces.after(event)
        elif event.capsule:
            stream = self._core.store.stream(event.capsule, (event.ts, event.id))
        for _, later in zip(islice(rows, FOLLOWED), stream, strict=False):
            if later.id != event.id and not later.redacted:
                yield later

    def _commit_after(self, success: Observation, outcome: Outcome, rows: Iterator[int]) -> str:
        """The next commit of the session, else the next one that touched an edited file."""
        for event in self._after(success, rows):
            line = events.command(event)
            if "git commit" in events.programs(line) and events.succeeded(event):
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

    def friction(self, least: int = 3, limit: int = 10) -> tuple[list[Friction], int]:
        """Errors of at least so many sessions with what helped, and how many failures were read."""
        recorded: list[Observation] = []
        if self._core.store.exists:
            chosen = EntryFilter(kinds=FAILING, limit=READ, redacted=False)
            recorded = self._core.store.entries("observations", chosen)[0]
        recorded += self._observations(FAILING, traced=True)
        recorded.sort(key=lambda event: (event.ts, event.id), reverse=True)
        failures = [event for event in recorded if events.failed(event)]
        groups = errors.recurring(failures, least)
        rows = iter(range(FOLLOWED_IN_ALL))
        recurrences = [self._recurrence(group, rows) for group in groups[: limit or None]]
        return recurrences, len(failures)

    def _recurrence(self, group: list[Observation], rows: Iterator[int]) -> Friction:
        """An error with what was done after its last failure in each session, where it passed."""
        latest = {errors.session_of(event): event for event in reversed(group)}
        fixes = []
        for event in sorted(latest.values(), key=lambda event: event.ts, reverse=True):
            line = errors.naming_line(events.body(event))
            fixes.append(self._fix(event, line, 1.0, (), rows))
        return Friction(
            error=fixes[0].error,
            command=fixes[0].command,
            sessions=len(latest),
            failures=len(group),
            first=group[-1].ts,
            last=group[0].ts,
            ref=group[0].ref,
            helped=[fix for fix in fixes if fix.fixed_at],
        )

    def corrections(self, least: int = 3, limit: int = 10) -> list[Correction]:
        """Standing rules that users gave in at least so many sessions, and what is kept of them.

        Rules are the same if one has most of the terms of the other, and no other ones.
        """
        rules = [
            (claim(rule), rule, event)
            for event in self._observations(("message",), "user")
            for rule in rules_of(event.content)
        ]
        groups: list[list[tuple[Claim, str, Observation]]] = []
        for row in rules:  # the newest first
            same = (group for group in groups if share(group[0][0], row[0]) >= MOST)
            group = next(same, None)
            if group is None:
                groups.append([row])
            else:
                group.append(row)
        matches = []
        memories = [
            (row, claim(self._traces.observation(row).content))
            for row in (self._core.reader.records(("memory",)) if rules else ())
        ]
        for group in groups:
            sessions = {errors.session_of(event) for _, _, event in group}
            if len(sessions) < least:
                continue
            known, rule, last = group[0]
            kept = [row for row, held in memories if share(held, known) >= MOST]
            memory = min(kept, key=lambda row: row.at, default=None)
            after = {
                errors.session_of(event)
                for _, _, event in group
                if memory and iso(event.ts / 1000) > memory.at
            }
            ref = memory.ref if memory else ""
            first = group[-1][2].ts
            matches.append(
                Correction(rule, len(sessions), first, last.ts, last.ref, ref, len(after))
            )
        matches.sort(key=lambda row: (row.sessions, row.last), reverse=True)
        return matches[: limit or None]

    def _observations(
        self, kinds: tuple[str, ...], role: str = "", *, traced: bool = False
    ) -> list[Observation]:
        """The newest observations in the index; `traced` are those that came with a clone."""
        self._index.prepare()
        records = self._core.reader.matching(Query("", kinds=("observation",), events=kinds))
        chosen = [
            record
            for record in records
            if (record.metadata or {}).get("role", "") == role
            and (not traced or (record.metadata or {}).get("origin"))
        ]
        chosen.sort(key=lambda record: (record.at, record.ref), reverse=True)
        return [self._traces.observation(record) for record in chosen[:READ]]

    def how(
        self, name: str, limit: int = LIMIT_INVOCATIONS, *, failed: bool = False
    ) -> Invocations:
        """The invocations of a command or an agent's tool that worked here, newest first.

        The words may stand anywhere in it. Behind them those of which nobody knows how they ended;
        with `failed` those that failed and never worked instead.
        """
        words = storable(name).split()
        if not words:
            raise QueryError("no command is named", "name one, such as pytest or docker compose")
        words[0] = words[0].rsplit("/", 1)[-1] or words[0]  # ./deploy is known as deploy
        self._index.prepare()
        reader = self._core.reader
        kinds = ("error", *events.ACTIONS)
        query = Query("", events=kinds, required=(" ".join(words),))
        if len(words) > 1:  # there may be spaces, options or quotes between them
            query = query._replace(required=tuple(words))
        ids = reader.newest(query, COMPARED)
        loaded = reader.load(ids)
        uses = self._events(loaded[id_][0] for id_ in ids if id_ in loaded)
        invocations = fold(uses, words)
        if failed:
            chosen = [entry for entry in invocations if entry.failed and not entry.succeeded]
        else:
            chosen = [entry for entry in invocations if entry.succeeded]
            chosen += [entry for entry in invocations if not (entry.succeeded or entry.failed)]
        cut = len(ids) == COMPARED or reader.many_mentions(query)
        return Invocations(chosen[:limit] if limit else chosen, len(ids) if cut else 0)


def nearest(search: Callable[[Query], Hits], error: str) -> Hits:
    """What search finds for an error that is not among the recorded failures."""
    lines = errors.asked_lines(storable(error))
    return search(Query(" ".join(lines)[:QUESTION], limit=NEAREST, floor=True))


def _rank(fix: Fix) -> tuple[bool, bool, float, int]:
    return fix.works, bool(fix.fixed_at or fix.answer), round(fix.likeness, 1), fix.at
