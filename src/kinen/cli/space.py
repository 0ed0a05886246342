"""`kinen space`: the spaces on this machine."""

from __future__ import annotations

import os
from typing import Any

import click

from kinen import paths
from kinen.cli.command import FILE_NAME, Output, group, json_command, listing
from kinen.cli.run import colours
from kinen.errors import SpaceError
from kinen.memory import garbage
from kinen.memory.garbage import usage
from kinen.render.text import counted, size_text
from kinen.space import early, registry
from kinen.space import find as spaces
from kinen.space.registry import Space
from kinen.text import iso


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
