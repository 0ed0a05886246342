"""Files that the journal is exported to and imported from."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shlex
from typing import IO, TYPE_CHECKING, Literal, cast

from kinen.errors import KinenError, NotFound, QueryError, Unreadable
from kinen.extract.decode import decode
from kinen.journal.queries import require
from kinen.journal.selection import Filter, Selection, hidden_paths
from kinen.privacy import entrance
from kinen.space.repository import main_folder
from kinen.storage import atomic, inside, private
from kinen.text import iso, now
from kinen.transfer import bundle, goldfish, kindling
from kinen.transfer.bundle import BundleWriter, bundle_in, export, own_key, sealing_key
from kinen.transfer.documents import DocumentIntake, documents
from kinen.transfer.intake import Conflict, Loaded
from kinen.transfer.sections import encode
from kinen.transfer.stream import file_name
from kinen.worklog.folder import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kinen.memory.core import Core
    from kinen.memory.records import Records
    from kinen.memory.worklog import Worklog
    from kinen.model.records import Edge

    Form = Literal["json", "jsonl", "html"]
    Path = str | os.PathLike[str]
    Progress = Callable[[int], None]


LISTED = 50
"""Workspaces of other projects that an import lists by name."""


class Bundles:
    """Writes and reads the files of a space's journal."""

    def __init__(self, core: Core, records: Records, worklog: Worklog) -> None:
        self._core = core
        self._records = records
        self._worklog = worklog

    def write(
        self,
        out: Path | IO[str],
        scope: Mapping[str, str],
        *,
        after: int,
        before: int,
        form: Form,
        compress: bool,
    ) -> dict[str, int]:
        """Write a bundle; see `Transfer.export`."""
        store = self._core.store
        scope = {**scope, "session": self._session_name(scope["session"])}
        require(store.db if store.exists else None, **scope)
        names = {column: entrance.name(value) for column, value in scope.items()}
        only = Filter(after=after, before=before, shared=form == "html", **names)
        moment = os.environ.get("SOURCE_DATE_EPOCH", "")
        at = int(moment) * 1000 if moment.isdecimal() else round(now() * 1000)

        def write_to(target: IO[str]) -> dict[str, int]:
            if form == "html":
                return self._write_page(target, only, at)
            key = sealing_key(self._core.space.home)
            return export(store.db, target.write, only=only, form=form, exported_at=at, key=key)

        if not isinstance(out, (str, os.PathLike)):
            return write_to(out)
        path = os.fspath(out)
        is_device = os.path.exists(path) and not os.path.isfile(path)  # nothing to replace
        with open(path, "wb") if is_device else atomic.Draft(path, private.FILE_MODE) as file:
            packed = compress or path.endswith(".gz")
            # No name and no time in the header: the same journal gives the same bytes.
            stream = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else file
            out_bytes = cast("IO[bytes]", stream)
            text = io.TextIOWrapper(out_bytes, "utf-8", "surrogatepass", newline="\n")
            counts = write_to(text)
            text.detach()  # flushes, and leaves the file open
            if packed:
                stream.close()
        return counts

    def _session_name(self, name: str) -> str:
        """The client's id of a session, which may be named by its capsule."""
        store = self._core.store
        if name and store.exists:
            with contextlib.suppress(NotFound):
                require(store.db, session=name)
                return name
            with contextlib.suppress(KinenError):
                capsule = store.entry(*store.resolve(f"capsule:{name.removeprefix('capsule:')}"))
                return capsule.scope.session or name
        return name

    def _write_page(self, target: IO[str], only: Filter, at: int) -> dict[str, int]:
        """Write a page with lines of a bundle in it, and with checkpoints, plans and links."""
        edges: list[Edge] = []
        if inside.is_folder(self._core.space.root, FOLDER):
            with contextlib.suppress(KinenError):  # without its index, a space has no links
                edges = self._records.graph()  # may write, so before the journal is read
        from kinen.render.export import ExportPage

        store = self._core.store
        selection = Selection(store.db, only)
        with selection.snapshot():
            held = list(self._documents(only))
            refs = {ref for _, ref, _ in held}
            near = [edge for edge in edges if edge.source in refs or edge.target in refs]
            links = [
                encode({"from": edge.source, "to": edge.target, "text": entrance.name(edge.text)})
                for edge in near
            ]
            members = [(noun, text) for noun, _, text in held]
            counts: dict[str, int] = {}

            def write_bundle() -> None:
                writer = BundleWriter(target.write)
                counts.update(
                    bundle.write_lines(
                        selection,
                        writer.write,
                        exported_at=at,
                        key=sealing_key(self._core.space.home),
                        space=self._core.space.name,
                        documents=[*members, *(("link", text) for text in links)],
                    )
                )
                writer.close()

            parsed = [(noun, ref, json.loads(text)) for noun, ref, text in held]
            tags: dict[str, set[str]] = {}
            for path, op, tag in selection.rows("tag_ops", ("path", "op", "tag")):
                (set.add if op == "+" else set.discard)(tags.setdefault(path, set()), tag)
            part = ", ".join(
                f"{name} {iso(value / 1000)[:16] if isinstance(value, int) else value}"
                for name, value in bundle.filter_header(only).items()
            )
            about = {
                "Space": self._core.space.name,
                "Exported": iso(at / 1000)[:16].replace("T", " "),
                "Part": part or "everything",
            }
            page = ExportPage(selection, parsed, near, tags)
            page.write(target.write, about, write_bundle)
        return counts

    def _documents(self, only: Filter) -> Iterator[tuple[str, str, str]]:
        """Checkpoints and plans: the noun, ref and JSON of each.

        Nothing says which session or agent they are of, so a part of the journal has none of them,
        unless it is that of a time.
        """
        if any((only.session, only.repo, only.agent, only.user)):
            return
        hidden = hidden_paths(self._core.store.db)
        since = iso(only.after / 1000) if only.after else ""
        until = iso(only.before / 1000) if only.before else ""
        yield from documents(self._worklog.folder, since, until, hidden)

    def load(
        self,
        file: Path | IO[bytes],
        on_conflict: Conflict,
        *,
        dry_run: bool,
        progress: Progress | None,
    ) -> Loaded:
        """Import a file of any kind that `Transfer.load` takes."""
        store = self._core.store
        if not isinstance(file, (str, os.PathLike)):
            with store.translated():
                return self._load_bundle(file, on_conflict, dry_run=dry_run, progress=progress)
        path = os.fspath(file)
        if not bundle.is_bundle(path) and goldfish.is_goldfish(path):
            return self._load_checkpoints(path, dry_run=dry_run)
        if os.path.isdir(path):
            hint = "give a bundle, a Kindling database, or a folder with checkpoints of Goldfish"
            raise QueryError(f"nothing to import in {path}", hint)
        with store.translated():
            if kindling.is_kindling(path):
                return kindling.load_database(store.db, path, conflict=on_conflict, dry_run=dry_run)
            with open(path, "rb") as opened:
                return self._load_bundle(opened, on_conflict, dry_run=dry_run, progress=progress)

    def _load_bundle(
        self, file: IO[bytes], on_conflict: Conflict, *, dry_run: bool, progress: Progress | None
    ) -> Loaded:
        """Import the bundle in a file; of its documents, each that is missing becomes a file."""
        refuse = on_conflict == "error"
        intake = DocumentIntake(self._worklog.folder, file_name(file), refuse=refuse)
        with bundle_in(file) as data:
            loaded = bundle.load(
                self._core.store.db,
                data,
                conflict=on_conflict,
                dry_run=dry_run,
                progress=progress,
                documents=intake.takers(),
                key=own_key(self._core.space.home),
            )
        if not dry_run and intake.store():
            self._worklog.refresh()
        return loaded._replace(
            added={**loaded.added, **intake.added}, skipped={**loaded.skipped, **intake.skipped}
        )

    def _load_checkpoints(self, path: str, *, dry_run: bool) -> Loaded:
        """Write each checkpoint that is missing to its own file.

        Of a folder with the workspaces of several projects, only that of this one is imported.
        """
        memories = self._worklog.folder
        root = self._core.space.root
        new = {"checkpoints": 0}
        present = {"checkpoints": 0}
        warnings: list[str] = []
        ids = {checkpoint.id for checkpoint in memories.checkpoints()}
        secrets = 0
        own = (root, main_folder(root))
        everything = goldfish.workspaces(path)
        places = [place for place in everything if place == path or goldfish.is_of(place, *own)]
        others = [place for place in everything if place not in places]
        if not places:
            wanted = " or ".join(dict.fromkeys(os.path.basename(folder) for folder in own))
            command = shlex.join(["kinen", "import", os.path.abspath(others[0])])
            fact = (
                f"no workspace of this project in {path}: none of {len(others):,} is named {wanted}"
            )
            raise NotFound(fact, f"to take another: {command}")
        for place in places:
            for checkpoint in goldfish.older(place, warnings):
                there = checkpoint.id in ids or (not dry_run and memories.add(checkpoint) is None)
                present["checkpoints"] += there
                new["checkpoints"] += not there
                ids.add(checkpoint.id)
            for name, data in goldfish.plans(place):
                try:
                    text, counts = entrance.masked(decode(data))
                except Unreadable as error:
                    warnings.append(f"{os.path.join(place, name)}: {error.message}")
                    continue
                clean = text.encode() if counts else data
                added = _add_plan(root, f".memories/{name}", clean, dry_run=dry_run)
                secrets += sum(counts.values()) if added else 0
                tally = new if added else present
                tally["plans"] = tally.get("plans", 0) + 1
        for folder in dict.fromkeys((path, *places)):
            warnings += goldfish.left_out(folder)
        for other in others[:LISTED]:
            command = shlex.join(["kinen", "import", os.path.abspath(other)])
            warnings.append(f"not imported, of another project by its name; to take it: {command}")
        if len(others) > LISTED:
            warnings.append(f"not imported: {len(others) - LISTED:,} more workspaces in {path}")
        if any(new.values()) and not dry_run:
            self._worklog.refresh()
        return Loaded(new, present, {}, 0, secrets, {}, tuple(warnings))


def _add_plan(root: str, path: str, data: bytes, *, dry_run: bool) -> bool:
    """Whether the file of a plan is new; its status and dates stay."""
    if dry_run:
        return not inside.is_file(root, path)
    return inside.create(root, path, data)
