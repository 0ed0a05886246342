"""The table of spaces in kinen's home: by id, name and root."""

# Annotations are evaluated, as in `kinen.model.records`: named tuples would compile each of them.
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from kinen.config.keys import clean_name
from kinen.errors import SpaceError
from kinen.storage import tables

T = TypeVar("T")
Table = dict[str, Any]


KINDS = ("path", "commit", "origin", "config")
"""What a space can be known by, the weakest first."""


class Space(NamedTuple):
    """A folder whose knowledge is remembered together."""

    root: str
    id: str
    name: str
    origin: str
    """The git remote in one spelling, empty without one."""
    identity: str
    """Whether it is known by config, origin, commit or path."""
    home: str
    roots: tuple[str, ...] = ()
    """Every folder it was seen in; empty while it is not registered."""
    aliases: tuple[str, ...] = ()
    """Other names, and ids that it had before."""
    key: str = ""
    """What the id was made of, in words."""

    @property
    def data(self) -> str:
        return data_folder(self.home, self.id)

    @property
    def missing(self) -> bool:
        return not os.path.isdir(self.root)


class Face(NamedTuple):
    """What a folder says of itself, before the registry is asked."""

    root: str
    name: str
    kind: str
    key: str
    """What the id is made of: `id:` and a given id, an origin, a commit or a path."""
    origin: str

    @property
    def id(self) -> str:
        from hashlib import sha256

        return sha256(self.key.encode("utf-8", "surrogateescape")).hexdigest()


def read(home: str) -> Table:
    """Space id → {name, origin, identity, key, roots, aliases, added, root_commits}."""
    return tables.read(home, "spaces", _valid)


def update(home: str, change: Callable[[Table], T]) -> T:
    """Change the table while other writers wait; returns what `change` does."""
    return tables.update(home, "spaces", change, _valid)


def _valid(entry: Any) -> bool:
    return (
        all(isinstance(entry[key], str) for key in ("name", "origin", "identity", "key"))
        and all(isinstance(entry[key], list) for key in ("roots", "aliases"))
        and all(isinstance(text, str) for text in (*entry["roots"], *entry["aliases"]))
        and all(isinstance(text, str) for text in entry["root_commits"].values())
    )


def new_identity() -> str:
    """An id for a folder that has nothing else to be known by, once it moves."""
    return os.urandom(8).hex()


def data_folder(home: str, key: str) -> str:
    return os.path.join(home, "spaces", key[:16])


def lookup(book: Table, face: Face) -> str:
    """The id of the space with this face; hashing is left out where it can be."""
    for key, entry in book.items():
        if entry["key"] == face.key:
            return key
    wanted = face.id if book else ""
    return next((key for key, entry in book.items() if wanted in (key, *entry["aliases"])), "")


def named(book: Table, name: str) -> str:
    """The id of the space that a name, an alias, an id or the beginning of one stands for."""
    for key, entry in book.items():
        if name == entry["name"]:
            return key
    for key, entry in book.items():
        if name == key or name in entry["aliases"]:
            return key
    begun = [key for key in book if len(name) >= 8 and key.startswith(name)]
    return begun[0] if len(begun) == 1 else ""


def unique_name(book: Table, wanted: str, key: str) -> str:
    """The wanted name in a form that can be typed, with a number appended if it is in use."""
    cleaned = clean_name(wanted)
    others = [entry for other, entry in book.items() if other != key]
    taken = {name for entry in others for name in (entry["name"], *entry["aliases"])}
    number, name = 2, cleaned
    while name in taken:
        number, name = number + 1, f"{cleaned}-{number}"
    return name


def enter(book: Table, face: Face, name: str, commit: str | None) -> str:
    """Register a face; its root leaves any other space, and stands first in its own."""
    key = lookup(book, face) or face.id
    added = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    entry = book.setdefault(
        key, {"name": "", "added": added, "roots": [], "aliases": [], "root_commits": {}}
    )
    if name or not entry["name"]:
        entry["name"] = unique_name(book, name or face.name, key)
    if key == face.id:
        entry.update(identity=face.kind, key=face.key, origin=face.origin)
    _place(book, key, face)
    if commit is not None:
        entry["root_commits"][face.root] = commit
    return key


