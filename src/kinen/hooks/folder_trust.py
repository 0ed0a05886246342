"""Agents that run the hooks of a project only in a folder that the user trusts: what is on record.

Nothing is written: an agent asks its user when it is started in a folder for the first time.
"""

from __future__ import annotations

import os
from typing import Any

from kinen.agents.client import Client
from kinen.errors import KinenError
from kinen.hooks.forms import FORMS, value_at
from kinen.hooks.install import locations
from kinen.storage import regular

LARGEST = 1 << 20
TRUSTED = {"TRUST_FOLDER": True, "TRUST_PARENT": True, "DO_NOT_TRUST": False}
"""What Gemini CLI and Qwen Code write for a folder; of several, the one with the longest path."""


def waiting(agent: Client, scopes: list[str], here: str) -> bool:
    """Whether hooks of a project are all that an agent has, and do not run in this folder."""
    return "project" in scopes and "user" not in scopes and not trusts(agent, here)


def trusts(agent: Client, here: str) -> bool:
    """Whether an agent runs the hooks of a project in a folder."""
    trust = agent.trust
    if trust is None:
        return True
    names = locations(agent, here)
    if trust.switch:
        enabled = value_at(_parsed(trust.settings.format(**names)), trust.switch)
        if not (enabled if isinstance(enabled, bool) else trust.on):
            return True
    record = _parsed(trust.file.format(**names))
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


def _parsed(path: str) -> dict[str, Any]:
    """The settings in a file; none if there is no such file."""
    try:
        return FORMS["jsonc"].parse(regular.read(path, LARGEST).decode(), path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise KinenError(f"cannot read {path}: {error}", "check the file") from None


def _covers(folder: Any, here: str) -> bool:
    """Whether a path is that of a folder or of one above it."""
    if not isinstance(folder, str) or not os.path.isabs(folder):
        return False
    real = os.path.realpath(folder)
    return here == real or here.startswith(os.path.join(real, ""))
