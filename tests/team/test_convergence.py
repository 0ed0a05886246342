"""Any number of machines, any order, partitions, deaths and wrong clocks: the same bytes."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.journal import erase, queries
from kinen.model.journal import Scope
from kinen.model.team import Version
from kinen.team.merge import change, join, redact, tombstone, withdraw
from team_machines import Dictionary, Machine, state, template

EXAMPLES = 400 if os.environ.get("KINEN_STRESS") else 12
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
    """Three machines with clocks hours apart, and their team."""

    def __init__(self, folder: Path, empty: Path) -> None:
        self.team = Dictionary()
        skews = (0, 7_200_000, -86_400_000)
        self.machines = [
            Machine(folder / name, name, empty, skew)
            for name, skew in zip(NAMES, skews, strict=True)
        ]
        self.members = [self.team.member(name) for name in NAMES]
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
            machine.learn(f"memory-{number % 4}", text)
        elif action == "supersede":
            machine.learn(f"memory-{number % 4}", text, f"memory-{(number + 1) % 4}")
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
            self.erased |= contents(machine, ref)
            machine.erase(ref, forget=action == "forget")


def hide(machine: Machine, ref: str, *, show: bool) -> None:
    if not show:
        erase.suppress(machine.journal, ref, machine.now())
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


@given(STEPS)
@settings(max_examples=EXAMPLES)
def test_all_machines_and_the_team_end_with_the_same_bytes(
    empty: Path, steps: list[tuple[str, int, int]]
) -> None:
    with TemporaryDirectory() as folder:
        world = World(Path(folder), empty)
        for step in steps:
            world.act(*step)
        acknowledged = set(world.team.acknowledged)
        for _ in range(3):
            for machine, member in zip(world.machines, world.members, strict=True):
                machine.synchronize(member)
        expected = state(world.team)
        for machine in world.machines:
            assert machine.shared() == expected
            assert machine.replica().pending(1, erased=False) == []
            assert machine.replica().pending(1, erased=True) == []
            for text in world.erased:
                assert text not in machine.everything()
        for text in world.erased:
            assert text not in expected
        assert acknowledged <= world.team.entries.keys()
        for machine in world.machines:
            machine.journal.close()
