"""Which records of a space are not indexed: refs that were forgotten, and excluded paths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Self

from kinen.model.records import FILE_KINDS
from kinen.privacy.exclude import matching_glob

_KINDS = (*FILE_KINDS, "file")


class Hidden(frozenset[str]):
    """Refs that are not indexed; it also contains every ref of a file that globs exclude."""

    globs: tuple[str, ...]
    _names: re.Pattern[str]
    _rest: tuple[str, ...]

    def __new__(cls, refs: Iterable[str] = (), globs: Iterable[str] = ()) -> Self:
        hidden = super().__new__(cls, refs)
        hidden.globs = tuple(globs)
        # Each file of each sync is compared: globs of names become one expression.
        plain = [glob for glob in hidden.globs if not set("/?[") & set(glob)]
        names = "|".join(re.escape(glob).replace(r"\*", "[^/]*") for glob in plain)
        hidden._names = re.compile(f"(?:^|/)(?:{names})(?:/|$)" if names else "(?!)")
        hidden._rest = tuple(glob for glob in hidden.globs if glob not in plain)
        return hidden

    def __bool__(self) -> bool:
        return bool(self.globs) or len(self) > 0

    def __contains__(self, ref: object) -> bool:
        if super().__contains__(ref):
            return True
        kind, _, path = str(ref).partition(":")
        return kind in _KINDS and self.excludes(path)

    def excludes(self, path: str) -> bool:
        """Whether a path, or a folder above it, matches a glob."""
        return bool(self._names.search(path) or matching_glob(path, self._rest))
