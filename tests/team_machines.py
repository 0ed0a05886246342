"""Replicas that may die at any step, and a team that keeps everything in a dictionary."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kinen.errors import InvalidEntry
from kinen.journal import erase
from kinen.journal import memories as learn
from kinen.journal.migrate import create
from kinen.journal.store import Journal
from kinen.journal.write import row
from kinen.model.journal import Learned, Scope
from kinen.model.team import Comparison, Page, Pushed, Version
from kinen.team.accept import accept
from kinen.team.merge import encode, fingerprint, range_digest, range_of, to_json, withdraw
from kinen.team.replica import Replica
from kinen.team.rows import only_valid
from kinen.team.share import Policy
from kinen.team.sync import synchronize

if TYPE_CHECKING:
    from pathlib import Path

    from kinen.ports import Team


class Died(BaseException):
    """The process ended here."""


class Mortal(sqlite3.Connection):
    """A connection whose process dies after a number of statements."""

    left = -1

    def execute(self, sql: str, *values: object) -> sqlite3.Cursor:  # type: ignore[override]
        if self.left == 0 and not sql.startswith("ROLLBACK"):
            raise Died
        self.left -= self.left > 0
        return super().execute(sql, *values)


class Dictionary:
    """A team without a database."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], tuple[int, Version]] = {}
        self.sequence = 0

    def member(self, name: str, *, admin: bool = True) -> Member:
        return Member(self, name, admin)

    def find(self, noun: str, id_: str) -> Version | None:
        return self.entries.get((noun, id_), (0, None))[1]

    def pages(self) -> list[Version]:
        """Every version that the team holds."""
        return [version for _, version in self.entries.values()]


class Member:
    """The team as one person sees it."""

    def __init__(self, team: Dictionary, name: str, admin: bool) -> None:
        self._team = team
        self.person = name
        self._admin = admin

    def push(self, versions: Sequence[Version]) -> Pushed:
        team = self._team
        refused = 0
        versions, invalid = only_valid(versions)
        for version in versions:
            response = team.find(*version.key)
            try:
                merged, reason = accept(
                    response, version, self.person, team.find, admin=self._admin
                )
            except InvalidEntry as error:
                invalid[version.ref] = error.fact()
                continue
            if reason:
                invalid[version.ref] = reason
            refused += bool(version.forgotten and not merged.forgotten)
            if merged != response or reason:
                team.sequence += 1
                team.entries[version.key] = (team.sequence, merged)
        return Pushed(refused, invalid=invalid)

    def pull(self, after: int, limit: int, *, erased: bool) -> Page:
        entries = sorted(self._team.entries.values(), key=lambda entry: entry[0])
        rest = [
            (number, version)
            for number, version in entries
            if number > after and (version.erased or not erased)
        ]
        page = rest[:limit]
        cursor = page[-1][0] if page else after
        return Page(tuple(version for _, version in page), cursor, len(rest) > limit)

    def fetch(self, refs: Sequence[str]) -> Page:
        return Page(tuple(version for version in self._team.pages() if version.ref in refs))

    def compare(self) -> Comparison:
        ranges: dict[str, list[str]] = {}
        for version in self._team.pages():
            ranges.setdefault(range_of(*version.key), []).append(fingerprint(version))
        digests = {name: range_digest(prints) for name, prints in ranges.items()}
        return Comparison("", self._team.sequence, digests)

    def prints(self, range_: str) -> dict[str, str]:
        versions = self._team.pages()
        return {v.ref: fingerprint(v) for v in versions if range_of(*v.key) == range_}

    def withdraw(self, machine: str) -> int:
        own = [entry for _, entry in self._team.entries.values() if entry.author == self.person]
        for version in own:
            self._team.sequence += 1
            new = withdraw(version, machine)
            self._team.entries[version.key] = (self._team.sequence, new)
        return len(own)

    def close(self) -> None:
        """Nothing to end."""


