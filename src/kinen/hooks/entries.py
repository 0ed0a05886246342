"""What kinen writes into settings, where, and how its own entries are recognised there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kinen.agents.client import Client, Setting
from kinen.hooks.forms import BEGIN, FORMS, Keys, value_at
from kinen.paths import user_folder
from kinen.space.repository import git_above

NAME = "kinen"
"""What our MCP server is called in the settings."""
MARK = "written by kinen"
"""Stands in every file that is all ours."""
COMMANDS = ("checkpoint", "handoff", "memory", "recall")
PARTS = {
    "hooks": "hooks",
    "server": "MCP server",
    "notify": "notify",
    "read": "read",
    "rules": "rules",
    "plugin": "plugin",
}
"""What each part of the settings is called."""


def in_words(parts: Sequence[Setting]) -> str:
    return ", ".join(PARTS[part.part] for part in parts)


def has_hooks(parts: Sequence[Setting]) -> bool:
    return any(part.part == "hooks" for part in parts)


def locations(agent: Client, here: str) -> dict[str, str]:
    """What places of settings name: the agent's folder, the project, and so on; see `Setting`."""
    home = user_folder(os.environ)
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    if sys.platform == "darwin":
        settings = os.path.join(home, "Library", "Application Support")
    elif os.name == "nt":
        settings = os.environ.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    folder = agent.folder.format(settings=settings)
    override = os.environ.get(agent.variable, "") if agent.variable else ""
    here = os.path.realpath(here)
    git = git_above(here)
    return {
        "home": home,
        "settings": settings,
        "folder": folder,
        "config": override or os.path.join(home, folder),
        "base": override or home,
        "top": git.top if git else here,
        "main": git.main if git else here,
    }


def command(*, shared: bool = False) -> list[str]:
    """The command of the kinen that runs now; by its name alone in a file shared with others."""
    if shared:
        return ["kinen"]
    invoked = sys.argv[0] if os.path.basename(sys.argv[0]) in ("kinen", "kinen.exe") else ""
    beside = os.path.join(os.path.dirname(sys.executable), "kinen")
    program = next(filter(None, map(shutil.which, (invoked, beside))), "")
    if not program:
        return [sys.executable, "-P", "-m", "kinen"]  # -P: not with modules of the project
    return [os.path.abspath(program).replace(os.sep, "/")]


