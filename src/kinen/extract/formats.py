"""The extractor for a file, by the suffix of its name; each format is imported when needed."""

from __future__ import annotations

from kinen.extract.suffixes import OUTLINES, PAGES, TEXTS, suffix_of
from kinen.ports import Extractor


def extractor_for(path: str) -> Extractor | None:
    """The extractor for a file of this name, or None if it is not a document."""
    suffix = suffix_of(path)
    if suffix in OUTLINES:
        from kinen.extract import outline

        return outline.extract
    if suffix in TEXTS:
        from kinen.extract import plain

        return plain.extract
    if suffix in PAGES:
        from kinen.extract import html

        return html.extract
    if suffix == ".pdf":
        from kinen.extract import pdf

        return pdf.extract
    if suffix == ".epub":
        from kinen.extract import epub

        return epub.extract
    return None