class Line:
    """A way to the team that loses requests and answers, and notes what was acknowledged."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self.person = team.person
        self.lose: Iterator[bool] = iter(())
        self.acknowledged: set[tuple[str, str]] = set()

    def push(self, versions: Sequence[Version]) -> Pushed:
        if next(self.lose, False):
            raise Died
        pushed = self._team.push(versions)
        if next(self.lose, False):
            raise Died
        self.acknowledged |= {version.key for version in versions}
        return pushed

    def pull(self, after: int, limit: int, *, erased: bool) -> Page:
        return self._team.pull(after, limit, erased=erased)

    def withdraw(self, machine: str) -> int:
        return self._team.withdraw(machine)

    def close(self) -> None:
        self._team.close()


class Machine:
    """One person's journal on disk."""

    def __init__(self, folder: Path, name: str, template: Path, skew: int = 0) -> None:
        folder.mkdir()
        shutil.copy(template, folder / "journal.db")
        self.name = name
        self.journal = Journal(str(folder), [str(folder / "spool")])
        self.journal.db.close()
        self.db = sqlite3.connect(
            folder / "journal.db", isolation_level=None, factory=Mortal, check_same_thread=False
        )
        self.db.execute("PRAGMA synchronous=OFF")
        # a journal of its own: the template's id would be the same everywhere
        self.db.execute("UPDATE meta SET value = ? WHERE key = 'id'", (name,))
        self.journal._db = self.db
        self.clock = 1_700_000_000_000 + skew

    def now(self) -> int:
        self.clock += 1000
        return self.clock

    def replica(self, level: str = "all") -> Replica:
        return Replica(self.db, self.name, Policy(level, (".env",)), now=self.now)

    def synchronize(self, team: Team, level: str = "all", batch: int = 3) -> None:
        """A run that may die; what is left is what a death leaves."""
        try:
            synchronize(self.replica(level), team, "team", batch=batch)
        except Died:
            self.db.left = -1
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")

    def observe(self, text: str, session: str = "", files: Sequence[str] = ()) -> str:
        cells = row(text, "message", self.now(), session=session, files=files)
        return self.journal.observe(cells).id

    def session(self, text: str) -> str:
        session = f"{self.name}-{self.clock}"
        capsule = self.journal.open_capsule(text, "session", Scope(session=session), self.now())
        self.observe(text, session)
        self.journal.close_capsule(capsule.id, "", self.now())
        return capsule.id

    def learn(self, id_: str, text: str, superseded_by: str = "") -> None:
        memory = Learned(
            id=id_,
            type="decision",
            content=text,
            confidence=1.0,
            created_at=self.now(),
            superseded_by=superseded_by,
        )
        learn.learn(self.db, [memory])

    def erase(self, ref: str, *, forget: bool) -> None:
        erase.erase(self.journal, ref, forget=forget, now=self.now())

    def refs(self) -> list[str]:
        """What can be erased here."""
        return [
            f"{noun}:{id_}"
            for noun, table in (
                ("observation", "observations"),
                ("capsule", "capsules"),
                ("summary", "summaries"),
                ("memory", "memories"),
            )
            for (id_,) in self.db.execute(
                f"SELECT id FROM {table} WHERE forgotten_at = 0 ORDER BY id"
            )
        ]

    def shared(self) -> list[Version]:
        """Every version that this machine holds."""
        replica = self.replica()
        keys = self.db.execute("SELECT noun, id FROM team_entries ORDER BY noun, id").fetchall()
        return [
            replica._local(noun, id_, replica._trace(noun, id_), replica._row(noun, id_), "?")
            for noun, id_ in keys
        ]

    def everything(self) -> str:
        """All text in the journal."""
        return "\n".join(self.db.iterdump())


def template(folder: Path) -> Path:
    """An empty journal that machines copy."""
    path = folder / "template.db"
    create(str(path))
    return path


def state(versions: Iterable[Version]) -> dict[tuple[str, str], str]:
    """Versions as bytes, by their keys."""
    return {version.key: encode(to_json(version)) for version in versions}
