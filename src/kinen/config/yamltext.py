"""Edits YAML as text: a key is set or removed, and every other byte stays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kinen.config.edit import (
    Flow,
    Item,
    drop_item,
    drop_lines,
    line_end,
    newline,
    put_item,
    put_line,
)
from kinen.config.file import compose, is_null, written
from kinen.errors import ConfigError

_REMARK = r"#[^\n]*"


def put(text: str, file: str, keys: Sequence[str], setting: Any) -> str:
    """The text with one key set, and nothing else changed."""
    value = written(setting)
    node = compose(text, file)
    if node is None:
        return put_line(text, len(text.rstrip()), _nested(keys, value, "", newline(text)))
    for depth, key in enumerate(keys):
        pair = _pair(node, key)
        if pair is None:
            break
        name, node = pair
        start = node.start_mark.index
        if start < name.end_mark.index:
            raise ConfigError(f"{file}: {key} is an alias", "write out by hand what it stands for")
        if depth == len(keys) - 1:
            return _splice(text, node, value)
        if is_null(node):
            indent = " " * (name.start_mark.column + 2)
            if node.value:  # `null` or `~`
                start = text.index(":", name.end_mark.index) + 1
                text = text[:start] + text[node.end_mark.index :]
            entry = _nested(keys[depth + 1 :], value, indent, newline(text))
            return put_line(text, line_end(text, start), entry)
        if node.id != "mapping":
            raise ConfigError(f"{file}: {key} is not a mapping", "write its entries below it")
    rest = keys[depth:]
    if node.flow_style:
        flow = _flow(text, node)
        inner = value
        for key in reversed(rest[1:]):
            inner = f"{{{written(key)}: {inner}}}"
        entry = f"{written(rest[0])}: {inner}"
        return put_item(text, flow, _REMARK, entry, " " if flow.items else "")
    indent = " " * node.value[0][0].start_mark.column
    entry = _nested(rest, value, indent, newline(text))
    at = line_end(text, _stop_of(text, *node.value[-1]))
    return put_line(text, at, entry, blank=not depth)


def drop(text: str, file: str, keys: Sequence[str]) -> str:
    """The text without one key; a mapping that has no other key becomes `{}`."""
    name: Any = None
    node = compose(text, file)
    for key in keys[:-1]:
        name, node = _pair(node, key)
    n = next(n for n, pair in enumerate(node.value) if pair[0].value == keys[-1])
    if node.flow_style:
        return drop_item(text, _flow(text, node), _REMARK, n)
    start = node.value[n][0].start_mark.index
    text = drop_lines(text, start, _stop_of(text, *node.value[n]), blank=name is None)
    if name is None or len(node.value) > 1:
        return text
    colon = text.index(":", name.end_mark.index) + 1
    return f"{text[:colon]} {{}}{text[colon:]}"


def span(text: str, file: str, keys: Sequence[str]) -> tuple[int, int]:
    """Where the colon and the value of a key begin and end."""
    node = compose(text, file)
    for key in keys:
        name, node = _pair(node, key)
    return name.end_mark.index, max(name.end_mark.index + 1, _stop_of(text, name, node))


def remove(text: str, file: str, dotted: str) -> str:
    """The text without one key, and without its section if that has no other key."""
    section, _, key = dotted.partition(".")
    pair = _pair(compose(text, file), section)
    alone = not key or (pair and len(pair[1].value) == 1)
    return drop(text, file, (section,) if alone else (section, key))


def _pair(node: Any, key: str) -> Any:
    pairs = node.value if node is not None and node.id == "mapping" else ()
    return next((pair for pair in pairs if pair[0].value == key), None)


def _nested(keys: Sequence[str], value: str, indent: str, end: str) -> str:
    """A value below its keys, each in a line of its own."""
    lines = [f"{indent}{'  ' * n}{written(key)}:" for n, key in enumerate(keys)]
    return f"{end.join(lines)} {value}"


def _flow(text: str, node: Any) -> Flow:
    """The entries of a mapping in brackets."""
    items = [
        Item(
            name.value,
            name.start_mark.index,
            name.end_mark.index,
            value.start_mark.index,
            _stop_of(text, name, value),
        )
        for name, value in node.value
    ]
    return Flow(text.index("{", node.start_mark.index), node.end_mark.index - 1, items)


def _splice(text: str, node: Any, value: str) -> str:
    start = node.start_mark.index
    after = text[max(start, _stop(text, node)) :]
    before = text[:start].rstrip()
    # A list may start in the column of its key; a value in brackets has to follow the key.
    return f"{before} {value}{after}" if before.endswith(":") else text[:start] + value + after


def _stop_of(text: str, name: Any, node: Any) -> int:
    """Where the text of a key and its value ends; the node of an alias is elsewhere."""
    if node.start_mark.index < name.end_mark.index:
        alias = re.compile(r"\s{0,80}:\s{0,80}\*[^\s,}\]]{1,200}").match(text, name.end_mark.index)
        return alias.end() if alias else name.end_mark.index
    return max(int(name.end_mark.index), _stop(text, node))


def _stop(text: str, node: Any) -> int:
    """Where a node's own text ends; for YAML the comments below a block are part of it."""
    if node.id != "scalar" and not node.flow_style and node.value:
        last = node.value[-1]
        if isinstance(last, tuple):
            return _stop_of(text, *last)
        if last.start_mark.index > node.start_mark.index:  # not an alias
            return _stop(text, last)
    return len(text[: node.end_mark.index].rstrip())
