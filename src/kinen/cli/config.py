"""`kinen config`: show, get and set options."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Collection, Iterator

import click

from kinen import config as configuration
from kinen import paths
from kinen.cli.command import group, json_command, space_option
from kinen.cli.output import NOTHING, note, wrapped
from kinen.cli.run import colours
from kinen.config import former
from kinen.config.keys import ADDED, HARMLESS, ROWS, Config
from kinen.config.trust import is_trusted, trust
from kinen.errors import ConfigError
from kinen.memory import Memory
from kinen.privacy.exclude import matching_glob
from kinen.sources.git.tagging import KISTE, VARP, read_rules
from kinen.space import find as spaces
from kinen.verbs.verb import Output

EXCLUDE = "privacy.exclude"
"""The paths that are never captured nor shown."""


@group()
def config() -> None:
    """Options. Precedence: defaults, your file, the space's file, KINEN_* variables, flags."""


@config.command()
@space_option
@json_command
def show(space: str | None) -> Output:
    """Show every option with its value and where it was set."""
    root = _root(space)
    loaded = _loaded(root)
    style = colours()
    lines = []
    for key, value in configuration.items(loaded):
        source = f"  # {loaded.sources[key]}" if key in loaded.sources else ""
        text = wrapped(f"{key}: {_value_text(value)}", sys.stdout).removeprefix(key)
        lines.append(f"{style('bold', key)}{text}{style('dim', source)}")
    for key, value in loaded.ignored.items():
        state = "is ignored: `kinen trust` takes it"
        if ROWS[key].mark == ADDED:
            state = "is only added: `kinen trust` makes it the whole list"
        line = f"{key}: {_value_text(value)} in the space's file {state}"
        lines.append(style("warn", wrapped(line, sys.stdout)))
    values = dict(configuration.items(loaded))
    return Output(values, "\n".join(lines), notes=(*loaded.warnings, *former.variables(os.environ)))


def _loaded(root: str | None) -> Config:
    """The options of a space, with what .kiste.yaml and varp.yaml of its repository set."""
    loaded = configuration.load(paths.default_home(), root)
    if root is None:
        return loaded
    rules = read_rules(root, loaded.git, loaded.sources)
    git = rules._asdict()
    notes = git.pop("notes")
    changed = {name: value for name, value in git.items() if value != getattr(loaded.git, name)}
    files = {name: VARP if name == "components" else KISTE for name in changed}
    sources = {f"git.{name}": os.path.join(root, file) for name, file in files.items()}
    return loaded._replace(
        git=loaded.git._replace(**git),
        sources={**loaded.sources, **sources},
        warnings=(*loaded.warnings, *notes),
    )


@config.command()
@click.argument("key")
@space_option
def get(key: str, space: str | None) -> int:
    """Print the value of an option."""
    print(_value_text(configuration.get(_loaded(_root(space)), key)))
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
      kinen config set distill.order claude,extract
      kinen config set privacy.exclude '["secret/**", "*.pem"]'
      kinen config set --user index.embedding_provider ollama
    """
    file = _file(user, space)
    indexed = _indexed_paths(_root(space)) if key == EXCLUDE else []
    with _trust_kept(file) as ignored:
        parsed = configuration.set_value(file, key, value, "" if user else _root(space) or "")
    if ROWS[key].kind == "mapping":
        parsed = dict(parsed)
    print(f"{key}: {_value_text(parsed) if isinstance(parsed, (tuple, dict)) else value}  # {file}")
    if key == EXCLUDE and parsed:
        note("what matches is in no answer from now on; `kinen index` removes it from the index")
        for glob in parsed if indexed else ():
            if not any(matching_glob(path, [glob]) for path in indexed):
                note(f"`{glob}` matches nothing that is indexed now")
    if key in ignored():
        note(f"{key} is ignored until you run `kinen trust`: others have set keys in the file, too")
    return 0


@config.command()
@click.argument("key")
@click.option("--user", is_flag=True, help="in your own file, for all spaces")
@space_option
def unset(key: str, user: bool, space: str | None) -> int:
    """Remove an option from the space's .kinen/config.yml, or from your own file with --user.

    Exit 1 if it is not set there.
    """
    file = _file(user, space)
    with _trust_kept(file):
        removed = configuration.unset_value(file, key)
    if not removed:
        note(f"{key} is not set in {file}")
        return NOTHING
    root = None if user else _root(space)
    print(f"{key}: {_value_text(configuration.get(_loaded(root), key))}")
    return 0


def _file(user: bool, space: str | None) -> str:
    """The file to change: that of the space, or the user's own."""
    root = None if user else _root(space)
    return configuration.space_file(root) if root else paths.user_file()


def _indexed_paths(root: str | None) -> list[str]:
    """The paths that the index of a space has; none if there is no index."""
    if root is None:
        return []
    with Memory.open(root) as memory:
        if not os.path.exists(memory.core.file("index.db")):
            return []
        return [record.path for record in memory.core.reader.records(()) if record.path]


@contextlib.contextmanager
def _trust_kept(file: str) -> Iterator[Callable[[], Collection[str]]]:
    """Trust a file after a change unless it had keys that were not trusted: the user made it.

    Yields a function that returns the keys that are ignored then.
    """
    home = paths.default_home()
    root = os.path.dirname(os.path.dirname(file))
    of_space = file != paths.user_file()
    trusted = of_space and (is_trusted(home, file) or not _ignored(home, root))
    yield lambda: _ignored(home, root) if of_space else ()
    if trusted and os.path.exists(file):
        trust(home, file)


def _ignored(home: str, root: str) -> Collection[str]:
    """The keys that are ignored; with a file that cannot be loaded, every one that may be."""
    try:
        return configuration.load(home, root).ignored
    except ConfigError:  # the change may be what repairs it
        return [key for key, row in ROWS.items() if row.mark != HARMLESS]


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


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script for a shell.

    \b
    Examples:
      eval "$(kinen completion bash)"               # in ~/.bashrc
      eval "$(kinen completion zsh)"                # in ~/.zshrc
      kinen completion fish > ~/.config/fish/completions/kinen.fish
    """
    from click.shell_completion import get_completion_class

    from kinen.cli.groups import root

    script = get_completion_class(shell)
    assert script is not None
    print(script(root, {}, "kinen", "_KINEN_COMPLETE").source())
    return 0
