"""The text of a PDF, page by page."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

import pypdfium2

from kinen.errors import Unreadable
from kinen.model.documents import Extract, Part
from kinen.text import budget

if TYPE_CHECKING:
    from pathlib import Path

MAX_PAGES = 5_000
MAX_OUTLINE = 1_000
HYPHEN = "\x02"
"""pdfium writes this where it joined two lines at a hyphen."""

_PDFIUM = Lock()  # pdfium is not thread-safe, not even for two documents
_BROKEN = re.compile(r"(?<=\w)(?:-[ \t]*\n|\x02[ \t]*\n?)[ \t]*(?=(\w{1,40}))")
_COMPOUND = re.compile(r"(?<!\w)\w{1,40}-\w{1,40}")
_LAST_WORD = re.compile(r"\w+$")
_JUNK = dict.fromkeys([*range(9), 11, 14, 15, *range(16, 32), 0x7F, 0xAD, 0xFEFF, 0xFFFE, 0xFFFF])
_REPAIRS = _JUNK | {
    0x0C: "\n",
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}
_NO_TITLE = re.compile(r"(?i)^(untitled.*|microsoft .* - .*|.*\.(docx?|indd|tex|dvi|pdf|ps|rtf))$")

# Its warnings about damaged files would appear in our output.
logging.getLogger("pypdfium2").addHandler(logging.NullHandler())


def extract(path: Path, data: bytes, most: int = budget.TEXT) -> Extract:  # noqa: ARG001
    """A part for each page with text, and the title and outline if there are any."""
    pages: list[str] = []
    metadata, cut = read(data, most, pages.append)
    return assemble(pages, metadata, cut)


def read(data: bytes, most: int, take: Callable[[str], None]) -> tuple[dict[str, Any], str]:
    """Call `take` with each page; returns the metadata, and why not all pages were read."""
    if not data:
        raise Unreadable("empty file")
    with _PDFIUM, closing(_open(data)) as document:
        count = len(document)
        done = failed = characters = 0
        cut = ""
        for n in range(min(count, MAX_PAGES)):
            page = _page(document, n)
            characters += len(page or "")
            if characters > most:
                reason = f"more than {most:,} characters"
                cut = f"only the first {n} of {count} pages were read: {reason}"
                take((page or "")[: most - characters])
                break
            done += 1
            failed += page is None
            take(page or "")
        if failed == done and not cut:
            raise Unreadable("damaged PDF: no page can be read")
        metadata: dict[str, Any] = {"pages": count}
        for key in ("Title", "Author", "Subject", "Keywords"):
            with suppress(pypdfium2.PdfiumError, UnicodeError):
                words = str(document.get_metadata_value(key)).translate(_JUNK).split()
                if words:
                    metadata[key.lower()] = " ".join(words)
        if outline := list(_outline(document)):
            metadata["outline"] = outline
    if count > MAX_PAGES and not cut:
        cut = f"only the first {MAX_PAGES} of {count} pages were read"
        metadata["note"] = cut
    elif failed:
        metadata["note"] = f"{failed} of {count} pages are damaged"
    return metadata, cut


def assemble(pages: list[str], metadata: dict[str, Any], cut: str = "") -> Extract:
    """The pages that `read` delivered as parts, with words joined at line ends."""
    texts = repair(pages)
    parts = tuple(Part(text, page=n) for n, text in enumerate(texts, 1) if text)
    if not parts:
        raise Unreadable("no text in it (scanned images?)")
    title = metadata.pop("title", "")
    return Extract(parts, "" if _NO_TITLE.match(title) else title, metadata, cut)


def repair(pages: list[str]) -> list[str]:
    """Pages with LF line ends, without hyphenation and ligatures."""
    pages = [page.replace("\r\n", "\n").replace("\r", "\n") for page in pages]
    compounds = {word.lower() for page in pages for word in _COMPOUND.findall(page)}

    def joined(match: re.Match[str]) -> str:
        right = match[1]
        before = match.string[max(0, match.start() - 40) : match.start()]
        left = "".join(_LAST_WORD.findall(before))
        # Keep the hyphen of a name, and of a compound that has it elsewhere in the document.
        hyphen = not right[0].islower() or f"{left}-{right}".lower() in compounds
        return "-" if hyphen else ""

    return [_tidy(_BROKEN.sub(joined, page)) for page in pages]


def _tidy(page: str) -> str:
    # A mark that is not between two words is a hyphen, too.
    text = page.replace(HYPHEN, "-").translate(_REPAIRS)
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n")


def _open(data: bytes) -> Any:
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        reason = str(error).lower()
        if "password" in reason:
            raise Unreadable("encrypted PDF: needs a password") from error
        if "security" in reason:
            raise Unreadable("encrypted PDF: unknown encryption") from error
        if b"%PDF-" not in data[:1024]:
            raise Unreadable("damaged PDF: no PDF header") from error
        raise Unreadable("damaged PDF: its structure cannot be read") from error


def _page(document: Any, n: int) -> str | None:
    try:
        with closing(document[n]) as page, closing(page.get_textpage()) as text:
            # Bounded, because the text of a range loses everything beyond U+FFFF.
            return str(text.get_text_bounded())
    except pypdfium2.PdfiumError:
        return None


def _outline(document: Any) -> Iterator[dict[str, Any]]:
    try:
        for n, entry in enumerate(document.get_toc()):
            if n == MAX_OUTLINE:
                return
            target = entry.get_dest()
            page = target.get_index() if target else None
            title = " ".join(entry.get_title().translate(_JUNK).split())
            if title:
                yield {"title": title, "level": entry.level, "page": (page or 0) + 1}
    except (pypdfium2.PdfiumError, UnicodeError):
        return
