"""`kinen hooks`: have git tell kinen of every commit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING
from kinen.space import find as spaces

if TYPE_CHECKING:
    from kinen.hooks.git import Hook


def command() -> click.Command:
    return hooks


@click.group()
def hooks() -> None:
    """Index each commit by itself: git hooks that start `kinen index` in the background.

    Hooks that are there already keep their text and still run. The hooks live in the
    repository, for all of its worktrees, and never fail or delay what git does.

    \b
    Examples:
      kinen hooks install --tags
      kinen hooks uninstall
    """


@hooks.command()
@click.option("--tags", is_flag=True, help="also suggest tags in commit messages")
@click.option("--dry-run", is_flag=True, help="only say what would be done")
@in_space
@for_scripts
def install(tags: bool, dry_run: bool, space: str | None, as_json: bool) -> int:
    """Write the hooks, beside whatever is in them; doing it again brings them up to date."""
    from kinen.hooks.git import install

    return _show(install(_start(space), tags=tags, dry_run=dry_run), as_json, dry_run)


@hooks.command()
@in_space
@for_scripts
def uninstall(space: str | None, as_json: bool) -> int:
    """Take the hooks away again; what was there before comes back byte for byte."""
    from kinen.hooks.git import uninstall

    return _show(uninstall(_start(space)), as_json)


@hooks.command()
@in_space
@for_scripts
def status(space: str | None, as_json: bool) -> int:
    """Which hooks are installed; exit 1 if one of the four that index is not."""
    from kinen.hooks.git import INDEXING, status

    found = status(_start(space))
    _show(found, as_json)
    missing = [hook for hook in found if hook.name in INDEXING and hook.state != "installed"]
    return NOTHING if missing else FOUND


def _start(space: str | None) -> str:
    return spaces.find(name=space).root if space else os.getcwd()


def _show(found: list[Hook], as_json: bool, dry_run: bool = False) -> int:
    folder = os.path.dirname(found[0].path)
    if as_json:
        rows = [
            {key: value for key, value in hook._asdict().items() if value != ""} for hook in found
        ]
        print(render.to_json({"hooks": rows, "folder": folder}))
        return 0
    for hook in found:
        would = "would be " if dry_run and hook.done != "unchanged" else ""
        others = ", beside another hook" if hook.others else ""
        print(f"{hook.name:<19} {would}{hook.done or hook.state}{others}")
    if not found[0].done:
        print(f"{'in':<19} {folder}")
    return 0
