"""The table of spaces in kinen's home: by id, name and root."""

from __future__ import annotations

import os
import time

from kinen.config.keys import clean_name
from kinen.errors import SpaceError
from kinen.ids import milliseconds
from kinen.model.late import json
from kinen.model.tuples import NamedTuple
from kinen.storage import private, tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")
    Entry = dict[str, Any]
    Table = dict[str, Entry]

KINDS = ("path", "commit", "origin", "config")
"""What the id of a space can be made of, the weakest first."""
ID = 16
"""Characters of an id that name the folder of the data."""


class Space(NamedTuple):
    """A folder with a memory of its own."""

    root: str
    id: str
    name: str
    origin: str
    """The git remote, normalised; empty without one."""
    identity: str
    """What the id was made of: `config`, `origin`, `commit` or `path`."""
    home: str
    roots: tuple[str, ...] = ()
    """Every folder that it was seen in; empty while it is not registered."""
    aliases: tuple[str, ...] = ()
    """Other names, and its former ids."""
    key: str = ""
    """The text that the id is the digest of."""
    checkout: str = ""
    """The name of this clone's or worktree's folder in `data/checkouts`; empty for the first one,
    whose index is in `data` itself."""

    @property
    def data(self) -> str:
        return data_folder(self.home, self.id)

    @property
    def registered(self) -> bool:
        """Whether this very folder is in the registry, not only another clone of it."""
        return self.root in self.roots

    def index_folder(self, path: str = "") -> str:
        """Where everything derived from this folder is; below `path` if `index.path` sets one."""
        folder = os.path.join(path, self.id[:16]) if path else self.data
        return os.path.join(folder, "checkouts", self.checkout) if self.checkout else folder

    @property
    def missing(self) -> bool:
        return not os.path.isdir(self.root)


class Identity(NamedTuple):
    """What a folder is known by, before the registry is read."""

    root: str
    name: str
    kind: str
    """One of `KINDS`."""
    key: str
    """What the id is made of: `id:` and a configured id, an origin, a commit or a path."""
    origin: str

    @property
    def id(self) -> str:
        from hashlib import sha256

        return sha256(self.key.encode("utf-8", "surrogateescape")).hexdigest()


def read(home: str) -> Table:
    """Space id → {name, origin, identity, key, roots, aliases, added, root_commits}.

    If the table is damaged or gone, it is rebuilt from what is kept of each space.
    """
    return tables.read(home, "spaces", _valid, lambda: _rebuilt(home))


def update(home: str, change: Callable[[Table], T]) -> T:
    """Change the table while other writers wait; returns what `change` does."""

    def apply(table: Table) -> T:
        before = json.loads(json.dumps(table))
        result = change(table)
        # Write each entry that changed to a file of its own, from which the table can be rebuilt.
        # The files come before the table: an entry that a killed process did not get into it is
        # there again after damage, and does no harm.
        names = {key[:ID] for key in table}
        for key in before.keys() - table.keys():
            if key[:ID] not in names:
                for path in (_record_file(home, key), _figures_file(data_folder(home, key))):
                    if os.path.exists(path):
                        os.unlink(path)
        for key, entry in table.items():
            path = _record_file(home, key)
            if entry != before.get(key) or not os.path.exists(path):
                data = {"version": tables.VERSION, "id": key, "space": entry}
                private.write(path, json.dumps(data, indent=1) + "\n")
        return result

    return tables.update(home, "spaces", apply, _valid, lambda: _rebuilt(home))


def _record_file(home: str, key: str) -> str:
    return os.path.join(home, "registry", f"{key[:ID]}.json")


def _figures_file(folder: str) -> str:
    return os.path.join(folder, "meta.json")


def _rebuilt(home: str) -> Table:
    """The table as the spaces themselves know it.

    A space of an older kinen has only the figures of its index: its name, origin and folders. Its
    id is known in part, and completed when the folder is next used. One without an index has
    nothing; it registers again when its folder is used.
    """
    names: set[str] = set()
    for folder in ("registry", "spaces"):
        try:
            files = os.listdir(os.path.join(home, folder))
        except OSError:
            continue
        names.update(name.removesuffix(".json") for name in files)
    entries = [_recorded(home, name) or _from_figures(home, name) for name in sorted(names)]

    def order(pair: tuple[str, Entry]) -> tuple[bool, str]:
        return not os.path.isdir(data_folder(home, pair[0])), str(pair[1].get("added"))

    table: Table = {}
    seen: set[str] = set()
    for key, entry in sorted(filter(None, entries), key=order):
        roots = [root for root in entry["roots"] if root not in seen]
        seen.update(roots)
        if roots or not entry["roots"]:
            table[key] = {**entry, "roots": roots}
            table[key]["name"] = unique_name(table, entry["name"], key)
    return table


