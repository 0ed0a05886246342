"""The syntax trees of the package, read once by each process that asks for them."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

import kinen

SOURCE = Path(kinen.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))


@cache
def _trees() -> dict[Path, ast.Module]:
    """Millions of objects that stay: the collector need not look at them, now and later."""
    gc.disable()
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
    gc.freeze()
    gc.enable()
    return trees


def tree_of(path: Path) -> ast.Module:
    return _trees()[path]


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a module."""
    return tuple(ast.walk(tree_of(path)))
