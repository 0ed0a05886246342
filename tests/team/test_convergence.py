"""Any number of machines, any order, partitions, deaths and wrong clocks: the same bytes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.journal import erase, queries
from kinen.model.journal import Scope
from kinen.model.team import Version
from kinen.ports import Team
from kinen.postgres.connection import Database
from kinen.team.merge import change, join, redact, tombstone, withdraw
from kinen.team.postgres import PostgresTeam
from kinen.team.replica import HERE
from kinen.team.schema import SERVER_ROLE
from team_machines import Dictionary, Line, Machine, state, template

STRESS = bool(os.environ.get("KINEN_STRESS"))
EXAMPLES = 400 if STRESS else 12
POSTGRES_EXAMPLES = 200 if STRESS else 4
NAMES = ("ada", "bob", "eve")

VALUES = st.sampled_from(["x", "y", 1, None])
FIELDS = st.fixed_dictionaries(
    {"id": st.just("s"), "content": VALUES, "evidenceRefs": VALUES, "redacted": st.just(False)}
)


@st.composite
def versions(draw: st.DrawFn) -> Version:
    version = Version("summary", "s", draw(st.sampled_from(NAMES)), "m")
    for machine in draw(st.lists(st.sampled_from("mn"), min_size=1, max_size=3)):
        version = change(version, draw(FIELDS), machine)
    cleaned = draw(st.frozensets(st.sampled_from("opq"), max_size=2))
    version = Version(
        version.noun,
        version.id,
        version.author,
        version.machine,
        version.fields,
        version.stamps,
        cleaned=cleaned,
    )
    fate = draw(st.sampled_from(("live", "live", "live", "redacted", "forgotten", "withdrawn")))
    if fate == "redacted":
        return redact(version)
    if fate == "forgotten":
        return tombstone(version, draw(st.integers(1, 3)))
    return withdraw(version, "n") if fate == "withdrawn" else version


@given(versions(), versions(), versions())
@settings(max_examples=300)
def test_a_merge_does_not_depend_on_order_or_repetition(a: Version, b: Version, c: Version) -> None:
    assert join(a, a) == a
    assert join(a, b) == join(b, a)
    assert join(join(a, b), c) == join(a, join(b, c))
    assert join(join(a, b), b) == join(a, b)
    if b.forgotten:
        assert not join(a, b).fields


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                *("write", "write", "session", "learn", "edit", "supersede", "pin", "unpin"),
                *("hide", "show", "tag", "redact", "forget"),
                *("sync", "sync", "sync", "lost", "death"),
            )
        ),
        st.integers(0, 2),
        st.integers(0, 60),
    ),
    min_size=4,
    max_size=28,
)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return template(tmp_path_factory.mktemp("template"))


class World:
    """Three machines with clocks hours apart, and their team.

    Without admins, what somebody forgets of others stays in the team.
    """

    def __init__(
        self, folder: Path, empty: Path, member: Callable[[str, bool], Team], admins: bool
    ) -> None:
        self._admins = admins
        skews = (0, 7_200_000, -86_400_000)
        self.machines = [
            Machine(folder / name, name, empty, skew)
            for name, skew in zip(NAMES, skews, strict=True)
        ]
        self.members = [Line(member(name, admins)) for name in NAMES]
        self.erased: set[str] = set()
        self._numbers = itertools.count()

    def act(self, action: str, who: int, number: int) -> None:
        machine = self.machines[who]
        member = self.members[who]
        if action == "lost":  # the request gets lost, or the answer to it
            member.lose = iter([number % 2 == 0, True])
            machine.synchronize(member)
            member.lose = iter(())
        elif action == "death":
            machine.db.left = number
            machine.synchronize(member)
            machine.db.left = -1
        elif action == "sync":
            machine.synchronize(member)
        else:
            self._change(action, machine, number)

    def _change(self, action: str, machine: Machine, number: int) -> None:
        text = f"text-{next(self._numbers)}-of-{machine.name}"
        if action == "write":
            machine.observe(text, files=["a.py"])
        elif action == "session":
            machine.session(text)
        elif action in ("learn", "edit"):
            machine.learn(*memory(number))
        elif action == "supersede":
            machine.learn(*memory(number), memory(number + 1)[0])
        elif action == "tag":
            machine.journal.tag(
                f"{number % 3}.py", ["+x" if number % 2 else "-x"], "", machine.now()
            )
        else:
            self._change_existing(action, machine, number, text)

    def _change_existing(self, action: str, machine: Machine, number: int, text: str) -> None:
        refs = machine.refs()
        if not refs:
            return
        ref = refs[number % len(refs)]
        if action == "pin":
            machine.journal.pin(ref, text, number * 1000, Scope(), machine.now())
        elif action == "unpin":
            pins = [id_ for (id_,) in machine.db.execute("SELECT id FROM pins ORDER BY id")]
            if pins:
                machine.journal.unpin(pins[number % len(pins)])
        elif action in ("hide", "show"):
            hide(machine, ref, show=action == "show")
        else:
            self._erase(machine, ref, forget=action == "forget")

    def _erase(self, machine: Machine, ref: str, *, forget: bool) -> None:
        texts = contents(machine, ref)
        if forget and not self._admins:
            # the author of a memory that several drew is whoever was first
            own = {text for text in texts if text.endswith(f"-of-{machine.name}")}
            texts = set() if ref.startswith("memory:") else own
        self.erased |= texts
        machine.erase(ref, forget=forget)

    def settle(self, stored: Callable[[], list[Version]]) -> None:
        """Synchronise until nothing moves; all machines and the team are equal then."""
        acknowledged = set[tuple[str, str]]().union(*(line.acknowledged for line in self.members))
        for _ in range(3):
            for machine, line in zip(self.machines, self.members, strict=True):
                machine.synchronize(line)
        versions = {version.key: version for version in stored()}
        expected = state(versions.values())
        for machine in self.machines:
            own = {
                version.key: as_the_team(version, versions[version.key], machine.name)
                for version in machine.shared()
                # forgotten here alone: the team's version is what counts for others
                if self._admins or not version.forgotten or versions[version.key].forgotten
            }
            assert state(own.values()).items() <= expected.items()
            assert self._admins is False or own.keys() == expected.keys()
            assert machine.replica().waiting() == 0
            for text in self.erased:
                assert text not in machine.everything()
        for text in self.erased:
            assert text not in str(expected)
        assert acknowledged <= expected.keys()
        for machine in self.machines:
            machine.journal.close()


def memory(number: int) -> tuple[str, str]:
    """The id of a memory and its words: who draws the same words draws the same id."""
    return f"memory-{number % 4}", f"text-of-memory-{number % 4}"


def as_the_team(own: Version, team: Version, name: str) -> Version:
    """A colleague's entry without what was changed on this machine alone."""
    if own.author == name or own.forgotten:
        return own
    here = [field for field, stamp in own.stamps.items() if stamp == HERE]
    return replace(
        own,
        machine=team.machine,
        fields={**own.fields, **{field: team.fields[field] for field in here}},
        stamps={**own.stamps, **{field: team.stamps[field] for field in here}},
    )


