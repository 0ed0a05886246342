"""YAML to the byte as Goldfish writes it, that is, as the `yaml` library of npm does by default.

Text is plain where it can be, quoted where it would read as something else, a block where it has
several lines, and folded at 80 columns, which count as JavaScript counts: in units of UTF-16.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDTH = 80
SHORT = 40
"""Quoted text that is shorter keeps its line breaks as `\\n`."""
PLAIN, BLOCK, QUOTED = "plain", "block", "quoted"
_BLANK = ("", " ", "\t", "\n")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNSAFE = re.compile(
    r"^[\n\t ,\[\]{}#&*!|>'\"%@`]|^[?-]\Z|^[?-][ \t]|[\n:][ \t]|[ \t]\n|[\n\t ]#|[\n\t :]\Z"
)
_OTHER = re.compile(
    r"(?:~|[Nn]ull|NULL)?|[Tt]rue|TRUE|[Ff]alse|FALSE|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?[0-9]+|[-+]?(?:\.[0-9]+|[0-9]+\.?[0-9]*)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
"""What reads as nothing, a truth or a number."""
_ESCAPE = re.compile(r"( ?)((?:\\n)+)|\\u([0-9a-f]{4})|\\.")
_NAMED = {"0000": "\\0", "0007": "\\a", "000b": "\\v", "001b": "\\e"}


def dump(values: Mapping[str, Any], indent: str = "") -> str:
    """Strings, integers, lists of strings, and mappings of these, one entry on a line or more."""
    lines = []
    for key, value in values.items():
        if isinstance(value, dict):
            lines.append(f"{indent}{key}:\n{dump(value, indent + '  ')}")
        elif isinstance(value, (list, tuple)) and value:
            deeper = indent + "    "
            items = [f"\n{indent}  - {scalar(str(one), deeper, len(deeper))}" for one in value]
            lines.append(f"{indent}{key}:{''.join(items)}")
        elif isinstance(value, str):
            lines.append(f"{indent}{key}: {scalar(value, indent + '  ', len(key) + 2)}")
        else:
            lines.append(f"{indent}{key}: {value or '[]'}")
    return "\n".join(lines)


def scalar(text: str, indent: str, column: int) -> str:
    """A string that begins in a column and goes on at an indent."""
    text = "".join(_halves(one) if one > "\uffff" else one for one in text)
    if _CONTROL.search(text):
        made = _double(text, indent, column)
    elif "\n" in text:
        made = _block(text, indent, column)
    elif _UNSAFE.search(text) or _OTHER.fullmatch(text):
        made = _quoted(text, indent, column)
    else:
        made = _fold(text, indent, PLAIN, column)[0]
    return made.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _halves(sign: str) -> str:
    high, low = divmod(ord(sign) - 0x10000, 0x400)
    return chr(0xD800 + high) + chr(0xDC00 + low)


def _quoted(text: str, indent: str, column: int) -> str:
    if '"' not in text or "'" in text:
        return _double(text, indent, column)
    return _fold(f"'{text}'", indent, PLAIN, column)[0]


def _double(text: str, indent: str, column: int) -> str:
    said = json.dumps(text, ensure_ascii=False)

    def escaped(match: re.Match[str]) -> str:
        space, breaks, code = match.groups()
        if code:
            return _NAMED.get(code, f"\\x{code[2:]}")
        if not breaks:
            return match[0]
        count = len(breaks) // 2
        last = match.end() == len(said) - 1
        space = "\\ " if space else ""
        if len(said) < SHORT or (last and count == 1):
            return space + breaks
        rest = said[match.end() :]
        # a space before a break is escaped as the break is
        kept = "\\" if rest[0] == " " and not rest.startswith(" \\n") else ""
        return f"{space}{(count + (not last)) * chr(10)}{indent}{kept}{last * breaks[:2]}"

    return _fold(_ESCAPE.sub(escaped, said), indent, QUOTED, column)[0]


def _block(text: str, indent: str, column: int) -> str:
    if re.search(r"\n[\t ]+\Z", text):
        return _double(text, indent, column)
    long = any(len(line) > WIDTH - len(indent) for line in text.split("\n"))
    value = text.rstrip("\n\t ")
    end = text[len(value) :]
    keep = "-" if "\n" not in end else "" if value and end.index("\n") == len(end) - 1 else "+"
    end = re.sub(r"(?<!\n)\n+(?![\n]|\Z)", rf"\g<0>{indent}", end.removesuffix("\n"))
    blank = value[: len(value) - len(value.lstrip(" \n"))]
    start = value[: blank.rfind("\n") + 1]
    value = value[len(start) :]
    start = re.sub(r"\n+", rf"\g<0>{indent}", start)
    header = ("2" if " " in blank else "") + keep
    if long:
        body = re.sub(r"\n+", r"\n\g<0>", value)
        # lines that are indented further are not folded
        further = r"(?:\A|\n)([\t ][^\n\u2028\u2029]*)(?:([\n\t ]*)\n(?![\n\t ]))?"
        body = re.sub(r"\n+", rf"\g<0>{indent}", re.sub(further, r"\1\2", body))
        body, over = _fold(f"{start}{body}{end}", indent, BLOCK, len(indent))
        if not over:
            return f">{header}\n{indent}{body}"
    value = re.sub(r"\n+", rf"\g<0>{indent}", value)
    return f"|{header}\n{indent}{start}{value}{end}"


def _fold(text: str, indent: str, mode: str, column: int) -> tuple[str, bool]:
    """The text in lines of 80 columns where spaces allow it, and whether one is longer."""
    step = WIDTH + 1 - len(indent)
    if len(text) <= step:
        return text, False
    folds: dict[int, bool] = {}
    at, end, split, prev, over, escape = -1, WIDTH - column, 0, "", False, (-1, -1)
    if mode == BLOCK and (at := _indented(text, -1, len(indent))) >= 0:
        end = at + step
    while sign := text[at + 1 : at + 2]:
        at += 1
        if sign == "\\" and mode == QUOTED:
            escape = (at, at := at + {"x": 3, "u": 5}.get(text[at + 1], 1))
        if sign == "\n":
            at = _indented(text, at, len(indent)) if mode == BLOCK else at
            end, split = at + len(indent) + step, 0
        elif sign == " " and prev not in _BLANK and text[at + 1 : at + 2] not in _BLANK:
            split = at
        if sign != "\n" and at >= end:
            if not split and mode == QUOTED:
                at, sign, split = _cut(text, at, prev, sign, escape)
                folds[split] = True
            over = over or not split
            if split:
                folds.setdefault(split, False)
                end, split = split + step, 0
        prev = sign
    parts, done = [], 0
    for where, cut in folds.items():
        parts.append(text[done : where + cut] + "\\" * cut)
        done = where + 1
    return f"\n{indent}".join([*parts, text[done:]]), over


def _cut(text: str, at: int, prev: str, sign: str, escape: tuple[int, int]) -> tuple[int, str, int]:
    """Where quoted text without a space is cut: never in an escape, nor between two halves."""
    while prev in (" ", "\t"):
        at += 1
        prev, sign = sign, text[at : at + 1]
    where = at - 2 if at > escape[1] + 1 else escape[0] - 1
    return at, sign, where - ("\ud800" <= text[where] <= "\udbff")


def _indented(text: str, at: int, indent: int) -> int:
    """The last line break of the further indented lines that begin after a place."""
    end, start = at, at + 1
    sign = text[start : start + 1]
    while sign in (" ", "\t"):
        if at < start + indent:
            at += 1
            sign = text[at : at + 1]
        else:
            at = text.find("\n", at + 1)
            at = len(text) if at < 0 else at
            end, start = at, at + 1
            sign = text[start : start + 1]
    return end
