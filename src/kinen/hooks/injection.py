"""What a hook tells an agent, and the ledger of it; light, as all that hooks load.

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
"""Sources of a session start after which nothing that was told before is in the context."""


class Context:
    """What the session of an event has in its context of what kinen told it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.database = self._connect()
        self.refs: set[str] = set()
        self.texts: list[str] = []

    def _connect(self) -> sqlite3.Connection | None:
        try:
            return ledger.connect(self._session.here.data)
        except Exception:  # no ledger: the hook does its work without
            return None

    def load(self) -> None:
        """Read what the session was told since its last compaction."""
        if self.database is None or not self._session.id:
            return
        try:
            found = ledger.in_context(self.database, self._session.agent, self._session.id)
        except Exception:
            self.database = None
            return
        self.refs, self.texts = found

    def has(self, ref: str, text: str) -> bool:
        """Whether the session was told an entry, by itself or in the words of another."""
        return ref in self.refs or any(text in told for told in self.texts)

    def forget(self) -> None:
        """Note that the context is lost, as by a compaction."""
        if self.database is None or not self._session.id:
            return
        try:
            ledger.forget_context(self.database, self._session.agent, self._session.id)
        except Exception:
            self.database = None

    def injection(self, event: str) -> ledger.Injection:
        return ledger.Injection(event, self._session.agent, self._session.id, self._session.now)

    def record(self, injection: ledger.Injection) -> bool:
        """Write an injection with a text; whether that could be done."""
        if self.database is None or not injection.text:
            return False
        try:
            ledger.write(self.database, injection, estimate(injection.text))
        except Exception:
            return False
        return True
