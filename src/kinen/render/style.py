"""Escaping of content for terminals, and colours."""

from __future__ import annotations

from kinen.characters import STYLES, visible, visible_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIGNS = {"decision": "◆", "session": "▬", "commit": "○", "error": "✗", "open": "☐"}
"""What a record is, on pages and in the terminal by the same sign; its colours are in pages.css."""
LONG = ("text", "content")
"""Fields that keep their line breaks; all others are put on one line."""


def sign_colours() -> dict[str, tuple[str, str]]:
    """The colour of each sign on a light and on a dark ground, as pages.css has them."""
    import os
    import re

    path = os.path.join(os.path.dirname(__file__), "static", "pages.css")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    pairs = re.findall(r"--([a-z]+): light-dark\((#\w+), (#\w+)\)", text)
    colours = {name: (light, dark) for name, light, dark in pairs}
    return {name: colours["warn" if name == "open" else name] for name in SIGNS}


def readable(value: Any, *, lines: bool = False) -> Any:
    """A copy of a value in which control characters of all texts are escaped.

    Texts are put on one line, except in the fields in LONG; with `lines` all keep line breaks.
    """
    if isinstance(value, str):
        if value.isprintable():
            return value
        return visible(value) if lines else visible_line(value)
    if isinstance(value, dict):
        long = {key: lines or key in LONG for key in value}
        return {readable(key): readable(item, lines=long[key]) for key, item in value.items()}
    if hasattr(value, "_fields"):
        pairs = zip(value._fields, value, strict=True)
        return type(value)(*(readable(item, lines=lines or name in LONG) for name, item in pairs))
    if isinstance(value, (list, tuple)):
        return type(value)(readable(item, lines=lines) for item in value)
    return value


class Style:
    """Colours for a terminal, or none. It escapes the text, so styles cannot be nested."""

    def __init__(self, *, colour: bool, mark: str = "\x1b[") -> None:
        self.colour = colour
        self.mark = mark

    def __call__(self, name: str, text: str) -> str:
        escaped = text if text.isprintable() else visible(text)
        if not (self.colour and text):
            return escaped
        return f"{self.mark}{STYLES[name]}m{escaped}{self.mark}0m"


PLAIN = Style(colour=False)
