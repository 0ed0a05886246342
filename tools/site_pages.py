"""A hook of mkdocs: pages of the site that are files of the repository's root."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Files of the root, and the pages that they are on the site."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root to those of docs/."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=site_page((ROOT / name).read_text())))
    return files


def site_page(text: str) -> str:
    """A page of the root with its links as they are on the site.

    docs/x.md becomes x.md; a file that is not on the site loses its link and keeps its words.
    """
    return re.sub(r"\[([^\]]*)\]\((?!\w+://)([^)#\s]+)(#[^)\s]*)?\)", _link, text)


def _link(match: re.Match[str]) -> str:
    words, target, anchor = match.groups(default="")
    if target in PAGES:
        return f"[{words}]({PAGES[target]}{anchor})"
    if target.startswith("docs/"):
        target += "README.md" if target.endswith("/") else ""
        return f"[{words}]({target.removeprefix('docs/')}{anchor})"
    return words
