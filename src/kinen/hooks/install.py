"""Installs hooks and an MCP server in the settings of an agent.

Settings are edited as text, so that other entries keep their order, spaces and line ends. The
original text is saved in kinen's home; removing our entries restores it.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from kinen.errors import KinenError, QueryError, SpaceError
from kinen.hooks.jsontext import drop, put
from kinen.paths import default_home, user_folder
from kinen.space.repository import git_above
from kinen.storage import atomic, inside, private, regular
from kinen.text import digest

Keys = tuple[str | int | None, ...]


LARGEST = 16 << 20
"""Bytes of a file of settings."""
NAME = "kinen"
"""What our MCP server is called in the settings."""
TIMEOUT = 10
"""Seconds after which a client gives up on a hook; ours take some hundredths of one."""


class Place(NamedTuple):
    """A file of an agent's settings, and the keys that lead to where our entries go."""

    file: str
    keys: Keys
    root: str = ""
    """The project that the file belongs to and may not lead out of; empty for the user's own."""


class Agent(NamedTuple):
    """An agent whose settings are JSON: where they are, and which events it has."""

    name: str
    title: str
    scopes: Mapping[str, tuple[Place, Place]]
    """For each scope the place of hooks, and that of MCP servers."""
    events: Mapping[str, str]
    """Each event with its tool matcher; empty if the event has no tools."""
    config: tuple[str, str, str]
    """The variable that moves its settings, and where they are without it: a folder, a file."""
    plugin: str = ""
    """The folder of the equivalent plugin, beside this file."""
    before_tools: Mapping[str, str] = {}
    """Events, with their tools, that are installed only if `hooks.before_tools` is set: each starts
    a process per use of a tool."""
    commands: Mapping[str, tuple[str, str]] = {}
    """For each scope that has slash commands: a folder, and the folder of ours below it."""


AGENTS = {
    "claude-code": Agent(
        "claude-code",
        "Claude Code",
        {
            "user": (
                Place("{config}/settings.json", ("hooks",)),
                Place("{state}", ("mcpServers",)),
            ),
            "project": (
                Place("{top}/.claude/settings.json", ("hooks",)),
                Place("{top}/.mcp.json", ("mcpServers",)),
            ),
            "local": (
                Place("{top}/.claude/settings.local.json", ("hooks",)),
                Place("{state}", ("projects", "{main}", "mcpServers")),
            ),
        },
        {
            "SessionStart": "",
            "UserPromptSubmit": "",
            "PostToolUse": "*",
            "PostToolUseFailure": "*",
            "SubagentStop": "",
            "PreCompact": "",
            "PostCompact": "",
            "Stop": "",
            "SessionEnd": "",
        },
        ("CLAUDE_CONFIG_DIR", ".claude", ".claude.json"),
        "plugin",
        {"PreToolUse": "Edit|Write|MultiEdit|NotebookEdit|Bash"},
        {"user": ("{config}/commands", "kinen"), "project": ("{top}", ".claude/commands/kinen")},
    )
}


class Done(NamedTuple):
    """One file, and what was done to it."""

    path: str
    done: str
    """`installed`, `updated`, `unchanged`, `removed`, `not installed`; `kept` if it is not ours."""
    before: str
    """Its text; empty where there was no file."""
    after: str
    backup: str = ""
    root: str = ""
    """The project that it may not lead out of; empty for the user's own."""


def install(name: str, scope: str, here: str, *, dry_run: bool = False) -> list[Done]:
    """Put our entries into both files of a scope; if one of them is broken, into neither."""
    agent, places = _places(name, scope, here)
    events = {**agent.events, **(agent.before_tools if _asks_before_tools(here) else {})}
    plans = [_planned(place, _entries(agent, scope, place, events)) for place in places]
    for plan in plans if not dry_run else ():
        if plan.before != plan.after:
            _write(plan)
    return plans


def uninstall(name: str, scope: str, here: str, *, dry_run: bool = False) -> list[Done]:
    """Remove our entries; a file that did not exist before is deleted."""
    plans = []
    for place in _places(name, scope, here)[1]:
        text = _read(place.file, place.root)
        bare = _without(place, text)
        done = "removed" if bare != text else "not installed"
        plans.append(Done(place.file, done, text, bare, backup_path(place.file), place.root))
    for plan in plans if not dry_run else ():
        if plan.before != plan.after:
            _restore(plan)
    return plans


