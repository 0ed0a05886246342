"""`kinen hooks`: git hooks that index each commit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kinen.cli.command import dry_run_option, group, json_command, space_option
from kinen.space import find as spaces
from kinen.verbs.verb import Output

if TYPE_CHECKING:
    from kinen.hooks.git import Hook


@group()
def hooks() -> None:
    """Git hooks that run `kinen index` in the background after each commit.

    Existing hooks keep their text and still run. The hooks are installed in the repository, for all
    of its worktrees, and never fail or delay git.

    \b
    Examples:
      kinen hooks install --tags
      kinen hooks uninstall
    """


@hooks.command()
@click.option("--tags", is_flag=True, help="also suggest tags in commit messages")
@dry_run_option
@space_option
@json_command
def install(tags: bool, dry_run: bool, space: str | None) -> Output:
    """Install or update the hooks. Existing hooks are kept."""
    from kinen.hooks.git import install

    return _output(install(_folder(space), tags=tags, dry_run=dry_run), dry_run)


@hooks.command()
@space_option
@json_command
def uninstall(space: str | None) -> Output:
    """Remove the hooks and restore the previous files byte for byte."""
    from kinen.hooks.git import uninstall

    return _output(uninstall(_folder(space)))


@hooks.command()
@space_option
@json_command
def status(space: str | None) -> Output:
    """Show which hooks are installed. Exit 1 if an indexing hook is missing."""
    from kinen.hooks.git import INDEXING, status

    rows = status(_folder(space))
    complete = all(hook.state == "installed" for hook in rows if hook.name in INDEXING)
    return _output(rows, complete=complete)


def _folder(space: str | None) -> str:
    return spaces.find(name=space).root if space else os.getcwd()


def _output(rows: list[Hook], dry_run: bool = False, *, complete: bool = True) -> Output:
    folder = os.path.dirname(rows[0].path)
    fields = [
        {name: value for name, value in hook._asdict().items() if value != ""} for hook in rows
    ]
    lines = []
    for hook in rows:
        would = "would be " if dry_run and hook.done != "unchanged" else ""
        others = " (existing hook kept)" if hook.others else ""
        lines.append(f"{hook.name:<19} {would}{hook.done or hook.state}{others}")
    if not rows[0].done:
        lines.append(f"{'in':<19} {folder}")
    return Output({"hooks": fields, "folder": folder}, "\n".join(lines), found=complete)
