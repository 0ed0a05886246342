"""The docs site: its menu has every page, and nothing is fetched from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
SITE: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
OF_THE_ROOT = {"index.md": "README.md", "changelog.md": "CHANGELOG.md"}
OF_THE_ROOT |= {"contributing.md": "CONTRIBUTING.md"}


def pages(entry: Any) -> Iterator[str]:
    """The pages of a part of the menu, in order."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for below in entry.values():
            yield from pages(below)
    else:
        for below in entry:
            yield from pages(below)


def test_the_menu_names_every_page_once() -> None:
    menu = list(pages(SITE["nav"]))
    assert len(menu) == len(set(menu))
    written = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")}
    assert set(menu) - OF_THE_ROOT.keys() == written


def test_the_pages_of_the_root_exist() -> None:
    assert set(pages(SITE["nav"])) >= OF_THE_ROOT.keys()
    assert [name for name in OF_THE_ROOT.values() if not (ROOT / name).exists()] == []


def test_the_index_of_decisions_names_every_decision() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    decisions = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert [name for name in decisions if f"({name})" not in index] == []


def test_nothing_is_fetched_when_a_page_is_read() -> None:
    assert SITE["theme"]["font"] is False
    assert "extra_javascript" not in SITE
    assert "extra_css" not in SITE
    assert SITE["plugins"] == ["search"]  # `offline` loads a script from unpkg.com
