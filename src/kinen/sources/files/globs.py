"""Ignore rules with wildcards as regular expressions, and lookup among many of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t-\\r",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
SPECIAL = re.compile(r"[*?\[\\]")
_STAR = ("star", "")
_FOLDERS = ("jump", "(?:|.*?/)")
_NOTHING = ("nothing", "")


class Glob:
    """A rule with wildcards; its expression is compiled when first needed."""

    __slots__ = ("_compiled", "_expression", "_pattern", "flat", "folders", "number")

    def __init__(self, number: int, pattern: str, *, flat: bool, folders: bool) -> None:
        self.number = number
        self.flat = flat
        self.folders = folders
        self._pattern = pattern
        self._expression = ""
        self._compiled: re.Pattern[str] | None = None

    @property
    def expression(self) -> str:
        if not self._expression:
            self._expression = _expression(self._pattern, flat=self.flat)
        return self._expression

    @property
    def ends(self) -> tuple[str, str]:
        """What every matching text begins with, and ends with."""
        pattern = self._pattern if self.flat else self._pattern.removeprefix("/")
        special = SPECIAL.search(pattern)
        start = pattern[: special.start()] if special else pattern
        if "[" in pattern or "\\" in pattern:
            return start, ""
        # `**/b` also matches `b` itself.
        return start, re.split(r"[*?]", pattern)[-1].removeprefix("/")

    def matches(self, text: str) -> bool:
        if self._compiled is None:
            self._compiled = re.compile(self.expression, re.DOTALL)
        return self._compiled.fullmatch(text) is not None


class Ends:
    """Rules by the beginning and the end of the texts they match."""

    def __init__(self, globs: list[Glob]) -> None:
        self._by_start: dict[str, dict[str, list[Glob]]] = {}
        for glob in globs:
            start, end = glob.ends
            self._by_start.setdefault(start, {}).setdefault(end, []).append(glob)

    def fitting(self, text: str) -> list[Glob]:
        """The rules whose beginning and end fit a text."""
        fitting: list[Glob] = []
        for length in range(len(text) + 1):
            for end, globs in _endings(self._by_start.get(text[:length]), text):
                fitting += globs if text.endswith(end) else ()
        return fitting


def _endings(by_end: dict[str, list[Glob]] | None, text: str) -> Iterator[tuple[str, list[Glob]]]:
    """Groups of rules whose end may fit a text: all if they are few, else by lookup."""
    if not by_end:
        return
    if len(by_end) <= len(text):
        yield from by_end.items()
        return
    for at in range(len(text) + 1):
        if text[at:] in by_end:
            yield text[at:], by_end[text[at:]]


def _expression(pattern: str, *, flat: bool) -> str:
    """A gitignore pattern as a regular expression without exponential backtracking."""
    pattern = pattern if flat else pattern.removeprefix("/")
    special = SPECIAL.search(pattern)
    # Git compares the fixed part on its own, so `a**/b` is read as `a` and then `**/b`.
    fixed = special.start() if special and not flat else 0
    tokens = list(_tokens(pattern[fixed:], flat=flat))
    if _NOTHING in tokens:
        return "(?!)"
    jumps = [n for n, (kind, _) in enumerate(tokens) if kind == "jump"]
    out = re.escape(pattern[:fixed]) + _stretch(tokens[: jumps[0] if jumps else None])
    for start, end in zip(jumps, [*jumps[1:], None], strict=False):
        stretch = tokens[start][1] + _stretch(tokens[start + 1 : end])
        # With another `**` after it, the first place where a stretch fits is as good as any.
        out += stretch if end is None else f"(?>{stretch})"
    return out


def _tokens(pattern: str, *, flat: bool) -> Iterator[tuple[str, str]]:
    """The parts of a pattern: characters, stars within a name, jumps over folders."""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            start = at
            at = len(pattern) - len(pattern[at:].lstrip("*"))
            token = _STAR
            if not flat and at - start > 1 and (start == 0 or pattern[start - 1] == "/"):
                token = _jump(pattern[at:])
            at += token == _FOLDERS  # that token includes the slash
            yield token
        elif char == "[":
            expression, at = _brackets(pattern, at + 1)
            yield ("char", expression) if expression else _NOTHING
        elif char == "\\":
            literal = pattern[at + 1 : at + 2]
            yield ("char", re.escape(literal)) if literal else _NOTHING
            at += 2
        else:
            yield "char", "[^/]" if char == "?" else re.escape(char)
            at += 1


def _jump(rest: str) -> tuple[str, str]:
    """The token for `**` before this rest: special only as a whole component of a path."""
    if rest.startswith("/"):
        return _FOLDERS
    return ("jump", ".*?") if not rest or rest.startswith("\\/") else _STAR


def _stretch(tokens: list[tuple[str, str]]) -> str:
    """The expression for tokens without jumps; between two stars the first fit is enough."""
    out = chunk = star = ""
    for kind, expression in tokens:
        if kind == "star":
            out += f"(?>[^/]*?{chunk})" if star else chunk
            chunk = ""
            star = "[^/]*"
        elif expression == "/":
            out += f"{star}{chunk}/"
            chunk = star = ""
        else:
            chunk += expression
    return out + star + chunk


def _brackets(pattern: str, at: int) -> tuple[str, int]:
    """The expression for a bracket that opened just before `at`, empty if it matches nothing."""
    negated = pattern[at : at + 1] in ("!", "^")
    first = at = at + negated
    items = previous = ""
    while at < len(pattern) and (pattern[at] != "]" or at == first):
        item, previous, at = _item(pattern, at, previous)
        items += item
    if at >= len(pattern):
        return "", at
    return f"(?!/)[{'^' * negated}{items}]", at + 1


def _item(pattern: str, at: int, previous: str) -> tuple[str, str, int]:
    """An item in brackets, the character that a range can start from, and the next position."""
    if pattern[at] == "-" and previous and pattern[at + 1 : at + 2] not in ("", "]"):
        at += 1 + (pattern[at + 1] == "\\")
        last = pattern[at : at + 1]
        return f"{re.escape(previous)}-{re.escape(last)}" if previous <= last else "", "", at + 1
    end = pattern.find("]", at + 2)
    if pattern.startswith("[:", at) and (end < 0 or (end > at + 2 and pattern[end - 1] == ":")):
        characters = _CLASSES.get(pattern[at + 2 : end - 1], "") if end > 0 else ""
        return characters, "", end + 1 if characters else len(pattern)
    at += pattern[at] == "\\"
    char = pattern[at : at + 1]
    return re.escape(char), char, at + 1
