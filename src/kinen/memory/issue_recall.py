"""What a recall or a context shows of an issue, and of the records that concern it."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from kinen.index import issues as stored
from kinen.model.issues import relation, state_words
from kinen.model.records import Edge, Hit, Hits, Query, Record
from kinen.recall.clip import cut
from kinen.recall.tiers import item

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.index.reader import Reader
    from kinen.memory.issues import Details
    from kinen.model.journal import Item

RELATIONS = 8
"""Dependencies of an issue that are shown with it."""
TIERS = {
    "capsule": "sessions",
    "summary": "sessions",
    "commit": "commits",
    "checkpoint": "checkpoints",
    "memory": "memories",
}
"""The tiers of records that concern an issue; every other kind is a hit."""


def concerning(reader: Reader, details: Details) -> list[Record]:
    """The records that name an issue, newest first, then those that were linked by hand."""
    records = {mention.record.ref: mention.record for mention in details.mentions}
    for edge in details.edges:
        ref = relation(details.issue, edge)[1]
        if not ref.startswith("issue:") and (record := reader.record(ref)):
            records.setdefault(ref, record)
    return list(records.values())


def issue_item(reader: Reader, details: Details, tokens: int) -> Item | None:
    """An issue with its state, its dependencies and its text; None if no text of it is known."""
    issue = details.issue
    if not issue.title:
        return None
    relations = (_relation_line(reader, details, edge) for edge in details.edges[:RELATIONS])
    body = details.text.removeprefix(issue.title).strip()
    lines = (f"{issue.id} {issue.title}", state_words(issue), *relations, body)
    text = "\n".join(filter(None, lines))
    return item("issue", issue.ref, cut(text, tokens), at=issue.updated or issue.created)


def _relation_line(reader: Reader, details: Details, edge: Edge) -> str:
    """A dependency with the title and status of the other issue; empty for other records."""
    word, ref = relation(details.issue, edge)
    if not ref.startswith("issue:"):
        return ""
    record = reader.record(ref)
    if record is None:
        return f"{word} {ref.removeprefix('issue:')}"
    other = stored.to_issue(record)
    return f"{word} {other.id} {other.title} ({other.status.replace('_', ' ')})"


def narrowed(reader: Reader, query: Query, records: Sequence[Record]) -> Query:
    """The query, for these records only.

    With a question, everything that was said in their sessions may answer it. Without one,
    sessions are shown by their summaries.
    """
    sessions = tuple(record.ref for record in records if record.kind == "capsule")
    refs = (*(record.ref for record in records), *stored.summaries(reader.db, sessions))
    # An empty list would be no filter.
    return query._replace(refs=refs or ("",), parents=sessions if query.text.strip() else ())


def in_turns(hits: Hits) -> Hits:
    """Sessions, commits, checkpoints and others in turns, so that a small budget shows each kind.

    A session that has a summary among the hits is shown by it alone.
    """
    told = {str((hit.record.metadata or {}).get("parent", "")) for hit in hits}
    groups: dict[str, list[Hit]] = {tier: [] for tier in (*TIERS.values(), "hits")}
    for hit in hits:
        if not (hit.record.kind == "capsule" and hit.record.ref in told):
            groups[tier_of(hit.record.ref)].append(hit)
    turns = [hit for row in zip_longest(*groups.values()) for hit in row if hit is not None]
    return Hits(tuple(turns), hits.query, hits.mode, hits.notes)


def tier_of(ref: str) -> str:
    return TIERS.get(ref.partition(":")[0], "hits")