def _recorded(home: str, name: str) -> tuple[str, Entry] | None:
    try:
        record = json.loads(private.read(_record_file(home, name)))
        key = record["id"]
        entry = record["space"]
        if record["version"] == tables.VERSION and key[:ID] == name and _valid(entry):
            return key, entry
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return None


def _from_figures(home: str, name: str) -> tuple[str, Entry] | None:
    data = data_folder(home, name)
    try:
        checkouts = sorted(os.listdir(os.path.join(data, "checkouts")))
    except OSError:
        checkouts = []
    entry: Entry = {}
    for folder in (data, *(os.path.join(data, "checkouts", checkout) for checkout in checkouts)):
        try:
            figures = json.loads(private.read(_figures_file(folder)))
            root = figures["space_root"]
            own = {
                "name": clean_name(figures["space_name"]),
                "origin": figures["space_origin"],
                "identity": "path",
                "key": "",
                "roots": [],
                "aliases": [],
                "added": figures["created_at"],
                "root_commits": {},
            }
            if _valid(own) and isinstance(root, str):
                entry = entry or own
                entry["roots"].append(root)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return (name, entry) if entry else None


def _valid(entry: Any) -> bool:
    return (
        all(isinstance(entry[key], str) for key in ("name", "origin", "identity", "key"))
        and all(isinstance(entry[key], list) for key in ("roots", "aliases"))
        and all(isinstance(text, str) for text in (*entry["roots"], *entry["aliases"]))
        and all(isinstance(text, str) for text in entry["root_commits"].values())
    )


def new_identity() -> str:
    """A random id for a folder that only its path identifies, so that it can be moved."""
    return os.urandom(8).hex()


def data_folder(home: str, key: str) -> str:
    return os.path.join(home, "spaces", key[:ID])


def lookup(table: Table, identity: Identity) -> str:
    """The id of the space with this identity, empty if there is none."""
    for key, entry in table.items():
        if entry["key"] == identity.key:
            return key
    id_ = identity.id if table else ""
    return next((key for key, entry in table.items() if id_ in (key, *entry["aliases"])), "")


def find_id(table: Table, name: str) -> str:
    """The id of the space with this name, alias or id, or whose id begins with it."""
    for key, entry in table.items():
        if name == entry["name"]:
            return key
    for key, entry in table.items():
        if name == key or name in entry["aliases"]:
            return key
    candidates = [key for key in table if len(name) >= 8 and key.startswith(name)]
    return candidates[0] if len(candidates) == 1 else ""


def unique_name(table: Table, name: str, key: str) -> str:
    """The name in a form that can be typed, with a number appended if another space has it."""
    cleaned = clean_name(name)
    others = [entry for other, entry in table.items() if other != key]
    names = {text for entry in others for text in (entry["name"], *entry["aliases"])}
    unique = cleaned
    number = 2
    while unique in names:
        unique = f"{cleaned}-{number}"
        number += 1
    return unique