def plugin_folder(name: str) -> str:
    """The folder of the equivalent plugin."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), _agent(name).plugin)


def _agent(name: str) -> Agent:
    if name not in AGENTS:
        raise QueryError(f"no agent {name!r}", "use one of " + ", ".join(AGENTS))
    return AGENTS[name]


def _places(name: str, scope: str, here: str) -> tuple[Agent, list[Place]]:
    agent = _agent(name)
    if scope not in agent.scopes:
        raise QueryError(f"no scope {scope!r}", "use one of " + ", ".join(agent.scopes))
    names = locations(agent, here)
    places = []
    for place in agent.scopes[scope]:
        keys = tuple(str(key).format(**names) for key in place.keys)
        file = os.path.normpath(place.file.format(**names))
        places.append(Place(file, keys, names["top"] if place.file.startswith("{top}") else ""))
    return agent, places


def locations(agent: Agent, here: str) -> dict[str, str]:
    """What places name: the agent's settings and state, the project and its main checkout."""
    variable, folder, file = agent.config
    home = user_folder(os.environ)
    override = os.environ.get(variable, "")
    here = os.path.realpath(here)
    git = git_above(here)
    return {
        "config": override or os.path.join(home, folder),
        "state": os.path.join(override or home, file),
        "top": git.top if git else here,
        "main": git.main if git else here,
    }


def _asks_before_tools(here: str) -> bool:
    """Whether `hooks.before_tools` is set for the space of a folder, or for all of them."""
    from kinen import config
    from kinen.space import find

    home = default_home(os.environ)
    try:
        root = find.find(here, home=home).root
    except SpaceError:
        root = here
    return config.load(home, root).hooks.before_tools


def _entries(agent: Agent, scope: str, place: Place, events: Mapping[str, str]) -> dict[Keys, Any]:
    """Our entries by where they go: a group of hooks for each event, or the server."""
    line = command(shared=scope == "project")
    if place.keys[-1] != "hooks":
        server = {"type": "stdio", "command": line[0], "args": [*line[1:], "mcp"], "env": {}}
        return {(*place.keys, NAME): server}
    hook = {"type": "command", "command": shlex.join([*line, "hook", agent.name])}
    group = {"hooks": [{**hook, "timeout": TIMEOUT}]}
    return {
        (*place.keys, event, None): {"matcher": tools, **group} if tools else group
        for event, tools in events.items()
    }


def command(*, shared: bool = False) -> list[str]:
    """The command of the kinen that runs now; by its name alone in a file shared with others."""
    if shared and shutil.which("kinen"):
        return ["kinen"]
    invoked = sys.argv[0] if os.path.basename(sys.argv[0]) in ("kinen", "kinen.exe") else ""
    beside = os.path.join(os.path.dirname(sys.executable), "kinen")
    program = next(filter(None, map(shutil.which, (invoked, beside))), "")
    if not program:
        return [sys.executable, "-P", "-m", "kinen"]  # -P: not with modules of the project
    return [os.path.abspath(program).replace(os.sep, "/")]


def _planned(place: Place, entries: dict[Keys, Any]) -> Done:
    text = _read(place.file, place.root)
    settings = _parsed(text, place.file)
    for path in entries:
        _check(settings, path, place.file)
    ours = _ours(place, settings)
    if any(path not in ours and _value(settings, path) is not None for path in entries):
        return Done(place.file, "kept", text, text, root=place.root)  # another server has our name
    hooks = place.keys[-1] == "hooks"
    there = [(*path[:-3], None) if hooks else path for path in ours]
    values = [_value(settings, path[:-2] if hooks else path) for path in ours]
    if len(ours) == len(entries) and dict(zip(there, values, strict=True)) == entries:
        return Done(place.file, "unchanged", text, text)
    new = _without(place, text) or "{}\n"
    for path, value in entries.items():
        new = put(new, path, value)
    done = "updated" if ours else "installed"
    return Done(place.file, done, text, new, backup_path(place.file), place.root)


def _ours(place: Place, settings: dict[str, Any]) -> list[Keys]:
    """The paths of our entries: the server, or each hook in the groups of its event."""
    if place.keys[-1] != "hooks":
        path = (*place.keys, NAME)
        return [path] if _calls_kinen(_value(settings, path)) else []
    paths: list[Keys] = []
    events = _value(settings, place.keys)
    for event, groups in events.items() if isinstance(events, dict) else ():
        for n, group in enumerate(groups if isinstance(groups, list) else ()):
            hooks = group.get("hooks") if isinstance(group, dict) else None
            for m, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                paths += [(*place.keys, event, n, "hooks", m)] if _calls_kinen(hook) else []
    return paths


