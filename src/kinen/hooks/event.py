"""One event of an agent, with the space that it happened in and the capsule that it is part of."""

from __future__ import annotations

import os

from kinen import ids, paths
from kinen.agents import claude_code
from kinen.agents.tool_use import LONGEST_PATH, Sieve, is_private, text_of
from kinen.hooks.payload import CUT
from kinen.privacy.entrance import name
from kinen.space import route

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from kinen.agents.claude_code import Payload
    from kinen.agents.client import Client
    from kinen.agents.tool_use import Draft
    from kinen.agents.transcripts.session import Event
    from kinen.journal.schema import Row

    Work = Callable[[sqlite3.Connection], None]


LATE = 60_000
"""Milliseconds by which the hook of an event may come later."""


class Session:
    """One event with the space that it happened in, and the capsule it belongs to."""

    def __init__(self, payload: Payload, client: Client, client_event: str = "") -> None:
        self.payload = payload
        self.agent = client.name
        self.client = client
        self.event = text_of(payload, "hook_event_name")
        self.client_event = client_event or self.event
        """The event as the client calls it, which its answer has to repeat."""
        self.folder = text_of(payload, "cwd")
        self.id = name(text_of(payload, "session_id"))
        self.here = _here(self.folder, self.client)
        self.settled = False
        """Whether the event is on disk, or must not be stored."""
        size = payload.get(CUT)
        self.remark = f"\n[cut: {size / 1e6:.0f} MB]" if isinstance(size, int) else ""
        self.capsule = ids.key_id(self.agent, self.id) if self.id else ""
        self.scope = (self.id, self.here.repo, self.agent)
        self.now = ids.milliseconds()
        at = payload.get("at")  # a plugin of ours says when it was, since it does not wait
        if isinstance(at, int) and self.now - LATE < at < self.now:
            self.now = at
        self.budget = int(self.here.budget)
        self.prompted = self.here.on_prompt == "1"
        self.before_tools = self.here.before_tools == "1"
        self.asks = self.here.asks

    def begin(self, db: sqlite3.Connection, *, again: bool = False, client: str = "") -> bool:
        """Open the capsule, or go on with it, in the process of a client."""
        from kinen.journal import capsules

        return bool(self.id) and capsules.begin(
            db, self.capsule, self.now, self.scope, again=again, client=client
        )

    def sieve(self) -> Sieve:
        return Sieve(self._place)

    def _place(self, path: str) -> str:
        """A path relative to the space; text too long for a path is returned unchanged.

        Without a space it is absolute: nobody knows yet what it will be relative to.
        """
        if len(path) > LONGEST_PATH:
            return path
        roots = (self.here.tree, self.here.root) if self.here.data else ()
        return paths.inside(os.path.join(self.folder, os.path.expanduser(path)), *roots)

    def keep(self, event: Draft, sieve: Sieve, then: Work | None = None) -> None:
        """Write an observation, or spool it; `then` is done with the journal before that."""
        from kinen.journal import write

        roots = (self.here.tree, self.here.root)
        files = event.files
        if not self.here.data:
            files = [paths.inside(path, *roots) for path in files]
        if is_private(files, event.mentions, self.here.excluded, self.folder, roots):
            self.settled = True
            return

        def work(db: sqlite3.Connection) -> None:
            self.begin(db, again=self.event == "UserPromptSubmit")
            if then:
                then(db)

        row = write.observation_row(
            event.text + self.remark,
            event.kind,
            self.now,
            git_folders=(self.here.git, self.here.common),
            masked_before=sieve.masked,
            id=ids.key_id(self.agent, *event.key) if event.key else "",
            provenance=event.provenance,
            session=self.id,
            repo=self.here.repo,
            agent=self.agent,
            capsule=self.capsule,
            files=event.files,
        )
        if self.here.data:
            write.keep(self.here.data, self.here.spool_folders, row, before=work)
        else:
            self._wait(row, event.mentions)
        self.settled = True

    def late_row(self, event: Event) -> Row | None:
        """The row of a use of a tool in a transcript, with the id that its own event has.

        None for what is no such use or is never captured. What was checked out then is not known.
        """
        from kinen.journal import write

        call = event.provenance.get("toolUseId")
        roots = (self.here.tree, self.here.root)
        hidden = is_private(event.files, event.mentions, self.here.excluded, self.folder, roots)
        if hidden or not call:
            return None
        return write.row(
            event.content,
            event.kind,
            event.ts,
            masked_before=dict(event.masked),
            id=ids.key_id(self.agent, call),
            provenance=dict(event.provenance),
            session=self.id,
            repo=self.here.repo,
            agent=self.agent,
            capsule=self.capsule,
            branch=event.branch,
            files=event.files,
        )

    def _wait(self, row: Row, mentions: Sequence[str] = ()) -> None:
        """Keep an observation until its folder is in a space."""
        from kinen.agents.adopt import early_row
        from kinen.space import early

        home = paths.default_home(os.environ)
        folder = self.here.root
        early.put(home, folder, str(row[0]), early_row(row, mentions, self.folder))
        if self.event == "UserPromptSubmit":  # a session that goes on has not ended
            early.discard(os.path.join(early.place(home, folder), self.capsule + early.END))

    def end_early(self) -> None:
        """Note that the session has ended, for when its folder is in a space."""
        from kinen.space import early

        home = paths.default_home(os.environ)
        end = {"capsule": self.capsule, "at": self.now}
        if self.id:
            early.put(home, self.here.root, self.capsule + early.END, end)

    def adopt(self) -> bool:
        """Take in what happened before there was a space; whether a session has ended in it."""
        from kinen.agents.adopt import adopt
        from kinen.space import early

        here = self.here
        spool = here.spool_folders[0]
        adopt(here.early, spool, here.repo, here.excluded, here.tree, here.root)
        return any(map(early.ends, here.early))

    def rescue(self) -> None:
        """Store the texts of an event whose handler failed, or else a remark that there was one.

        Text that could not be masked is not stored.
        """
        if self.settled:
            return
        try:
            sieve = self.sieve()
            event = claude_code.rescued(self.payload, sieve)
            if event is not None:
                self.keep(event, sieve)
        except Exception:
            from kinen.journal.schema import COLUMNS
            from kinen.journal.spool import put

            text = f"[{self.event}: its text could not be masked and is not kept]"
            values: dict[str, str | int] = {"provenance": "{}", "files": "[]", "masked": "{}"}
            values.update(id=ids.ulid(), kind="message", content=text, ts=self.now)
            values.update(capsule=self.capsule, agent=self.agent)
            row = tuple(values.get(column, "") for column in COLUMNS)
            if self.here.data:
                put(self.here.spool_folders[0], row)
            else:
                self._wait(row)

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


