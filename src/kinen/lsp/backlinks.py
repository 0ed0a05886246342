"""The links of all notes by the name that they end in, and their tags, changed note by note.

Which note a link leads to depends on every name of the space; the last name of its target does not.
So links are looked up by that name, and only those are resolved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from posixpath import basename, dirname, normpath

from kinen.markdown.links import INDEXES, folded
from kinen.model.documents import Link

_SUFFIXES = (".md", ".markdown")


def names_of(path: str, aliases: Iterable[str]) -> set[str]:
    """The names in which links to a note can end."""
    names = {f"#{path}", last_name(path), *map(last_name, aliases)}
    if folded(basename(path)) in INDEXES:
        names.update((last_name(dirname(path)), ""))
    return names


def last_name(path: str) -> str:
    """The last part of a path, target or alias as links are compared; empty for `.` and `..`."""
    name = folded(normpath(path.strip().strip("/ "))).rpartition("/")[2]
    while name.endswith(_SUFFIXES):
        name = name.rpartition(".")[0]
    name = name.strip()
    return "" if name in (".", "..") else name


class Backlinks:
    """Where links with a name are: the paths of notes, and the numbers of their links."""

    def __init__(self) -> None:
        self._links: dict[str, dict[str, list[int]]] = {}
        self._last_names: dict[str, str] = {}
        self.tags: Counter[str] = Counter()
        """Each tag with the number of notes that have it."""

    def add(self, path: str, links: Iterable[Link], tags: Collection[str]) -> None:
        for n, link in enumerate(links):
            notes = self._links.setdefault(self._name(path, link.target), {})
            notes.setdefault(path, []).append(n)
        self.tags.update(tags)

    def remove(self, path: str, links: Iterable[Link], tags: Collection[str]) -> None:
        """Take out a note, with the links and tags that it was added with."""
        for link in links:
            name = self._name(path, link.target)
            notes = self._links.get(name, {})
            notes.pop(path, None)
            if not notes:
                self._links.pop(name, None)
        self.tags.subtract(tags)
        for tag in tags:
            if not self.tags[tag]:
                del self.tags[tag]

    def find(self, names: Iterable[str]) -> dict[str, list[int]]:
        """The links that end in one of the names, by path."""
        links: dict[str, list[int]] = {}
        for name in names:
            for path, numbers in self._links.get(name, {}).items():
                links[path] = sorted({*links.get(path, ()), *numbers})
        return dict(sorted(links.items()))

    def _name(self, path: str, target: str) -> str:
        if not target:
            return f"#{path}"
        if target not in self._last_names:
            self._last_names[target] = last_name(target)
        return self._last_names[target]
