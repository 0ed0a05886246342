"""Stores of Kindling and Goldfish on this machine that a space can import."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kinen.transfer import goldfish, kindling

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDLING = "~/.kindling/kindling.db"
GOLDFISH = "~/.goldfish"


def stores(env: Mapping[str, str], *roots: str) -> list[str]:
    """The database of Kindling, and the folder of Goldfish for the project in these folders."""
    database = env.get("KINDLING_DB_PATH") or os.path.expanduser(KINDLING)
    found = [database] if kindling.is_kindling(database) else []
    folder = os.path.expanduser(GOLDFISH)
    if os.path.isdir(folder):
        workspaces = goldfish.workspaces(folder)
        found += [place for place in workspaces if goldfish.is_of(place, *roots)]
    return found
