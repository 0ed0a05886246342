"""Codex runs a hook only after its user reviewed it: what it has on record, and how to add ours.

The record is in `config.toml`: for each handler, by file, event, group and place in the group, a
hash of what is run. Codex writes it when a user approves hooks with `/hooks`.
"""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from typing import Any

from kinen.errors import KinenError
from kinen.hooks.entries import calls_kinen
from kinen.hooks.forms import FORMS, value_at
from kinen.storage import atomic, regular

LARGEST = 16 << 20
TIMEOUT = 600
"""Seconds that a handler has if it does not say."""


def _read(path: str) -> str:
    try:
        return regular.read(path, LARGEST).decode()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise KinenError(f"cannot read {path}: {error}", "nothing was written") from None


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


def waiting(folder: str) -> list[str]:
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
    keys = waiting(folder)
    hashes = records(folder)
    text = _without(_read(path), keys)
    for key in keys:
        record = {"enabled": True, "trusted_hash": hashes[key]}
        text = FORMS["toml"].put(text, ("hooks", "state", key), record)
    if keys:
        atomic.write(path, text)
    return len(keys)


def withdraw(folder: str) -> None:
    """Remove the records of our handlers, before the hooks themselves are removed."""
    path = os.path.join(folder, "config.toml")
    text = _read(path)
    bare = _without(text, list(records(folder)))
    if bare != text:
        atomic.write(path, bare)


def _without(text: str, keys: list[str]) -> str:
    form = FORMS["toml"]
    for key in keys:
        path = ("hooks", "state", key)
        if value_at(form.parse(text, ""), path) is None:
            continue
        text = form.drop(text, path)
        for n in (2, 1):
            if value_at(form.parse(text, ""), path[:n]) == {}:
                text = form.drop(text, path[:n])
    return text
