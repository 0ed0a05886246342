"""Closed sets of words are defined once, and the core does not speak command line."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from kinen.model import kinds, records
from syntax import FILES, SOURCE, nodes_of

if TYPE_CHECKING:
    from pathlib import Path

VOCABULARIES = {
    "kinds.EVENTS": kinds.EVENTS,
    "kinds.CAPSULE_TYPES": kinds.CAPSULE_TYPES,
    "kinds.MEMORY_TYPES": kinds.MEMORY_TYPES,
    "kinds.CHECKPOINT_TYPES": kinds.CHECKPOINT_TYPES,
    "kinds.MODES": kinds.MODES,
    "kinds.MODELS": kinds.MODELS,
    "records.FILE_KINDS": records.FILE_KINDS,
    "records.JOURNAL_KINDS": records.JOURNAL_KINDS,
    "records.GIT_KINDS": records.GIT_KINDS,
}
FLAG = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(r"`kinen [^`]*`")


def name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@cache
def lists(path: Path) -> list[set[str]]:
    """The words of every literal list, tuple or set of a module, and of every `Literal[…]`."""
    return [
        {item.value for item in node.elts if isinstance(item, ast.Constant)}
        for node in nodes_of(path)
        if isinstance(node, ast.List | ast.Tuple | ast.Set)
    ]


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_each_list_of_words_is_defined_once(vocabulary: str) -> None:
    words = set(VOCABULARIES[vocabulary])
    elsewhere = [
        name(path)
        for path in FILES
        if not name(path).startswith("model/") and any(words <= result for result in lists(path))
    ]
    assert not elsewhere, f"import {vocabulary} in place of a list of one's own"


def messages(path: Path) -> list[tuple[int, str]]:
    """The string literals of the errors that a module raises, with their line.

    A message is what is passed to a class of `kinen.errors` or to one of its subclasses, directly
    or through a name that the same function gives it (`hint = …`).
    """
    results = []
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and _is_error(ast.unparse(node.func)):
            parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        elif isinstance(node, ast.Assign) and _is_text(ast.unparse(node.targets[0])):
            parts = [node.value]
        else:
            continue
        for part in parts:
            text = "".join(_pieces(part))
            if text:
                results.append((node.lineno, text))
    return results


def _is_error(called: str) -> bool:
    last = called.rpartition(".")[2]
    names = ("NotFound", "Busy", "Conflict", "DiskFull", "Excluded", "Unreadable", "Refused")
    return last.endswith("Error") or last in names


def _is_text(target: str) -> bool:
    words = ("hint", "fact", "remark", "remedy", "note", "message", "reason")
    return target.lower().rpartition("_")[2] in words or target.isupper()


def _pieces(part: ast.AST) -> list[str]:
    """The constant text of an expression; a formatted value counts as one word."""
    if isinstance(part, ast.Constant):
        return [part.value] if isinstance(part.value, str) else []
    if isinstance(part, ast.JoinedStr):
        return [
            value.value if isinstance(value, ast.Constant) else "VALUE" for value in part.values
        ]
    if isinstance(part, ast.BinOp):
        return [*_pieces(part.left), *_pieces(part.right)]
    return []


SURFACES_OF_THEIR_OWN = ("cli/", "hooks/")
"""They speak to somebody at a command line."""
OTHER_PROGRAMS = ("distill/clis.py", "space/gitcommand.py", "sources/git/", "daemon/units.py")
"""Options of git, of other agents' programs and of systemd are not ours."""


def test_no_message_of_the_core_names_an_option() -> None:
    """An error carries its parameter's name, and each surface calls it as its users do.

    A complete command in backticks may have options: `kinen index --rebuild` can be run as it
    stands, wherever it is read. An option on its own means something at one surface only.
    """
    core = (
        path
        for path in FILES
        if not name(path).startswith((*SURFACES_OF_THEIR_OWN, *OTHER_PROGRAMS))
    )
    names = [
        (name(path), line, text)
        for path in core
        for line, text in messages(path)
        if FLAG.search(COMMAND.sub("", text))
    ]
    assert not names
