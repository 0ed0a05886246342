"""`kinen space`, `init` and `trust`: which folders are spaces, and whose settings hold."""

from __future__ import annotations

import os
from typing import Any

import click

from kinen import config, paths
from kinen.cli.command import FILE_NAME, group, json_command, options, space_option
from kinen.cli.run import colours
from kinen.config import trust as store
from kinen.errors import SpaceError
from kinen.memory import Memory, garbage
from kinen.memory.garbage import usage
from kinen.render.text import counted, size_text
from kinen.space import early, find, registry
from kinen.space import find as spaces
from kinen.space.registry import Space
from kinen.storage import inside
from kinen.text import iso
from kinen.verbs.params import param
from kinen.verbs.verb import Output, listing


@group()
def space() -> None:
    """The spaces on this machine."""


@space.command("list")
@json_command
def list_() -> Output:
    """List the registered spaces: notes, size on disk, last use, folder. Exit 1 if none."""
    registered = registry.registered(paths.default_home())
    style = colours()
    lines = []
    usages = [usage(space) for space in registered]
    width = max((len(space.name) for space in registered), default=0)
    for space, used in zip(registered, usages, strict=True):
        name = style("bold", f"{space.name:<{width}}")
        missing = style("warn", "  (folder does not exist)") if space.missing else ""
        day = iso(used.used)[:10] if used.used else "never"
        figures = f"{used.notes:>7,} notes {size_text(used.bytes):>11}  {day:>10}"
        lines.append(f"{name}  {figures}  {space.root}{missing}")
    data = {
        "spaces": [
            {**_space_json(space), **used._asdict(), "used": iso(used.used) if used.used else None}
            for space, used in zip(registered, usages, strict=True)
        ]
    }
    empty = "no spaces yet: run `kinen init` in a folder"
    return listing(data, "\n".join(lines), registered, empty)


@space.command()
@json_command
def current() -> Output:
    """Show the space of the current folder."""
    space = spaces.find()
    return Output(_space_json(space), f"{space.name}  {space.root}")


@space.command()
@click.argument("path", type=click.Path(exists=True, file_okay=False))
@click.option("--name", metavar="NAME", help="name of the space (default: name of the folder)")
def add(path: str, name: str | None) -> int:
    """Register a folder as a space without writing to it."""
    space = spaces.register(spaces.at(path), name)
    print(f"added {space.name}  {space.root}")
    return 0


@space.command()
@click.argument("name", type=FILE_NAME)
@click.option("--purge", is_flag=True, help="also delete its journal, memories and index")
def remove(name: str, purge: bool) -> int:
    """Unregister a space. Its folder and its memory are not deleted.

    With --purge its memory is deleted for good; `kinen export` saves it first. The folder itself is
    never deleted. With the path of a folder that is not a space, delete the events that wait for it
    to become one.
    """
    home = paths.default_home()
    try:
        space = registry.unregister(home, name)
    except SpaceError:
        folder = os.path.realpath(os.path.expanduser(name))
        waiting = early.count(home, folder)
        early.drop(home, folder)
        if not waiting:
            raise
        print(f"deleted {counted(waiting, 'events')} that waited for a space in {folder}")
        return 0
    if purge:
        size = size_text(garbage.purge(space))
        print(f"removed {space.name} and deleted its journal, memories and index ({size})")
        return 0
    print(f"removed {space.name}; its data is still in {space.data}")
    print(f"`kinen gc` deletes its index; `kinen space remove {name} --purge` would delete all")
    return 0


@space.command()
@click.argument("name", type=FILE_NAME)
@click.argument("other")
def alias(name: str, other: str) -> int:
    """Give a space another name to use with --space."""
    space = registry.alias(paths.default_home(), name, other)
    print(f"{space.name} is also {other}")
    return 0


def _space_json(space: Space) -> dict[str, Any]:
    return {
        "name": space.name,
        "root": space.root,
        "id": space.id,
        "identity": space.identity,
        "origin": space.origin or None,
        "aliases": list(space.aliases),
        "data": space.data,
        "missing": space.missing,
    }


PATIENCE_MS = 5_000
"""How long it waits for a process that writes the journal."""
TEMPLATES = {
    "technical": ("docs", "papers", "examples", "data"),
    "writing": ("drafts", "references", "people", "places"),
    "research": ("papers", "notes", "data", "figures"),
}


@click.command()
@click.argument("path", default=".", type=click.Path(file_okay=False))
@click.option("--name", metavar="NAME", help="name of the space (default: name of the folder)")
@options(
    template=param(
        "--template",
        "create these folders below resources/ (default: none)",
        choices=(*TEMPLATES,),
    )
)
def init(path: str, name: str | None, template: str | None) -> int:
    """Make a folder a space: register it and write a short .kinen/config.yml.

    Existing files are not changed; running it again is safe.

    \b
    Examples:
      kinen init
      kinen init ~/notes --name notes --template research
    """
    os.makedirs(path, exist_ok=True)
    root = os.path.realpath(path)
    home = paths.default_home()
    space = find.at(root, home=home)
    file = config.space_file(root)
    new = not os.path.lexists(file)
    if new:
        title = name or space.name
        identity = registry.new_identity() if space.identity == "path" else ""
        inside.create(root, ".kinen/config.yml", config.template(title, identity).encode())
    waiting = early.count(home, root)
    registered = find.register(find.at(root, home=home), name)
    for folder in TEMPLATES.get(template or "", ()):
        inside.make_folder(root, f"resources/{folder}")
    print(f"{'initialised' if new else 'already a space:'} {registered.name} in {root}")
    if waiting:
        with Memory.open(root) as memory:
            memory.core.store.drain(PATIENCE_MS)
            memory.journal.close_ended()
            taken = waiting - early.count(home, root)
        print(f"took in {counted(taken, 'events')} from before it was a space")
    print("next: run `kinen index`, then `kinen search`")
    return 0


@click.command()
@click.option("--memory", is_flag=True, help="only what the repository says, not its config file")
@click.option("--revoke", is_flag=True, help="revoke the trust")
@space_option
def trust(memory: bool, revoke: bool, space: str | None) -> int:
    """Trust this space: its .kinen/config.yml as it is, and what its repository says.

    Both may have come with a `git clone`. Until you trust them, keys of the config file that choose
    endpoints or models, or read outside the space, are ignored, its limits count only if they are
    lower than yours, and agents are not told at their start what memories, plans, files, commits
    and issues say that kinen did not write on this machine. After a change the config file must be
    trusted again.
    """
    home = paths.default_home()
    root = spaces.find(name=space).root if space else spaces.locate() or spaces.find().root
    file = config.space_file(root)
    if not memory:
        if revoke:
            store.revoke(home, file)
            print(f"no longer trusted: {file}")
        elif os.path.exists(file):
            ignored = config.load(home, root).ignored
            store.trust(home, file)
            print(f"trusted: {file}")
            for key in ignored:
                print(f"  {key} is now {config.get(config.load(home, root), key)}")
    if revoke:
        store.revoke(home, root)
        print(f"agents are no longer told at their start what others wrote in {root}")
    else:
        store.trust_memory(home, root, spaces.at(root).id)
        print(f"agents are told at their start what others wrote in {root}")
    return 0
