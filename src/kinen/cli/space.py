"""`kinen space`: the spaces on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kinen import paths
from kinen.cli.command import FILE_NAME, Output, group, json_command, listing
from kinen.cli.run import colours
from kinen.space import find as spaces
from kinen.space import registry

if TYPE_CHECKING:
    from kinen.space.registry import Space


@group()
def space() -> None:
    """The spaces on this machine."""


@space.command("list")
@json_command
def list_() -> Output:
    """List the registered spaces with their folders. Exit 1 if there are none."""
    registered = registry.registered(paths.default_home())
    style = colours()
    lines = []
    for space in registered:
        missing = style("warn", "  (folder does not exist)") if space.missing else ""
        lines.append(f"{style('bold', space.name)}  {space.root}{missing}")
    return listing(
        {"spaces": [_space_json(space) for space in registered]},
        "\n".join(lines),
        registered,
        "no spaces yet: run `kinen init` in a folder",
    )


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
def remove(name: str) -> int:
    """Unregister a space. Its folder and its memory are not deleted."""
    space = registry.unregister(paths.default_home(), name)
    print(f"removed {space.name}; its data is still in {space.data}")
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
