"""How much happened in sessions, without reading them whole.

`timeline.counts` decides what counts as a prompt, an edit, a command or an error. Most observations
are decided by their kind and a look at their provenance, which SQLite does; only what may have
failed, or cannot be read so easily, is read and counted by that rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kinen.journal.queries import NOUNS, decode
from kinen.journal.schema import OF_CAPSULE
from kinen.journal.timeline import counts
from kinen.model.tuples import NamedTuple
from kinen.privacy.injected import own_words

if TYPE_CHECKING:
    import sqlite3

    from kinen.model.journal import Observation

BATCH = 400
"""Capsules of one query: SQLite limits the number of parameters."""
LAST = (1 << 63) - 1
"""A place behind every observation."""
_MAY_HAVE_FAILED = """
  NOT json_valid(provenance) OR IFNULL(exit_code NOT IN (0, '0'), 0) OR IFNULL(has_error, 0)"""
_MAY_HIDE_FAILURE = """
  content LIKE '%fail%' OR content LIKE '%test%'
    OR json_type(provenance, '$.exitCode') IS NOT 'integer' OR content GLOB '*[|;&!]*'
    OR IFNULL(command, '') GLOB '*['||char(10)||']*'"""
"""Commands whose exit code is missing or may be that of something else: their output is read."""
_CLASS = f"""
  CASE
  WHEN redacted THEN ''
  WHEN kind = 'message' THEN
    CASE WHEN role IS 'assistant' THEN '' ELSE 'prompt' END
  WHEN kind IN ('error', 'node_error') THEN
    CASE WHEN NOT json_valid(provenance) OR json_type(provenance, '$.command') IS NOT NULL
      OR content LIKE '$ %' OR content LIKE 'Tool: %' OR content LIKE 'File: %'
      OR substr(content, 1, 1) <= ' ' THEN 'read' ELSE 'error' END
  WHEN kind NOT IN ('command', 'tool_call', 'file_diff') THEN ''
  WHEN {_MAY_HAVE_FAILED} THEN 'read'
  WHEN kind = 'tool_call' THEN ''
  WHEN kind = 'file_diff' THEN
    CASE WHEN files GLOB '[[]"[^" ]*' THEN 'edit'
    WHEN files = '[]' AND json_type(provenance, '$.filePath') = 'text'
      AND trim(json_extract(provenance, '$.filePath')) != '' THEN 'edit' ELSE 'read' END
  WHEN {_MAY_HIDE_FAILURE} THEN 'read'
  WHEN json_type(provenance, '$.command') = 'text'
    AND trim(command) != '' THEN 'command'
  WHEN content LIKE '$ %' AND trim(substr(content, 3, 1)) > '!' THEN 'command'
  ELSE 'read' END"""


class Tally(NamedTuple):
    """The counts of a session."""

    last: int = 0
    """When something happened last, in epoch milliseconds; 0 if nothing did."""
    prompts: int = 0
    edits: int = 0
    commands: int = 0
    errors: int = 0

    def plus(self, more: dict[str, int]) -> Tally:
        return self._replace(**{name: getattr(self, name) + more[name] for name in more})

    def joined(self, later: Tally) -> Tally:
        """The counts of both, and when something happened last in either."""
        sums = later._asdict()
        return self._replace(last=max(self.last, sums.pop("last"))).plus(sums)


def tail(db: sqlite3.Connection, capsule: str, most: int) -> Iterator[Observation]:
    """The last observations of a capsule that are not forgotten, in their order.

    They are read when the first is taken: most callers need none.
    """
    rows = db.execute(
        f"SELECT {NOUNS['observations'].columns} FROM observations WHERE {OF_CAPSULE}"
        " AND forgotten_at = 0 ORDER BY ts DESC, id DESC LIMIT ?",
        (capsule, most),
    )
    yield from [decode("observation", row) for row in rows][::-1]


def tallies(
    db: sqlite3.Connection, capsules: Sequence[str], after: int = 0, until: int = LAST
) -> dict[str, Tally]:
    """The counts of capsules by their id, as `timeline.counts` would give them.

    `after` and `until` are places in the journal, the `seq` of observations.
    """
    sums = dict.fromkeys(capsules, Tally())
    for start in range(0, len(capsules), BATCH):
        _add(db, capsules[start : start + BATCH], sums, after, until)
    return sums


def _add(
    db: sqlite3.Connection, capsules: Sequence[str], sums: dict[str, Tally], after: int, until: int
) -> None:
    column = "+capsule" if after else "capsule"  # the few that are new are looked up by their seq
    chosen = (
        f"{column} IN ({', '.join('?' * len(capsules))}) AND capsule != '' AND forgotten_at = 0"
        f" AND seq > {after:d} AND seq <= {until:d}"
    )
    classes = f"SELECT seq, capsule, ts, {_CLASS} AS class FROM observations WHERE {chosen}"
    rows: dict[str, list[str]] = {"prompt": [], "read": []}
    for capsule, kind, count, last, numbers in db.execute(
        "SELECT capsule, class, COUNT(*), MAX(ts),"
        " CASE WHEN class IN ('prompt', 'read') THEN group_concat(seq) END"
        f" FROM ({classes}) GROUP BY capsule, class",
        tuple(capsules),
    ):
        tally = sums[capsule]._replace(last=max(sums[capsule].last, last))
        simple = kind in ("edit", "command", "error")
        sums[capsule] = tally.plus({f"{kind}s": count}) if simple else tally
        if numbers:
            rows[kind] += numbers.split(",")
    _add_prompts(db, rows["prompt"], sums)
    _add_events(db, rows["read"], sums)


def _add_prompts(db: sqlite3.Connection, rows: Sequence[str], sums: dict[str, Tally]) -> None:
    """Count prompts that somebody typed."""
    sql = f"SELECT capsule, content FROM observations WHERE seq IN ({', '.join(rows)})"
    for capsule, content in db.execute(sql):
        if own_words(content).strip():
            sums[capsule] = sums[capsule].plus({"prompts": 1})


def _add_events(db: sqlite3.Connection, rows: Sequence[str], sums: dict[str, Tally]) -> None:
    """Count observations that have to be read."""
    columns = NOUNS["observations"].columns
    for row in db.execute(f"SELECT {columns} FROM observations WHERE seq IN ({', '.join(rows)})"):
        event = decode("observation", row)
        sums[event.capsule] = sums[event.capsule].plus(counts([event]))
