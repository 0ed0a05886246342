"""The extractor for a file, by the suffix of its name; each format is imported when needed."""

from __future__ import annotations

from importlib import import_module

from kinen.extract.decode import OUTLINES, PAGES, TEXTS, suffix_of
from kinen.ports import Extractor

_MODULES = {
    **dict.fromkeys((*OUTLINES, *TEXTS), "outline"),
    **dict.fromkeys(PAGES, "html"),
    ".pdf": "pdf",
    ".epub": "epub",
}


def extractor_for(path: str) -> Extractor:
    """The extractor for a file of this name; what is not a document is read as plain text."""
    module = _MODULES.get(suffix_of(path), "outline")
    extract: Extractor = import_module(f"kinen.extract.{module}").extract
    return extract