def _calls_kinen(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    args = entry.get("args")
    words = [entry.get("command", ""), *(args if isinstance(args, list) else ())]
    line = " ".join(map(str, words))
    return "kinen" in line and line.endswith((" mcp", *(f" hook {name}" for name in AGENTS)))


def _has_entries(value: Any) -> bool:
    """Whether a value has entries of ours, of any scope or project."""
    inner = value.values() if isinstance(value, dict) else value
    return _calls_kinen(value) or (
        isinstance(value, (dict, list)) and any(_has_entries(item) for item in inner)
    )


def _without(place: Place, text: str) -> str:
    """The text without our entries and empty containers; the original if nothing else changed."""
    settings = _parsed(text, place.file)
    before = _before(place.file)
    was = _parsed(before or "", "")
    ours = _ours(place, settings)
    for path in reversed(ours):
        text = drop(text, path)
        for n in range(len(path) - 1, 0, -1):
            held = _value(_parsed(text, ""), path[:n])
            used = held and not (isinstance(held, dict) and held.keys() == {"matcher"})
            if used or _value(was, path[:n]) is not None:
                break
            text = drop(text, path[:n])
    return before if ours and before is not None and _parsed(text, "") == was else text


def _value(value: Any, path: Keys) -> Any:
    """The value at a path, or None."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _check(settings: Any, path: Keys, file: str) -> None:
    """Refuse settings with a value of another type where our entries go."""
    for n, key in enumerate(path):
        there = _value(settings, path[:n]) if n else settings
        if there is not None and not isinstance(there, list if key is None else dict):
            where = ".".join(map(str, path[:n]))
            raise KinenError(f"cannot add to {file}: {where} is {there!r}", "fix it first")


def _read(path: str, root: str = "") -> str:
    """The text of a file of settings, empty if there is none; refused unless it is an object.

    With a root, the file may not lead out of it.
    """
    try:
        if root:
            text = inside.read(root, os.path.relpath(path, root), LARGEST).decode()
        else:
            text = regular.read(path, LARGEST).decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise KinenError(f"cannot read {path}: {error}", "nothing was written") from None
    if not text:
        raise KinenError(f"{path} is empty", "remove it; nothing was written")
    _parsed(text, path)
    return text


def _parsed(text: str, path: str) -> dict[str, Any]:
    try:
        settings = json.loads(text.removeprefix("\ufeff")) if text else {}
    except (ValueError, RecursionError) as error:
        raise KinenError(
            f"{path} is not valid JSON: {error}", "fix it; nothing was written"
        ) from None
    if not isinstance(settings, dict):
        raise KinenError(f"{path} is not a JSON object", "fix it; nothing was written")
    return settings


def backup_path(path: str) -> str:
    """The file in kinen's home that belongs to a file of settings."""
    name = f"{digest(os.path.realpath(path))[:8]}-{os.path.basename(path).lstrip('.')}"
    return os.path.join(default_home(os.environ), "backups", name)


def _before(path: str) -> str | None:
    """The text of a file before the install, empty if there was none; None if unknown."""
    try:
        with open(backup_path(path), encoding="utf-8", newline="") as file:
            return file.read()
    except OSError:
        return None


def _write(plan: Done) -> None:
    try:
        if not _has_entries(_parsed(plan.before, plan.path)):
            private.write(plan.backup, plan.before)
        _replace(plan)
        if not plan.before and plan.path.endswith(".claude.json"):
            os.chmod(plan.path, 0o600)  # the client keeps more in it later on
    except OSError as error:
        raise _unwritable(plan.path, error) from None


def _replace(plan: Done) -> None:
    if plan.root:
        inside.replace(plan.root, os.path.relpath(plan.path, plan.root), plan.after.encode())
    else:
        atomic.write(plan.path, plan.after)


def _restore(plan: Done) -> None:
    try:
        if plan.after:
            _replace(plan)
        else:
            os.unlink(plan.path)
        if os.path.exists(plan.backup) and not _has_entries(_parsed(plan.after, plan.path)):
            os.unlink(plan.backup)
    except OSError as error:
        raise _unwritable(plan.path, error) from None
    folder = os.path.dirname(plan.path)
    if not plan.after and os.path.basename(folder) == ".claude" and not os.listdir(folder):
        os.rmdir(folder)


def _unwritable(path: str, error: OSError) -> KinenError:
    return KinenError(f"cannot write {path}: {error.strerror}", "check who may write there")
