"""The syntax trees of the package, read once by each process that asks for them."""

from __future__ import annotations

import gc
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kinen
from tools.tool import load

if TYPE_CHECKING:
    import ast

SOURCE = Path(kinen.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
code_metrics = load("code_metrics")


@cache
def modules() -> dict[Path, Any]:
    """The files, parsed: the collector of garbage need not look at them, now and later."""
    result = {module.path: module for module in code_metrics.read(SOURCE.parent)}
    gc.freeze()
    return result


def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a module."""
    return modules()[path].nodes
