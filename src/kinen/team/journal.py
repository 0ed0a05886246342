"""A journal in PostgreSQL: the entries of one space of a team, read and written in place.

There is one schema for entries: what machines push and what is written here are the same rows,
merged by the same rules. Each call is a push of its own; two at the same time merge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from kinen import ids
from kinen.errors import InvalidEntry, NotFound, StoreError
from kinen.journal import erase, memories, queries
from kinen.journal.schema import COLUMNS, placed
from kinen.model.journal import Capsule, Learned, Observation, Pin, Scope, Summary
from kinen.model.kinds import REDACTED
from kinen.model.team import Pushed, Version
from kinen.postgres.connection import Database
from kinen.privacy import entrance
from kinen.team.merge import change, redact, tombstone
from kinen.team.postgres import PostgresTeam
from kinen.team.rows import SECTION
from kinen.team.tables import Tables


class TeamJournal(queries.Entries, PostgresTeam):
    """Read and write access to the entries of a space, as one person."""

    def __init__(
        self, database: Database, space: str, person: str, machine: str, *, admin: bool = False
    ) -> None:
        super().__init__(database, space, person, admin=admin)
        self._machine = machine
        # the queries of a local journal, asked of the tables of the team
        self.db = Tables(self._transaction, space)

    def observe(self, row: Sequence[str | int]) -> Observation:
        """Store an observation; an existing id stays as it is."""
        existing = self.entry("observation", str(row[0]))
        if existing is None:
            cells = dict(zip(COLUMNS, placed(self.db, tuple(row)), strict=True))
            self._put("observation", {**cells, "redacted": 0})
        return cast("Observation", self.entry("observation", str(row[0])))

    def open_capsule(
        self,
        intent: str,
        type_: str,
        scope: Scope,
        now: int,
        *,
        resume: bool = False,
        id_: str = "",
        parent: str = "",
    ) -> Capsule:
        """Open a capsule; one of the same session that is open is closed, or resumed."""
        id_ = entrance.identifier(id_)
        scope = Scope(*entrance.names(scope))
        existing = self.entry("capsule", id_) if id_ else None
        if existing:
            return cast("Capsule", existing)
        chosen = queries.EntryFilter(scope=Scope(scope.session), kinds=(type_,), status="open")
        same = [capsule for capsule in self.entries("capsules", chosen)[0] if capsule.scope.session]
        if same and resume:
            return cast("Capsule", same[0])
        for left in same:
            self._close(left, "", "abandoned", now)
        cells = {"id": id_ or ids.ulid(now), "type": type_, "intent": entrance.name(intent)}
        above = self.resolve(parent, ["capsule"])[1] if parent else ""
        about = {"status": "open", "opened_at": now, "closed_at": 0, "reason": "", "parent": above}
        self._put("capsule", {**cells, **about, **scope._asdict()})
        return cast("Capsule", self.entry("capsule", cells["id"]))

    def close_capsule(
        self, name: str, summary: str, now: int, confidence: float = 1.0
    ) -> tuple[Capsule, Summary | None]:
        """Close a capsule; without a summary one is made from its observations."""
        capsule: Capsule = queries.open_capsule(self.db, name)
        written = self._close(capsule, summary, "", now, confidence)
        return self.entry("capsule", capsule.id), written

    def _close(
        self, capsule: Capsule, summary: str, reason: str, now: int, confidence: float = 1.0
    ) -> Summary | None:
        observations = [*self.stream(capsule.id)]
        last = max((event.ts for event in observations), default=0)
        ended = max(capsule.opened_at, last) if reason else max(now, capsule.opened_at)
        self._put(
            "capsule", {"id": capsule.id, "status": "closed", "closed_at": ended, "reason": reason}
        )
        evidence: tuple[str, ...] = ()
        text = entrance.name(summary)
        written = bool(summary.strip())
        if not written:
            chosen = queries.EntryFilter(capsule=capsule.id, after=last)
            if not observations or any(
                each.written for each in self.entries("summaries", chosen)[0]
            ):
                return None
            from kinen.journal.summary import summarize  # loads the markdown parser

            closed = capsule._replace(status="closed", closed_at=ended, reason=reason)
            text, evidence = summarize(closed, iter(observations))
        moment = now if written else ended
        cells = {"id": ids.ulid(moment), "capsule": capsule.id, "content": text}
        about = {"created_at": moment, "confidence": confidence if written else 0.5, "redacted": 0}
        refs = {"evidence_refs": json.dumps(evidence), "written": int(written)}
        self._put("summary", {**cells, **about, **refs})
        return cast("Summary", self.entry("summary", cells["id"]))

    def pin(self, target: str, note: str, ttl_ms: int, scope: Scope, now: int) -> Pin:
        """Pin a ref; a pin of this person in that scope gets the new note and end."""
        kind, _, id_ = entrance.name(target).partition(":")
        scope = Scope(*entrance.names(scope))
        ends = now + ttl_ms if ttl_ms else 0
        pins = [
            pin
            for pin in self._pins(f"{kind}:{id_}")
            if pin.scope == scope and self._version("pin", pin.id).author == self.person
        ]
        cells: dict[str, Any] = {"reason": entrance.name(note), "expires_at": ends}
        if not pins:
            cells |= {"target_type": kind, "target_id": id_, "created_at": now, **scope._asdict()}
        cells["id"] = pins[0].id if pins else ids.ulid(now)
        self._put("pin", cells)
        return cast("Pin", self.entry("pin", cells["id"]))

    def unpin(self, name: str) -> list[str]:
        """Remove a pin, or every pin of a ref; returns the refs that were pinned."""
        pins = self._pins(entrance.name(name))
        if not pins:
            raise NotFound(f"nothing pinned as {name!r}", "`kinen list pins` shows the pins")
        self.push([tombstone(self._version("pin", pin.id), pin.created_at) for pin in pins])
        return [pin.target for pin in pins]

    def _pins(self, name: str) -> list[Pin]:
        """The pins with an id, or of a ref or what it names."""
        every = self.entries("pins", queries.EntryFilter(audit=True))[0]
        return [
            pin
            for pin in every
            if name in (pin.id, pin.ref, pin.target, pin.target.partition(":")[2])
        ]

    def learn(self, learned: Sequence[Learned]) -> memories.Counts:
        """Store memories; one that exists gets the sources it lacks."""
        added = 0
        changed = 0
        for memory in learned:
            existing: Learned | None = self.entry("memory", memory.id)
            if existing is None:
                self._put("memory", {**memories.new_cells(memory), "redacted": 0})
                added += 1
            elif not (existing.forgotten_at or existing.redacted):
                merged = memories.merge(existing, memory)
                if merged != existing:
                    self._put("memory", memories.cells(merged))
                    changed += 1
        return memories.Counts(added, changed)

    def erase(self, name: str, *, forget: bool, now: int) -> erase.Erased:
        """Redact or forget an entry; of a capsule, also everything in it."""
        kind, id_ = self.resolve(name)
        doomed = [(kind, id_)]
        if kind == "capsule":
            chosen = queries.EntryFilter(capsule=id_, audit=True)
            for plural, part in (("observations", "observation"), ("summaries", "summary")):
                doomed += [(part, entry.id) for entry in self.entries(plural, chosen)[0]]
        before = {key: self.entry(*key) for key in doomed}
        versions = [self._version(*key) for key in doomed]
        foreign = any(version.author != self.person for version in versions)
        if forget and foreign and not self._admin:
            fact = f"{kind}:{id_} has entries of a colleague"
            raise StoreError(fact, "redact it, or let its author or an admin forget it")
        self.push([tombstone(version, now) if forget else redact(version) for version in versions])
        if forget and kind != "pin":
            pins = [pin for key in doomed for pin in self._pins(":".join(key))]
            self.push([tombstone(self._version("pin", pin.id), now) for pin in pins])
        observations = [entry for (noun, _), entry in before.items() if noun == "observation"]
        self._clean_up(observations)
        return erase.Erased(tuple(":".join(key) for key in doomed))

    def _clean_up(self, erased: Sequence[Observation]) -> None:
        """Remove the texts of erased observations from what kinen made of them."""
        from kinen.journal.summary import summarize  # loads the markdown parser

        gone = {event.id for event in erased}
        for id_ in dict.fromkeys(event.capsule for event in erased if event.capsule):
            capsule: Capsule | None = self.entry("capsule", id_)
            if capsule is None or capsule.forgotten_at:
                continue
            if any(erase.quotes(capsule.intent, event.content) for event in erased):
                self.push([redact(self._version("capsule", id_))])
                capsule = capsule._replace(intent=REDACTED)
            for summary in self.entries("summaries", queries.EntryFilter(capsule=id_))[0]:
                cells: dict[str, Any] = {"id": summary.id}
                evidence: Sequence[str] = [ref for ref in summary.evidence if ref not in gone]
                generated = not (summary.written or summary.redacted)
                if generated:
                    cells["content"], evidence = summarize(capsule, self.stream(id_))
                cells["evidence_refs"] = json.dumps(list(evidence))
                self._put("summary", cells, gone if generated else ())

    def push(self, versions: Sequence[Version]) -> Pushed:
        """Merge versions; raises InvalidEntry if one cannot be stored."""
        pushed = super().push(versions)
        for ref, reason in pushed.invalid.items():
            raise InvalidEntry(f"{ref} was not stored: {reason}", "change what you send")
        return pushed

    def _version(self, noun: str, id_: str) -> Version:
        """What the team has of an entry; a new one if it has none."""
        version = Version(noun, id_, self.person, self._machine)
        with self._transaction() as connection:
            return self._stored(connection, [(noun, id_)]).get((noun, id_), version)

    def _put(
        self, noun: str, cells: Mapping[str, Any], cleaned: Sequence[str] | set[str] = ()
    ) -> None:
        """Change the cells of an entry, by the columns of a local journal."""
        fields = {}
        for field in SECTION[noun].fields:
            if field.columns[0] in cells:
                values = [cells[column] for column in field.columns]
                fields[field.name] = json.loads(field.form.show(*values))
        version = change(self._version(noun, str(cells["id"])), fields, self._machine)
        self.push([replace(version, cleaned=version.cleaned | {*cleaned})])
