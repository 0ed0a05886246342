"""Figures of the source tree that tests/test_architecture.py holds to limits.

    tools/code_metrics.py [SRC] [--json]

Lines by package, loose modules at the root, vague names, packed assignments, import cycles, the
deepest class hierarchy, lengths of functions and lines, private functions, regular expressions. It
reads the source and imports nothing.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import keyword
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PACKAGE = "kinen"
EXPRESSIONS = frozenset(
    f"re.{name}"
    for name in "compile findall finditer fullmatch match search split sub subn".split()
)
"""What takes a regular expression."""
VAGUE = frozenset(
    "one ones found said told given made known asked kept its these those wanted named shown"
    " taken".split()
)
"""Words that say nothing as a name; underscores around them and capitals do not count."""
TOKEN = re.compile(
    r"#[^\n]*"
    r"|[bfruBFRU]{0,2}"
    r"""(?:"{3}(?:[^\\]|\\.)*?"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"|\b([^\W\d]\w*)",
    re.DOTALL,
)
"""A comment, a string or a word: `tokenize` takes seven times as long."""


@dataclass(frozen=True, slots=True)
class Module:
    """A source file: its dotted name, its text and every node of its syntax tree."""

    name: str
    path: Path
    text: str
    nodes: tuple[ast.AST, ...]

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"


def read(src: Path) -> list[Module]:
    """Every module below the folder that holds the package."""
    modules = []
    gc.disable()  # millions of objects that stay
    for path in sorted(src.rglob("*.py")):
        parts = path.relative_to(src).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        modules.append(Module(name, path, text, tuple(ast.walk(ast.parse(text)))))
    gc.enable()
    return modules


def names(text: str) -> Iterator[str]:
    """Every name in a text, as often as it occurs; keywords are not names."""
    return (name for name in TOKEN.findall(text) if name and not keyword.iskeyword(name))


def is_vague(name: str) -> bool:
    return name.strip("_").lower() in VAGUE


def vague_percent(modules: list[Module]) -> float:
    """The share of vague names among all names, in percent."""
    every = [is_vague(name) for module in modules for name in names(module.text)]
    return 100 * sum(every) / max(1, len(every))


def vague_by_module(modules: list[Module]) -> Counter[str]:
    """How many vague names each module has."""
    return Counter({module.name: sum(map(is_vague, names(module.text))) for module in modules})


def packed_assignments(modules: list[Module]) -> int:
    """Assignments of one tuple of values to a tuple of names: `a, b = 1, 2`."""
    return sum(
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
        for module in modules
        for node in module.nodes
    )


def loose_modules(src: Path) -> list[str]:
    """Modules directly in the package, not in a package of it."""
    stems = {path.stem for path in (src / PACKAGE).glob("*.py")}
    return sorted(stems - {"__init__", "__main__"})


def deepest_class(modules: list[Module], apart: str = "") -> tuple[str, int]:
    """The class with the most ancestors of ours, and how many classes deep it is.

    Classes of the module `apart` do not count.
    """
    bases: dict[str, list[str]] = {}
    for module in modules:
        names = _names_of_classes(module)
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                full = [_full_name(base, names) for base in node.bases]
                bases[f"{module.name}.{node.name}"] = full
    counted = [name for name in bases if name.rpartition(".")[0] != apart]
    depths = {name: _depth(name, bases, ()) for name in counted}
    deepest = max(depths, key=depths.__getitem__, default="")
    return deepest, depths.get(deepest, 0)


