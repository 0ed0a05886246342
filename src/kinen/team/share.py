"""What may leave this machine: the level that a person chose, and what never leaves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kinen.model.journal import Checkpoint
from kinen.privacy.exclude import matching_glob
from kinen.team.merge import JOURNAL
from kinen.team.rows import Row, clean_fields
from kinen.times import milliseconds

CHECKPOINT = "checkpoint"
"""The role of an observation that was made of a checkpoint."""
SUMMARIES = frozenset({"capsule", "summary", "memory", "pin", "suppressed", "tag"})
LEVELS: dict[str, frozenset[str]] = {
    "none": frozenset(),
    "checkpoints": frozenset({CHECKPOINT}),
    "summaries": SUMMARIES | {CHECKPOINT},
    "all": SUMMARIES | {CHECKPOINT, "observation"},
}
"""The nouns that each level of `team.share` shares."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a person shares."""

    level: str = "none"
    exclude: Sequence[str] = ()
    """Globs of paths whose entries never leave."""

    def allows(self, noun: str, fields: Mapping[str, Any]) -> bool:
        """Whether an entry may leave."""
        role = fields.get("provenance", {}).get("role") if noun == "observation" else ""
        nouns = LEVELS[self.level]
        if noun not in nouns and not (role == CHECKPOINT and CHECKPOINT in nouns):
            return False
        if noun == "suppressed":
            return self._shares(str(fields["ref"]).partition(":")[0])
        if noun == "pin" and not self._shares(fields["targetType"]):
            return False
        return not any(matching_glob(path, self.exclude) for path in _paths(noun, fields))

    def _shares(self, noun: str) -> bool:
        """Whether entries of a noun leave, so that a pin or a mark of one has a meaning there."""
        return noun in JOURNAL and noun in LEVELS[self.level]


def _paths(noun: str, fields: Mapping[str, Any]) -> list[str]:
    """The files that an entry names."""
    if noun == "tag":
        return [fields["path"]]
    if noun == "memory":
        return [str(ref).partition(":")[2] for ref in fields["derivedFrom"]]
    about = fields.get("provenance", {})
    named = [about[name] for name in ("filePath", "path") if type(about.get(name)) is str]
    return [*fields.get("files", ()), *named]


def checkpoint_row(checkpoint: Checkpoint) -> Row:
    """A checkpoint as the observation that colleagues get: they do not have its file."""
    about = {
        name: getattr(checkpoint, name)
        for name in ("type", "context", "decision", "impact", "next", "summary")
        if getattr(checkpoint, name)
    }
    about |= {"tags": list(checkpoint.tags)} if checkpoint.tags else {}
    fields = {
        "id": checkpoint.id,
        "kind": "message",
        "content": checkpoint.text,
        "provenance": {"role": CHECKPOINT, **about},
        "ts": max(0, milliseconds(checkpoint.at)),
        "scopeIds": {},
        "redacted": False,
        "capsuleId": "",
        "branch": checkpoint.branch,
        "head": checkpoint.commit,
        "files": list(checkpoint.files),
        "redaction": {},
    }
    return Row(clean_fields("observation", fields))


def checkpoint_rows(checkpoints: Collection[Checkpoint], hidden: Collection[str]) -> dict[str, Row]:
    """Checkpoints by id; one that is hidden here is forgotten for everybody."""
    rows = {}
    for checkpoint in checkpoints:
        row = checkpoint_row(checkpoint)
        rows[checkpoint.id] = row._replace(forgotten=1) if checkpoint.ref in hidden else row
    return rows
