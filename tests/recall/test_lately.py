"""What a recall without a question shows."""

from __future__ import annotations

from kinen.model.records import Chunk, Hit, Hits, Query, Record
from kinen.recall.candidates import prose, with_work, without_routine


def latest(*refs: str) -> Hits:
    """Hits of records, the newest first; the number of a ref is its day."""
    hits = []
    for ref in refs:
        kind, _, day = ref.partition(":")
        record = Record(ref=ref, kind=kind, title=f"title {ref}", at=f"2026-01-{day}")
        hits.append(Hit(record, Chunk(ref, 0, "text"), 0.0, ()))
    return Hits(hits, Query(""), "recent")


def refs_of(hits: Hits) -> list[str]:
    return [hit.record.ref for hit in hits]


def test_the_latest_session_is_shown_however_many_commits_are_newer() -> None:
    commits = [f"commit:{day}" for day in range(28, 18, -1)]
    hits = with_work(latest(*commits), latest("summary:12", "summary:11", "summary:10"), 8)
    assert refs_of(hits) == [*commits[:6], "summary:12", "summary:11"]


def test_a_session_that_is_shown_already_takes_no_place_of_a_commit() -> None:
    hits = latest("commit:28", "summary:27", "commit:26", "commit:25")
    assert with_work(hits, latest("summary:27"), 4) == hits


def test_merges_are_left_out() -> None:
    hits = latest("commit:28", "commit:27")
    merge = hits[0]._replace(record=hits[0].record._replace(title="Merge branch 'a'"))
    assert refs_of(without_routine(Hits([merge, hits[1]], Query(""), "recent"))) == ["commit:27"]


def by_bot(hit: Hit, title: str) -> Hit:
    record = hit.record._replace(title=title, metadata={"author": "release-robot[bot]"})
    return hit._replace(record=record)


def test_commits_of_bots_are_left_out_unless_they_update_dependencies() -> None:
    first, second, third = latest("commit:28", "commit:27", "commit:26")
    bots = (
        by_bot(first, "docs: update the list of sponsors"),
        by_bot(second, "Bump vite from 5.0 to 5.1"),
    )
    assert refs_of(without_routine(Hits([*bots, third], Query(""), "recent"))) == [
        "commit:27",
        "commit:26",
    ]


def test_where_bots_do_everything_it_is_shown() -> None:
    (hit,) = latest("commit:28")
    assert refs_of(without_routine(Hits([by_bot(hit, "1.2.0")], Query(""), "recent")))


def test_a_small_budget_still_shows_the_latest_session() -> None:
    hits = with_work(latest("commit:28", "commit:27", "commit:26"), latest("summary:12"), 2)
    assert refs_of(hits) == ["commit:28", "summary:12"]


def test_of_a_note_the_prose_is_shown() -> None:
    text = """<!-- prettier-ignore-start -->
import Tabs from "@theme/Tabs";
<table>
:::warning Beta
Streaming shows the prompt at once.
import what you need, and export nothing
:::"""
    assert prose(text).splitlines() == [
        "Streaming shows the prompt at once.",
        "import what you need, and export nothing",
    ]
