"""Which characters may be stored, and which may be shown. Imports nothing: hooks use it too."""

from __future__ import annotations

_SHORT = {ord("\r"): "\\r", ord("\b"): "\\b", ord("\f"): "\\f", ord("\v"): "\\v"}
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_HIDDEN: dict[int, str] = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))},
    **{code: f"\\u{code:04x}" for code in (*_BIDI, 0x2028, 0x2029, 0xFEFF)},
    **{code: f"\\U{code:08x}" for code in range(0xE0000, 0xE0080)},
    **_SHORT,
}
"""Characters that move the cursor, talk to the terminal or turn the reading direction."""
del _HIDDEN[ord("\n")], _HIDDEN[ord("\t")]


def storable(text: str) -> str:
    """The text with U+FFFD for each lone surrogate: half an emoji, or a byte that is not UTF-8.

    SQLite, files and sockets all refuse such a character. Every entrance calls this once.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def visible(text: str) -> str:
    """The text as a terminal or an agent may get it: control characters are spelled out.

    Newlines and tabs stay, `\\r\\n` becomes a newline. Applying it twice changes nothing more.
    """
    if text.isprintable():
        return text
    return storable(text).replace("\r\n", "\n").translate(_HIDDEN)


def visible_line(text: str) -> str:
    """The same for a name, a title or a subject, which has its place on one line."""
    if text.isprintable():
        return text
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")
