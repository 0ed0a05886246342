"""Which files are documents, by the suffix of their names."""

from __future__ import annotations

TEXTS = frozenset(".md .markdown .mdx .txt .text .rst .adoc .asciidoc .org .tex".split())
OUTLINES = frozenset((".rst", ".adoc", ".asciidoc", ".org"))
"""Texts whose headings are read by `outline`."""
PAGES = frozenset((".html", ".htm", ".xhtml"))
DOCUMENTS = TEXTS | PAGES | {".pdf", ".epub"}
"""Files with these suffixes are documents wherever they are in a space."""


def suffix_of(path: str) -> str:
    """The lower-case suffix of a POSIX path with its dot, or an empty text."""
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return f".{suffix.lower()}" if stem and dot else ""
