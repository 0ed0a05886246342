"""`kinen install` and `kinen uninstall`: make an agent remember, or let it be."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kinen import render
from kinen.cli.flags import for_scripts
from kinen.cli.run import FOUND, note
from kinen.hooks.install import AGENTS
from kinen.ipc import extras

if TYPE_CHECKING:
    from collections.abc import Callable

    from kinen.hooks.install import Done

SCOPES = ("user", "project", "local")
named = click.argument("agent", type=click.Choice(tuple(AGENTS)))
scoped = click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="user",
    show_default=True,
    help="for all your projects, for this one and all who share it, or for you in this one",
)
rehearsed = click.option("--dry-run", is_flag=True, help="only say what would be done")


@click.command()
@named
@scoped
@rehearsed
@click.option("--plugin-dir", is_flag=True, help="print where the same is as a plugin, and no more")
@for_scripts
def install(agent: str, scope: str, dry_run: bool, plugin_dir: bool, as_json: bool) -> int:
    """Write hooks and an MCP server into the settings of an agent.

    Nothing else in them changes, and a copy is kept. Doing it again brings our entries up to date.

    \b
    Examples:
      kinen install claude-code
      kinen install claude-code --scope project --dry-run
      claude --plugin-dir "$(kinen install claude-code --plugin-dir)"
    """
    from kinen.hooks import install as agents

    if plugin_dir:
        folder = agents.plugin_folder(agent)
        print(render.to_json({"plugin": folder}) if as_json else folder)
        return FOUND
    if not extras.installed("mcp"):
        note(extras.missing("the MCP server of the agent", "mcp"))
    return _told(agents.install, agent, scope, dry_run, as_json)


@click.command()
@named
@scoped
@rehearsed
@for_scripts
def uninstall(agent: str, scope: str, dry_run: bool, as_json: bool) -> int:
    """Take them out again; the settings are then what they were, byte for byte.

    What was remembered stays.

    \b
    Examples:
      kinen uninstall claude-code
    """
    from kinen.hooks import install as agents

    return _told(agents.uninstall, agent, scope, dry_run, as_json)


def _told(
    work: Callable[..., list[Done]], agent: str, scope: str, dry_run: bool, as_json: bool
) -> int:
    done = work(agent, scope, os.getcwd(), dry_run=dry_run)
    if as_json:
        rows = [{"path": one.path, "done": one.done, "backup": one.backup} for one in done]
        told = {"agent": agent, "scope": scope, "dry_run": dry_run, "files": rows}
        print(render.to_json(told))
        return FOUND
    for one in done:
        would = "would be " if dry_run and one.before != one.after else ""
        why = ": an MCP server called kinen is there, and not ours" if one.done == "kept" else ""
        print(f"{one.path}  {would}{one.done}{why}")
        if dry_run:
            print(_diff(one), end="")
    if any(one.done == "installed" for one in done) and not dry_run:
        print(f"{AGENTS[agent].title} remembers from its next session on")
    return FOUND


def _diff(one: Done) -> str:
    from difflib import unified_diff

    lines = unified_diff(one.before.splitlines(), one.after.splitlines(), "before", "after", n=1)
    return "".join(f"  {line.rstrip()}\n" for line in lines)
