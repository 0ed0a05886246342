"""The ledger of a memory: what agents were told, and whether they used it."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kinen import ids
from kinen.journal import events, ledger, queries
from kinen.journal.ledger_queries import (
    Filter,
    Injection,
    Reader,
    Total,
    actions,
    last_closed,
    summaries_around,
)
from kinen.journal.queries import only_open_session
from kinen.memory.core import Core
from kinen.model.journal import Observation
from kinen.model.tuples import NamedTuple
from kinen.privacy import entrance
from kinen.recall.usefulness import (
    Estimate,
    Heard,
    Moment,
    Trial,
    estimate_use,
    told_lines,
)
from kinen.text import estimate, iso, now

if TYPE_CHECKING:
    from kinen.journal.store import Journal
    from kinen.recall.errors import Remedy

AUDITED = 500
"""The newest injections that an audit looks at."""
SESSIONS = 500
"""The latest sessions that remedies are drawn from."""
AFTER = 200
"""Actions and messages after an injection in which what it names counts as used."""
BEFORE = 400
"""Actions and messages before it that tell what the session had used already."""
LONGEST = 4_000
"""Characters of one action that are looked at."""


class Impact(NamedTuple):
    """Whether what agents were told was used, and what it cost."""

    use: Estimate
    repeats: int
    injections: int
    tokens: int


class Ledger:
    """What agents were told in one space."""

    def __init__(self, data: str, journal: Journal) -> None:
        self._reader = Reader(data)
        self._journal = journal

    def injections(
        self, *, session: str = "", agent: str = "", event: str = "", since: int = 0, limit: int = 0
    ) -> tuple[list[Injection], int]:
        """The injections that match, newest first, and their number; `since` is in milliseconds."""
        return self._reader.injections(Filter(session, agent, event, since), limit)

    def injection(self, name: str) -> Injection:
        """An injection by its id or the beginning of it."""
        return self._reader.injection(name)

    def short_ids(self) -> dict[str, str]:
        """Each id with its shortest unique beginning."""
        return self._reader.short_ids()

    def totals(
        self, *, session: str = "", agent: str = "", event: str = "", since: int = 0
    ) -> list[Total]:
        """Injections and tokens of each session, the last told first."""
        return self._reader.totals(Filter(session, agent, event, since))

    def record_answer(self, tool: str, agent: str, text: str, refs: Sequence[str]) -> None:
        """Record what an MCP tool answered; never fails, and does not wait for a busy ledger."""
        # MCP does not name the session: it is the one that the agent has open, if it has only one.
        session = ""
        if os.path.exists(self._journal.path):
            session = only_open_session(self._journal.db, entrance.name(agent))
        injection = ledger.Injection("mcp", agent, session, round(now() * 1000))
        injection.subject = tool
        injection.text = text
        injection.entries = list(dict.fromkeys(refs))
        self._reader.write(injection, estimate(text))

    def erase(self, refs: Sequence[str], texts: Sequence[str]) -> int:
        """Empty injections that cite some refs or contain some texts; returns their number."""
        return self._reader.erase([*refs, *summaries_around(self._journal.db, refs)], texts)

    def scrub(self) -> None:
        """Overwrite what was emptied in freed pages and the log."""
        self._reader.scrub()

    def learn_remedies(self) -> int:
        """Draw remedies from sessions that ended since the last time; returns how many are new."""
        if not self._journal.exists:
            return 0
        db = self._journal.db
        capsules = last_closed(db, SESSIONS)

        def read(capsule: str) -> list[tuple[str, str, str]]:
            from kinen.recall.errors import remedies

            return [
                (known.command, _remedy_text(known), known.ref)
                for known in remedies(queries.stream(db, capsule))
            ]

        return self._reader.learn_remedies(reversed(capsules), read)

    def impact(self, *, session: str = "", agent: str = "", since: int = 0) -> Impact:
        """How often what agents were told was used, and entries that were not told."""
        chosen = self._reader.injections(Filter(session, agent, "", since), AUDITED)[0]
        moments = {injection.id: self._moment(injection) for injection in chosen}
        traced = [(injection, moments[injection.id]) for injection in chosen]
        lines = [
            (line, moment)
            for injection, moment in traced
            if moment and injection.event != "mcp"
            for line in told_lines(injection.text)
        ]
        trials = [
            trial
            for injection, moment in traced
            if moment
            for trial in self._trials(injection, moment)
        ]
        return Impact(
            estimate_use(trials, lines),
            repeats(chosen, self._reader.compactions()),
            len(chosen),
            sum(injection.tokens for injection in chosen),
        )

    def _moment(self, injection: Injection) -> Moment | None:
        """What the session used and said before and after an injection; None if it is unknown."""
        if not injection.session or not self._journal.exists:
            return None
        db = self._journal.db
        capsule = ids.key_id(injection.agent, injection.session)
        before = list(actions(db, capsule, injection.at, BEFORE, later=False))
        after = list(actions(db, capsule, injection.at, AFTER, later=True))
        # The prompt that an injection answers is recorded after it.
        if injection.event == "UserPromptSubmit" and after and events.role(after[0]) == "user":
            before.append(after.pop(0))
        if not after:
            return None
        users = [event for event in after if events.role(event) == "user"]
        agents = [event for event in after if events.role(event) != "user"]
        return Moment(*(Heard(_used_in(part)) for part in (before, agents, users)))

    def _trials(self, injection: Injection, moment: Moment) -> Iterator[Trial]:
        db = self._journal.db
        told = [(ref, True) for ref in injection.entries]
        dropped = [(ref, False) for ref, reason in injection.dropped if reason != "told before"]
        for ref, is_told in (*told, *dropped):
            text, at = _content(db, ref)
            if text:
                days = (injection.at - at) / ledger.DAY_MS if at else 0
                yield Trial(text, is_told, moment, injection.event, days)


def open_ledger(core: Core) -> Ledger:
    """The ledger of a space."""
    core.file("ledger.db")
    return Ledger(core.space.data, core.store)


def _remedy_text(remedy: Remedy) -> str:
    day = iso(remedy.at / 1000)[:10]
    return f"`{remedy.instead}` worked where `{remedy.command}` failed ({day}): {remedy.error}"


def repeats(injections: Iterable[Injection], compactions: Mapping[tuple[str, str], int]) -> int:
    """Entries that a session was told again, unasked, while it still had them in its context."""
    told = Counter(
        (injection.agent, injection.session, ref)
        for injection in injections
        if injection.session
        and injection.event != "mcp"
        and injection.seq > compactions.get((injection.agent, injection.session), 0)
        for ref in injection.entries
    )
    return sum(times - 1 for times in told.values())


def _content(db: sqlite3.Connection, ref: str) -> tuple[str, int]:
    """The text of an entry of the journal and its time; of a file, its path."""
    kind, _, id_ = ref.partition(":")
    if kind not in queries.KINDS:
        return id_, 0
    entry = queries.entry(db, kind, id_)
    if entry is None:
        return "", 0
    return str(getattr(entry, "content", "")), int(getattr(entry, "ts", 0))


def _used_in(seen: Iterable[Observation]) -> str:
    """The files, commands, changed lines and messages of events."""
    texts: list[str] = []
    for event in seen:
        texts += events.files(event)
        texts.append(events.command(event))
        if event.kind in ("file_diff", "message"):
            texts.append(event.content[:LONGEST])
    return "\n".join(texts)
