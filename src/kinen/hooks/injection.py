"""The context that hooks give to an agent, and its ledger. Hooks load this module: it is light.

No function here raises: a ledger that cannot be read or written changes nothing for the agent.
"""

from __future__ import annotations

from kinen.journal import ledger
from kinen.text import estimate

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kinen.hooks.event import Session

CLEARED = ("compact", "clear")
"""Sources of a session start after which no earlier injection is in the context."""


class Context:
    """The entries from kinen that are in the context of a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.database: sqlite3.Connection | None
        try:
            self.database = ledger.connect(session.here.data)
        except Exception:  # no ledger: the hook does its work without
            self.database = None
        self.refs: set[str] = set()
        self.texts: list[str] = []

    def has_started(self) -> bool:
        """Whether the session was told its brief; True where that cannot be known."""
        if self.database is None:
            return True
        try:
            return ledger.has_told(
                self.database, "SessionStart", self.session.agent, self.session.id
            )
        except Exception:
            return True

    def load(self) -> None:
        """Read the injections since the last compaction of the session."""
        if self.database is None or not self.session.id:
            return
        try:
            entries = ledger.in_context(self.database, self.session.agent, self.session.id)
        except Exception:
            self.database = None
            return
        self.refs, self.texts = entries

    def has(self, ref: str, text: str) -> bool:
        """Whether an entry is in the context, by its ref or as part of another text."""
        return ref in self.refs or any(text in injected for injected in self.texts)

    def forget(self) -> None:
        """Note that the context is lost, as by a compaction."""
        if self.database is None or not self.session.id:
            return
        try:
            ledger.forget_context(self.database, self.session.agent, self.session.id)
        except Exception:
            self.database = None

    def injection(self, event: str) -> ledger.Injection:
        return ledger.Injection(event, self.session.agent, self.session.id, self.session.now)

    def record(self, injection: ledger.Injection) -> bool:
        """Write an injection with a text; whether that could be done."""
        if self.database is None or not injection.text:
            return False
        try:
            ledger.write(self.database, injection, estimate(injection.text))
        except Exception:
            return False
        return True
