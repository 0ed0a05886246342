"""The beginning of a note, or of a section of it, as plain text."""

from __future__ import annotations

import re

from kinen.characters import visible, visible_line
from kinen.lsp.vault import Note, Vault
from kinen.markdown.links import folded
from kinen.markdown.parse import parse
from kinen.markdown.reading import reading
from kinen.text import excerpt

LINES = 10
"""Lines of a passage."""
LONGEST = 500
"""Characters of a line of it."""
READ = 65_536
"""Characters of a note that are read for it."""


def heading_line(note: Note, heading: str) -> int:
    """The line of a heading, by its words or as an anchor; 1 if the note has no such heading."""
    last = folded(heading.rpartition("#")[2].strip())
    for spell in (folded, _anchor):
        for other in note.headings:
            if last and spell(other.text) == last:
                return other.line
    return 1


def first_passage(vault: Vault, note: Note, heading: str = "") -> str:
    """The title, the path and the first words of a note or section.

    Plain text: markdown of a note could have an editor load images from the network.
    """
    start = heading_line(note, heading) if heading else 1
    parsed = parse(vault.text(note.path)[:READ])
    blocks = (
        block
        for block in parsed.blocks
        if block.start_line >= start and block.kind not in ("heading", "rule", "html")
    )
    texts = (reading(block.text) for block in blocks)
    text = next((text for text in texts if text.strip()), "")
    lines = [excerpt(line, LONGEST) for line in text.split("\n")[:LINES]]
    title = f"{note.title} › {heading}" if start > 1 and heading else note.title
    parts = [visible_line(title), visible_line(note.path), "", visible("\n".join(lines))]
    return "\n".join(parts).rstrip()


def _anchor(text: str) -> str:
    """A heading as web pages and editors name it in a link."""
    return re.sub(r"[^\w\- ]", "", folded(text)).replace(" ", "-")
