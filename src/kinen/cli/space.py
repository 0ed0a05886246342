"""`kinen space`: the spaces on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kinen import paths, render
from kinen.cli.flags import FILE_NAME, for_scripts
from kinen.cli.run import FOUND, NOTHING, colours
from kinen.space import find as spaces
from kinen.space import registry

if TYPE_CHECKING:
    from kinen.space.registry import Space


def command() -> click.Command:
    return space


@click.group()
def space() -> None:
    """The spaces on this machine: which there are, which one this is, other names for them."""


@space.command("list")
@for_scripts
def list_(as_json: bool) -> int:
    """Every registered space with its folder."""
    found = registry.registered(paths.default_home())
    if as_json:
        print(render.to_json({"spaces": [_shown(one) for one in found]}))
    else:
        style = colours()
        for one in found:
            gone = style("warn", "  (folder is gone)") if one.missing else ""
            print(f"{style('bold', one.name)}  {one.root}{gone}")
    return FOUND if found else NOTHING


@space.command()
@for_scripts
def current(as_json: bool) -> int:
    """The space that this folder belongs to."""
    found = spaces.find()
    if as_json:
        print(render.to_json(_shown(found)))
    else:
        print(f"{found.name}  {found.root}")
    return 0


@space.command()
@click.argument("path", type=click.Path(exists=True, file_okay=False))
@click.option("--name", help="what to call it; the folder's name if not given")
def add(path: str, name: str | None) -> int:
    """Register a folder as a space without writing anything into it."""
    added = spaces.register(spaces.at(path), name)
    print(f"added {added.name}  {added.root}")
    return 0


@space.command()
@click.argument("name", type=FILE_NAME)
def remove(name: str) -> int:
    """Take a space off the list; its folder and what was remembered stay."""
    gone = registry.unregister(paths.default_home(), name)
    print(f"removed {gone.name}; its data stays in {gone.data}")
    return 0


@space.command()
@click.argument("name", type=FILE_NAME)
@click.argument("other")
def alias(name: str, other: str) -> int:
    """Give a space another name that --space understands."""
    known = registry.alias(paths.default_home(), name, other)
    print(f"{known.name} is also {other}")
    return 0


def _shown(one: Space) -> dict[str, Any]:
    return {
        "name": one.name,
        "root": one.root,
        "id": one.id,
        "identity": one.identity,
        "origin": one.origin or None,
        "aliases": list(one.aliases),
        "data": one.data,
        "missing": one.missing,
    }
