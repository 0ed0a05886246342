"""Every regular expression of the package takes time in proportion to its text.

They are found, not listed, so that a new one cannot be forgotten.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import kinen
from kinen.text import LazyPattern
from syntax import SOURCE, nodes_of
from worst_cases import cost, pumps

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AT_ONE_PLACE = {"match", "fullmatch"}
METHODS = {*AT_ONE_PLACE, "compile", "search", "findall", "finditer", "split", "sub", "subn"}
BOUNDED = {
    "kinen.text.labels._LABEL": "sees the first 80 characters of a line",
    "kinen.text.labels._SUFFIX": "sees labels of at most 80 characters",
    "kinen.extract.html._CHARSET": "sees the first 4,096 bytes of a file",
}
"""Expressions that are slow for long texts, and why none reaches them."""
COMPOSED = {
    ("privacy/injected.py", "re.sub"): "names of tags, and a run without angle brackets",
    ("embed/wordpiece.py", "re.compile"): "escaped tokens of a built-in model, as alternatives",
    ("config/edit.py", "re.compile"): "white space and comments, matched at one place",
    ("sources/files/layout.py", "re.compile"): "escaped names, as alternatives",
    ("journal/timeline.py", "re.compile"): "an escaped path between two looks around it",
    ("memory/why.py", "re.search"): "an escaped name between two ends of a word",
    ("verbs/requests.py", "re.split"): "the separator of a parameter, which its declaration has",
    ("worklog/plans.py", "re.sub"): "one class of characters",
    ("render/text.py", "re.sub"): "escaped words of a question, as alternatives",
    ("privacy/shapes.py", "re.compile"): "tests/test_linear_time.py has all that it is given",
    ("text/chunks.py", "re.finditer"): "a run of a fixed length",
    ("text/frontmatter.py", "re.split"): "a comma, or a comma and white space",
    ("text/frontmatter.py", "re.compile"): "the rules of YAML for plain scalars",
    ("sources/files/ignore.py", "re.compile"): "globs: tests/sources/test_ignore.py has the worst",
    ("text/__init__.py", "re.findall"): "one set of characters",
    ("text/__init__.py", "re.compile"): "a lazy pattern, which its module has as a global",
}
"""Calls whose expression is put together when they run, and why it is harmless."""
GROWTH = 2.6
"""What twice the text may cost at most, in times: measurements of milliseconds vary."""
MEASURABLE = 0.005
"""Seconds of CPU from which a ratio means something."""
LONGEST = 1 << 12
"""A quadratic expression takes several times as long for a text of this length."""


CACHES = {"_patterns"}
"""Globals whose expressions depend on what ran before."""


class Expression(NamedTuple):
    name: str
    pattern: re.Pattern[Any]
    at_one_place: bool


def modules() -> Iterator[tuple[str, Path]]:
    for module in pkgutil.walk_packages(kinen.__path__, "kinen."):
        if not module.name.endswith("__main__"):
            path = SOURCE.joinpath(*module.name.split(".")[1:])
            yield module.name, path / "__init__.py" if module.ispkg else path.with_suffix(".py")


def patterns(value: object, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    """Expressions in a value, also within collections."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, LazyPattern):
        yield re.compile(value.pattern, value.flags)
    elif depth and isinstance(value, dict):
        for item in (*value.keys(), *value.values()):
            yield from patterns(item, depth - 1)
    elif depth and isinstance(value, (tuple, list, set, frozenset)):
        for item in value:
            yield from patterns(item, depth - 1)


def methods_by_name(text: str) -> dict[str, set[str]]:
    """The attributes of each name that a program uses: `_WORD.match` gives `match` for `_WORD`."""
    methods: dict[str, set[str]] = {}
    for name, method in re.findall(r"\b(\w++)\.(\w++)", text):
        methods.setdefault(name, set()).add(method)
    return methods


def variables(module_name: str) -> dict[str, Any]:
    """The globals of a module; none of an adapter whose framework is not installed."""
    try:
        return vars(importlib.import_module(module_name))
    except ImportError:
        assert module_name.startswith("kinen.frameworks.")
        return {}