def _names_of_classes(module: Module) -> dict[str, str]:
    """The full names of what a module imports or defines as a class, by their names in it."""
    names: dict[str, str] = {}
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom):
            base = _absolute(node, module)
            names |= {alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            names[node.name] = f"{module.name}.{node.name}"
    return names


def _full_name(base: ast.expr, names: Mapping[str, str]) -> str:
    """The full name of a base class; what is in brackets behind it does not count."""
    if isinstance(base, ast.Subscript):
        return _full_name(base.value, names)
    if isinstance(base, ast.Attribute):
        return f"{_full_name(base.value, names)}.{base.attr}"
    return names.get(base.id, base.id) if isinstance(base, ast.Name) else ""


def _depth(name: str, bases: Mapping[str, list[str]], below: tuple[str, ...]) -> int:
    ours = [base for base in bases[name] if base in bases and base not in below]
    return 1 + max((_depth(base, bases, (*below, name)) for base in ours), default=0)


def import_graph(modules: list[Module]) -> dict[str, set[str]]:
    """The modules of ours that each module imports, in functions and for annotations as well.

    The package itself does not count: it re-exports.
    """
    existing = {module.name for module in modules}
    return {module.name: _imports(module, existing) - {PACKAGE, module.name} for module in modules}


def _imports(module: Module, values: set[str]) -> set[str]:
    imported: set[str] = set()
    for node in module.nodes:
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                imported.add(full if full in values else base)
    return imported & values


def _absolute(node: ast.ImportFrom, module: Module) -> str:
    """The full name of the module that an import names, which may be relative."""
    if not node.level:
        return node.module or ""
    package = module.name if module.is_package else module.name.rpartition(".")[0]
    parts = package.split(".")
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, node.module] if node.module else parts)


def import_cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import one another, each sorted."""
    reach = {name: _reachable(name, graph) for name in graph}
    groups = {
        tuple(sorted({name, *(other for other in reach[name] if name in reach[other])}))
        for name in graph
    }
    return sorted([*group] for group in groups if len(group) > 1)


def _reachable(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    """Every module that is imported from one, directly or through others."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for name in graph[waiting.pop()] - reached:
            reached.add(name)
            waiting.append(name)
    return reached


def function_lengths(modules: list[Module]) -> list[int]:
    return sorted(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def private_functions(modules: list[Module]) -> tuple[int, int]:
    """How many functions have a private name, and how many of these their module names once."""
    every = once = 0
    for module in modules:
        used = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in module.nodes
            if isinstance(node, ast.Name | ast.Attribute)
        )
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef) and re.match("_[^_]", node.name):
                every += 1
                once += used[node.name] <= 1
    return every, once


def expressions_by_package(src: Path, modules: list[Module]) -> Counter[str]:
    """The calls of `re` with a pattern by package."""
    counts: Counter[str] = Counter()
    for module in modules:
        parts = module.path.relative_to(src / PACKAGE).parts
        calls = (node.func for node in module.nodes if isinstance(node, ast.Call))
        counts[parts[0] if len(parts) > 1 else "(root)"] += sum(
            ast.unparse(call) in EXPRESSIONS for call in calls
        )
    return +counts


def lines_by_package(src: Path, modules: list[Module]) -> Counter[str]:
    lines: Counter[str] = Counter()
    for module in modules:
        parts = module.path.relative_to(src / PACKAGE).parts
        lines[parts[0] if len(parts) > 1 else "(root)"] += module.text.count("\n")
    return lines


def report(src: Path) -> dict[str, object]:
    """All figures, by what they are called."""
    modules = read(src)
    lines = lines_by_package(src, modules)
    expressions = expressions_by_package(src, modules)
    lengths = function_lengths(modules)
    widths = sorted(
        len(line) for module in modules for line in module.text.splitlines() if line.strip()
    )
    return {
        "lines": sum(lines.values()),
        "files": len(modules),
        "lines by package": dict(lines.most_common()),
        "loose modules at the root": len(loose_modules(src)),
        "vague names %": round(vague_percent(modules), 2),
        "packed assignments": packed_assignments(modules),
        "import cycles": import_cycles(import_graph(modules)),
        "deepest class": deepest_class(modules),
        "function median, p90, max": [*_percentiles(lengths), lengths[-1]],
        "line length median, p90": [*_percentiles(widths)],
        "private functions, used once": [*private_functions(modules)],
        "regular expressions": sum(expressions.values()),
        "regular expressions by package": dict(expressions.most_common()),
        "most vague modules": dict(vague_by_module(modules).most_common(12)),
    }


def _percentiles(values: list[int]) -> tuple[int, int]:
    """The median and the 90th percentile of sorted values."""
    return values[len(values) // 2], values[len(values) * 9 // 10]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("src", nargs="?", type=Path, default=Path(__file__).parents[1] / "src")
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args()
    figures = report(options.src)
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        print("\n".join(f"{name}: {figure}" for name, figure in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