def settle(book: Table, home: str, face: Face, listed: str) -> str:
    """Bring an entry in line with what its folder says of itself now; `listed` is its old id.

    The answer is the id to use, or nothing if the space was removed meanwhile. A weaker
    identity never replaces a stronger one. Where both ids have data, both stay on disk, and
    the space uses that of the new id.
    """
    key, old = lookup(book, face), book.get(listed)
    if old is not None and not key:
        if KINDS.index(face.kind) < KINDS.index(old["identity"]):
            old["aliases"].append(face.id)
            return listed
        key = face.id
        move(home, listed, key)
        book[key] = book.pop(listed)
        book[key]["aliases"].append(listed)
        book[key].update(identity=face.kind, key=face.key, origin=face.origin)
    elif old is not None and key != listed:
        old["roots"] = [root for root in old["roots"] if root != face.root]
        if not old["roots"]:
            move(home, listed, key)
            book[key]["aliases"] += [listed, old["name"], *old["aliases"]]
            del book[listed]
    if key:
        _place(book, key, face)
    return key


def _place(book: Table, key: str, face: Face) -> None:
    """Put a root first in its space, and in no other."""
    for other in book.values():
        other["roots"] = [root for root in other["roots"] if root != face.root]
    book[key]["roots"].insert(0, face.root)
    if face.kind == "commit":
        book[key]["root_commits"][face.root] = face.key.partition("#")[0]


def move(home: str, old: str, new: str) -> None:
    """Move a space's data to its new id, unless there is nothing to move or data there."""
    source, target = data_folder(home, old), data_folder(home, new)
    if os.path.isdir(source) and not os.path.exists(target):
        os.rename(source, target)


def move_back(home: str, new: str, old: str) -> str:
    """Undo a move whose table could not be written, and go on with the old id."""
    from contextlib import suppress

    with suppress(OSError):
        move(home, new, old)
    return old


def space(home: str, key: str, entry: Table, root: str = "") -> Space:
    roots = tuple(entry["roots"])
    root = root or next(filter(os.path.isdir, roots), roots[0] if roots else "")
    known = Space(root, key, entry["name"], entry["origin"], entry["identity"], home, roots)
    return known._replace(aliases=tuple(entry["aliases"]), key=entry["key"])


def names_hint(book: Table, name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, [entry["name"] for entry in book.values()], 1)
    return f"did you mean {near[0]}?" if near else "`kinen space list` shows what there is"


def registered(home: str | os.PathLike[str]) -> tuple[Space, ...]:
    """Every space there is, by name; those whose folders are gone are `missing`."""
    home = os.path.abspath(home)
    book = read(home)
    return tuple(sorted((space(home, *pair) for pair in book.items()), key=lambda one: one.name))


def unregister(home: str | os.PathLike[str], name: str) -> Space:
    """Forget where a space is; its data stays on disk until someone deletes it."""
    return _changed(home, name, lambda book, key: book.pop(key))


def alias(home: str | os.PathLike[str], name: str, alias: str) -> Space:
    """Give a space one more name."""

    def change(book: Table, key: str) -> Any:
        if unique_name(book, alias, key) != alias:
            raise SpaceError(f"{alias!r} is taken or is no name", "choose another alias")
        entry = book[key]
        entry["aliases"] += [alias] if alias not in (entry["name"], *entry["aliases"]) else []
        return entry

    return _changed(home, name, change)


def _changed(home: str | os.PathLike[str], name: str, change: Callable[[Table, str], Any]) -> Space:
    home = os.path.abspath(home)

    def apply(book: Table) -> Space:
        root = os.path.realpath(os.path.expanduser(name))
        listed = (key for key, entry in book.items() if root in entry["roots"])
        key = named(book, name) or next(listed, "")
        if not key:
            raise SpaceError(f"no space called {name!r}", names_hint(book, name))
        return space(home, key, change(book, key))

    return update(home, apply)
