"""Resolves links as Obsidian does: by path, by name, by folder, by alias."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Set
from posixpath import dirname, normpath
from unicodedata import normalize

from kinen.text import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.model.documents import Link

ATTACHMENT = "*"
"""The target of a link to a file or folder that is not a record, such as an image."""
WIKI = lazy_pattern(r"!?\[\[([^\[\]\n]+)\]\](?!\()")
"""A wiki link; the group has target and alias."""
ALIAS = lazy_pattern(r"\\?\|")
"""Separates the target of a wiki link from its alias; escaped inside a table."""

INDEXES = ("init.md", "index.md", "session-summary.md", "readme.md")
"""The notes that a link to their folder leads to, the first first."""

_NOTE = lazy_pattern(r"\.(?:md|markdown)$")
_SESSION = lazy_pattern(r"(?:.*/)?sessions/[^/]+/")


def show_wiki_links(text: str) -> str:
    """A text with each wiki link replaced by the words that a reader sees."""
    return WIKI.sub(lambda match: ALIAS.split(match[1], maxsplit=1)[-1].lstrip("#"), text)


def name_keys(path: str, aliases: Iterable[str] = ()) -> set[str]:
    """What a note or file can be found by: its names, those of its folders, and its aliases."""
    keys = {folded(alias.strip()) for alias in aliases}
    if path:
        parts = folded(path).split("/")
        keys.update(parts)
        keys.add(_NOTE.sub("", parts[-1]))
    return keys


def link_keys(link: Link, from_path: str) -> set[str]:
    """What a link in a file looks for; it leads to nothing that has none of these `name_keys`."""
    target = link.target
    if not target:
        return name_keys(from_path)
    keys = {_last(target), _last(target.strip("/ ")), folded(target.strip())}
    if keys & {"", ".", ".."}:  # `..`, `docs/..`: the name of a folder that is not written
        keys.add(_last(normpath(target.strip("/ "))))
        keys.update(_last(path) for path in _readings(target, from_path, wiki=link.wiki))
    return keys


def _last(path: str) -> str:
    return folded(path).rpartition("/")[2]


class Names:
    """Everything in a space that a link can lead to."""

    def __init__(
        self,
        notes: Iterable[tuple[str, str, Collection[str]]],
        files: Iterable[str] = (),
        only: Set[str] | None = None,
    ) -> None:
        """With `only`, what has none of these keys is left out: enough for links that have them."""
        if only is not None:
            notes = [note for note in notes if not only.isdisjoint(name_keys(*note[1:]))]
            files = [path for path in files if not only.isdisjoint(name_keys(path))]
        self._targets: dict[str, str] = {}
        self._notes = _Paths()
        self._others = _Paths()
        self._folders = _Paths()
        self._aliases: defaultdict[str, set[str]] = defaultdict(set)
        self._add(notes)
        for path in files:
            if path not in self._targets:
                self._targets[path] = ATTACHMENT
                self._others.add(path)
        self._add_folders()

    def _add(self, notes: Iterable[tuple[str, str, Collection[str]]]) -> None:
        for ref, path, aliases in notes:
            for alias in aliases:
                self._aliases[folded(alias.strip())].add(ref)
            if path:
                self._targets[path] = ref
                self._notes.add(path)

    def _add_folders(self) -> None:
        nearest = {dirname(path) for path in self._targets}
        above = {folder for path in nearest for folder in folders_above(path)}
        self._folders = _Paths()
        for folder in (nearest | above) - {""}:
            self._folders.add(folder)

    def replace(
        self,
        old: Collection[tuple[str, str, Collection[str]]],
        new: Collection[tuple[str, str, Collection[str]]],
    ) -> None:
        """Take notes out and put others in; the reverse call restores what was there.

        The new ones must not have the path of another file.
        """
        for ref, path, aliases in old:
            for alias in aliases:
                self._aliases[folded(alias.strip())].discard(ref)
            del self._targets[path]
            self._notes.remove(path)
        self._add(new)
        if {dirname(path) for _, path, _ in old} != {dirname(path) for _, path, _ in new}:
            self._add_folders()

    def resolve(self, link: Link, from_path: str) -> str:
        """The ref that a link in a file leads to, `ATTACHMENT`, or empty if it is broken."""
        target = link.target
        if not target:
            return self._targets.get(from_path, "")
        path = self.file(link, from_path)
        if path:
            return self._targets[path]
        return self._find_folder(target, from_path, wiki=link.wiki) or self._find_alias(target)

    def file(self, link: Link, from_path: str) -> str:
        """The path of the file that a link names; empty if it is a folder, an alias or broken."""
        if link.target.endswith("/"):
            return ""
        notes = self._notes.find(link.target, from_path, wiki=link.wiki)
        return notes or self._others.find(link.target, from_path, wiki=link.wiki)

    def _find_folder(self, target: str, from_path: str, *, wiki: bool) -> str:
        folder = self._folders.find(target, from_path, wiki=wiki)
        if not folder:
            return ""
        for index in INDEXES:
            path = self._notes.at(f"{folder}/{index}")
            if path:
                return self._targets[path]
        # A wiki link without a slash means a note, even if only a folder has this name.
        return ATTACHMENT if target.endswith("/") or not wiki else ""

    def _find_alias(self, target: str) -> str:
        refs = self._aliases.get(folded(target.strip()), ())
        return next(iter(refs)) if len(refs) == 1 else ""


class _Paths:
    """Paths by whole path and by last name, ignoring case and Unicode form."""

    def __init__(self) -> None:
        self._by_path: defaultdict[str, list[str]] = defaultdict(list)
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, path: str) -> None:
        key = folded(path)
        for name in {key, _NOTE.sub("", key)}:
            self._by_path[name].append(path)
            self._by_name[name.rpartition("/")[2]].append(path)

    def remove(self, path: str) -> None:
        key = folded(path)
        for name in {key, _NOTE.sub("", key)}:
            self._by_path[name].remove(path)
            self._by_name[name.rpartition("/")[2]].remove(path)

    def find(self, target: str, from_path: str, *, wiki: bool) -> str:
        """The path that a target means in a file; empty if there is none."""
        exact = (self.at(path) for path in _readings(target, from_path, wiki=wiki))
        path = next(filter(None, exact), "")
        if path or target.startswith(("./", "../")):
            return path
        # The path that ends in a target: the nearest to the linking file, then the shortest
        target = target.strip("/ ")
        key = "/" + folded(normpath(target))
        candidates: Iterable[str] = self._by_name.get(key.rpartition("/")[2], ())
        if "/" in key[1:]:
            end = _NOTE.sub("", key)
            candidates = [
                path for path in candidates if _NOTE.sub("", f"/{folded(path)}").endswith(end)
            ]
        return min(candidates, key=lambda path: _distance(path, target, from_path), default="")

    def at(self, path: str) -> str:
        """The path that equals this one except for case; the exact one if there are several."""
        candidates = self._by_path.get(folded(path), ())
        return min(candidates, key=lambda other: (not _alike(other, path), other), default="")


def _readings(target: str, from_path: str, *, wiki: bool) -> Iterator[str]:
    """A target as paths of the space: from its root, from the file's folder, or both."""
    rooted = normpath(target.lstrip("/ "))
    beside = normpath(f"{dirname(from_path)}/{target}".lstrip("/"))
    if target.startswith("/"):
        yield rooted
    elif target.startswith(("./", "../")):
        yield beside
    else:
        yield from (rooted, beside) if wiki else (beside, rooted)


def _distance(path: str, target: str, from_path: str) -> tuple[bool, bool, bool, bool, int, str]:
    here = dirname(from_path)
    session = _SESSION.match(from_path)
    return (
        dirname(path) != here,
        not path.startswith(f"{here}/"),
        not (session and path.startswith(session[0])),
        not _alike(path, target),
        len(path),
        path,
    )


def _alike(path: str, written: str) -> bool:
    """Does a path end as written, including case?"""
    path = normalize("NFC", path)
    written = normalize("NFC", written)
    return path.endswith(written) or _NOTE.sub("", path).endswith(written)


def folders_above(path: str) -> Iterator[str]:
    """The folders that a file or folder is in, the nearest first."""
    while path := dirname(path):
        yield path


def folded(text: str) -> str:
    """A name without regard to case and Unicode form, as links are compared."""
    return text.lower() if text.isascii() else normalize("NFC", text.casefold())
