"""`kinen config`: show, get and set options."""

from __future__ import annotations

import os

import click

from kinen import config as configuration
from kinen import paths
from kinen.cli.command import Output, group, json_command, space_option
from kinen.cli.run import colours
from kinen.config.trust import is_trusted, trust
from kinen.space import find as spaces


@group()
def config() -> None:
    """Options. Precedence: defaults, your file, the space's file, KINEN_* variables, flags."""


@config.command()
@space_option
@json_command
def show(space: str | None) -> Output:
    """Show every option with its value and where it was set."""
    loaded = configuration.load(paths.default_home(), _root(space))
    style = colours()
    lines = []
    for key, value in configuration.items(loaded):
        source = style("dim", f"  # {loaded.sources[key]}") if key in loaded.sources else ""
        lines.append(f"{style('bold', key)}: {_value_text(value)}{source}")
    lines += [
        style("warn", f"{key} in the space's file is ignored: run `kinen trust`")
        for key in loaded.ignored
    ]
    return Output(dict(configuration.items(loaded)), "\n".join(lines))


@config.command()
@click.argument("key")
@space_option
def get(key: str, space: str | None) -> int:
    """Print the value of an option."""
    loaded = configuration.load(paths.default_home(), _root(space))
    print(_value_text(configuration.get(loaded, key)))
    return 0


@config.command("set")
@click.argument("key")
@click.argument("value")
@click.option("--user", is_flag=True, help="set it in your own file, for all spaces")
@space_option
def set_(key: str, value: str, user: bool, space: str | None) -> int:
    """Set an option in the space's .kinen/config.yml, or in your own file with --user.

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
@space_option
def path(space: str | None) -> int:
    """Print the paths of your config file and of the space's."""
    root = _root(space)
    files = [paths.user_file()]
    if root:
        files.append(configuration.space_file(root))
    for file in files:
        print(f"{file}{'' if os.path.exists(file) else '  (does not exist)'}")
    return 0


def _root(name: str | None) -> str | None:
    """The folder of the space; None outside any space, where only the user's options apply."""
    if name:
        return spaces.find(name=name).root
    return spaces.locate() or None


def _value_text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{glob}={' '.join(tags)}" for glob, tags in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
