"""The graph: its page, its numbers and its layout."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
from selectolax.lexbor import LexborHTMLParser

from kinen.model.records import KINDS, Edge
from kinen.web import graph as graphs
from kinen.web.graph import layout

if TYPE_CHECKING:
    import pytest

    from web.conftest import Site

ADR = "artifact:artifacts/adr-007-session-store.md"


def tree(text: str) -> LexborHTMLParser:
    return LexborHTMLParser(text)


def counts(data: bytes) -> tuple[int, int, int]:
    """Records, links, and 1 if there is a centre."""
    version, records, links, centre = struct.unpack("<4I", data[:16])
    assert version == 1
    assert len(data) == 16 + 10 * records + 8 * links
    return records, links, centre


def test_the_neighbourhood_of_a_record(site: Site) -> None:
    page = tree(site.page("graph", ref=ADR, depth="1"))
    with site.memory() as memory:
        edges = memory.records.links(ADR)
        orphans = memory.records.orphans()
    ends = {end for edge in edges for end in (edge.source, edge.target) if end}
    assert len(page.css("svg .dot")) == len(ends)
    assert page.css("svg line")
    assert bool(orphans) == ("Without links" in page.css_first("main").text())
    assert counts(site.get("graph/data", ref=ADR, depth="1").content)[::2] == (len(ends), 1)


def test_without_a_ref_a_small_space_is_drawn_whole_with_orphans_aside(site: Site) -> None:
    assert "the whole space" not in tree(site.page("graph")).css_first("main form").text()
    assert site.get("graph/data").content == site.get("graph/data", all="1").content
    drawn = graphs.numbered(
        ["note:a", "note:b", "note:c"], [Edge("note:a", "note:b", "")], set(), set()
    )
    linked, _, alone = graphs.places(drawn)[:, 1]
    assert linked < alone


def test_without_a_ref_the_most_linked_record_of_a_large_space_is_the_centre(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs, "SMALL", 2)
    page = tree(site.page("graph"))
    assert "which has the most links" in page.css_first(".notes").text()
    assert counts(site.get("graph/data").content)[2] == 1


def test_the_whole_space_can_be_filtered(site: Site) -> None:
    whole = counts(site.get("graph/data", all="1").content)
    notes = counts(site.get("graph/data", all="1", kinds="note").content)
    assert 0 < notes[0] < whole[0]
    orphans = counts(site.get("graph/data", only="orphans").content)
    with site.memory() as memory:
        assert orphans == (len(memory.records.orphans()), 0, 0)
    assert site.get("graph/data", depth="9").status_code == 400


def test_sessions_and_files_are_in_the_whole_graph(site: Site) -> None:
    with site.memory() as memory:
        scope = {"session": "s1", "agent": "claude"}
        capsule = memory.journal.open_capsule("tidy the notes", scope=scope)
        memory.observe("edit", kind="file_diff", scope=scope, files=["notes/oncall.md"])
        memory.sync()
        edges = memory.records.overview()
    assert Edge(capsule.ref, "note:notes/oncall.md", "touches") in edges


def test_a_title_comes_on_request(site: Site) -> None:
    about = site.get("labels/data", ref=ADR, n="0").json()["0"]
    assert "session" in about["title"].lower()
    assert about["kind"] == "artifact"
    assert about["links"] > 0
    assert "adr-007" in about["around"]
    for number in ("4999", "-1", "x", "²"):
        assert site.get("labels/data", ref=ADR, n=number).json() == {}


def test_a_graph_has_no_text_and_is_capped() -> None:
    edges = [Edge(f"note:{n}.md", f"note:{n // 2}.md", "links") for n in range(7_000)]
    graph = graphs.numbered(graphs.ranked(edges), edges, {"note:0.md"}, set())
    assert len(graph.names) == graphs.MOST
    assert graph.left_out == 2_000
    data = graphs.encode(graph)
    records, links, _ = counts(data)
    assert records == graphs.MOST
    assert links <= graphs.MOST_PAIRS
    assert len(data) < 200_000
    assert b"note" not in data
    kinds = data[16 + 8 * records + 8 * links :][:records]
    assert {KINDS[number] for number in kinds} == {"note"}


def test_a_layout_is_always_the_same_and_inside_its_frame() -> None:
    for count in (40, 500):
        pairs = tuple((number // 3, number) for number in range(1, count))
        layout.cache_clear()
        first = layout(count, pairs)
        layout.cache_clear()
        assert np.array_equal(layout(count, pairs), first)
        assert first.min() >= 0
        assert first.max() <= 1
        linked = np.array(pairs)
        near = np.linalg.norm(first[linked[:, 0]] - first[linked[:, 1]], axis=1).mean()
        apart = np.linalg.norm(first[: count // 2] - first[-(count // 2) :], axis=1).mean()
        assert near < apart / 2, "linked records are near each other"
    assert layout(1, ()).tolist() == [[0.0, 0.0]]
    assert layout(0, ()).shape == (0, 2)
