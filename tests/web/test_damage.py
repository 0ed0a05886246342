"""A damaged database: every page says what to do, and the button of the index does it."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from selectolax.lexbor import LexborHTMLParser

from kinen.web.site import VIEWS, VIEWS_OF_ALL

if TYPE_CHECKING:
    from web.conftest import Site

PAGE = 4096
FIELDS = {"ref": "notes/oncall.md", "path": "notes/oncall.md", "q": "redis", "all": "1"}


def damage(path: Path) -> None:
    """Overwrite the beginning of every page of a database but the first."""
    with (
        contextlib.suppress(sqlite3.DatabaseError),
        contextlib.closing(sqlite3.connect(path)) as db,
    ):
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        for place in range(PAGE, path.stat().st_size, PAGE):
            file.seek(place)
            file.write(b"\xff" * 300)


@pytest.mark.parametrize("name", ["index.db", "journal.db"])
def test_every_page_says_what_to_do_about_a_damaged_database(site: Site, name: str) -> None:
    with site.memory() as memory:
        memory.observe("brewed", scope={"agent": "claude", "session": "t"})
        memory.sync()
        file = Path(memory.core.file(name))
    damage(file)
    tokens = []
    for view in sorted(VIEWS.keys() - {"injection"}):
        if name == "index.db":
            damage(file)  # a page that reads much builds the index again by itself
        answer = site.get(view, **FIELDS)
        page = LexborHTMLParser(answer.text)
        title = page.css_first("h1").text()
        assert "bug" not in answer.text, (view, title)
        if answer.status_code == 500:
            assert title == f"The {name.partition('.')[0]} is damaged", view
            assert page.css("nav a"), view
            field = page.css_first("form[action$='/health/rebuild'] input[name=token]")
            assert (field is not None) == (name == "index.db"), view
            tokens.append(field.attributes["value"] if field is not None else "")
    assert len(tokens) > 4
    for view in VIEWS_OF_ALL:
        answer = site.client.get(f"/web/s/all/{view}", params={"q": "redis"})
        assert answer.status_code == 200, view
    if name == "journal.db":
        assert "kinen export" in site.get("search", q="redis").text
        return
    damage(file)
    assert site.post("health/rebuild", token=tokens[-1]).status_code == 303
    assert site.get("record", **FIELDS).status_code == 200
