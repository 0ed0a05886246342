"""`kinen install` and `kinen uninstall`: connect an agent to the memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from kinen.cli.command import Output, choice_option, dry_run_option, json_command
from kinen.cli.run import note
from kinen.hooks.install import AGENTS
from kinen.ipc import extras

if TYPE_CHECKING:
    from kinen.hooks.install import Done

SCOPES = ("user", "project", "local")
_WORDS = {"removed": "restored: entries of kinen removed"}
"""`removed` alone would read as if the file were deleted."""
agent_argument = click.argument("agent", type=click.Choice(tuple(AGENTS)))
scope_option = choice_option(
    "--scope",
    SCOPES,
    "for all your projects, for everybody in this project, or for you in this project",
    default="user",
)


@click.command()
@agent_argument
@scope_option
@dry_run_option
@click.option("--plugin-dir", is_flag=True, help="print the folder of the plugin, install nothing")
@json_command
def install(agent: str, scope: str, dry_run: bool, plugin_dir: bool) -> Output:
    """Add hooks and an MCP server to the settings of an agent.

    Nothing else in the settings changes, and a backup is kept. Run it again to update the entries.

    \b
    Examples:
      kinen install claude-code
      kinen install claude-code --scope project --dry-run
      claude --plugin-dir "$(kinen install claude-code --plugin-dir)"
    """
    from kinen.hooks import install as agents

    if plugin_dir:
        folder = agents.plugin_folder(agent)
        return Output({"plugin": folder}, folder)
    if not extras.installed("mcp"):
        note(extras.missing("the MCP server of the agent", "mcp"))
    return _change(agents.install, agent, scope, dry_run)


@click.command()
@agent_argument
@scope_option
@dry_run_option
@json_command
def uninstall(agent: str, scope: str, dry_run: bool) -> Output:
    """Remove the hooks and the MCP server; the settings are restored byte for byte.

    The memory itself is not deleted.

    \b
    Examples:
      kinen uninstall claude-code
    """
    from kinen.hooks import install as agents

    return _change(agents.uninstall, agent, scope, dry_run)


def _change(change: Callable[..., list[Done]], agent: str, scope: str, dry_run: bool) -> Output:
    files = change(agent, scope, os.getcwd(), dry_run=dry_run)
    rows = [{"path": file.path, "done": file.done, "backup": file.backup} for file in files]
    lines = []
    for file in files:
        would = "would be " if dry_run and file.before != file.after else ""
        reason = " (it has another MCP server named kinen)" if file.done == "kept" else ""
        lines.append(f"{file.path}  {would}{_WORDS.get(file.done, file.done)}{reason}")
        if dry_run:
            lines += _diff(file)
    if any(file.done == "installed" for file in files) and not dry_run:
        lines.append(f"{AGENTS[agent].title} uses kinen from its next session on")
    data = {"agent": agent, "scope": scope, "dry_run": dry_run, "files": rows}
    return Output(data, "\n".join(lines))


def _diff(file: Done) -> list[str]:
    from difflib import unified_diff

    before = file.before.splitlines()
    after = file.after.splitlines()
    return [f"  {line.rstrip()}" for line in unified_diff(before, after, "before", "after", n=1)]
