"""`kinen hooks`: git hooks that index each commit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kinen.cli.command import dry_run_option, group, json_command, memory_command, space_option
from kinen.space import find as spaces
from kinen.verbs.verb import Output

if TYPE_CHECKING:
    from kinen.hooks.git import Hook
    from kinen.memory import Memory


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
@click.option("--traces", is_flag=True, help="also write which session wrote a commit, in git")
@dry_run_option
@space_option
@json_command
def install(tags: bool, traces: bool, dry_run: bool, space: str | None) -> Output:
    """Install or update the hooks. Existing hooks are kept.

    With --traces a commit gets the session in a trailer, if the agent that commits names it, and
    in the background what `kinen hooks trace` writes. Only `git push` of these notes shares them.
    """
    from kinen.hooks.git import install

    rows = install(_folder(space), tags=tags, traces=traces, dry_run=dry_run)
    return _output(rows, dry_run)


@hooks.command()
@memory_command
def trace(memory: Memory) -> Output:
    """Write which sessions wrote the latest commits into git notes.

    Commits of this branch that no remote has get a note of Git AI (refs/notes/ai) and a record of
    Agent Trace (refs/notes/agent-trace): lines, agent, session, what was asked and answered, with
    secrets masked. Only sessions recorded here and known for certain; notes that are there stay.
    """
    commits = memory.reasons.write_traces()
    lines = "\n".join(f"commit:{sha[:12]}" for sha in commits)
    return Output({"commits": [f"commit:{sha}" for sha in commits]}, lines)


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
