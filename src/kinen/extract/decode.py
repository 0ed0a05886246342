"""Bytes of a text file → text, whatever their encoding; and the suffixes of such files."""

from __future__ import annotations

import codecs

from kinen.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.ports import Extractor

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\b\t\n\v\f\r\x1b")) + b"\x7f"
_CONTROL_TABLE = dict.fromkeys(_CONTROLS)
TEXTS = frozenset(".md .markdown .mdx .txt .text .rst .adoc .asciidoc .org .tex".split())
OUTLINES = frozenset((".rst", ".adoc", ".asciidoc", ".org"))
"""Texts whose headings are read by `outline`."""
PAGES = frozenset((".html", ".htm", ".xhtml"))
DOCUMENTS = TEXTS | PAGES | {".pdf", ".epub"}
"""Files with these suffixes are documents wherever they are in a space."""
_MODULES = {**dict.fromkeys(PAGES, "html"), ".pdf": "pdf", ".epub": "epub"}


def extractor_for(path: str) -> Extractor:
    """The extractor for a file of this name; what is not a document is read as plain text."""
    from importlib import import_module

    module = _MODULES.get(suffix_of(path), "outline")
    extract: Extractor = import_module(f"kinen.extract.{module}").extract
    return extract


def decode(data: bytes, charset: str = "") -> str:
    """Bytes as text, by their byte order mark, else by `charset`, else by a guess."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _checked(data[len(mark) :].decode(encoding, "replace"))
    if b"\0" in data:
        raise Unreadable("binary file")
    if charset:
        try:
            return _checked(data.decode(charset, "replace"))
        except (LookupError, UnicodeError):
            pass
    if len(data) - len(data.translate(None, _CONTROLS)) > len(data) // 50 + 1:
        raise Unreadable("binary file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        broken = text.count("\ufffd")
        if broken < sum(1 for c in text if c > "\x7f") - broken:
            return text  # UTF-8 with a few damaged characters
        try:
            return data.decode("cp1252")
        except UnicodeDecodeError:
            return data.decode("latin-1")


def _checked(text: str) -> str:
    if "\0" in text or len(text) - len(text.translate(_CONTROL_TABLE)) > len(text) // 50 + 1:
        raise Unreadable("binary file")
    return text


def suffix_of(path: str) -> str:
    """The lower-case suffix of a POSIX path with its dot, or an empty text."""
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return f".{suffix.lower()}" if stem and dot else ""
