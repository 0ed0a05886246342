"""Which characters may be stored, and which may be shown. Hooks import it: it imports nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_hidden: dict[int, str] = {}
"""Filled when first needed: most hooks see none of these characters."""
SPELLED = ("\\r", "\\b", "\\f", "\\v")
_IN_LINE = {ord("\n"): "\\n", ord("\t"): "\\t"}
STYLES = {"path": "35", "line": "32", "dim": "2", "bold": "1", "match": "1;31", "warn": "33"}
"""The terminal codes of the colours that kinen prints."""
_OWN = tuple(f"[{code}m" for code in (*STYLES.values(), "0"))


def spliced(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """A text with some places replaced: the start and the end of each, in order, and new words."""
    pieces: list[str] = []
    end = 0
    for start, stop, words in edits:
        pieces.append(text[end:start])
        pieces.append(words)
        end = stop
    return "".join(pieces) + text[end:]


def hidden() -> dict[int, str]:
    """Characters that control the terminal or the reading direction → their escapes."""
    if not _hidden:
        _hidden.update((code, f"\\x{code:02x}") for code in (*range(0x20), *range(0x7F, 0xA0)))
        _hidden.update((code, f"\\u{code:04x}") for code in (*_BIDI, 0x2028, 0x2029, 0xFEFF))
        _hidden.update((code, f"\\U{code:08x}") for code in range(0xE0000, 0xE0080))
        _hidden.update({ord(code): text for code, text in zip("\r\b\f\v", SPELLED, strict=True)})
        del _hidden[ord("\n")], _hidden[ord("\t")]
    return _hidden


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
    """The text as a terminal or an agent may receive it: control characters are escaped.

    Newlines and tabs stay, `\\r\\n` becomes a newline. Applying it twice changes nothing more.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return storable(text).replace("\r\n", "\n").translate(hidden())


def visible_line(text: str) -> str:
    """The same for a name, a title or a subject, which stays on one line."""
    if text.isprintable():
        return text
    return visible(text).translate(_IN_LINE)


def visible_styled(text: str) -> str:
    """The same for output that is already coloured: kinen's own colours stay, nothing else."""
    if "\x1b" not in text:
        return visible(text)
    first, *rest = text.split("\x1b")
    parts = [("\x1b" if part.startswith(_OWN) else "\\x1b") + visible(part) for part in rest]
    return visible(first) + "".join(parts)


def visible_json(text: str) -> str:
    """JSON in which control characters are escapes: the same values, safe on a terminal."""
    if text.isascii() and "\x7f" not in text:
        return text
    if not _escapes:
        escaped = (code for code in hidden() if code >= 0x7F)
        _escapes.update({code: _escape(code) for code in (*escaped, *range(0xD800, 0xE000))})
    return text.translate(_escapes)


_escapes: dict[int, str] = {}
"""The JSON escape of each character that JSON itself would leave as it is; filled when needed."""


def _escape(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def unescaped(text: str) -> str:
    """Undo `visible_line`, so that a name copied from the output finds its record."""
    if "\\" not in text:
        return text
    for code, spelling in (*hidden().items(), *_IN_LINE.items()):
        if spelling in text:
            text = text.replace(spelling, chr(code))
    return text
