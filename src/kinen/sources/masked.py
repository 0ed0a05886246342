"""Masks what is read of files and of the history, where `privacy.mask_index` asks for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kinen.privacy import entrance
from kinen.privacy.masking import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen.model.records import Commit, Extract
    from kinen.ports import Past


def masked_extract(extract: Extract) -> Extract:
    """What was read of a file, without secrets."""
    parts = tuple(
        part._replace(text=entrance.name(part.text), title=entrance.name(part.title))
        for part in extract.parts
    )
    about = json.loads(json.dumps(extract.metadata or {}, default=str))
    metadata = entrance.masked_values(about)[0]
    return extract._replace(parts=parts, title=entrance.name(extract.title), metadata=metadata)


def masked_commit(commit: Commit) -> Commit:
    """A commit whose message, author and trailers have no secrets. Paths stay as they are."""
    about = json.dumps(entrance.masked_values(json.loads(commit.about))[0], ensure_ascii=False)
    return commit._replace(
        author=entrance.name(commit.author),
        subject=entrance.name(commit.subject),
        texts=entrance.names(commit.texts),
        scope=entrance.name(commit.scope),
        ops=entrance.names(commit.ops),
        about=about,
    )


class MaskedPast:
    """A history whose commits are masked as they are read."""

    def __init__(self, past: Past) -> None:
        self._past = past
        self.rules = f"{past.rules}:masked {VERSION}"
        self.notes = past.notes
        self.cuts = past.cuts
        self.remarks = past.remarks

    @property
    def inside(self) -> bool:
        return self._past.inside

    def head(self) -> str:
        return self._past.head()

    def since(self, head: str, old: str = "") -> Iterator[Commit]:
        return map(masked_commit, self._past.since(head, old))

    def among(self, head: str, known: set[str]) -> Iterator[Commit]:
        return map(masked_commit, self._past.among(head, known))

    def tree(self, head: str) -> list[str] | None:
        return self._past.tree(head)
