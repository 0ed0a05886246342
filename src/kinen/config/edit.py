"""Edits settings as text: an entry is put in or taken out, and every other byte stays.

An entry stands in lines of its own, as in blocks of YAML and tables of TOML, or between brackets
with commas, as in JSON. What is put in and taken out again leaves the text as it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kinen.config.file import compose, is_null, written
from kinen.errors import ConfigError
from kinen.model.tuples import NamedTuple

_REMARK = r"#[^\n]*"


class Item(NamedTuple):
    """An entry between brackets: where it, the end of its key and its value are."""

    key: str | int
    start: int
    colon: int
    """The end of the key; the start of an element."""
    value: int
    end: int


class Flow(NamedTuple):
    """Entries between brackets, which are at `start` and `end`."""

    start: int
    end: int
    items: Sequence[Item]


def newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def line_end(text: str, at: int) -> int:
    """Where the line of a place ends."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if text[at:end].endswith("\r") else end


def put_line(text: str, at: int, entry: str, *, blank: bool = False) -> str:
    """The text with an entry below the line that ends at a place, or above all lines for 0.

    With `blank`, an empty line is put before it.
    """
    end = newline(text)
    if not at:
        return f"{entry}{end}{text}"
    return f"{text[:at]}{end * (1 + blank)}{entry}{text[at:]}"


def drop_lines(text: str, start: int, stop: int, *, blank: bool = False) -> str:
    """The text without an entry; a comment behind it stays.

    With `blank`, an empty line before it goes too.
    """
    end = line_end(text, stop)
    if text[stop:end].strip():
        return text[:start] + text[stop:].lstrip(" \t")
    before = text[: text.rfind("\n", 0, start) + 1]
    if not before:
        return text[end:].removeprefix("\r").removeprefix("\n")
    before = before[:-1].removesuffix("\r")
    if blank and before.endswith("\n"):
        before = before[:-1].removesuffix("\r")
    return before + text[end:]


def put_item(text: str, flow: Flow, comment: str, entry: str, lead: str, close: str = "") -> str:
    """The text with an entry as the last one between brackets.

    `lead` is put before it, and `close` behind it where it is the only one. `comment` is an
    expression for the comments of the format.
    """
    if not flow.items:
        inner = text[flow.start + 1 : flow.end]
        if not inner.strip():
            return f"{text[: flow.start + 1]}{lead}{entry}{close}{text[flow.end :]}"
        at = flow.start + 1 + len(inner.rstrip())  # comments stay
        return f"{text[:at]}{lead}{entry}{text[at:]}"
    last = flow.items[-1].end
    after = _skip(text, last, comment)
    extra = text[after] == ","  # a comma behind the last entry: there is one again
    at = after + 1 if extra else last
    if "\n" in lead:  # comments in the line of the last entry are about that one
        behind = re.compile(rf"(?:[^\S\n]|(?:{comment}))*").match(text, at)
        line = behind[0].partition("\n")[0] if behind else ""
        at += len(line.rstrip()) if behind and behind[0] == line else 0
    comma = "" if extra else ","
    end = "," if extra else ""
    return f"{text[:last]}{comma}{text[last:at]}{lead}{entry}{end}{text[at:]}"


def drop_item(text: str, flow: Flow, comment: str, n: int) -> str:
    """The text without an entry between brackets; brackets with nothing but blanks are closed."""
    item = flow.items[n]
    start = item.start
    stop = item.end
    after = _skip(text, stop, comment)
    comma = -1
    if text[after] == ",":
        comma = after
    elif n:
        comma = _skip(text, flow.items[n - 1].end, comment)
    if comma == after and not text[stop:after].strip():
        stop = after + 1
        comma = -1
    left = len(text[:start].rstrip(" \t"))
    right = len(text) - len(text[stop:].lstrip(" \t"))
    ends = text[right : right + 1] in ("\r", "\n") or right == flow.end
    if text[left - 1] == "\n":
        if ends:
            start = len(text[: left - 1].removesuffix("\r"))
        else:
            stop = right
    elif n or ends:
        start = left
    else:
        stop = right
    cuts = sorted([(start, stop), *([(comma, comma + 1)] if comma >= 0 else [])], reverse=True)
    end = flow.end
    for first, last in cuts:
        text = text[:first] + text[last:]
        end -= last - first
    if len(flow.items) == 1 and not text[flow.start + 1 : end].strip():
        text = text[: flow.start + 1] + text[end:]
    return text


def _skip(text: str, at: int, comment: str) -> int:
    """The next place that is neither blank nor in a comment."""
    match = re.compile(rf"(?:\s|{comment})*").match(text, at)
    return match.end() if match else at


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
