"""constraints.txt pins a version of everything that pyproject.toml asks for."""

from __future__ import annotations

import tomllib
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


def requirements() -> list[Requirement]:
    """Every requirement of kinen, of its extra `all` and for development, without kinen itself.

    Frameworks that kinen adapts to are not pinned: not all of them fit into one environment.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    pinned = ("code", "http", "mcp", "tui", "zed", "pocketflow", "docs", "dev")
    lines = chain(project["dependencies"], *(extras[name] for name in pinned))
    return [row for row in map(Requirement, lines) if row.name != "kinen"]


def pins() -> dict[str, list[Requirement]]:
    """The pinned versions by name; one name may have several, for other Pythons."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    by_name: dict[str, list[Requirement]] = {}
    for line in lines:
        if line and not line.lstrip().startswith("#"):
            pin = Requirement(line)
            by_name.setdefault(canonicalize_name(pin.name), []).append(pin)
    return by_name


def version(pin: Requirement) -> str:
    (specifier,) = pin.specifier
    assert specifier.operator == "=="
    return specifier.version


def test_every_requirement_has_a_pin_that_satisfies_it() -> None:
    pinned = pins()
    stale = [
        str(row)
        for row in requirements()
        if not pinned.get(canonicalize_name(row.name))
        or not all(version(pin) in row.specifier for pin in pinned[canonicalize_name(row.name)])
    ]
    assert stale == [], "constraints.txt is stale: run `make lock`"
