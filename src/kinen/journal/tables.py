"""The tables whose entries are exported and imported: their order, and what counts as erased."""

from __future__ import annotations

from kinen.model.kinds import REDACTED
from kinen.model.tuples import NamedTuple


class Table(NamedTuple):
    """What SQL needs to know of a table."""

    name: str
    noun: str
    order: str = "created_at, id"
    live: str = "forgotten_at = 0"
    erased: str = "redacted"
    """The SQL condition of an entry whose text was taken out."""

    @property
    def forgettable(self) -> bool:
        """Whether an entry leaves a tombstone; those of other tables are deleted."""
        return self.live != "1"


TABLES = {
    table.name: table
    for table in (
        Table("observations", "observation", order="ts, id"),
        Table("capsules", "capsule", order="opened_at, id", erased=f"intent = '{REDACTED}'"),
        # A summary that kinen wrote may quote an observation that was taken out since.
        Table(
            "summaries",
            "summary",
            erased="redacted OR NOT written AND EXISTS (SELECT 1 FROM observations o"
            " WHERE o.capsule = summaries.capsule AND (o.redacted OR o.forgotten_at))",
        ),
        Table("pins", "pin", live="1", erased=f"reason = '{REDACTED}'"),
        Table("memories", "memory"),
        Table("suppressed", "suppressed", order="at, ref", live="1", erased="0"),
        Table("tag_ops", "tag", live="1", erased="0"),
    )
}
TARGETS = {table.noun: table for table in TABLES.values() if table.forgettable}
"""What can be pinned and forgotten, by kind."""
