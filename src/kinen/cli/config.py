"""`kinen config`: show, get and set options."""

from __future__ import annotations

import os

import click

from kinen import config as configuration
from kinen import paths, render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import colours
from kinen.config.trust import is_trusted, trust
from kinen.space import find as spaces


def command() -> click.Command:
    return config


@click.group()
def config() -> None:
    """Options: defaults < your file < the space's file < KINEN_* variables < flags."""


@config.command()
@in_space
@for_scripts
def show(space: str | None, as_json: bool) -> int:
    """Every option with its value and where it was set."""
    loaded = configuration.load(paths.default_home(), _root(space))
    if as_json:
        print(render.to_json(dict(configuration.items(loaded))))
        return 0
    style = colours()
    for key, value in configuration.items(loaded):
        where = style("dim", f"  # {loaded.sources[key]}") if key in loaded.sources else ""
        print(f"{style('bold', key)}: {_written(value)}{where}")
    for key in loaded.ignored:
        print(style("warn", f"{key} of the space's own file is ignored until `kinen trust`"))
    return 0


@config.command()
@click.argument("key")
@in_space
def get(key: str, space: str | None) -> int:
    """The value of one option."""
    loaded = configuration.load(paths.default_home(), _root(space))
    print(_written(configuration.get(loaded, key)))
    return 0


@config.command("set")
@click.argument("key")
@click.argument("value")
@click.option("--user", is_flag=True, help="in your own file, for all spaces")
@in_space
def set_(key: str, value: str, user: bool, space: str | None) -> int:
    """Set an option in the space's .kinen/config.yml, or with --user in yours.

    \b
    Examples:
      kinen config set search.default_limit 20
      kinen config set --user index.embedding_provider ollama
    """
    root = None if user else _root(space)
    file = configuration.space_file(root) if root else paths.user_file()
    home = paths.default_home()
    trusted = is_trusted(home, file)
    configuration.set_value(file, key, value)
    if trusted:
        trust(home, file)
    print(f"{key}: {value}  # {file}")
    return 0


@config.command()
@in_space
def path(space: str | None) -> int:
    """Where the files are: yours, then the space's."""
    root = _root(space)
    for file in (paths.user_file(), configuration.space_file(root) if root else ""):
        if file:
            print(f"{file}{'' if os.path.exists(file) else '  (not there yet)'}")
    return 0


def _root(name: str | None) -> str | None:
    """The folder of the space; outside of any there are only the user's options."""
    if name:
        return spaces.find(name=name).root
    return spaces.locate() or None


def _written(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{glob}={' '.join(tags)}" for glob, tags in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