def shipped(name: str) -> str:
    """The path of a file or folder that is part of the package."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)


def written(
    agent: Client, parts: Sequence[Setting], line: list[str], *, before_tools: bool
) -> dict[Keys, Any] | str:
    """What goes into a file: entries by their paths, or its text."""
    first = parts[0]
    if first.part == "rules":
        text = _text("rules.md").rstrip()
        if first.form == "block":
            return text
        head = "---\ndescription: The memory of this project\nalwaysApply: true\n---\n\n"
        return f"{head}<!-- {MARK} -->\n{text}\n"
    if first.part == "plugin":
        # Our plugin for an agent: what all of them share, and its own part.
        shared = _text(os.path.join("plugins", "kinen.ts"))
        own = _text(os.path.join("plugins", agent.plugin))
        commands = {
            name: {"description": description, "template": body}
            for name, (description, body) in slash_commands().items()
        }
        shared = shared.replace('["kinen"]', json.dumps(line), 1)
        shared = shared.replace('"agent"', json.dumps(agent.name), 1)
        shared = shared.replace("}> = {}", f"}}> = {json.dumps(commands, indent=2)}", 1)
        return shared + "\n" + own
    entries: dict[Keys, Any] = {}
    for part in parts:
        entries |= _entries(agent, part, line, before_tools=before_tools)
    return entries


def _entries(
    agent: Client, part: Setting, line: list[str], *, before_tools: bool
) -> dict[Keys, Any]:
    """Entries by where they go: a hook for each event, or the server."""
    if part.part == "server":
        return {(*part.keys, NAME): _filled(agent.server, line=line)}
    if part.part == "notify":
        return {part.keys: [*line, "hook", agent.name, "--notify"]}
    if part.part == "read":
        return {part.keys: "CONVENTIONS.md"}
    events = dict.fromkeys(agent.events, "") | dict(agent.matchers)
    if before_tools:
        events |= agent.before_tools
    hooks: dict[Keys, Any] = {}
    for event, tools in events.items():
        hook = _filled(agent.hook, line=[*line, "hook", agent.name], event=event)
        group = {"hooks": [hook]} if agent.nested else hook
        hooks[*part.keys, event, None] = {"matcher": tools, **group} if tools else group
    return hooks


def _filled(template: Any, *, line: list[str], event: str = "") -> Any:
    """A template of an entry with our command in it."""
    if isinstance(template, Mapping):
        return {key: _filled(value, line=line, event=event) for key, value in template.items()}
    if isinstance(template, list):
        if template == ["{args}"]:
            return [*line[1:], "mcp"]
        return [*line, "mcp"] if template == ["{argv}"] else list(template)
    if not isinstance(template, str):
        return template
    return template.format(line=shlex.join(line), program=line[0], event=event)


def present(parts: Sequence[Setting], settings: dict[str, Any]) -> list[Keys]:
    """The paths of our entries: the server, or each hook of each event."""
    paths: list[Keys] = []
    for part in parts:
        if part.part == "hooks":
            paths += _hooks(settings, part.keys)
            continue
        path: Keys = (*part.keys, NAME) if part.part == "server" else part.keys
        value = value_at(settings, path)
        if calls_kinen(value) or (part.part == "read" and value == "CONVENTIONS.md"):
            paths.append(path)
    return paths


def _hooks(settings: dict[str, Any], keys: Keys) -> Iterator[Keys]:
    events = value_at(settings, keys)
    for event, groups in events.items() if isinstance(events, dict) else ():
        for n, group in enumerate(groups if isinstance(groups, list) else ()):
            if calls_kinen(group):
                yield (*keys, event, n)
            hooks = group.get("hooks") if isinstance(group, dict) else None
            for m, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                if calls_kinen(hook):
                    yield (*keys, event, n, "hooks", m)


def values(settings: dict[str, Any], paths: list[Keys]) -> dict[Keys, Any]:
    """Our entries that are there, as `written` has them."""
    held: dict[Keys, Any] = {}
    for path in paths:
        nested = len(path) > 2 and path[-2] == "hooks" and isinstance(path[-1], int)
        whole = path[:-2] if nested else path
        place = (*whole[:-1], None) if isinstance(whole[-1], int) else whole
        repeated = place in held
        held[place] = None if repeated else value_at(settings, whole)
    return held


def calls_kinen(entry: Any) -> bool:
    """Whether an entry runs kinen as a hook, as a server or for `notify`."""
    if isinstance(entry, list):
        words = entry
    elif isinstance(entry, dict):
        program = next((entry[key] for key in ("command", "cmd", "bash") if key in entry), "")
        args = entry.get("args")
        words = program if isinstance(program, list) else [program]
        words = [*words, *(args if isinstance(args, list) else ())]
    else:
        return False
    return bool(_OURS.search(" ".join(word for word in words if isinstance(word, str))))


_OURS = re.compile(r"kinen(?:\.exe)?['\"]? (?:mcp|hook [a-z-]+(?: [A-Za-z-]+)?)$")


def any_present(form: str, text: str) -> bool:
    """Whether a file has something of ours, of any scope or project."""
    if form not in FORMS:
        return (BEGIN if form == "block" else MARK) in text
    value = FORMS[form].parse(text, "")
    waiting = [value]
    seen = set()
    while waiting:
        value = waiting.pop()
        if calls_kinen(value):
            return True
        if isinstance(value, (dict, list)) and id(value) not in seen:  # YAML repeats by aliases
            seen.add(id(value))
            waiting += value.values() if isinstance(value, dict) else value
    return False


def _text(name: str) -> str:
    with open(shipped(name), encoding="utf-8") as file:
        return file.read()


def slash_commands() -> dict[str, tuple[str, str]]:
    """Our slash commands by name, each with its description and its text."""
    commands = {}
    for name in COMMANDS:
        head, _, body = _text(os.path.join("plugin", "commands", f"{name}.md")).partition("\n---\n")
        description = head.partition("description: ")[2].partition("\n")[0]
        commands[name] = (description, body.strip())
    return commands


def command_files(agent: Client) -> dict[str, str]:
    """The slash commands of an agent: the text of each file by its name."""
    form = agent.command_form
    return {
        agent.command_file.format(command=name): _slash_command(name, form) for name in COMMANDS
    }


def _slash_command(name: str, form: str) -> str:
    if form == "claude":
        return _text(os.path.join("plugin", "commands", f"{name}.md"))
    description, body = slash_commands()[name]
    if form == "toml":
        prompt = body.replace("$ARGUMENTS", "{{args}}")
        return f"description = {json.dumps(description)}\nprompt = '''\n{prompt}\n'''\n"
    if form == "plain":
        return f"{body}\n"
    return f"---\ndescription: {description}\n---\n{body}\n"
