"""How much happened in sessions, without reading them whole.

`timeline.counts` decides what counts as a prompt, an edit, a command or an error. Most observations
are decided by their kind and a look at their provenance, which SQLite does; only what may have
failed, or cannot be read so easily, is read and counted by that rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kinen.journal.mark import mark
from kinen.journal.queries import NOUNS, Mark, changed, decode, grown
from kinen.journal.schema import OF_CAPSULE
from kinen.journal.timeline import counts
from kinen.model.tuples import NamedTuple
from kinen.privacy.injected import own_words

if TYPE_CHECKING:
    import sqlite3

    Hours = dict[tuple[str, int], int]
    """Observations by agent and hour since 1970."""
    Words = tuple[str, str]
    """The title and the outcome of a session."""
    Parts = dict[str, str]
    """What a session came to, by the labels of its summary."""

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
    sql = f"SELECT capsule, content FROM observations WHERE seq IN ({', '.join(rows['prompt'])})"
    for capsule, content in db.execute(sql):
        if own_words(content).strip():  # somebody typed it
            sums[capsule] = sums[capsule].plus({"prompts": 1})
    columns = NOUNS["observations"].columns
    sql = f"SELECT {columns} FROM observations WHERE seq IN ({', '.join(rows['read'])})"
    for row in db.execute(sql):
        event = decode("observation", row)
        sums[event.capsule] = sums[event.capsule].plus(counts([event]))


START = Mark("", 0, 0)


class Census:
    """What happened in sessions and in each hour, up to a mark of one journal."""

    def __init__(self) -> None:
        self._end = START
        self._tallies: dict[str, Tally] = {}
        self._words: dict[str, Words] = {}
        self._parts: dict[str, Parts] = {}
        self._hours: Hours | None = None

    def tallies(self, db: sqlite3.Connection, capsules: Sequence[str]) -> dict[str, Tally]:
        """The counts of capsules by their id."""
        self.follow(db)
        unread = [capsule for capsule in capsules if capsule not in self._tallies]
        self._tallies |= tallies(db, unread, 0, self._end.added)
        return {capsule: self._tallies[capsule] for capsule in capsules}

    def hours(self, db: sqlite3.Connection) -> Hours:
        """Observations by agent and hour."""
        self.follow(db)
        if self._hours is None:
            self._hours = _hours(db, 0, self._end.added)
        return self._hours

    def words(self, capsule: str, read: Callable[[], Words]) -> Words:
        """The title and the outcome of a capsule, read again once it has changed; see `follow`."""
        if capsule not in self._words:
            self._words[capsule] = read()
        return self._words[capsule]

    def parts(self, capsule: str, read: Callable[[], Parts]) -> Parts:
        """The parts of a capsule's summary, in the same way."""
        if capsule not in self._parts:
            self._parts[capsule] = read()
        return dict(self._parts[capsule])

    def follow(self, db: sqlite3.Connection) -> None:
        """Count what was added since the last call; start again if something was taken away."""
        since = self._end
        end = Mark(*mark(db))
        if end == since:
            return
        refs = changed(db, since, end) if end.journal == since.journal else []
        shrunk = end.journal != since.journal or end.added < since.added
        if shrunk or any(ref.startswith("observation:") for ref in refs):
            self._tallies.clear()
            self._words.clear()
            self._parts.clear()
            self._hours = None
        else:
            self._add(db, since, end, refs)
        self._end = end

    def _add(self, db: sqlite3.Connection, since: Mark, end: Mark, refs: list[str]) -> None:
        capsules = grown(db, since, end)
        counted = [capsule for capsule in capsules if capsule in self._tallies]
        for capsule, more in tallies(db, counted, since.added, end.added).items():
            self._tallies[capsule] = self._tallies[capsule].joined(more)
        if self._hours is not None:
            for hour, count in _hours(db, since.added, end.added).items():
                self._hours[hour] = self._hours.get(hour, 0) + count
        if any(ref.startswith("summary:") for ref in refs):
            self._words.clear()
            self._parts.clear()
        for capsule in (*capsules, *(ref.removeprefix("capsule:") for ref in refs)):
            self._words.pop(capsule, None)
            self._parts.pop(capsule, None)


def _hours(db: sqlite3.Connection, after: int, until: int) -> Hours:
    """Observations by agent and hour, from a place in the journal to another."""
    rows = db.execute(
        "SELECT agent, ts / 3600000, COUNT(*) FROM observations"
        " WHERE seq > ? AND seq <= ? AND forgotten_at = 0 GROUP BY 1, 2",
        (after, until),
    )
    return {(agent, hour): count for agent, hour, count in rows}
