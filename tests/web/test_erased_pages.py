"""What was forgotten is on no page of a running server, though the index cannot be cleaned yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from test_erasing import held

if TYPE_CHECKING:
    from web.conftest import Site


def test_no_page_shows_what_was_forgotten_while_another_process_holds_the_index(site: Site) -> None:
    ref = "notes/oncall.md"
    with site.memory() as memory:
        record = memory.records.get(ref)
        text = memory.records.whole_text(record.ref)
        folder = memory.core.folder
    line = max(text.splitlines(), key=len).strip()[:40]
    pages = {
        "search": {"q": line},
        "graph": {"all": "1"},
        "graph/data": {"all": "1"},
        "labels/data": {"all": "1"},
    }
    before = {name: site.get(name, **query).text for name, query in pages.items()}
    assert record.ref in before["search"] or ref in before["search"]
    with held(folder):
        with site.memory() as memory:
            assert memory.journal.forget(ref).waiting
        for name, query in pages.items():
            page = site.get(name, **query).text
            if name == "search":
                page = page.replace(line, "")  # the question itself
            assert ref not in page, name
        assert (
            line not in site.get("record", ref=ref).text + site.get("record", ref=record.ref).text
        )
