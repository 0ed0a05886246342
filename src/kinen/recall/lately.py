"""What a recall without a question shows of the latest records."""

from __future__ import annotations

from kinen.model.records import Hits, Record
from kinen.model.updates import BOT, dependency_of
from kinen.text import lazy_pattern

WORKED = ("summary", "checkpoint", "round")
"""Kinds that tell what was worked on."""
SHARE_OF_WORK = 4
"""Every fourth entry tells of work, however many commits are newer."""
MERGES = ("Merge pull request ", "Merge branch ", "Merge remote-tracking branch ")
"""Titles that git and GitHub give to merges."""
ENTRY = 80
"""Approximate tokens of an entry."""
_MARKUP = lazy_pattern(r"\s*(?:<!--.*-->|</?[A-Za-z][^<>]*>|:::.*|(?:import|export) .*[\"'{;])\s*")
"""A line of a note that only sets it up: HTML, directives, imports of MDX."""


def without_routine(hits: Hits) -> Hits:
    """The hits without merges, which repeat what they brought, and without commits of bots.

    Updates of dependencies stay: they become one line. If bots made every commit, all stay.
    """
    merged = [hit for hit in hits if not hit.record.title.startswith(MERGES)]
    chosen = [hit for hit in merged if not by_bot(hit.record)] or merged
    return Hits(tuple(chosen), hits.query, hits.mode, hits.notes)


def by_bot(record: Record) -> bool:
    """Whether a bot made a commit that is more than an update of a dependency."""
    author = str((record.metadata or {}).get("author", ""))
    return author.endswith(BOT) and not dependency_of(record.title)


def prose(text: str) -> str:
    """The beginning of a note as a reader sees it, without lines that only set it up."""
    lines = (line for line in text.splitlines() if not _MARKUP.fullmatch(line))
    return "\n".join(lines)


def with_work(hits: Hits, worked: Hits, count: int) -> Hits:
    """The latest hits, of which `count` are displayed, with the latest work among them."""
    first = {hit.record.ref for hit in hits[:count]}
    absent = [
        hit for hit in worked[: max(1, count // SHARE_OF_WORK)] if hit.record.ref not in first
    ]
    if not absent:
        return hits
    chosen = (*hits[: max(0, count - len(absent))], *absent)
    latest = sorted(chosen, key=lambda hit: hit.record.at, reverse=True)
    return Hits(tuple(latest), hits.query, hits.mode, hits.notes)
