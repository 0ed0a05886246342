"""One event of an agent, with the space that it happened in and the capsule that it is part of."""

from __future__ import annotations

import os
import time

from kinen import route
from kinen.agents.claude_code import Sieve, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any

    from kinen.agents.claude_code import Event, Said

    Work = Callable[[sqlite3.Connection], None]


class Session:
    """One event with the space that it happened in, and the capsule it belongs to."""

    def __init__(self, said: Said, agent: str) -> None:
        from kinen.journal import quick

        self.said, self.agent = said, agent
        self.here = _here(said)
        self.id = text_of(said, "session_id")
        self.capsule = quick.named(agent, self.id) if self.id else ""
        self.scope = (self.id, self.here.repo, agent)
        self.now = time.time_ns() // 1_000_000
        budget, _, prompted = self.here.hooks.partition(" ")
        self.budget, self.prompted = int(budget), prompted == "1"

    def begin(self, db: sqlite3.Connection, *, again: bool = False) -> bool:
        """Open the capsule, or go on with it."""
        from kinen.journal import quick

        return bool(self.id) and quick.begin(db, self.capsule, self.now, self.scope, again=again)

    def sieve(self) -> Sieve:
        return Sieve(lambda path: route.inside(self._full(path), self.here.tree, self.here.root))

    def _full(self, path: str) -> str:
        return os.path.join(text_of(self.said, "cwd"), os.path.expanduser(path))

    def keep(self, found: Event, sieve: Sieve, then: Work | None = None) -> None:
        """Write an observation, or spool it; `then` is done with the journal before that."""
        from kinen.journal import append, quick

        if self._private(found):
            return

        def work(db: sqlite3.Connection) -> None:
            self.begin(db, again=text_of(self.said, "hook_event_name") == "UserPromptSubmit")
            if then:
                then(db)

        branch, head = route.head(self.here.git, self.here.common)
        row = append.row(
            found.text,
            found.kind,
            self.now,
            sieve.found,
            id=quick.named(self.agent, *found.key) if found.key else "",
            provenance=_object(found.about),
            session=self.id,
            repo=self.here.repo,
            agent=self.agent,
            capsule=self.capsule,
            branch=branch,
            head=head,
            files=append.array(found.files),
        )
        append.keep(self.here.data, self.here.spool_folders, row, before=work)

    def journal(self, timeout_ms: int = 0) -> sqlite3.Connection | None:
        """The journal, if it can be opened now; it is left open, as `append.keep` leaves it."""
        import sqlite3

        from kinen.journal import append

        try:
            os.makedirs(self.here.data, mode=0o700, exist_ok=True)
            path = os.path.join(self.here.data, "journal.db")
            db = append.connect(path, timeout_ms or append.HOOK_MS)
        except (sqlite3.Error, OSError):
            return None
        append.held.append(db)
        return db

    def _private(self, found: Event) -> bool:
        """Whether it is about a path that is never captured; a word may only look like one."""
        globs, roots = self.here.excluded, (self.here.tree, self.here.root)
        for word in filter(None, found.mentions):
            full = self._full(word)
            path = route.inside(full, *roots) if "/" in word else word
            if route.excluded(path, globs) and ("/" in word or os.path.lexists(full)):
                return True
        return any(route.excluded(path, globs) for path in found.files)


def _here(said: Said) -> route.Route:
    """The space of the project that the agent works in, else of the folder that it is in.

    A folder that is gone, or whose space cannot be found out now, belongs where it did before.
    """
    from kinen.errors import KinenError, SpaceError

    home, fault = route.default_home(os.environ), SpaceError("no folder")
    for folder in (os.environ.get("CLAUDE_PROJECT_DIR", ""), text_of(said, "cwd")):
        there = folder
        while there and not os.path.isdir(there) and os.path.dirname(there) != there:
            there = os.path.dirname(there)
        known = route.last_known(home, folder) if there != folder else None
        if there and not known:
            try:
                os.chdir(there)
                return route.find(home, there)
            except SpaceError as error:
                fault = error
            except KinenError:
                known = route.last_known(home, there)
                if not known:
                    raise
        if known:
            return known
    raise fault


def _object(about: dict[str, Any]) -> str:
    """Provenance as JSON, keys in order: texts, numbers, and lists of texts."""
    from _json import encode_basestring

    from kinen.journal.append import array

    def written(value: Any) -> str:
        if isinstance(value, list):
            return array(value)
        known = {True: "true", False: "false"} if isinstance(value, bool) else {}
        return encode_basestring(value) if isinstance(value, str) else known.get(value, str(value))

    pairs = (f"{encode_basestring(key)}: {written(about[key])}" for key in sorted(about))
    return f"{{{', '.join(pairs)}}}"
