"""The folder `.memories/` of a space: checkpoints, and the plans they were made under."""

from __future__ import annotations

import contextlib
import os
import re
import time
from typing import TYPE_CHECKING, Any

from kinen.errors import GitError, QueryError, Unreadable
from kinen.model.journal import Checkpoint
from kinen.sources.git.worktree import changed_files
from kinen.space import gitcommand
from kinen.space.repository import git_above
from kinen.space.route import head
from kinen.text import iso, spelled
from kinen.worklog import checkpoints as files
from kinen.worklog.files import LARGEST, tidied
from kinen.worklog.plans import Plans, slug_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kinen.model.journal import Plan
    from kinen.space.repository import Git

__all__ = ["Memories", "git_state", "slug_of"]

FOLDER = ".memories"
MOST = 30
"""Changed files that a checkpoint names."""
PATIENCE = 2.0
"""Seconds that git has to tell them."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SAID = (*files.TEXTS, *files.LISTS, "type", "confidence", "plan")


class Memories(Plans):
    """The checkpoints and plans of a space, as files."""

    def __init__(self, root: str, tree: str = "") -> None:
        super().__init__(root)
        self.tree = tree or root
        """The working tree whose state is kept: of a linked one its own."""
        self._known: dict[str, set[str]] = {}

    def save(self, text: str, *, now: float, **said: Any) -> tuple[Checkpoint, str]:
        """Keep a checkpoint of the work as it stands; when this returns, it is on disk.

        Besides the text: tags type context decision alternatives impact evidence symbols next
        confidence unknowns, and plan, which is the active one if not given.
        """
        self._writable()
        given = tidied({**_checked(said), "text": text})
        if not given["text"]:
            raise QueryError("nothing to keep: the text is empty", "say what was done, and why")
        if "plan" not in said:
            plan = self.current()
            given["plan"] = plan.id if plan else ""
        git = dict(zip(("branch", "commit", "files"), git_state(self.tree), strict=True))
        at = iso(now)
        made = Checkpoint(
            id=files.checkpoint_id(at, given["text"]),
            at=at,
            summary=files.summary_of(given["text"]),
            **given,
            **tidied(git),
        )
        n = 0
        while True:
            kept = made._replace(
                id=f"{made.id}_{n}" if n else made.id, path=f"{FOLDER}/{files.file_name(made, n)}"
            )
            if self._create(kept.path, _readable(kept)):
                return kept, kept.path
            n += 1

    def add(self, checkpoint: Checkpoint) -> str | None:
        """Write one of elsewhere as it is, its secrets masked; None if its id is there already."""
        self._writable()
        fields = checkpoint._asdict()
        id_, at, _ = fields.pop("id"), files.moment(fields.pop("at")), fields.pop("path")
        if not at:
            raise QueryError(f"no such time: {checkpoint.at!r}", "give ISO 8601 in UTC")
        made = Checkpoint(id_, at, **tidied(fields))
        known = self._known.setdefault(at[:10], set())
        if not known:
            known.update(one.id for one in self._day(at[:10]))
        n = 0
        while id_ not in known:
            path = f"{FOLDER}/{files.file_name(made, n)}"
            if self._create(path, _readable(made)):
                known.add(id_)
                return path
            with contextlib.suppress(OSError, Unreadable):
                known.add(self._checkpoint(path).id)
            n += 1
        return None

    def checkpoints(self, since: str = "", until: str = "") -> Iterator[Checkpoint]:
        """The checkpoints of a time, newest first; a bare date means all of that day in UTC."""
        self.warnings = []
        days = filter(_DATE.fullmatch, self._folders(FOLDER))
        for day in sorted(days, reverse=True):
            if day >= since[:10] and (not until or day <= until[:10]):
                for one in self._day(day):
                    if one.at >= since and (not until or one.at[: len(until)] <= until):
                        yield one

    def _day(self, day: str) -> list[Checkpoint]:
        """The checkpoints of one folder, newest first."""
        found = []
        for path in self._names(f"{FOLDER}/{day}", (".md", ".json")):
            with self._warned(path):
                found.append(self._checkpoint(path))
        return sorted(found, key=lambda one: (one.at, one.path), reverse=True)

    def _checkpoint(self, path: str) -> Checkpoint:
        return files.read_checkpoint(self._bytes(path), path)._replace(path=spelled(path))

    def stale(self, plan: Plan, now: float) -> int:
        """Days since a plan was touched: changed, or followed by a checkpoint of no other plan."""
        from datetime import datetime

        latest = max(plan.updated, plan.created)
        made = (one.at for one in self.checkpoints(latest) if one.plan in ("", plan.id))
        latest = max(latest, next(made, ""))
        if not latest:
            return 0
        return max(0, int(now - datetime.fromisoformat(latest).timestamp()) // 86_400)


def _checked(said: Mapping[str, Any]) -> dict[str, Any]:
    """What was said of a checkpoint, in its types; raises QueryError where it cannot be."""
    for key in sorted(said.keys() - set(_SAID)):
        raise QueryError(f"a checkpoint has no {key!r}", "use " + ", ".join(_SAID))
    made: dict[str, Any] = {key: str(value or "") for key, value in said.items()}
    for key in files.LISTS:
        made[key] = files.items(said.get(key), split=key in ("tags", "symbols"))
    sure = str(made.get("confidence", "")).strip()
    if sure not in ("", "1", "2", "3", "4", "5"):
        raise QueryError(f"confidence {sure} is not from 1 to 5", "1 is a guess, 5 is certain")
    made["confidence"] = int(sure or 0)
    if made.get("type") and made["type"] not in files.TYPES:
        raise QueryError(f"no type {made['type']!r}", "use one of " + ", ".join(files.TYPES))
    return made


def _readable(checkpoint: Checkpoint) -> str:
    """The file of a checkpoint, if it can be read again."""
    text = files.written(checkpoint)
    try:
        data = text.encode()
        if len(data) > LARGEST:
            raise Unreadable("too large")
        files.read_checkpoint(data, checkpoint.path)
    except Unreadable as error:
        remedy = "say it in fewer words, the long parts in the text"
        raise QueryError(f"it cannot be kept: {error.message}", remedy) from None
    return text


def git_state(root: str) -> tuple[str, str, tuple[str, ...]]:
    """The branch, the short commit, and what is changed or new below a folder, in its paths."""
    root = os.path.realpath(root)
    git = git_above(root)
    if git is None:
        return "", "", ()
    until = time.monotonic() + PATIENCE
    branch, commit = head(git.folder, git.common)
    if not branch and not commit:  # refs that are kept in a table
        branch = _answer(git, until, "symbolic-ref", "--quiet", "--short", "HEAD")
    short = _answer(git, until, "rev-parse", "--short", "HEAD")
    try:
        changed = changed_files(git, root, until)
    except GitError:
        changed = set()
    names = (spelled(os.fsdecode(path)) for path in changed)
    ours = sorted(
        (name for name in names if not name.startswith(f"{FOLDER}/")),
        key=lambda name: name.encode("utf-16-be", "surrogatepass"),  # as JavaScript sorts
    )
    return branch, short or commit[:7], tuple(ours[:MOST])


def _answer(git: Git, until: float, *words: str) -> str:
    """The one line that git answers; empty if it fails or takes too long."""
    seconds = max(0.1, until - time.monotonic())
    try:
        result = gitcommand.run(git, *words, timeout=seconds)
    except GitError:
        return ""
    return "" if result.returncode else result.stdout.decode("utf-8", "replace").strip()
