"""Content as it may be shown, and kinen's colours around it."""

from __future__ import annotations

from kinen.characters import STYLES, visible, visible_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONG = ("text", "content")
"""Fields whose text may have several lines; all others are shown on one."""


def readable(value: Any, *, lines: bool = False) -> Any:
    """A value as it may be shown: every text in it with its control characters spelled out.

    Texts are put on one line, except those of the fields in LONG, or with `lines` none.
    """
    if isinstance(value, str):
        return visible(value) if lines else visible_line(value)
    if isinstance(value, dict):
        long = {key: lines or key in LONG for key in value}
        return {readable(key): readable(one, lines=long[key]) for key, one in value.items()}
    if hasattr(value, "_fields"):
        pairs = zip(value._fields, value, strict=True)
        return type(value)(*(readable(one, lines=lines or name in LONG) for name, one in pairs))
    if isinstance(value, (list, tuple)):
        return type(value)(readable(one, lines=lines) for one in value)
    return value


class Style:
    """Colours for a terminal, or none. The text is made visible, so none can be nested."""

    def __init__(self, *, colour: bool, mark: str = "\x1b[") -> None:
        self.colour, self.mark = colour, mark

    def __call__(self, name: str, text: str) -> str:
        shown = visible(text)
        if not (self.colour and text):
            return shown
        return f"{self.mark}{STYLES[name]}m{shown}{self.mark}0m"


PLAIN = Style(colour=False)
