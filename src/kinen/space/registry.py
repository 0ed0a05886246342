"""The JSON tables in kinen's home: written so that nothing is lost; spaces by id, name and root."""

# Annotations are evaluated, as in `kinen.model.records`: named tuples would compile each of them.
import json
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from kinen.errors import SpaceError, StoreError, Untrusted
from kinen.storage import atomic, private

T = TypeVar("T")
Table = dict[str, Any]
VERSION = 1


def write_atomic(path: str | os.PathLike[str], data: bytes | str, mode: int = 0o666) -> None:
    """Replace a file of the user as a whole; its mode and a link to it are kept.

    A new one has `mode`, less the umask. Files of kinen's home are written by `storage.private`.
    """
    target = os.path.realpath(path)
    parent = os.path.dirname(target)
    if mode & 0o077:
        os.makedirs(parent, exist_ok=True)
    else:
        private.folder(parent, tighten=False)
    try:
        known = os.stat(target).st_mode & 0o7777
    except FileNotFoundError:
        known = None
    atomic.replace(target, data, mode, keep=known)


def table_file(home: str, name: str) -> str:
    return os.path.join(home, f"{name}.json")


def read(home: str, name: str) -> Table:
    """The table of that name, empty when there is none yet."""
    path = table_file(home, name)
    try:
        data = private.read(path)
    except FileNotFoundError:
        return {}
    except Untrusted:
        raise
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", "check its permissions") from None
    try:
        loaded = json.loads(data)
        newer = loaded["version"] > VERSION
        table: Table = loaded[name]
        sound = newer or all(_sound(name, value) for value in table.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        newer = sound = False
    if newer:
        raise StoreError(f"{path} was written by a newer kinen", "update kinen")
    if not sound:
        raise _damaged(home, path, data)
    return table


def _sound(name: str, value: Any) -> bool:
    if name != "spaces":
        return isinstance(value, str)
    return (
        all(isinstance(value[key], str) for key in ("name", "origin", "identity", "key"))
        and all(isinstance(value[key], list) for key in ("roots", "aliases"))
        and all(isinstance(text, str) for text in (*value["roots"], *value["aliases"]))
        and all(isinstance(text, str) for text in value["root_commits"].values())
    )


def _damaged(home: str, path: str, data: bytes) -> StoreError:
    copy = f"{path}.damaged-{int(os.stat(path).st_mtime)}"
    try:
        if not os.path.exists(copy):
            private.write(copy, data)
    except OSError:
        copy = path
    return StoreError(
        f"{path} is damaged (kept as {copy})",
        f"mend it, or delete it and run `kinen init` again in each project; "
        f"what was remembered is untouched in {os.path.join(home, 'spaces')}",
    )


def update(home: str, name: str, change: Callable[[Table], T]) -> T:
    """Read, change and write a table while every other writer waits; a crash frees the lock."""
    import sqlite3

    path = table_file(home, name)
    try:
        private.folder(home)
        file = private.database(os.path.join(home, "registry.lock"))
        lock = sqlite3.connect(file, timeout=10)
        try:
            lock.isolation_level = None
            lock.execute("BEGIN EXCLUSIVE")
            table = read(home, name)
            result = change(table)
            private.write(path, json.dumps({"version": VERSION, name: table}, indent=1) + "\n")
            return result
        finally:
            lock.close()
    except Untrusted:
        raise
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}", "check KINEN_HOME") from None
    except sqlite3.Error as error:
        raise StoreError(f"cannot lock {home}: {error}", "try again, or check KINEN_HOME") from None


# The table of spaces: id → {name, origin, identity, key, roots, aliases, added, root_commits}

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
    """The wanted name as one that can be typed, with a number where it is taken already."""
    from kinen.privacy import entrance

    wanted = entrance.name(wanted)
    signs = ("-" if sign in '/\\,"' or not sign.isprintable() else sign for sign in wanted)
    cleaned = "".join(signs).lstrip(" .-~").rstrip() or "space"
    others = [entry for other, entry in book.items() if other != key]
    taken = {"all", *(name for entry in others for name in (entry["name"], *entry["aliases"]))}
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
    book = read(home, "spaces")
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

    return update(home, "spaces", apply)
