"""Edits settings as text: an entry is put in or taken out, and every other byte stays.

An entry stands in lines of its own, as in blocks of YAML and tables of TOML, or between brackets
with commas, as in JSON. What is put in and taken out again leaves the text as it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kinen.model.tuples import NamedTuple


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