def _here(working_folder: str, client: Client) -> route.Route:
    """The space of the project that the agent works in, else of the folder that it is in.

    A deleted folder, or one whose space cannot be determined now, keeps its last known route. What
    happens where no space can be found waits for one: see `route.without_space`.
    """
    from kinen.errors import SpaceError

    home = paths.default_home(os.environ)
    fault: Exception = SpaceError("no folder")
    outside: list[str] = []
    candidates = (os.environ.get(client.project_variable, ""), working_folder)
    folders = [path for path in candidates if os.path.isabs(path) and len(path) <= LONGEST_PATH]
    if not folders:
        try:
            folders = [os.getcwd()]
        except OSError:
            raise fault from None
    for folder in folders:
        there = folder
        while there and not os.path.isdir(there) and os.path.dirname(there) != there:
            there = os.path.dirname(there)
        last_route = route.last_known(home, folder) if there != folder else None
        if there and not last_route:
            try:
                os.chdir(there)
                return route.find(home, there)
            except SpaceError as error:
                fault = error
            except Exception as error:  # whatever it is: the event must not be lost
                fault = error
                last_route = route.last_known(home, there)
            outside.append(there)
        if last_route:
            return last_route
    for folder in outside:
        waiting = route.without_space(home, folder, fault)
        if waiting:
            return waiting
    raise fault
