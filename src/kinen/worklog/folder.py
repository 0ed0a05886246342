"""The folder `.memories/` of a space: checkpoints and plans."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from typing import Any

from kinen.errors import GitError, QueryError, Unreadable
from kinen.model.journal import Checkpoint, Plan
from kinen.model.kinds import CHECKPOINT_TYPES, LESSONS
from kinen.space import read_head
from kinen.space.repository import Git, git_above
from kinen.text import iso, spelled
from kinen.worklog import checkpoints
from kinen.worklog.plans import LARGEST, Plans, clean_fields

FOLDER = ".memories"
MOST_FILES = 30
"""Changed files that a checkpoint lists."""
GIT_TIMEOUT = 2.0
"""Seconds for all git commands of a checkpoint."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_FIELDS = (*checkpoints.TEXTS, *checkpoints.LISTS, "type", "confidence", "plan")


class Memories(Plans):
    """The checkpoints and plans of a space, as files."""

    def __init__(self, root: str, tree: str = "") -> None:
        super().__init__(root)
        self.tree = tree or root
        """The working tree whose git state a checkpoint records: for a linked one, that one."""
        self._ids: dict[str, set[str]] = {}

    def save(self, text: str, *, now: float, **fields: Any) -> tuple[Checkpoint, str]:
        """Write a checkpoint of the work as it stands; returns it with the path of its file.

        Fields: tags type context decision alternatives impact evidence symbols next confidence
        unknowns, and plan, by default the active one.
        """
        self._files.check_writable()
        for key in sorted(fields.keys() - set(_FIELDS)):
            raise QueryError(f"unknown checkpoint field {key!r}", "use " + ", ".join(_FIELDS))
        checked: dict[str, Any] = {key: str(value or "") for key, value in fields.items()}
        for key in checkpoints.LISTS:
            checked[key] = checkpoints.items(fields.get(key), split=key in ("tags", "symbols"))
        confidence = str(checked.get("confidence", "")).strip()
        if confidence not in ("", "1", "2", "3", "4", "5"):
            raise QueryError(f"invalid confidence {confidence}", "use 1 (a guess) to 5 (certain)")
        checked["confidence"] = int(confidence or 0)
        type_ = checked.get("type")
        if type_ in LESSONS:
            type_ = checked["type"] = LESSONS[-1]
        if type_ and type_ not in CHECKPOINT_TYPES:
            raise QueryError(f"unknown type {type_!r}", "use one of " + ", ".join(CHECKPOINT_TYPES))
        clean = clean_fields({**checked, "text": text})
        if not clean["text"]:
            raise QueryError("the text is empty", "say what was done, and why")
        if "plan" not in fields:
            plan = self.current()
            clean["plan"] = plan.id if plan else ""
        branch, commit, files = git_state(self.tree)
        at = iso(now)
        checkpoint = Checkpoint(
            id=checkpoints.checkpoint_id(at, clean["text"]),
            at=at,
            summary=checkpoints.summary_of(clean["text"]),
            **clean,
            **clean_fields({"branch": branch, "commit": commit, "files": files[:MOST_FILES]}),
        )
        n = 0
        while True:
            saved = checkpoint._replace(
                id=f"{checkpoint.id}_{n}" if n else checkpoint.id,
                path=f"{FOLDER}/{checkpoints.file_name(checkpoint, n)}",
            )
            if self._files.create(saved.path, _format(saved)):
                return saved, saved.path
            n += 1

    def add(self, checkpoint: Checkpoint) -> str | None:
        """Write an imported checkpoint with secrets masked; None if its id is there already."""
        self._files.check_writable()
        fields = checkpoint._asdict()
        id_ = fields.pop("id")
        at = checkpoints.moment(fields.pop("at"))
        fields.pop("path")
        if not at:
            raise QueryError(f"invalid time {checkpoint.at!r}", "use ISO 8601 in UTC")
        clean = Checkpoint(id_, at, **clean_fields(fields))
        ids = self._ids.setdefault(at[:10], set())
        if not ids:
            ids.update(other.id for other in self._day(at[:10]))
        n = 0
        while id_ not in ids:
            path = f"{FOLDER}/{checkpoints.file_name(clean, n)}"
            if self._files.create(path, _format(clean)):
                ids.add(id_)
                return path
            with contextlib.suppress(OSError, Unreadable):
                ids.add(self._checkpoint(path).id)
            n += 1
        return None

    def checkpoints(self, since: str = "", until: str = "") -> Iterator[Checkpoint]:
        """The checkpoints of a time, newest first; a bare date means all of that day in UTC."""
        self._files.warnings = []
        days = filter(_DATE.fullmatch, self._files.folders(FOLDER))
        for day in sorted(days, reverse=True):
            if day >= since[:10] and (not until or day <= until[:10]):
                for checkpoint in self._day(day):
                    at = checkpoint.at
                    if at >= since and (not until or at[: len(until)] <= until):
                        yield checkpoint

    def _day(self, day: str) -> list[Checkpoint]:
        """The checkpoints of a day's folder, newest first."""
        saved = []
        for path in self._files.names(f"{FOLDER}/{day}", (".md", ".json")):
            with self._files.warn(path):
                saved.append(self._checkpoint(path))
        return sorted(saved, key=lambda checkpoint: (checkpoint.at, checkpoint.path), reverse=True)

    def _checkpoint(self, path: str) -> Checkpoint:
        checkpoint = checkpoints.read_checkpoint(self._files.read(path), path)
        return checkpoint._replace(path=spelled(path))

    def stale(self, plan: Plan, now: float) -> int:
        """Days since a plan was updated or a checkpoint was saved for it, or for no plan."""
        from datetime import datetime

        latest = max(plan.updated, plan.created)
        saved = self.checkpoints(latest)
        times = (checkpoint.at for checkpoint in saved if checkpoint.plan in ("", plan.id))
        latest = max(latest, next(times, ""))
        if not latest:
            return 0
        return max(0, int(now - datetime.fromisoformat(latest).timestamp()) // 86_400)


def _format(checkpoint: Checkpoint) -> str:
    """The text of a checkpoint's file; raises QueryError if it could not be read back."""
    text = checkpoints.format_checkpoint(checkpoint)
    try:
        data = text.encode()
        if len(data) > LARGEST:
            raise Unreadable("too large")
        checkpoints.read_checkpoint(data, checkpoint.path)
    except Unreadable as error:
        hint = "shorten the fields; long parts belong into the text"
        raise QueryError(f"cannot save the checkpoint: {error.message}", hint) from None
    return text


def git_state(root: str) -> tuple[str, str, tuple[str, ...]]:
    """The branch, the short commit, and the changed and new files below a folder."""
    from kinen.sources.git.worktree import changed_files

    root = os.path.realpath(root)
    git = git_above(root)
    if git is None:
        return "", "", ()
    until = time.monotonic() + GIT_TIMEOUT
    branch, commit = read_head(git.folder, git.common)
    if not branch and not commit:  # refs in a reftable cannot be read as files
        branch = _git_line(git, until, "symbolic-ref", "--quiet", "--short", "HEAD")
    short = _git_line(git, until, "rev-parse", "--short", "HEAD")
    try:
        changed = changed_files(git, root, until)
    except GitError:
        changed = set()
    paths = (spelled(os.fsdecode(path)) for path in changed)
    ours = sorted(
        (path for path in paths if not path.startswith((f"{FOLDER}/", ".kinen/"))),
        key=lambda path: path.encode("utf-16-be", "surrogatepass"),  # as JavaScript sorts
    )
    return branch, short or commit[:7], tuple(ours)


def _git_line(git: Git, until: float, *words: str) -> str:
    """The line that a git command prints; empty if it fails or takes too long."""
    from kinen.space import gitcommand

    return gitcommand.text(git, *words, timeout=max(0.1, until - time.monotonic())).strip()
