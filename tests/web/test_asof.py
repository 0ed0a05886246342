"""Pages put back to an earlier time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from selectolax.lexbor import LexborHTMLParser

from kinen.text import now

if TYPE_CHECKING:
    from web.conftest import Site

DAY = 86_400_000


@pytest.fixture
def past(site: Site) -> None:
    """Observations of last week and of today, and a memory that was hidden today."""
    with site.memory() as memory:
        ago = round(now() * 1000) - 7 * DAY
        memory.observe("The walrus lives in the cellar.", at=ago)
        memory.observe("The walrus lives on the roof.")
        memory.consolidation.consolidate()
        memory.sync()


def test_search_finds_what_was_known_then(site: Site, past: None) -> None:
    assert "on the roof" in site.page("search", q="walrus")
    page = site.page("search", q="walrus", as_of="3d")
    assert "in the cellar" in page
    assert "on the roof" not in page
    assert "as of " in page
    assert site.get("search", q="walrus", as_of="no-such-branch").status_code == 400


def test_hidden_memories_come_back(site: Site, past: None) -> None:
    with site.memory() as memory:
        first = memory.consolidation.memories()[0]
    site.post("knowledge/hide", ref=first.ref)
    assert first.id not in site.page("knowledge")
    page = LexborHTMLParser(site.page("knowledge", as_of="1m"))
    assert first.id in [node.attributes["id"] for node in page.css("#memories > li")]
    assert "1 hidden since" in page.css_first(".banner").text()
    assert not page.css("#memories form"), "an earlier time cannot be changed"


def test_a_record_has_the_text_of_a_commit(site: Site) -> None:
    assert "More." in site.page("record", ref="notes/oncall.md")
    page = LexborHTMLParser(site.page("record", ref="notes/oncall.md", as_of="HEAD~1"))
    assert "More." not in page.css_first("#text").text()


def test_the_budget_and_links_keep_the_time(site: Site, past: None) -> None:
    page = LexborHTMLParser(site.page("told", q="walrus", as_of="3d"))
    assert "on the roof" not in page.css_first("main").text()
    assert "When a session starts" not in page.css_first("main").text()
    links = [node.attributes["href"] or "" for node in page.css("nav a")]
    dated = [link for link in links if "told" in link or "knowledge" in link]
    assert dated
    assert all(link.endswith("as_of=3d") for link in dated), dated
    assert page.css_first("input[name=as_of]").attributes["value"] == "3d"
    slider = page.css_first("#as-of").attributes
    assert 0 < int(slider["value"] or 0) < int(slider["max"] or 0)


def test_compare_shows_what_became_of_the_memories(site: Site) -> None:
    ago = round(now() * 1000) - 7 * DAY
    with site.memory() as memory:
        texts = ("Logs live for 30 days", "The port is 8080", "Branches are named by ticket")
        for text in texts:
            memory.consolidation.remember(text, type="decision")
        with memory.journal._core.store.writing() as db:
            db.execute("UPDATE memories SET created_at = ?", (ago,))
        old = {entry.content: entry for entry in memory.consolidation.memories()}
        edited = memory.consolidation.edit(old[texts[0]].ref, "Logs live for 90 days")
        newer = memory.consolidation.remember("The port is 9090", type="decision")
        memory.consolidation.supersede(old[texts[1]].ref, newer.ref)
        site.post("knowledge/hide", ref=old[texts[2]].ref)
    page = LexborHTMLParser(site.page("compare", begin="3d"))
    rows = [row.text() for row in page.css("main .rows")]
    titles = [heading.text() for heading in page.css("main h2")]
    sections = dict(zip(titles, rows, strict=True))
    assert "9090" in sections["New"]
    assert "90 days" in sections["Reworded"]
    assert "was: Logs live for 30 days" in sections["Reworded"]
    assert "now: The port is 9090" in sections["Superseded"]
    assert "Branches" in sections["Gone"]
    assert edited.content == "Logs live for 90 days"
    assert "No memory changed" in site.page("compare", begin="30d", end="20d")
    assert site.get("compare", begin="no-such-branch").status_code == 400