def hide(machine: Machine, ref: str, *, show: bool) -> None:
    if not show:
        erase.suppress(machine.journal, [ref], machine.now())
    elif ref in queries.suppressed(machine.db):
        erase.unsuppress(machine.journal, ref)


def contents(machine: Machine, ref: str) -> set[str]:
    """The texts that erasing a ref removes: of observations, and of what a capsule holds."""
    noun, _, id_ = ref.partition(":")
    if noun in ("observation", "memory"):
        table = "observations" if noun == "observation" else "memories"
        rows = machine.db.execute(f"SELECT content FROM {table} WHERE id = ?", (id_,))
    elif noun == "capsule":
        rows = machine.db.execute("SELECT content FROM observations WHERE capsule = ?", (id_,))
    else:
        return set()
    return {text for (text,) in rows if text.startswith("text-")}


@given(STEPS, st.booleans())
@settings(max_examples=EXAMPLES)
def test_all_machines_and_the_team_end_with_the_same_bytes(
    empty: Path, steps: list[tuple[str, int, int]], admins: bool
) -> None:
    with TemporaryDirectory() as folder:
        team = Dictionary()
        world = World(
            Path(folder), empty, lambda name, admin: team.member(name, admin=admin), admins
        )
        for step in steps:
            world.act(*step)
        world.settle(team.pages)


SPACES = itertools.count()


@given(STEPS, st.booleans())
@settings(max_examples=POSTGRES_EXAMPLES)
def test_a_team_in_postgresql_ends_with_the_same_bytes(
    database: Database, empty: Path, steps: list[tuple[str, int, int]], admins: bool
) -> None:
    space = f"world-{next(SPACES)}"

    def member(name: str, admin: bool) -> PostgresTeam:
        return PostgresTeam(database, space, name, SERVER_ROLE, admin=admin)

    def stored() -> list[Version]:
        page = member("x", False).pull(0, 1000, erased=False)
        assert not page.more
        return list(page.versions)

    with TemporaryDirectory() as folder:
        world = World(Path(folder), empty, member, admins)
        for step in steps:
            world.act(*step)
        world.settle(stored)
