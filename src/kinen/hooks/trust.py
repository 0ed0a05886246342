"""Agents that run hooks only with their user's trust: what is on record, and how to add ours.

Codex runs a hook only after its user reviewed it. The record is in its `config.toml`: for each
handler, by file, event, group and place in the group, a hash of what is run. Codex writes it when a
user approves hooks with `/hooks`.

Others run the hooks of a project only in a folder that the user trusts. That record is not written:
an agent asks its user when it is started in a folder for the first time.
"""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from typing import Any

from kinen.agents.client import Client
from kinen.errors import KinenError
from kinen.hooks.entries import calls_kinen, locations
from kinen.hooks.forms import FORMS, Keys, value_at, with_values, without_value
from kinen.storage import atomic, regular

TRUSTED = {"TRUST_FOLDER": True, "TRUST_PARENT": True, "DO_NOT_TRUST": False}
"""What Gemini CLI and Qwen Code write for a folder; of several, the one with the longest path."""
CHECK = "check the file"
LARGEST = 16 << 20
TIMEOUT = 600
"""Seconds that a handler has if it does not say."""


def _read(path: str, hint: str = "nothing was written") -> str:
    """The text of a file of settings; empty if there is none."""
    try:
        return regular.read(path, LARGEST).decode()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise KinenError(f"cannot read {path}: {error}", hint) from None


def records(folder: str) -> dict[str, str]:
    """The keys of our handlers in the hooks of a folder, each with its hash."""
    path = os.path.join(folder, "hooks.json")
    events = value_at(FORMS["json"].parse(_read(path), path), ("hooks",))
    hashes: dict[str, str] = {}
    for event, groups in events.items() if isinstance(events, dict) else ():
        snake = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        for n, group in enumerate(groups if isinstance(groups, list) else ()):
            hooks = value_at(group, ("hooks",))
            for m, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                if calls_kinen(hook):
                    hashes[f"{path}:{snake}:{n}:{m}"] = _hash(snake, group, hook)
    return hashes


def _hash(event: str, group: dict[str, Any], hook: dict[str, Any]) -> str:
    handler = {
        "async": False,
        "command": hook["command"],
        "timeout": hook.get("timeout", TIMEOUT),
        "type": "command",
    }
    reviewed: dict[str, Any] = {"event_name": event, "hooks": [handler]}
    if "matcher" in group:
        reviewed["matcher"] = group["matcher"]
    text = json.dumps(reviewed, sort_keys=True, separators=(",", ":"))
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def unreviewed(folder: str) -> list[str]:
    """The keys of our handlers that Codex does not run yet."""
    path = os.path.join(folder, "config.toml")
    state = value_at(FORMS["toml"].parse(_read(path), path), ("hooks", "state")) or {}
    return [
        key
        for key, hash_ in records(folder).items()
        if value_at(state, (key, "trusted_hash")) != hash_
        or value_at(state, (key, "enabled")) is False
    ]


def grant(folder: str) -> int:
    """Record our handlers as reviewed; how many were not."""
    path = os.path.join(folder, "config.toml")
    form = FORMS["toml"]
    keys = unreviewed(folder)
    hashes = records(folder)
    new = text = _without(_read(path), path, keys)
    entries: dict[Keys, Any] = {
        ("hooks", "state", key): {"enabled": True, "trusted_hash": hashes[key]} for key in keys
    }
    for place, record in entries.items():
        new = form.put(new, place, record)
    if keys:
        atomic.write(path, form.check(new, path, with_values(form.parse(text, path), entries)))
    return len(keys)


def withdraw(folder: str) -> None:
    """Remove the records of our handlers, before the hooks themselves are removed."""
    path = os.path.join(folder, "config.toml")
    text = _read(path)
    bare = _without(text, path, list(records(folder)))
    if bare != text:
        atomic.write(path, bare)


def _without(text: str, path: str, keys: list[str]) -> str:
    form = FORMS["toml"]
    settings = form.parse(text, path)
    places: list[Keys] = [("hooks", "state", key) for key in keys]
    places = [place for place in places if value_at(settings, place) is not None]
    for place in places:
        text = form.drop(text, place)
        settings = without_value(settings, place)
    left = form.parse(text, path)
    for outer in (("hooks", "state"), ("hooks",)):  # it was never written out, or is gone with them
        if places and value_at(settings, outer) == {} and value_at(left, outer) is None:
            settings = without_value(settings, outer)
    return form.check(text, path, settings)


def waits(agent: Client, scopes: list[str], here: str) -> bool:
    """Whether hooks of a project are all that an agent has, and do not run in this folder."""
    return "project" in scopes and "user" not in scopes and not trusts(agent, here)


def trusts(agent: Client, here: str) -> bool:
    """Whether an agent runs the hooks of a project in a folder."""
    trust = agent.trust
    if trust is None:
        return True
    names = locations(agent, here)
    if trust.switch:
        path = trust.settings.format(**names)
        settings = FORMS["jsonc"].parse(_read(path, CHECK), path)
        enabled = value_at(settings, trust.switch)
        if not (enabled if isinstance(enabled, bool) else trust.on):
            return True
    path = trust.file.format(**names)
    record = FORMS["jsonc"].parse(_read(path, CHECK), path)
    here = os.path.realpath(here)
    if not trust.keys:
        trusted = False
        longest = -1
        for folder, level in record.items():
            place = os.path.dirname(folder) if level == "TRUST_PARENT" else folder
            if level in TRUSTED and len(folder) > longest and _covers(place, here):
                trusted = TRUSTED[level]
                longest = len(folder)
        return trusted
    folders = [record[key] for key in trust.keys if isinstance(record.get(key), list)]
    return any(_covers(folder, here) for listed in folders for folder in listed)


def _covers(folder: Any, here: str) -> bool:
    """Whether a path is that of a folder or of one above it."""
    if not isinstance(folder, str) or not os.path.isabs(folder):
        return False
    real = os.path.realpath(folder)
    return here == real or here.startswith(os.path.join(real, ""))
