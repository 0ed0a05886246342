"""Masks secrets in files and commits before they are indexed (`privacy.mask_index`)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kinen.model.documents import Commit, Extract
from kinen.ports import Past
from kinen.privacy import entrance
from kinen.privacy.masking import VERSION


def masked_extract(extract: Extract) -> Extract:
    """The text of a file with secrets masked."""
    parts = tuple(
        part._replace(text=entrance.name(part.text), title=entrance.name(part.title))
        for part in extract.parts
    )
    plain = json.loads(json.dumps(extract.metadata or {}, default=str))
    metadata = entrance.masked_values(plain)[0]
    return extract._replace(parts=parts, title=entrance.name(extract.title), metadata=metadata)


def masked_commit(commit: Commit) -> Commit:
    """A commit with secrets masked in message, author and trailers; paths stay as they are."""
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
    """A history whose commits are masked when read."""

    def __init__(self, past: Past) -> None:
        self._past = past
        self.rules = f"{past.rules}:masked {VERSION}"
        self.notes = past.notes
        self.cuts = past.cuts
        self.remarks = past.remarks
        self.inside = past.inside

    def head(self) -> str:
        return self._past.head()

    def since(self, head: str, old: str = "") -> Iterator[Commit]:
        return map(masked_commit, self._past.since(head, old))

    def among(self, head: str, indexed: set[str]) -> Iterator[Commit]:
        return map(masked_commit, self._past.among(head, indexed))

    def tree(self, head: str) -> list[str] | None:
        return self._past.tree(head)
