"""What people and agents keep of their work as files: checkpoints, plans, sessions."""

from __future__ import annotations

import contextlib
import os
from typing import IO, TYPE_CHECKING, Any

from kinen.errors import StoreError
from kinen.memory.recall import Recalling
from kinen.privacy.injected import without_injected
from kinen.text import now

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinen.model.journal import Checkpoint, Plan
    from kinen.transfer.bundle import Loaded
    from kinen.worklog.folder import Memories
    from kinen.worklog.sessions import Session

    Path = str | os.PathLike[str]


class Working(Recalling):
    """Checkpoints, plans and sessions."""

    @property
    def _memories(self) -> Memories:
        from kinen.worklog.folder import Memories

        return Memories(self.space.root, self._worktree)

    def checkpoint(self, text: str, **said: Any) -> Checkpoint:
        """Keep a checkpoint of the work as it stands, as a file that is searchable at once.

        Besides the text: tags type context decision alternatives impact evidence symbols next
        confidence unknowns.
        """
        made, _ = self._memories.save(without_injected(text), now=now(), **said)
        self._written()
        return made

    def checkpoints(self, since: str = "", until: str = "") -> Iterable[Checkpoint]:
        """The checkpoints of a time, newest first."""
        return self._memories.checkpoints(since, until)

    def load(self, file: Path | IO[bytes], **how: Any) -> Loaded:
        """Take in a bundle of kinen or Kindling, a Kindling database, or Goldfish's checkpoints."""
        from kinen.transfer.goldfish import is_goldfish

        if isinstance(file, (str, os.PathLike)) and is_goldfish(os.fspath(file)):
            return self._load_checkpoints(os.fspath(file), dry_run=how.get("dry_run", False))
        return super().load(file, **how)

    def _load_checkpoints(self, path: str, *, dry_run: bool) -> Loaded:
        """Write what is not there yet, each to a file of its own."""
        from kinen.transfer.bundle import Loaded
        from kinen.transfer.goldfish import older

        memories, new, known, warnings = self._memories, 0, 0, list[str]()
        ids = {one.id for one in memories.checkpoints()}
        for one in older(path, warnings):
            there = one.id in ids or (not dry_run and memories.add(one) is None)
            known, new = known + there, new + (not there)
            ids.add(one.id)
        if new and not dry_run:
            self._written()
        noun = "checkpoints"
        return Loaded({noun: new}, {noun: known}, {}, 0, 0, {}, tuple(warnings))

    def _written(self) -> None:
        """Have full text know what was just written; vectors come with the next sync.

        The file is there whatever happens here, so that nobody should write it once more.
        """
        with contextlib.suppress(StoreError):
            self.sync(embed=False, wait=1.0)

    # Plans

    def plans(self) -> list[Plan]:
        """Plans, the latest changed first; one of them may be the current one."""
        return self._memories.plans()

    def plan(self, id: str = "") -> Plan | None:  # noqa: A002
        """A plan by its id, or the one that is being worked on."""
        return self._memories.plan(id) if id else self._memories.current()

    def save_plan(self, title: str, text: str, **said: Any) -> Plan:
        """A new plan; with `activate`, the one that is worked on from now on."""
        plan = self._memories.save_plan(title, text, now=now(), **said)
        self._written()
        return plan

    def update_plan(self, id: str, **said: Any) -> Plan:  # noqa: A002
        """Change the title, text, tags or status of a plan."""
        plan = self._memories.update_plan(id, now=now(), **said)
        self._written()
        return plan

    def activate_plan(self, id: str) -> Plan:  # noqa: A002
        """Work on this plan from now on."""
        return self._memories.activate(id)

    # Sessions

    def sessions(self) -> list[Session]:
        """The sessions of the space, newest first."""
        from kinen.worklog import sessions as folders

        return folders.sessions(self.space.root)

    def session(self, name: str = "") -> Session:
        """A session by its name or a part of it; without one, the newest that goes on."""
        from kinen.worklog import sessions as folders

        return folders.session(self.space.root, name)

    def new_session(self, title: str) -> str:
        """Make the folder and files of a session; its path."""
        from kinen.worklog import sessions as folders

        path = folders.new_session(self.space.root, title, now())
        self._written()
        return path

    def new_round(self, title: str, session: str = "") -> str:
        """Write the next round of a session, ready to be filled in; its path."""
        from kinen.worklog import sessions as folders

        path = folders.new_round(self.space.root, title, now(), session)
        self._written()
        return path
