"""Symbols of source code: functions, classes and methods with their signature and documentation.

Runs in the child process of `extract/child.py`, which limits time and memory: parsers are native
code, and a file can be made to cost either. Python is read by `ast`, other languages by the
tree-sitter grammars of `kinen[code]`.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Sequence

from kinen.errors import Unreadable
from kinen.extract.decode import decode
from kinen.extract.languages import LANGUAGES, LARGEST, PYTHON, Language
from kinen.model.late import Any
from kinen.model.tuples import NamedTuple

SYMBOLS = 2_000
"""Symbols of a file."""
LONGEST_LINE = 2_000
"""Average characters of a line above which a file counts as minified."""
SIGNATURE = 300
"""Characters of a signature."""
DOC = 1_000
"""Characters of documentation."""
COMMENT_LINES = 60
"""Lines of comment above a symbol that belong to it."""


class Symbol(NamedTuple):
    """A definition in a source file. Lines count from 1; `first` includes comments above it."""

    name: str
    """With the classes around it: `Session.refresh`."""
    kind: str
    """function, class, method, struct, …"""
    signature: str
    doc: str
    first: int
    line: int
    last: int
    """The last line of its own text: a class ends where its first method begins."""


def symbols(data: bytes, suffix: str) -> list[Symbol]:
    """The symbols of a source file in order; raises Unreadable if it cannot be parsed."""
    if len(data) > LARGEST:
        raise Unreadable(f"too large for source code ({len(data) / 1e6:,.1f} MB)")
    text = decode(data).replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if len(text) > LONGEST_LINE * len(lines):
        raise Unreadable("its lines are too long: minified or generated")
    language = LANGUAGES[suffix]
    find = _python(text, lines) if language is PYTHON else _tree(text, lines, language)
    return sorted(find, key=lambda symbol: (symbol.line, symbol.name))[:SYMBOLS]


def _python(text: str, lines: Sequence[str]) -> Iterator[Symbol]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "") or type(error).__name__
            line = getattr(error, "lineno", None)
            raise Unreadable(
                f"not valid Python: {reason}" + (f", line {line}" if line else "")
            ) from error
    waiting: list[tuple[ast.stmt, str]] = [(node, "") for node in tree.body]
    while waiting:
        node, outer = waiting.pop()
        if isinstance(node, (ast.If, ast.Try)):
            # All branches: definitions may depend on a version or an import.
            branches = [*node.body, *node.orelse]
            if isinstance(node, ast.Try):
                branches += [child for handler in node.handlers for child in handler.body]
                branches += node.finalbody
            waiting += [(child, outer) for child in branches]
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        name = f"{outer}.{node.name}" if outer else node.name
        inner = [child for child in node.body if isinstance(node, ast.ClassDef)]
        waiting += [(child, name) for child in inner]
        first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
        body = node.body[0].lineno
        header = " ".join(
            line.strip() for line in lines[node.lineno - 1 : max(node.lineno, body - 1)]
        )
        kind = "method" if bool(outer) else "function"
        last = node.end_lineno or node.lineno
        if isinstance(node, ast.ClassDef):
            kind = "class"
            starts = [
                min([child.lineno, *(part.lineno for part in child.decorator_list)])
                for child in node.body
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            ]
            last = max(node.lineno, min([last + 1, *starts]) - 1)
        yield Symbol(
            name,
            kind,
            header.rstrip(": ")[:SIGNATURE],
            (ast.get_docstring(node) or "")[:DOC],
            _comment_start(lines, first, PYTHON.comments),
            node.lineno,
            last,
        )


def _tree(text: str, lines: Sequence[str], language: Language) -> Iterator[Symbol]:
    import tree_sitter

    module = importlib.import_module(language.module)
    grammar = tree_sitter.Language(getattr(module, language.factory)())
    data = text.encode()
    tree = tree_sitter.Parser(grammar).parse(data)
    waiting: list[tuple[Any, str]] = [(tree.root_node, "")]
    while waiting:
        node, outer = waiting.pop()
        kind = language.functions.get(node.type, language.containers.get(node.type))
        name = _name(node, outer) if kind is not None else ""
        is_function = node.type in language.functions
        if kind and name and _defines(node):
            line = node.start_point[0] + 1
            last = node.end_point[0] + 1
            body = node.child_by_field_name("body") or next(
                (child for child in node.named_children if child.type.endswith("_body")), None
            )
            end = body.start_byte if body is not None else node.end_byte
            header = data[node.start_byte : end].decode("utf-8", "replace")
            if node.type in language.containers and body is not None:
                starts = [
                    child.start_point[0] + 1
                    for child in body.named_children
                    if child.type in language.functions or child.type in language.containers
                ]
                last = max(line, min([last + 1, *starts]) - 1)
            first = _comment_start(lines, line, language.comments)
            doc = "\n".join(text.strip(" \t/*#-!") for text in lines[first - 1 : line - 1])
            signature = " ".join(header.split()).rstrip("{= ")[:SIGNATURE]
            yield Symbol(name, kind, signature, doc.strip()[:DOC], first, line, last)
        if is_function and name:
            continue
        scope = name if node.type in language.containers and name else outer
        waiting += [(child, scope) for child in node.named_children]


def _defines(node: Any) -> bool:
    """Whether a node is a definition and not only a mention of one."""
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        return value is not None and value.type in (
            "arrow_function",
            "function_expression",
            "function",
        )
    if node.type.endswith("_specifier"):
        return node.child_by_field_name("body") is not None
    return True


def _name(node: Any, outer: str) -> str:
    """The name of a definition, with that of its class or receiver; empty if it has none."""
    part = node.child_by_field_name("type" if node.type == "impl_item" else "name")
    declarator = node.child_by_field_name("declarator")
    while part is None and declarator is not None:
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            part = declarator
        declarator = inner
    if part is None:
        part = next(
            (child for child in node.named_children if child.type.endswith("identifier")), None
        )
    if part is None or part.text is None:
        return ""
    name = (
        " ".join(part.text.decode("utf-8", "replace").split()).replace("::", ".").replace(":", ".")
    )
    receiver = node.child_by_field_name("receiver")
    if receiver is not None and receiver.text is not None:
        words = receiver.text.decode("utf-8", "replace").strip("()").split()
        outer = words[-1].lstrip("*").partition("[")[0] if words else outer
    name = name.partition("<")[0].strip()[:SIGNATURE]
    return f"{outer}.{name}" if outer and name else name


def _comment_start(lines: Sequence[str], line: int, marks: tuple[str, ...]) -> int:
    """The first line of the comment that ends right above a line."""
    first = line
    while first > 1 and line - first < COMMENT_LINES and lines[first - 2].strip().startswith(marks):
        first -= 1
    return first
