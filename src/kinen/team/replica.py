"""The journal of one machine as a replica: what changed here, what came from others.

Every step is one transaction: a process that dies between two steps repeats the second one, and
nothing is lost or doubled.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from kinen import __version__
from kinen.characters import visible_line
from kinen.errors import InvalidEntry
from kinen.journal import edits, erase
from kinen.journal.authors import ARRIVED
from kinen.model.team import ERASED, WITHDRAWN, Stamp, Version
from kinen.model.tuples import NamedTuple
from kinen.storage.database import writing
from kinen.team import rows
from kinen.team.accept import (
    CONTINUED,
    FIXED,
    PART_OF,
    SUPERSEDED,
    check_session,
    keep,
    may_supersede,
    only_by,
    permitted,
)
from kinen.team.merge import (
    HIDDEN,
    JOURNAL,
    KNOWN,
    NOUNS,
    digest,
    encode,
    join,
    print_of,
    range_of,
    redact,
    tombstone,
)
from kinen.team.rows import Row, is_redacted
from kinen.team.share import Policy

META = "team"
"""The key of the state in the journal's table `meta`."""
META_LATER = "team.later"
HOST = 20
"""Characters of a host name that colleagues see."""


@dataclass(slots=True)
class State:
    """How far a machine is."""

    machine: str
    peer: str = ""
    level: str = "none"
    seen: tuple[int, int, int] = (0, 0, 0)
    """The last observation, change and tag that were looked at."""
    cursor: int = 0
    erased_cursor: int = 0
    left: bool = False
    author: str = ""
    """The name of the person here: entries of others are shown with theirs."""
    epoch: str = ""
    """The history of the team's database that the cursors belong to."""
    unread: list[str] = field(default_factory=list)
    """Refs of the team's entries that this version of kinen could not take over."""
    reader: str = ""
    """The version of kinen that tried."""


LATER = ("epoch", "unread", "reader")
"""Fields of an entry of their own in `meta`: a kinen without them still reads the other one."""


def new_machine() -> str:
    """A name for a machine that no other has: its host name, and something random."""
    import platform

    host = re.sub(r"[^a-z0-9]+", "-", platform.node().partition(".")[0].lower())[:HOST].strip("-")
    return f"{host or 'machine'}-{os.urandom(4).hex()}"


