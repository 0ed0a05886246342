"""`kinen install` and `kinen uninstall`: connect agents to the memory."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable
from contextlib import suppress
from textwrap import fill
from typing import Any

import click

from kinen.agents.client import Client
from kinen.cli.command import dry_run_option, json_command, options
from kinen.cli.output import note
from kinen.cli.run import screen
from kinen.errors import KinenError, QueryError
from kinen.hooks import slash
from kinen.hooks.install import AGENTS, Done, folder_of, plugin_folder
from kinen.hooks.install import install as connect
from kinen.hooks.trust import grant, trusts
from kinen.ipc import extras
from kinen.memory import Memory
from kinen.space import find as spaces
from kinen.verbs.params import param
from kinen.verbs.verb import Output

SCOPES = ("user", "project", "local")
ALL = "all"
WIDTH = 80
"""Columns of the list of agents that are not here."""
scope_option = options(
    scope=param(
        "--scope",
        "for all your projects, for everybody in this project, or for you in this project",
        "user",
        choices=(*SCOPES,),
    )
)


@click.command()
@click.argument("agent", type=click.Choice((*AGENTS, ALL)), required=False)
@scope_option
@dry_run_option
@click.option("--trust", is_flag=True, help="also approve the hooks, which Codex asks for")
@click.option("--plugin-dir", is_flag=True, help="print the folder of the plugin, install nothing")
@json_command
def install(agent: str | None, scope: str, dry_run: bool, trust: bool, plugin_dir: bool) -> Output:
    """Connect an agent to the memory. Without AGENT, list the agents on this machine.

    Adds what the agent has a place for: hooks or a plugin, an MCP server, slash commands, rules.

    Nothing else in the settings changes, and a backup is kept. Run it again to update the entries.
    `all` connects every agent that is on this machine.

    \b
    Examples:
      kinen install
      kinen install claude-code
      kinen install all --dry-run
      kinen install codex --scope project
      claude --plugin-dir "$(kinen install claude-code --plugin-dir)"
    """
    if agent is None:
        return _found_agents(scope)
    if plugin_dir:
        folder = plugin_folder(agent)
        return Output({"plugin": folder}, folder)
    if not extras.installed("mcp"):
        note(extras.missing("the MCP server of the agent", "mcp"))
    if not (spaces.locate() or dry_run):
        note("this folder is not recorded: it has no git repository; `kinen init` makes it a space")
    if spaces.locate() and not dry_run:
        with suppress(KinenError), Memory.open() as memory:
            for offer in memory.transfer.offers():
                note(offer)
    if scope == "project" and not shutil.which("kinen"):
        note("the settings name the command `kinen`, which is not in your PATH")
    if agent == ALL:
        return _change_all(_install, scope, dry_run)
    if trust and (agent != "codex" or scope != "user"):
        raise QueryError("only the hooks of Codex in the scope user are approved", "omit --trust")
    output = _install(agent, scope, dry_run)
    return _trusted(output, agent) if trust and not dry_run else output


@click.command()
@click.argument("agent", type=click.Choice((*AGENTS, ALL)))
@scope_option
@dry_run_option
@json_command
def uninstall(agent: str, scope: str, dry_run: bool) -> Output:
    """Remove what `kinen install` added; everything else in the settings stays to the byte.

    The memory itself is not deleted.

    \b
    Examples:
      kinen uninstall claude-code
      kinen uninstall all
    """
    if agent == ALL:
        return _change_all(_uninstall, scope, dry_run)
    return _uninstall(agent, scope, dry_run)


def _install(agent: str, scope: str, dry_run: bool) -> Output:
    files = connect(agent, scope, os.getcwd(), dry_run=dry_run)
    commands = slash.install(agent, scope, os.getcwd(), dry_run=dry_run)
    return _report(agent, scope, dry_run, files, commands)


def _uninstall(agent: str, scope: str, dry_run: bool) -> Output:
    from kinen.hooks.install import uninstall as disconnect

    # The commands first: with the settings goes the folder of both, if it is empty then.
    commands = slash.uninstall(agent, scope, os.getcwd(), dry_run=dry_run)
    files = disconnect(agent, scope, os.getcwd(), dry_run=dry_run)
    return _report(agent, scope, dry_run, files, commands)


def _report(
    agent: str, scope: str, dry_run: bool, files: list[Done], commands: list[Done]
) -> Output:
    rows = [
        {"path": file.path, "part": file.part, "done": file.done, "backup": file.backup}
        for file in files
    ]
    lines = []
    for file in files:
        would = "would be " if dry_run and file.before != file.after else ""
        reason = ""
        if file.done == "kept":
            reason = f" (the file has another {file.part} named kinen)"
        elif file.done == "removed":
            reason = "; everything else is as before"
        lines.append(f"{file.path}  {file.part} {would}{file.done}{reason}")
        if dry_run:
            from difflib import unified_diff

            before = file.before.splitlines()
            after = file.after.splitlines()
            lines += [
                f"  {line.rstrip()}" for line in unified_diff(before, after, "before", "after", n=1)
            ]
    client = AGENTS[agent]
    lines += _command_lines(commands, client, dry_run)
    if any(file.done == "installed" for file in files) and not dry_run:
        lines.append(f"{client.title} uses kinen from its next session on")
        if scope in client.by_hand and not (scope == "project" and trusts(client, os.getcwd())):
            lines.append(f"left to do: {by_hand(client, scope)}")
        if agent == "claude-code" and not commands:
            lines.append(f"slash commands: claude --plugin-dir {shlex.quote(plugin_folder(agent))}")
    data = {"agent": agent, "scope": scope, "dry_run": dry_run, "files": rows}
    data["commands"] = [{"path": file.path, "done": file.done} for file in commands]
    return Output(data, "\n".join(lines))


def _command_lines(commands: list[Done], agent: Client, dry_run: bool) -> list[str]:
    """A line for the slash commands that share a state: the folder, the state, their names."""
    lines = []
    prefix = "" if agent.command_file.startswith("kinen-") else "kinen:"
    for done in dict.fromkeys(file.done for file in commands):
        files = [file for file in commands if file.done == done]
        would = "would be " if dry_run and files[0].before != files[0].after else ""
        names = (os.path.splitext(os.path.basename(file.path))[0] for file in files)
        listed = ": " + ", ".join(f"/{prefix}{name}" for name in names)
        if done == "kept":
            listed = f" (the files are not as kinen wrote them){listed}"
        elif done == "not installed":
            listed = ""
        folder = os.path.dirname(files[0].path)
        lines.append(f"{folder}  slash commands {would}{done}{listed}")
    return lines


def by_hand(agent: Client, scope: str) -> str:
    """What the user has to do after an install."""
    return agent.by_hand[scope].format(program=agent.program)


def _change_all(change: Callable[[str, str, bool], Output], scope: str, dry_run: bool) -> Output:
    """Change the settings of every agent on this machine; one that fails does not stop the rest."""
    texts: list[str] = []
    rows: list[dict[str, Any]] = []
    failed = []
    for name, agent in AGENTS.items():
        if not is_here(agent) or scope not in agent.scopes:
            continue
        try:
            output = change(name, scope, dry_run)
        except KinenError as error:
            failed.append(name)
            texts.append(f"{agent.title}: {error.message}; {error.hint}")
            continue
        assert isinstance(output.data, dict)
        rows.append(output.data)
        texts.append(f"{agent.title}\n{output.text}")
    if failed:
        note("\n".join(texts))
        fact = f"the settings of {', '.join(failed)} were not changed"
        raise KinenError(fact, "fix what is named above, and run it again")
    if not texts:
        texts.append("no agent found on this machine; `kinen install` lists those that it knows")
    data = {"scope": scope, "dry_run": dry_run, "agents": rows}
    return Output(data, "\n\n".join(texts), found=bool(rows))


def _trusted(output: Output, agent: str) -> Output:
    count = grant(folder_of(AGENTS[agent]))
    text = output.rendered().replace(f"left to do: {by_hand(AGENTS[agent], 'user')}", "").rstrip()
    assert isinstance(output.data, dict)
    return Output({**output.data, "trusted": count}, f"{text}\nhooks approved: {count}")


def is_here(agent: Client) -> bool:
    """Whether an agent is on this machine."""
    runs = bool(agent.program) and shutil.which(agent.program) is not None
    return runs or os.path.isdir(folder_of(agent))


def is_connected(agent: Client, scope: str) -> bool:
    """Whether all that kinen installs in a scope is there; settings that are broken raise."""
    files = connect(agent.name, scope, os.getcwd(), dry_run=True)
    return all(file.before == file.after for file in files)


def _found_agents(scope: str) -> Output:
    """The agents on this machine, and how to connect each."""
    rows = []
    data = []
    absent = []
    for name, agent in AGENTS.items():
        state = "not found"
        hint = f"`kinen install {name}` connects it"
        if is_here(agent):
            own = scope if scope in agent.scopes else next(iter(agent.scopes))
            state = "connected" if is_connected(agent, own) else "found"
            hint = "" if state == "connected" else hint
            rows.append(("✓", name, state, hint))
        else:
            absent.append(name)
        data.append({"agent": name, "state": state, "hint": hint})
    nobody = "no agent found on this machine"
    lines = [screen().rows(rows, ("", "bold", "")) if rows else nobody]
    if absent:
        lines.append(fill(f"not found: {', '.join(absent)}", WIDTH, break_on_hyphens=False))
    if not rows:
        lines.append("install one of them, then run `kinen install` again; `kinen install NAME`")
        lines.append("also writes the settings of an agent that is not there yet")
    return Output({"agents": data}, "\n".join(lines))
