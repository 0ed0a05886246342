"""Counts that follow a journal are those of a journal that is read anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen.journal.tally import Census
from kinen.memory import Memory

if TYPE_CHECKING:
    from pathlib import Path

ADA = {"session": "s1", "agent": "claude"}
BOB = {"session": "s2", "agent": "gemini"}
HOUR = 3_600_000
AT = 1_700_000_000_000


def state(memory: Memory, census: Census) -> tuple[object, ...]:
    db = memory.core.store.db
    ids = [capsule.id for capsule in memory.journal.entries("capsules")[0]]
    return census.tallies(db, ids), dict(census.hours(db))


def test_counts_follow_what_is_added_closed_and_forgotten(space: Path) -> None:
    with Memory.open(space) as memory:
        census = Census()
        first = memory.journal.open_capsule("fix the labels", scope=ADA)
        memory.observe("The labels print upside down.", scope=ADA, at=AT)
        seen = [state(memory, census)]

        def check() -> None:
            following = state(memory, census)
            assert following == state(memory, Census())
            assert following not in seen
            seen.append(following)

        run = {"command": "make labels", "exitCode": 2}
        memory.observe("$ make labels\nError", kind="command", scope=ADA, provenance=run, at=AT)
        check()
        memory.journal.open_capsule("paint the shed", scope=BOB)
        memory.observe("Paint it green.", scope=BOB, at=AT + HOUR)
        check()
        last = memory.observe("And the door.", scope=BOB, at=AT + 2 * HOUR)
        check()
        memory.journal.forget(last.ref)
        following = state(memory, census)
        assert following == state(memory, Census()) == seen[-2]
        memory.journal.close_capsule(first.ref, "**Outcome**: labels are upright")
        titles = {each.title: each.outcome for each in memory.sessions.overviews()}
        assert titles["fix the labels"] == "labels are upright"


def test_sessions_that_go_on_are_shown_as_they_are_now(space: Path) -> None:
    with Memory.open(space) as memory:
        memory.journal.open_capsule("", scope=ADA)
        memory.observe("Why are the labels blank?", scope=ADA, at=AT)
        assert [each.prompts for each in memory.sessions.overviews()] == [1]
        before = memory.sessions.timeline("s1").parts
        assert "BOM" not in before.get("outcome", "")
        payload = {"role": "assistant"}
        memory.observe(
            "The labels are blank because of a BOM; it is removed now.",
            scope=ADA,
            provenance=payload,
            at=AT + 1,
        )
        (session,) = memory.sessions.overviews()
        assert session.title == "Why are the labels blank?"
        assert "BOM" in session.outcome
        assert "BOM" in memory.sessions.timeline("s1").parts["outcome"]
        for number in range(120):
            scope = {"session": f"t{number}", "agent": "claude"}
            memory.journal.open_capsule(f"task {number}", scope=scope)
        names = [each.title for each in memory.sessions.overviews()]
        assert names[-1] == "Why are the labels blank?"
        assert len(names) == 121
        assert [each.title for each in memory.sessions.overviews(60)] == names[:60]
