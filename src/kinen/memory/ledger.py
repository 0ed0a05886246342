"""The ledger of a memory: what agents were told, and whether they used it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
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
from kinen.privacy import entrance
from kinen.recall.usefulness import Estimate, Trial, estimate_use
from kinen.text import estimate, iso, now

if TYPE_CHECKING:
    from kinen.journal.store import Journal
    from kinen.recall.errors import Remedy

AUDITED = 500
"""The newest injections that an audit looks at."""
SESSIONS = 500
"""The latest sessions that remedies are drawn from."""
AFTER = 40
"""Actions of the session after an injection in which what it names counts as used."""
BEFORE = 400
"""Actions before it that tell what the session had used already."""
LONGEST = 4_000
"""Characters of one action that are looked at."""


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
        session = self._only_open_session(agent)
        injection = ledger.Injection("mcp", agent, session, round(now() * 1000))
        injection.subject = tool
        injection.text = text
        injection.entries = list(dict.fromkeys(refs))
        self._reader.write(injection, estimate(text))

    def _only_open_session(self, agent: str) -> str:
        """The session that an agent has open, if it has only one: MCP does not name it."""
        if not os.path.exists(self._journal.path):
            return ""
        return only_open_session(self._journal.db, entrance.name(agent))

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

    def audit(self, *, session: str = "", agent: str = "", since: int = 0) -> Estimate:
        """How often the things that entries name were used, after they were told and without it."""
        chosen = self._reader.injections(Filter(session, agent, "", since), AUDITED)[0]
        return estimate_use(trial for injection in chosen for trial in self._trials(injection))

    def _trials(self, injection: Injection) -> Iterator[Trial]:
        if not injection.session or not self._journal.exists:
            return
        db = self._journal.db
        capsule = ids.key_id(injection.agent, injection.session)
        before = _actions(db, capsule, injection.at, later=False)
        after = _actions(db, capsule, injection.at, later=True)
        told = [(ref, True) for ref in injection.entries]
        dropped = [(ref, False) for ref, reason in injection.dropped if reason != "told before"]
        for ref, is_told in (*told, *dropped):
            text = _content(db, ref)
            if text:
                yield Trial(text, is_told, before, after)


def open_ledger(core: Core) -> Ledger:
    """The ledger of a space."""
    core.file("ledger.db")
    return Ledger(core.space.data, core.store)


def _remedy_text(remedy: Remedy) -> str:
    day = iso(remedy.at / 1000)[:10]
    return f"`{remedy.instead}` worked where `{remedy.command}` failed ({day}): {remedy.error}"


def _content(db: sqlite3.Connection, ref: str) -> str:
    """The text of an entry of the journal; of a file, its path."""
    kind, _, id_ = ref.partition(":")
    if kind not in queries.KINDS:
        return id_
    entry = queries.entry(db, kind, id_)
    return str(getattr(entry, "content", "")) if entry else ""


def _actions(db: sqlite3.Connection, capsule: str, at: int, *, later: bool) -> str:
    """The files, commands and changed lines of a session before or after a moment."""
    texts: list[str] = []
    for event in actions(db, capsule, at, AFTER if later else BEFORE, later=later):
        texts += events.files(event)
        texts.append(events.command(event))
        if event.kind == "file_diff":
            texts.append(event.content[:LONGEST])
    return "\n".join(texts)