def read_state(db: sqlite3.Connection) -> State:
    """How far a journal is; a new state for one that has never been shared."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (META,)).fetchone()
    if row is None:
        return State(new_machine())
    values = json.loads(row[0])
    more = db.execute("SELECT value FROM meta WHERE key = ?", (META_LATER,)).fetchone()
    values |= json.loads(more[0]) if more else {}
    values = {name: value for name, value in values.items() if name in State.__slots__}
    return State(**{**values, "seen": tuple(values["seen"])})


def write_state(db: sqlite3.Connection, state: State) -> None:
    values = {name: getattr(state, name) for name in State.__slots__}
    later = {name: values.pop(name) for name in LATER}
    for key, part in ((META, values), (META_LATER, later)):
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(part)))


BATCH = 500
"""Entries that are looked at in one transaction."""
ADDED = ("observation", "capsule", "memory", "tag")
"""Nouns whose new entries change nothing else."""
HERE: Stamp = (0, "")
"""The stamp of a value that is this machine's alone: a colleague's entry was changed here."""
READER = digest([__version__, {noun: sorted(names) for noun, names in KNOWN.items()}])
"""What decides which entries can be taken over: this kinen and the fields that it knows."""
TIMES = {"capsule": ("openedAt", "closedAt"), "memory": ("createdAt",)}
"""The fields that order what an agent is told."""
MOST_UNREAD = 10_000
_KNOWN_STATE = f"SELECT 1 FROM meta WHERE key = '{META}'"
_COLUMNS = "noun, id, author, machine, stamps, cleaned, forgotten, withdrawn, erased, pending"


class Trace(NamedTuple):
    """What the team knows of an entry: stamps and digests by field, no values."""

    author: str
    machine: str
    stamps: dict[str, tuple[Stamp, str]]
    cleaned: frozenset[str]
    forgotten: int
    withdrawn: bool

    @property
    def bare(self) -> dict[str, Stamp]:
        return {name: stamp for name, (stamp, _) in self.stamps.items()}


class Replica:
    """The journal of one machine, as the team sees it."""

    def __init__(
        self,
        db: sqlite3.Connection,
        author: str,
        policy: Policy,
        *,
        now: Callable[[], int],
        checkpoints: Mapping[str, Row] | None = None,
        on_file_erased: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`checkpoints` are those of files, by id; `on_file_erased` hides one for good."""
        self._db = db
        self._author = author
        self._policy = policy
        self._now = now
        self._checkpoints = checkpoints or {}
        self._on_file_erased = on_file_erased
        self.unread: dict[str, str] = {}
        """Why entries of others were not taken over, by ref."""
        self.unreadable: set[str] = set()
        """Those of them that another version of kinen may be able to take over."""
        self.unsent: dict[str, str] = {}
        """Why entries of this machine cannot be shared, by ref."""
        self.replaced: list[str] = []
        """Refs of entries that were written here and that the team has with other values."""
        self.erased: list[str] = []
        """Refs of entries that others erased."""

    @property
    def state(self) -> State:
        return read_state(self._db)

    @contextmanager
    def _step(self) -> Iterator[State]:
        """One transaction, with the state read in it and kept at its end."""
        with writing(self._db):
            state = self.state
            before = replace(state, unread=[*state.unread])
            yield state
            if state != before or not self._db.execute(_KNOWN_STATE).fetchone():
                write_state(self._db, state)

    def begin(self, peer: str) -> State:
        """The state for a team; with another team or level everything is looked at again."""
        with self._step() as state:
            state.author = self._author
            if state.peer != peer:
                state.peer = peer
                state.cursor = 0
                state.erased_cursor = 0
                self._db.execute("UPDATE team_entries SET pending = 1")
            if state.level != self._policy.level:
                state.level = self._policy.level
                state.seen = (0, 0, 0)
        return state

    def leave(self) -> None:
        """Stop sharing; the journal itself stays as it is."""
        with self._step() as state:
            state.left = True

    def rejoin(self) -> None:
        """Share again: everything is looked at and compared anew."""
        with self._step() as state:
            state.left = False
            state.peer = ""
            state.seen = (0, 0, 0)

    def scan(self) -> int:
        """Stamp what changed here since the last time; returns how many versions are new."""
        count = 0
        while True:
            with self._step() as state:
                refs, seen = self._changed(state.seen)
                for noun, id_ in refs:
                    count += self._stamp_local(noun, id_, state.machine)
                if seen == state.seen:
                    break
                state.seen = seen
        with self._step() as state:
            for id_ in self._checkpoints:
                count += self._stamp_local("observation", id_, state.machine)
        return count

    def _changed(
        self, seen: tuple[int, int, int]
    ) -> tuple[dict[tuple[str, str], None], tuple[int, int, int]]:
        """The next entries to look at, and how far they reach."""
        marks = []
        refs: dict[tuple[str, str], None] = {}
        queries = (
            "SELECT seq, 'observation:' || id FROM observations",
            "SELECT seq, ref FROM changes",
            "SELECT seq, 'tag:' || id FROM tag_ops",
        )
        for query, mark in zip(queries, seen, strict=True):
            fetched = self._db.execute(
                f"{query} WHERE seq > ? ORDER BY seq LIMIT {BATCH}", (mark,)
            ).fetchall()
            for _, ref in fetched:
                noun, _, id_ = str(ref).partition(":")
                if noun in NOUNS:
                    refs[noun, id_] = None
                if rows.read(self._db, "suppressed", ref) or self._trace("suppressed", ref):
                    refs["suppressed", ref] = None
            marks.append(fetched[-1][0] if fetched else mark)
        return refs, (marks[0], marks[1], marks[2])

    def _stamp_local(self, noun: str, id_: str, machine: str) -> bool:
        """Take over a change that was made here; whether there is one."""
        trace = self._trace(noun, id_)
        row = self._row(noun, id_)
        if row is None and trace is None:
            return False
        version = self._local(noun, id_, trace, row, machine)
        if trace is not None and not _newer(version, trace):
            # Note what was changed here in a colleague's entry, but for what kinen keeps up itself.
            quiet = CONTINUED.get(version.noun, ())
            changed = {
                name
                for name, stamp in version.stamps.items()
                if stamp == HERE and name not in quiet and trace.bare.get(name) != HERE
            }
            if changed and not trace.withdrawn:
                self.unsent[version.ref] = only_by(trace.author)
            return False
        if not version.erased or trace is None:
            shown = version.fields if not version.forgotten else {}
            if not shown or not self._policy.allows(noun, shown):
                return False
        try:
            clean = rows.checked(version)
            if trace is None:
                check_session(clean, self._find)
        except InvalidEntry as error:
            if noun != "summary" or version.fields.get("written", True):
                self.unsent[version.ref] = error.fact()
            return False
        if clean.fields != version.fields:  # the rules of masking know more than they did
            rows.write(self._db, [clean])
        if clean.erased:
            rows.keep_extra(self._db, clean)
        self._remember(clean, pending=True)
        return True

    def _find(self, noun: str, id_: str) -> Version | None:
        """What is known here of an entry: its author, and whether it is gone."""
        trace = self._trace(noun, id_)
        if trace is None:
            row = self._row(noun, id_)
            return Version(noun, id_, self._author, forgotten=row.forgotten) if row else None
        author = self._author if self._is_own(noun, trace) else trace.author
        return Version(noun, id_, author, forgotten=trace.forgotten or int(trace.withdrawn))

    def _is_own(self, noun: str, trace: Trace) -> bool:
        """Whether this person wrote an entry: on this machine, whatever the team says of it.

        A memory that several drew belongs to whoever pushed it first.
        """
        if trace.author == self._author or noun == "memory":
            return trace.author == self._author
        return trace.machine == self.state.machine

    def _row(self, noun: str, id_: str) -> Row | None:
        if noun == "observation" and id_ in self._checkpoints:
            return self._checkpoints[id_]
        return rows.read(self._db, noun, id_)

    def _trace(self, noun: str, id_: str) -> Trace | None:
        row = self._db.execute(
            "SELECT author, machine, stamps, cleaned, forgotten, withdrawn FROM team_entries"
            " WHERE noun = ? AND id = ?",
            (noun, id_),
        ).fetchone()
        if row is None:
            return None
        stamps = {
            name: ((number, machine), value)
            for name, (number, machine, value) in json.loads(row[2]).items()
        }
        return Trace(row[0], row[1], stamps, frozenset(json.loads(row[3])), row[4], bool(row[5]))

    def _local(
        self, noun: str, id_: str, trace: Trace | None, row: Row | None, machine: str
    ) -> Version:
        """The version that this machine holds now."""
        author, origin = (trace.author, trace.machine) if trace else (self._author, machine)
        version = Version(noun, id_, author, origin)
        if trace and trace.forgotten:
            return tombstone(version, trace.forgotten)
        if trace and trace.withdrawn and (row is None or row.forgotten):
            return _withdrawn(version, trace)
        if row is None and noun == "suppressed" and trace:
            row = Row({"ref": id_, "at": 0, HIDDEN: False})
        if row is None or row.forgotten:
            return tombstone(version, row.forgotten if row and row.forgotten > 1 else self._now())
        fields = dict(row.fields)
        if trace and WITHDRAWN in trace.stamps:
            fields[WITHDRAWN] = False
        # Values as they are here, with the stamps that they have had or get now.
        stamps = trace.bare if trace else {}
        new = (replace(version, stamps=stamps).next_number, machine)
        own = trace is None or version.noun not in FIXED or self._is_own(version.noun, trace)
        for name, value in fields.items():
            before = trace.stamps.get(name) if trace else None
            if before is None or (before[0][0] < ERASED and before[1] != digest(value)):
                mine = own or (name == SUPERSEDED and self._may_supersede(before, value))
                stamps[name] = new if mine else HERE
        cleaned = trace.cleaned if trace else frozenset()
        version = replace(version, fields=dict(fields), stamps=stamps, cleaned=cleaned)
        if noun == "summary" and not fields["written"]:
            version = replace(version, cleaned=version.cleaned | self._erased_in(fields))
        return redact(version) if is_redacted(noun, fields) else version

    def _may_supersede(self, before: tuple[Stamp, str] | None, value: Any) -> bool:
        """Whether this person may give a colleague's memory another successor, or none."""
        old = None
        if before and not value:
            own = self._db.execute(
                "SELECT id FROM team_entries WHERE noun = 'memory' AND author = ?", (self._author,)
            )
            old = next((id_ for (id_,) in own if digest(id_) == before[1]), None)
        return may_supersede(old, value, self._author, self._find)

    def _erased_in(self, fields: Mapping[str, Any]) -> frozenset[str]:
        """The observations of a capsule that were erased: a summary made here is without them."""
        fetched = self._db.execute(
            "SELECT id FROM observations WHERE capsule = ? AND capsule != ''"
            " AND (redacted OR forgotten_at)",
            (fields["capsuleId"],),
        )
        return frozenset(id_ for (id_,) in fetched)

    def _remember(self, version: Version, *, pending: bool) -> None:
        stamps = {
            name: [*stamp, digest(version.fields[name])] for name, stamp in version.stamps.items()
        }
        cells = (
            version.noun,
            version.id,
            version.author,
            version.machine,
            encode(stamps),
            encode(sorted(version.cleaned)),
            version.forgotten,
            int(version.withdrawn),
            int(version.erased),
            int(pending),
        )
        places = ", ".join("?" * len(cells))
        self._db.execute(
            f"INSERT OR REPLACE INTO team_entries({_COLUMNS}) VALUES ({places})", cells
        )

    def ranges(self) -> dict[str, dict[str, str]]:
        """The fingerprints of all entries that the team knows from here, by range and ref."""
        ranges: dict[str, dict[str, str]] = {}
        rows_ = self._db.execute(
            "SELECT noun, id, author, stamps, cleaned, forgotten FROM team_entries"
        )
        for noun, id_, *parts in rows_:
            prints = ranges.setdefault(range_of(noun, id_), {})
            prints[f"{noun}:{id_}"] = print_of(noun, id_, *parts)
        return ranges

    def offer(self, refs: Iterable[str], known: Collection[str]) -> tuple[int, int]:
        """Send entries again that the team holds otherwise, or, if they are one's own, not at all.

        Returns how many are sent, and how many of colleagues the team lost: sent from here, those
        would get another author.
        """
        sent = 0
        lost = 0
        with writing(self._db):
            for ref in refs:
                noun, _, id_ = ref.partition(":")
                trace = self._trace(noun, id_)
                if trace is None:
                    continue
                if ref not in known and not self._is_own(noun, trace):
                    lost += 1
                    continue
                sent += 1
                self._db.execute(
                    "UPDATE team_entries SET pending = 1 WHERE noun = ? AND id = ?", (noun, id_)
                )
        return sent, lost

    def take_unread(self) -> list[str]:
        """Entries of the team that an older kinen could not take over; this one tries."""
        with self._step() as state:
            if state.reader == READER:
                return []
            refs = state.unread
            state.unread = []
            state.reader = READER
        return refs

    def keep_unread(self, refs: Iterable[str]) -> None:
        """Note entries that could not be taken over, for the next version of kinen."""
        new = [ref for ref in refs if rows.is_ref(ref)]
        if new:
            with self._step() as state:
                state.unread = list(dict.fromkeys([*state.unread, *new]))[:MOST_UNREAD]

    def settle(self, epoch: str, newest: int) -> None:
        """Go on from here in another history."""
        with self._step() as state:
            state.epoch = epoch
            state.cursor = newest
            state.erased_cursor = newest

    def waiting(self) -> int:
        """How many versions the next run would send."""
        count = 0
        for erased in (True, False):
            after = ("", "")
            while versions := self.pending(BATCH, erased=erased, after=after):
                count += len(versions)
                after = (versions[-1].id, versions[-1].noun)
        return count

    def pending(
        self, limit: int, *, erased: bool, after: tuple[str, str] = ("", "")
    ) -> list[Version]:
        """Versions that the team has not acknowledged and that may leave, after an id and a noun.

        What may leave is decided now: the level may be lower than when they were noted.
        """
        versions: list[Version] = []
        while not versions:
            keys = self._db.execute(
                "SELECT noun, id FROM team_entries WHERE pending AND erased = ?"
                " AND (id, noun) > (?, ?) ORDER BY id, noun LIMIT ?",
                (int(erased), *after, limit),
            ).fetchall()
            if not keys:
                break
            after = (keys[-1][1], keys[-1][0])
            versions += self.versions(f"{noun}:{id_}" for noun, id_ in keys)
        return versions

    def versions(self, refs: Iterable[str]) -> Iterator[Version]:
        """What this machine holds of some entries, as far as it may leave."""
        machine = self.state.machine
        for ref in refs:
            noun, _, id_ = ref.partition(":")
            trace = self._trace(noun, id_)
            if trace is not None:
                version = self._local(noun, id_, trace, self._row(noun, id_), machine)
                if version.erased or self._policy.allows(noun, version.fields):
                    yield version

    def offers(self, noun: str, id_: str) -> bool:
        """Whether the next run sends an entry."""
        query = "SELECT pending FROM team_entries WHERE noun = ? AND id = ?"
        row = self._db.execute(query, (noun, id_)).fetchone()
        return bool(row and row[0])

    def acknowledge(self, versions: Iterable[Version]) -> None:
        """Note that the team has these versions; one that changed meanwhile stays pending."""
        with writing(self._db):
            for version in versions:
                trace = self._trace(*version.key)
                if trace is not None and _same(version, trace):
                    self._db.execute(
                        "UPDATE team_entries SET pending = 0 WHERE noun = ? AND id = ?", version.key
                    )

    def apply(self, versions: Sequence[Version], *, cursor: int = 0, erased: int = 0) -> int:
        """Merge versions of others; returns how many changed something here.

        Most of them are new here. Those are written together, and the next scan leaves them out.
        What the journal cannot hold is left out and named in `unread`.
        """
        count = 0
        merged = False
        new: dict[tuple[str, str], Version] = {}
        valid, invalid = rows.only_valid(versions)
        self.unread.update(invalid)
        self.unreadable.update(invalid)
        with self._step() as state:
            newest = self._newest()
            scanned = all(a <= b for a, b in zip(newest, state.seen, strict=True))
            now = self._now()
            for clean in valid:
                # Keep when an entry came whose time is still to come: its clock is ahead.
                if any((clean.fields.get(name) or 0) > now for name in TIMES.get(clean.noun, ())):
                    arrival = (f"{ARRIVED} {clean.ref}", str(now))
                    self._db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", arrival)
                try:
                    self._check_session(clean, new)
                except InvalidEntry as error:
                    self.unread[visible_line(clean.ref)] = error.fact()
                    continue
                if clean.key not in new and self._is_new(clean):
                    new[clean.key] = clean
                    continue
                count += self._add(new)  # a merge may look at any of them
                new = {}
                merged = True
                count += self._merge(clean, state.machine)
            count += self._add(new)
            if any(clean.noun in ("memory", "suppressed") for clean in valid):
                edits.settle(self._db)
            if scanned and not merged:
                state.seen = self._newest()
            state.cursor = max(state.cursor, cursor)
            state.erased_cursor = max(state.erased_cursor, erased)
        return count

    def _check_session(self, version: Version, new: Mapping[tuple[str, str], Version]) -> None:
        """Raise InvalidEntry for a part of a session of somebody else that is not here already."""
        try:
            check_session(version, lambda *key: new.get(key) or self._find(*key))
        except InvalidEntry:
            name = PART_OF[version.noun]
            row = self._row(*version.key)
            if row is None or row.fields[name] != version.fields[name]:
                raise

    def _is_new(self, version: Version) -> bool:
        """Whether it can be added as it is: nothing here is about it, and nothing follows."""
        if version.noun not in ADDED or version.erased:
            return False
        return self._trace(*version.key) is None and self._row(*version.key) is None

    def _add(self, new: Mapping[tuple[str, str], Version]) -> int:
        for version in new.values():
            self._remember(version, pending=False)
        rows.write(self._db, new.values())
        return len(new)

    def _newest(self) -> tuple[int, int, int]:
        """The newest observation, change and tag of this journal."""
        newest = [
            self._db.execute(f"SELECT ifnull(max(seq), 0) FROM {table}").fetchone()[0]
            for table in ("observations", "changes", "tag_ops")
        ]
        return newest[0], newest[1], newest[2]

    def _merge(self, version: Version, machine: str) -> bool:
        trace = self._trace(*version.key)
        row = self._row(*version.key)
        local = None
        if trace is not None and trace.withdrawn:
            local = _withdrawn(Version(*version.key, trace.author, trace.machine), trace)
        elif trace is not None or row is not None:
            local = self._local(*version.key, trace, row, machine)
        here = trace.machine == machine if trace else row is not None
        merged = self._joined(local, version)
        if local is not None and here:
            merged = keep(row.fields if row else {}, local, merged)
        # the team decides who wrote an entry: two machines may have drawn the same memory
        merged = replace(merged, author=version.author, machine=version.machine)
        if self._is_orphan(merged):
            merged = tombstone(merged, self._now())
        offered = merged
        if version.author != self._author and not merged.forgotten:
            offered = permitted(version, merged, self._author, self._find)
        pending = join(version, offered) != version
        if here and merged.noun in FIXED:
            newer = join(merged, version).fields
            if local and local.cleaned == merged.cleaned and newer != merged.fields:
                self.replaced.append(version.ref)
            merged = replace(merged, machine=machine)
        if trace is not None and _same(merged, trace) and local == merged:
            return False
        self._remember(merged, pending=pending)
        if merged.withdrawn and (here or merged.author == self._author):
            self._redact_own(merged, row)
        elif merged != local:
            if merged.erased and row is not None and version.erased:
                self.erased.append(version.ref)
            self._write(merged, row)
        return True

    def _joined(self, local: Version | None, version: Version) -> Version:
        """The team's version with what this machine may add to it."""
        if local is None:
            return version
        if local.forgotten or version.author == self._author:
            return join(local, version)
        # as the team would answer
        return join(version, permitted(version, local, self._author, self._find))

    def _redact_own(self, version: Version, row: Row | None) -> None:
        """What a person took back stays on their machine, but for what was redacted."""
        if (
            not version.redacted
            or not row
            or row.forgotten
            or is_redacted(version.noun, row.fields)
        ):
            return
        bare = replace(version, fields=row.fields, stamps=dict.fromkeys(row.fields, HERE))
        self.erased.append(version.ref)
        self._write(redact(bare), row)

    def _is_orphan(self, version: Version) -> bool:
        """Whether it is a pin of something that was forgotten."""
        if version.noun != "pin" or version.forgotten or version.withdrawn:
            return False
        noun = version.fields["targetType"]
        if noun not in JOURNAL:
            return False
        target = rows.read(self._db, noun, version.fields["targetId"])
        return bool(target and target.forgotten)

    def _write(self, version: Version, row: Row | None) -> None:
        """Put a merged version into the journal, and what follows from an erasure."""
        if version.noun == "observation" and version.id in self._checkpoints:
            if version.erased:
                self._on_file_erased(version.id)
            return
        rows.write(self._db, [version])
        if version.noun == "observation" and version.erased and row and not row.forgotten:
            erase.clean_up(self._db, [version.key], [str(row.fields["content"])])
        if version.noun == "summary" and not (version.forgotten or version.withdrawn):
            late = self._erased_in(version.fields) - version.cleaned
            if late and not version.fields["written"]:
                erase.clean_up(self._db, [("observation", id_) for id_ in sorted(late)], [""])


def _withdrawn(version: Version, trace: Trace) -> Version:
    """An entry that was taken back: nothing but the stamps of its fields."""
    fields: dict[str, Any] = dict.fromkeys(trace.stamps)
    if WITHDRAWN in fields:
        fields[WITHDRAWN] = True
    bare = replace(version, fields=fields, stamps=trace.bare)
    return redact(bare) if bare.redacted else bare


def _newer(version: Version, trace: Trace) -> bool:
    """Whether a version has something that was done here and that the team may get."""
    if version.forgotten or trace.forgotten:
        return version.forgotten != trace.forgotten
    known = trace.bare
    return version.cleaned != trace.cleaned or any(
        stamp not in (HERE, known.get(name)) for name, stamp in version.stamps.items()
    )


def _same(version: Version, trace: Trace) -> bool:
    """Whether the team's knowledge of an entry is this very version."""
    if version.forgotten or trace.forgotten:
        return version.forgotten == trace.forgotten
    stamps = {
        name: (tuple(stamp), digest(version.fields[name])) for name, stamp in version.stamps.items()
    }
    return stamps == trace.stamps and version.cleaned == trace.cleaned
