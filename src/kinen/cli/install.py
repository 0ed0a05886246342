"""`kinen install` and `kinen uninstall`: connect an agent to the memory."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import click

from kinen.cli.command import Output, choice_option, dry_run_option, json_command
from kinen.cli.run import note, screen
from kinen.hooks import slash
from kinen.hooks.install import AGENTS, plugin_folder
from kinen.hooks.install import install as connect
from kinen.ipc import extras
from kinen.paths import user_folder
from kinen.space import find as spaces

if TYPE_CHECKING:
    from kinen.hooks.install import Done

SCOPES = ("user", "project", "local")
PARTS = ("hooks", "MCP server")
"""What is written to each file of an agent's settings, in the order of the files."""
OTHERS = {
    "codex": ".codex",
    "gemini": ".gemini",
    "opencode": os.path.join(".local", "share", "opencode"),
}
"""Agents whose past sessions can be imported, with their folders in the user's home."""
scope_option = choice_option(
    "--scope",
    SCOPES,
    "for all your projects, for everybody in this project, or for you in this project",
    default="user",
)


@click.command()
@click.argument("agent", type=click.Choice(tuple(AGENTS)), required=False)
@scope_option
@dry_run_option
@click.option("--plugin-dir", is_flag=True, help="print the folder of the plugin, install nothing")
@json_command
def install(agent: str | None, scope: str, dry_run: bool, plugin_dir: bool) -> Output:
    """Add hooks, an MCP server and slash commands to an agent. Without AGENT, list agents.

    Nothing else in the settings changes, and a backup is kept. Run it again to update the entries.

    \b
    Examples:
      kinen install
      kinen install claude-code
      kinen install claude-code --scope project --dry-run
      claude --plugin-dir "$(kinen install claude-code --plugin-dir)"
    """
    from kinen.hooks import install as agents

    if agent is None:
        return _found_agents(scope)
    if plugin_dir:
        folder = agents.plugin_folder(agent)
        return Output({"plugin": folder}, folder)
    if not extras.installed("mcp"):
        note(extras.missing("the MCP server of the agent", "mcp"))
    if not (spaces.locate() or dry_run):
        note("this folder is not recorded: it has no git repository; `kinen init` makes it a space")
    files = agents.install(agent, scope, os.getcwd(), dry_run=dry_run)
    commands = slash.install(agent, scope, os.getcwd(), dry_run=dry_run)
    return _report(agent, scope, dry_run, files, commands)


@click.command()
@click.argument("agent", type=click.Choice(tuple(AGENTS)))
@scope_option
@dry_run_option
@json_command
def uninstall(agent: str, scope: str, dry_run: bool) -> Output:
    """Remove hooks, MCP server and slash commands; the settings are restored byte for byte.

    The memory itself is not deleted.

    \b
    Examples:
      kinen uninstall claude-code
    """
    from kinen.hooks import install as agents

    # The commands first: with the settings goes the folder of both, if it is empty then.
    commands = slash.uninstall(agent, scope, os.getcwd(), dry_run=dry_run)
    files = agents.uninstall(agent, scope, os.getcwd(), dry_run=dry_run)
    return _report(agent, scope, dry_run, files, commands)


def _report(
    agent: str, scope: str, dry_run: bool, files: list[Done], commands: list[Done]
) -> Output:
    rows = [{"path": file.path, "done": file.done, "backup": file.backup} for file in files]
    lines = []
    for part, file in zip(PARTS, files, strict=True):
        would = "would be " if dry_run and file.before != file.after else ""
        reason = ""
        if file.done == "kept":
            reason = " (the file has another MCP server named kinen)"
        elif file.done == "removed":
            reason = "; everything else is as before"
        lines.append(f"{file.path}  {part} {would}{file.done}{reason}")
        if dry_run:
            lines += _diff(file)
    lines += _command_lines(commands, dry_run)
    if any(file.done == "installed" for file in files) and not dry_run:
        lines.append(f"{AGENTS[agent].title} uses kinen from its next session on")
        if not commands:
            lines.append(f"slash commands: claude --plugin-dir {shlex.quote(plugin_folder(agent))}")
    data = {"agent": agent, "scope": scope, "dry_run": dry_run, "files": rows}
    data["commands"] = [{"path": file.path, "done": file.done} for file in commands]
    return Output(data, "\n".join(lines))


def _command_lines(commands: list[Done], dry_run: bool) -> list[str]:
    """A line for the slash commands that share a state: the folder, the state, their names."""
    lines = []
    for done in dict.fromkeys(file.done for file in commands):
        files = [file for file in commands if file.done == done]
        would = "would be " if dry_run and files[0].before != files[0].after else ""
        names = (os.path.splitext(os.path.basename(file.path))[0] for file in files)
        listed = ": " + ", ".join(f"/kinen:{name}" for name in names)
        if done == "kept":
            listed = f" (the files are not as kinen wrote them){listed}"
        elif done == "not installed":
            listed = ""
        folder = os.path.dirname(files[0].path)
        lines.append(f"{folder}  slash commands {would}{done}{listed}")
    return lines


def _found_agents(scope: str) -> Output:
    """The agents on this machine, and how to connect each."""
    home = user_folder(os.environ)
    rows = []
    for name, agent in AGENTS.items():
        files = connect(name, scope, os.getcwd(), dry_run=True)
        connected = all(file.before == file.after for file in files)
        folder = os.environ.get(agent.config[0]) or os.path.join(home, agent.config[1])
        state = "connected" if connected else "found" if os.path.isdir(folder) else "not found"
        hint = "" if connected else f"`kinen install {name}` connects it"
        rows.append((name, state, hint))
    for name, folder in OTHERS.items():
        found = os.path.isdir(os.path.join(home, folder))
        hint = "`kinen import transcripts` imports its sessions" if found else ""
        rows.append((name, "found" if found else "not found", hint))
    data = [{"agent": name, "state": state, "hint": hint} for name, state, hint in rows]
    return Output({"agents": data}, screen().rows(rows, ("bold", "")))


def _diff(file: Done) -> list[str]:
    from difflib import unified_diff

    before = file.before.splitlines()
    after = file.after.splitlines()
    return [f"  {line.rstrip()}" for line in unified_diff(before, after, "before", "after", n=1)]
