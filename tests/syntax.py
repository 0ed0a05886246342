"""The syntax trees of the package, read once by each process that asks for them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import kinen

SOURCE = Path(kinen.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a module."""
    return tuple(ast.walk(tree_of(path)))