def enter(table: Table, identity: Identity, name: str, commit: str | None) -> str:
    """Register a folder; it leaves any other space, and becomes the first root of its own.

    Returns the id. `commit` is the first commit of the repository, None if that is not asked.
    """
    key = lookup(table, identity) or identity.id
    added = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(milliseconds() // 1000))
    entry = table.setdefault(
        key, {"name": "", "added": added, "roots": [], "aliases": [], "root_commits": {}}
    )
    if name or not entry["name"]:
        entry["name"] = unique_name(table, name or identity.name, key)
    if key == identity.id:
        entry.update(identity=identity.kind, key=identity.key, origin=identity.origin)
    _place(table, key, identity)
    if commit is not None:
        entry["root_commits"][identity.root] = commit
    return key


def reconcile(table: Table, home: str, identity: Identity, listed: str) -> str:
    """Bring the entry of a folder in line with its present identity; `listed` is its old id.

    Returns the id to use, empty if the space was removed meanwhile. A weaker identity never
    replaces a stronger one. If both ids have data, both stay on disk, and the space uses the data
    of the new id.
    """
    key = lookup(table, identity)
    old = table.get(listed)
    if old is not None and not key:
        if KINDS.index(identity.kind) < KINDS.index(old["identity"]):
            old["aliases"].append(identity.id)
            return listed
        key = identity.id
        move(home, listed, key)
        table[key] = table.pop(listed)
        if not key.startswith(listed):
            table[key]["aliases"].append(listed)
        table[key].update(identity=identity.kind, key=identity.key, origin=identity.origin)
    elif old is not None and key != listed:
        old["roots"] = [root for root in old["roots"] if root != identity.root]
        if not old["roots"]:
            move(home, listed, key)
            table[key]["aliases"] += [listed, old["name"], *old["aliases"]]
            del table[listed]
    if key:
        _place(table, key, identity)
    return key


def _place(table: Table, key: str, identity: Identity) -> None:
    """Put a root first in its space, and remove it from all others."""
    entry = table[key]
    first = identity.root if not checkout_name(entry, identity.root) else _first_root(entry)
    for other in table.values():
        other["roots"] = [root for root in other["roots"] if root != identity.root]
    entry["roots"].insert(0, identity.root)
    entry.pop("first", None)
    if first != identity.root:
        entry["first"] = first
    if identity.kind == "commit":
        table[key]["root_commits"][identity.root] = identity.key.partition("#")[0]


def _first_root(entry: Entry) -> str:
    """The root whose index is in the data folder itself; empty if the space has no root."""
    first = str(entry.get("first", ""))
    roots: list[str] = entry["roots"]
    return first if first in roots else next(iter(roots), "")


def checkout_name(entry: Entry, root: str) -> str:
    """`Space.checkout` of a root. A new one takes the place of a first one that is gone.

    So a clone that was moved keeps its index.
    """
    first = _first_root(entry)
    if root == first or (root not in entry["roots"] and not os.path.isdir(first)):
        return ""
    from hashlib import sha256

    return sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def move(home: str, old: str, new: str) -> None:
    """Move a space's data to its new id, unless there is none or the new id has data."""
    source = data_folder(home, old)
    target = data_folder(home, new)
    if os.path.isdir(source) and not os.path.exists(target):
        os.rename(source, target)


def move_back(home: str, new: str, old: str) -> str:
    """Undo a move whose table could not be written; returns the old id, which stays in use."""
    from contextlib import suppress

    with suppress(OSError):
        move(home, new, old)
    return old


def space_for(home: str, identity: Identity, key: str, table: Table) -> Space:
    """The space of an identity, as registered if it has a key."""
    if key:
        space = space_of(home, key, table[key], identity.root)
        return space._replace(origin=identity.origin)
    return Space(
        root=identity.root,
        id=identity.id,
        name=identity.name,
        origin=identity.origin,
        identity=identity.kind,
        home=home,
        key=identity.key,
    )


def space_of(home: str, key: str, entry: Entry, root: str = "") -> Space:
    """The space of an entry; its root is the first that exists, if none is named."""
    roots = tuple(entry["roots"])
    if not root:
        candidates = dict.fromkeys((_first_root(entry), *roots))
        root = next(filter(os.path.isdir, candidates), next(iter(candidates)))
    return Space(
        root=root,
        id=key,
        name=entry["name"],
        origin=entry["origin"],
        identity=entry["identity"],
        home=home,
        roots=roots,
        aliases=tuple(entry["aliases"]),
        key=entry["key"],
        checkout=checkout_name(entry, root),
    )


def names_hint(table: Table, name: str) -> str:
    from kinen.text import nearest

    near = nearest(name, [entry["name"] for entry in table.values()])
    return f"did you mean {near}?" if near else "`kinen space list` lists all spaces"


def registered(home: str | os.PathLike[str]) -> tuple[Space, ...]:
    """Every registered space by name, those whose folder is `missing` too."""
    home = os.path.abspath(home)
    spaces = [space_of(home, key, entry) for key, entry in read(home).items()]
    return tuple(sorted(spaces, key=lambda space: space.name))


def checkouts(home: str | os.PathLike[str]) -> list[Space]:
    """Every registered clone and worktree that exists, several for a space that has several."""
    home = os.path.abspath(home)
    return [
        space_of(home, key, entry, root)
        for key, entry in read(home).items()
        for root in entry["roots"]
        if os.path.isdir(root)
    ]


def unregister(home: str | os.PathLike[str], name: str) -> Space:
    """Remove a space from the table; its data stays on disk."""
    return _change(home, name, lambda table, key: table.pop(key))


def alias(home: str | os.PathLike[str], name: str, alias: str) -> Space:
    """Add a name to a space."""

    def change(table: Table, key: str) -> Entry:
        if unique_name(table, alias, key) != alias:
            raise SpaceError(f"{alias!r} is in use or not a valid name", "choose another alias")
        entry = table[key]
        if alias not in (entry["name"], *entry["aliases"]):
            entry["aliases"].append(alias)
        return entry

    return _change(home, name, change)


def _change(
    home: str | os.PathLike[str], name: str, change: Callable[[Table, str], Entry]
) -> Space:
    """Change the entry of the space with a name or root; returns the space."""
    home = os.path.abspath(home)

    def apply(table: Table) -> Space:
        root = os.path.realpath(os.path.expanduser(name))
        listed = (key for key, entry in table.items() if root in entry["roots"])
        key = find_id(table, name) or next(listed, "")
        if not key:
            raise SpaceError(f"no space called {name!r}", names_hint(table, name))
        return space_of(home, key, change(table, key))

    return update(home, apply)