def compiled_expressions() -> Iterator[Expression]:
    """Expressions in the globals of all modules."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in modules()}
    everywhere = methods_by_name("\n".join(texts.values()))
    for module_name, text in texts.items():
        here = methods_by_name(text)
        for name, value in variables(module_name).items():
            if name in CACHES:
                continue
            for pattern in patterns(value):
                methods = (here if name.startswith("_") else everywhere).get(name, set())
                alone = isinstance(value, (re.Pattern, LazyPattern)) and bool(methods)
                alone = alone and methods <= AT_ONE_PLACE
                yield Expression(f"{module_name}.{name}", pattern, alone)


def calls(path: Path) -> Iterator[tuple[ast.Call, str]]:
    """Calls of the functions of `re` inside functions of a module, with the function's name."""
    text = path.read_text(encoding="utf-8")
    if "re." not in text:
        return
    functions = [
        node
        for node in nodes_of(path)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    ]
    seen = set()
    for call in (node for function in functions for node in ast.walk(function)):
        if call in seen or not isinstance(call, ast.Call):
            continue
        seen.add(call)
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr not in METHODS:
            continue
        if isinstance(function.value, ast.Name) and function.value.id == "re":
            yield call, function.attr


def literal_expressions() -> Iterator[Expression]:
    """Expressions that are written where they are used."""
    for module_name, path in modules():
        for call, method in calls(path):
            if isinstance(call.args[0], ast.Constant):
                pattern = re.compile(call.args[0].value)
                yield Expression(f"{module_name}:re.{method}", pattern, method in AT_ONE_PLACE)


@functools.cache
def every_expression() -> list[Expression]:
    """Imports every module: seconds, for the processes that need it only."""
    existing = {}
    for expression in (*compiled_expressions(), *literal_expressions()):
        key = (expression.pattern.pattern, expression.pattern.flags)
        other = existing.get(key)
        if other is None or (other.at_one_place and not expression.at_one_place):
            existing[key] = expression
    return sorted(existing.values(), key=lambda expression: expression.name)


def growth(expression: Expression, pump: Any) -> float:
    """What twice the text costs, in times; 0 if the longest costs next to nothing."""
    pattern = expression.pattern

    def work(text: str) -> None:
        whole = text.encode() if isinstance(pattern.pattern, bytes) else text
        if expression.at_one_place:
            pattern.match(whole)
            pattern.fullmatch(whole)
        else:
            for _ in pattern.finditer(whole):
                pass

    size = 256
    while size < LONGEST and cost(work, pump(size), 1) < MEASURABLE:
        size *= 2
    if cost(work, pump(size), 1) < MEASURABLE:
        return 0.0
    ratio = float("inf")
    for attempt in range(9):
        # Other processes disturb some measurements, and hardly all. A bounded repeat is linear
        # only in texts much longer than its bound; what is not linear is so in any text.
        long = size << attempt // 3
        ratio = min(ratio, cost(work, pump(2 * long), 2) / max(cost(work, pump(long), 2), 1e-9))
        if ratio <= GROWTH:
            break
    return ratio


@pytest.mark.slow
@pytest.mark.parametrize("part", sorted({name.split(".")[1] for name, _ in modules()}))
def test_an_expression_is_linear_in_its_own_worst_cases(part: str) -> None:
    for expression in every_expression():
        if expression.name.split(".")[1].split(":")[0] != part or expression.name in BOUNDED:
            continue
        source = expression.pattern.pattern
        text = source.decode("latin-1") if isinstance(source, bytes) else source
        for pump in pumps(text, expression.pattern.flags & ~re.UNICODE):
            assert growth(expression, pump) <= GROWTH, (expression.name, pump(80))


def test_an_expression_that_is_put_together_at_run_time_is_accounted_for() -> None:
    composed = {
        (str(path.relative_to(SOURCE).as_posix()), f"re.{method}")
        for _, path in modules()
        for call, method in calls(path)
        if not isinstance(call.args[0], ast.Constant)
    }
    assert composed == set(COMPOSED)


@pytest.mark.slow
def test_what_bounds_slow_expressions_is_about_expressions_that_exist() -> None:
    assert {expression.name for expression in every_expression()} >= set(BOUNDED)
