"""One event of an agent, with the space that it happened in and the capsule that it is part of."""

from __future__ import annotations

import os
import time

from kinen import ids, paths
from kinen.agents import claude_code
from kinen.agents.tool_use import LONGEST_PATH, Sieve, is_private, text_of
from kinen.hooks.payload import CUT
from kinen.privacy.entrance import name
from kinen.space import route

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from kinen.agents.claude_code import Event
    from kinen.agents.claude_code import Payload as Said

    Work = Callable[[sqlite3.Connection], None]


class Session:
    """One event with the space that it happened in, and the capsule it belongs to."""

    def __init__(self, said: Said, agent: str) -> None:
        self.said, self.agent = said, agent
        self.here = _here(said)
        self.id = name(text_of(said, "session_id"))
        self.kept = False
        """Whether what happened is on disk, or is not to be kept."""
        size = said.get(CUT)
        self.remark = f"\n[cut: {size / 1e6:.0f} MB]" if isinstance(size, int) else ""
        self.capsule = ids.key_id(agent, self.id) if self.id else ""
        self.scope = (self.id, self.here.repo, agent)
        self.now = time.time_ns() // 1_000_000
        budget, prompted, before_tools = self.here.hooks.split(" ")
        self.budget = int(budget)
        self.prompted = prompted == "1"
        self.before_tools = before_tools == "1"

    def begin(self, db: sqlite3.Connection, *, again: bool = False) -> bool:
        """Open the capsule, or go on with it."""
        from kinen.journal import capsules

        return bool(self.id) and capsules.begin(db, self.capsule, self.now, self.scope, again=again)

    def sieve(self) -> Sieve:
        return Sieve(self._place)

    def _place(self, path: str) -> str:
        """A path as the space knows it; what is too long to be one stays as it is."""
        if len(path) > LONGEST_PATH:
            return path
        return paths.inside(self._full(path), self.here.tree, self.here.root)

    def _full(self, path: str) -> str:
        return os.path.join(text_of(self.said, "cwd"), os.path.expanduser(path))

    def keep(self, found: Event, sieve: Sieve, then: Work | None = None) -> None:
        """Write an observation, or spool it; `then` is done with the journal before that."""
        from kinen.journal import write
        from kinen.journal.observe import observation_row

        if self._private(found):
            self.kept = True
            return

        def work(db: sqlite3.Connection) -> None:
            self.begin(db, again=text_of(self.said, "hook_event_name") == "UserPromptSubmit")
            if then:
                then(db)

        row = observation_row(
            found.text + self.remark,
            found.kind,
            self.now,
            git_folders=(self.here.git, self.here.common),
            masked_before=sieve.masked,
            id=ids.key_id(self.agent, *found.key) if found.key else "",
            provenance=found.provenance,
            session=self.id,
            repo=self.here.repo,
            agent=self.agent,
            capsule=self.capsule,
            files=found.files,
        )
        write.keep(self.here.data, self.here.spool_folders, row, before=work)
        self.kept = True

    def rescue(self) -> None:
        """Keep an event that could not be handled: its words, else that there was one.

        Nothing of it is kept that could not be masked.
        """
        if self.kept:
            return
        try:
            sieve = self.sieve()
            found = claude_code.rescued(self.said, sieve)
            if found is not None:
                self.keep(found, sieve)
        except Exception:
            self._spool_remark()

    def _spool_remark(self) -> None:
        from kinen.journal.schema import COLUMNS
        from kinen.journal.spool import put

        event = text_of(self.said, "hook_event_name")
        text = f"[{event}: its text could not be masked and is not kept]"
        values: dict[str, str | int] = {"provenance": "{}", "files": "[]", "masked": "{}"}
        values.update(id=ids.ulid(), kind="message", content=text, ts=self.now)
        values.update(capsule=self.capsule, agent=self.agent)
        put(self.here.spool_folders[0], tuple(values.get(one, "") for one in COLUMNS))

    def journal(self, timeout_ms: int = 0) -> sqlite3.Connection | None:
        """The journal, if it can be opened now; it is left open, as `append.keep` leaves it."""
        from kinen.journal import write
        from kinen.storage import private
        from kinen.storage.sqlite import sqlite3

        try:
            private.folder(self.here.data)
            path = os.path.join(self.here.data, "journal.db")
            db = write.connect(path, timeout_ms or write.HOOK_MS)
        except (sqlite3.Error, OSError):
            return None
        write.open_connections.append(db)
        return db

    def _private(self, found: Event) -> bool:
        folder = text_of(self.said, "cwd")
        roots = (self.here.tree, self.here.root)
        return is_private(found.files, found.mentions, self.here.excluded, folder, roots)


def _folders(said: Said) -> list[str]:
    """The folders that an event may belong to, the likeliest first.

    Where the client names none that can be one, it is the folder that it runs the hook in.
    """
    given = (os.environ.get("CLAUDE_PROJECT_DIR", ""), text_of(said, "cwd"))
    usable = [one for one in given if os.path.isabs(one) and len(one) <= LONGEST_PATH]
    try:
        return usable or [os.getcwd()]
    except OSError:
        return []


def _here(said: Said) -> route.Route:
    """The space of the project that the agent works in, else of the folder that it is in.

    A folder that is gone, or whose space cannot be found out now, belongs where it did before.
    """
    from kinen.errors import KinenError, SpaceError

    home, fault = paths.default_home(os.environ), SpaceError("no folder")
    for folder in _folders(said):
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
