"""What a recall without a question shows of the latest records."""

from __future__ import annotations

from kinen.model.records import Hits

WORKED = ("summary", "checkpoint", "round")
"""Kinds that tell what was worked on."""
SHARE = 4
"""The part of the entries that such records have, however many commits are newer."""
MERGES = ("Merge pull request ", "Merge branch ", "Merge remote-tracking branch ")
"""Titles that git and GitHub give to merges."""


def without_merges(hits: Hits) -> Hits:
    """The hits without merges that only repeat which commits they brought."""
    chosen = (hit for hit in hits if not hit.record.title.startswith(MERGES))
    return Hits(tuple(chosen), hits.query, hits.mode, hits.notes)


def with_work(hits: Hits, worked: Hits, count: int) -> Hits:
    """The latest hits, of which `count` are displayed, with the latest work among them."""
    first = {hit.record.ref for hit in hits[:count]}
    absent = [hit for hit in worked[: count // SHARE] if hit.record.ref not in first]
    if not absent:
        return hits
    chosen = (*hits[: max(0, count - len(absent))], *absent)
    latest = sorted(chosen, key=lambda hit: hit.record.at, reverse=True)
    return Hits(tuple(latest), hits.query, hits.mode, hits.notes)
