"""What people and agents keep of their work as files: checkpoints, plans, sessions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kinen.errors import (
    Ambiguous,
    Busy,
    EmbedError,
    NotFound,
    QueryError,
    StoreError,
    UnsafeFile,
)
from kinen.journal.admission import LONGEST, is_own, own_key
from kinen.memory.embedding import embed_record
from kinen.model.journal import Checkpoint, Plan
from kinen.model.records import Record
from kinen.privacy.injected import without_injected
from kinen.storage import inside
from kinen.text import now
from kinen.worklog import sessions as folders
from kinen.worklog.folder import Memories

if TYPE_CHECKING:
    from kinen.memory.consolidation import Consolidated, Consolidation
    from kinen.memory.core import Core
    from kinen.memory.index import Index
    from kinen.memory.records import Records
    from kinen.worklog.sessions import Session


class Worklog:
    """Checkpoints, plans and sessions."""

    def __init__(
        self, core: Core, index: Index, records: Records, consolidation: Callable[[], Consolidation]
    ) -> None:
        """`consolidation` is loaded for what writes: what only reads needs nothing of it."""
        self._core = core
        self._index = index
        self._records = records
        self._consolidation = consolidation

    def add_resource(
        self, file: str, *, to: str = "", tags: Sequence[str] = (), note: str = ""
    ) -> Record:
        """Copy a file into resources/, note its tags and note in the manifest, and index it.

        `file` may be an address of the web: what it answers is downloaded and kept as a file.
        """
        from kinen.sources.files import manifest
        from kinen.sources.web import download, is_url

        root = self._core.space.root
        if is_url(file):
            page = download(file, self._core.config.index.max_file_mb << 20)
            text = f"{note} (from {file})" if note else f"from {file}"
            added = manifest.add_data(root, page.name, page.data, to, tuple(tags), text)
        else:
            added = manifest.add(root, file, to, tuple(tags), note)
        self._index.sync(embed=False)
        problem = dict(self._index.skipped()).get(added.path, "")
        if problem and added.path not in self._index.partly_read():
            if added.new:  # a copy that no search finds would only be in the way
                manifest.remove(root, added.path)
                self.refresh()
            raise NotFound(f"{added.path} was not added: {problem}", "add one that kinen can read")
        record = self._records.get(added.path)
        with contextlib.suppress(Busy, EmbedError):  # full text has it; vectors come later
            embed_record(self._core, record.ref)
        return record

    def remove_resource(self, name: str) -> str:
        """Delete a file of resources/ with its tags and note; returns its path.

        `name` is a path, or the end of one if no other resource ends so.
        """
        from kinen.sources.files import manifest

        root = self._core.space.root
        path = self._records.resource_path(name)
        if not inside.is_file(root, path):
            raise NotFound(f"no resource {name!r}", "`kinen resources list` shows them")
        manifest.remove(root, path)
        self.refresh()
        return path

    @property
    def folder(self) -> Memories:
        return Memories(self._core.space.root, self._core.worktree)

    def checkpoint(
        self,
        text: str,
        *,
        tags: Sequence[str] = (),
        type: str = "",  # noqa: A002
        context: str = "",
        decision: str = "",
        alternatives: Sequence[str] = (),
        impact: str = "",
        evidence: Sequence[str] = (),
        symbols: Sequence[str] = (),
        next: str = "",  # noqa: A002
        confidence: int = 0,
        unknowns: Sequence[str] = (),
        plan: str | None = None,
    ) -> Checkpoint:
        """Write a checkpoint of the work as it stands, as a file that is searchable at once.

        Without `plan` it belongs to the active one. When enough of what was written is new,
        memories are drawn from it.
        """
        from kinen.consolidation.documents import from_checkpoint

        fields: dict[str, Any] = {
            "tags": tags,
            "type": type,
            "context": context,
            "decision": decision,
            "alternatives": alternatives,
            "impact": impact,
            "evidence": evidence,
            "symbols": symbols,
            "next": next,
            "confidence": confidence,
            "unknowns": unknowns,
        }
        if plan is not None:
            fields["plan"] = plan
        checkpoint, path = self.folder.save(without_injected(text), now=now(), **fields)
        self._note_own(path)
        self.refresh()
        with contextlib.suppress(StoreError):  # the file is written, whatever the journal is like
            findings = from_checkpoint(checkpoint, checkpoint.ref)
            self._consolidation().count_new(findings)
        return checkpoint

    def checkpoints(self, since: str = "", until: str = "") -> Iterable[Checkpoint]:
        """The checkpoints of a time, newest first; without those that are hidden."""
        hidden = self._index.sources.hidden()
        saved = self.folder.checkpoints(since, until)
        return (checkpoint for checkpoint in saved if checkpoint.ref not in hidden)

    def saved_checkpoint(self, name: str = "") -> Checkpoint:
        """A checkpoint by its id, the beginning of it, its ref or path; by default the newest."""
        wanted = name.removeprefix("checkpoint:").removeprefix("checkpoint_")
        near = []
        for checkpoint in self.checkpoints():
            if not name or wanted in (checkpoint.path, checkpoint.id):
                return checkpoint
            if checkpoint.id.removeprefix("checkpoint_").startswith(wanted):
                near.append(checkpoint)
        if not near:
            fact = f"no saved memory {name!r}" if name else "nothing saved yet"
            hint = "`kinen save --list` lists them" if name else "`kinen save TEXT` saves one"
            raise NotFound(fact, hint)
        ids = list(dict.fromkeys(checkpoint.id for checkpoint in near))
        if len(ids) > 1:
            raise Ambiguous(name, ids)
        return near[0]

    def check_plan(self, number: int, id: str = "", *, done: bool = True) -> Plan:  # noqa: A002
        """Tick off a step of a plan (default: the active one), or with `done` false clear it."""
        plan = self.plan(id)
        if plan is None:
            raise NotFound(
                "no plan is active",
                "`kinen plan list` lists plans, `kinen plan activate ID` makes one active",
            )
        with self.editing(plan.path):
            updated = self.folder.check(plan.id, number, done=done, now=now())
        self.refresh()
        return updated

    @contextlib.contextmanager
    def editing(self, path: str) -> Iterator[None]:
        """Change a file in a block; one that kinen wrote on this machine stays known as such.

        A file of somebody else stays theirs, whichever of its lines is changed here.
        """
        own = False
        with contextlib.suppress(StoreError, OSError, UnsafeFile):
            store = self._core.store
            own = store.exists and is_own(store.db, self._bytes(path))
        yield
        if own:
            self._note_own(path)

    def _note_own(self, path: str) -> None:
        """Note in the journal that kinen wrote a file here, so that session starts tell of it."""
        with contextlib.suppress(StoreError, OSError, UnsafeFile):
            self._core.store.note({own_key(self._bytes(path)): path})

    def _bytes(self, path: str) -> bytes:
        return inside.read(self._core.space.root, path, LONGEST, cut=True)

    def refresh(self) -> None:
        """Have full text know what was just written; vectors come with the next sync.

        The file is there whatever happens here, so that nobody should write it once more.
        """
        with contextlib.suppress(StoreError):
            self._index.sync(embed=False, wait=1.0)

    def plans(self) -> list[Plan]:
        """Plans, the latest changed first; without those that are hidden."""
        hidden = self._index.sources.hidden()
        return [plan for plan in self.folder.plans() if plan.ref not in hidden]

    def plan(self, id: str = "") -> Plan | None:  # noqa: A002
        """A plan by its id, or the one that is being worked on; none that is hidden."""
        plan = self.folder.plan(id) if id else self.folder.current()
        return plan if plan and plan.ref not in self._index.sources.hidden() else None

    def save_plan(
        self,
        title: str,
        text: str,
        *,
        id: str = "",  # noqa: A002
        tags: Sequence[str] = (),
        activate: bool = False,
    ) -> Plan:
        """A new plan; with `activate`, the one that is worked on from now on."""
        plan = self.folder.save_plan(title, text, now=now(), id=id, tags=tags, activate=activate)
        self._note_own(plan.path)
        self.refresh()
        return plan

    def update_plan(
        self,
        id: str,  # noqa: A002
        *,
        title: str | None = None,
        text: str | None = None,
        tags: Sequence[str] | None = None,
        status: str | None = None,
    ) -> Plan:
        """Change the title, text, tags or status of a plan; None leaves it as it is."""
        folder = self.folder
        with self.editing(folder.plan(id).path):
            plan = folder.update_plan(
                id, now=now(), title=title, text=text, tags=tags, status=status
            )
        self.refresh()
        return plan

    def activate_plan(self, id: str) -> Plan:  # noqa: A002
        """Work on this plan from now on."""
        return self.folder.activate(id)

    def sessions(self) -> list[Session]:
        """The sessions of the space, newest first."""
        return folders.sessions(self._core.space.root)

    def session(self, name: str = "") -> Session:
        """A session by its name or a part of it; without one, the newest that goes on."""
        return folders.session(self._core.space.root, name)

    def new_session(self, title: str) -> str:
        """Make the folder and files of a session; its path."""
        path = folders.new_session(self._core.space.root, title, now())
        self.refresh()
        return path

    def new_round(self, title: str, session: str = "") -> str:
        """Write the next round of a session, ready to be filled in; its path."""
        path = folders.new_round(self._core.space.root, title, now(), session)
        self.refresh()
        return path

    def close_session(self, name: str = "") -> tuple[Session, Consolidated]:
        """Say that a session is complete, sum it up, and draw memories from it."""
        from kinen.memory.consolidation import Consolidated

        folder = self.session(name)
        if folder.ended:
            raise QueryError(
                f"{folder.name} is {folder.status} already", "`kinen session show` has it"
            )
        on = self._core.config.consolidation.on_session_close
        consolidation = self._consolidation()
        done = consolidation.consolidate(session=folder.name) if on else Consolidated(())
        lines = [
            f"- {memory.content}"
            for memory in consolidation.drawn_from(folder.name)
            if memory.type == "decision"
        ]
        text = "\n".join(["## Decided", "", *lines]) if lines else ""
        listed = [
            f"- [[{path.removesuffix('.md')}]]" for path in (*folder.rounds, *folder.artifacts)
        ]
        text += "\n\n" + "\n".join(["## In it", "", *listed]) if listed else ""
        folders.close_session(self._core.space.root, folder, text.strip(), now())
        self.refresh()
        return self.session(folder.name), done
