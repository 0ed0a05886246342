"""The optional dependencies: which extra provides them, and what to say where one is missing.

Standard library only and without imports of its own, since a cold search asks `installed`.
"""

from __future__ import annotations

import sys

from kinen.errors import MissingExtra

EXTRAS = {
    "http": ("fastapi", "uvicorn"),
    "lsp": ("pygls",),
    "mcp": ("mcp", "anyio"),
    "postgres": ("psycopg", "pgvector", "prometheus_client"),
    "team": ("authlib", "joserfc", "httpx2"),
    "tokenizers": ("tokenizers",),
    "tui": ("textual",),
}
"""The modules that show that an extra is installed, by its name in pyproject.toml."""


def installed(extra: str) -> bool:
    """Whether every module of an extra can be imported; none of them is."""
    return all(importable(module) for module in EXTRAS[extra])


def missing(command: str, extra: str) -> str:
    """The sentence that names the extra a command needs and how to install it."""
    return f"{command} needs the {extra} extra: pip install 'kinen[{extra}]'"


def require(command: str, extra: str) -> None:
    """Raise MissingExtra unless the extra that a command needs is installed."""
    if not installed(extra):
        raise MissingExtra(missing(command, extra))


def importable(module: str) -> bool:
    """What `importlib.util.find_spec` answers, without the modules that it imports.

    A folder without `__init__.py` is not a module of an extra, so a spec has to have a loader.
    """
    if sys.modules.get(module):  # a daemon asks with every search
        return True
    try:
        specs = (finder.find_spec(module, None) for finder in sys.meta_path)
        return any(spec is not None and spec.loader is not None for spec in specs)
    except ImportError:
        return False
