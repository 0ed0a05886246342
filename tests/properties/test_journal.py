"""Whatever happened in the journal, an index that followed it equals one built from scratch."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinen import Memory, Query
from kinen.model.kinds import EVENTS
from properties.test_rebuild import contents

LONG = bool(os.environ.get("KINEN_STRESS"))
TEXTS = (
    "The rate-limiter counts per key.",
    "$ pytest -q\n1 failed",
    "Tool: Edit\nFile: src/a.py\n+ x = 1",
    "why does getUserName return None?",
    "words " * 300,
    "日本語のメモ",
    "long " * 1500,
)
SESSIONS = ("", "s1", "s2")


class Happenings(RuleBasedStateMachine):
    """Observations in and out of order, capsules, pins, redactions; the index follows or syncs."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "space"
        (self.root / ".kinen").mkdir(parents=True)
        self.clock = 1_700_000_000_000
        self.memory = Memory.open(self.root, home=self.folder / "home")
        self.refs: list[str] = []
        self.capsules: list[str] = []

    @rule(
        text=st.sampled_from(TEXTS),
        session=st.sampled_from(SESSIONS),
        kind=st.sampled_from(EVENTS),
        late=st.sampled_from([0, 0, 0, 5, 500]),
        key=st.sampled_from(["", "", "k1", "k2"]),
    )
    def observe(self, text: str, session: str, kind: str, late: int, key: str) -> None:
        self.clock += 7
        entry = self.memory.observe(
            text,
            kind=kind,
            scope={"session": session},
            at=self.clock - late,
            provenance={"toolUseId": key} if key else {},
        )
        self.refs.append(entry.ref)

    @rule(session=st.sampled_from(SESSIONS[1:]), resume=st.booleans())
    def open(self, session: str, resume: bool) -> None:
        opened = self.memory.journal.open_capsule(
            "an intent", scope={"session": session}, resume=resume
        )
        if opened.id not in self.capsules:
            self.capsules.append(opened.id)

    @precondition(lambda self: self.capsules)
    @rule(data=st.data(), summary=st.sampled_from(["", "what it came to"]))
    def close(self, data: st.DataObject, summary: str) -> None:
        name = data.draw(st.sampled_from(self.capsules))
        if self.memory.journal.capsule(name)[0].status == "open":
            self.memory.journal.close_capsule(name, summary)

    @precondition(lambda self: self.refs)
    @rule(data=st.data(), what=st.sampled_from(["redact", "forget", "pin", "pin"]))
    def change(self, data: st.DataObject, what: str) -> None:
        ref = data.draw(st.sampled_from(self.refs))
        if what == "pin":
            self.memory.journal.pin(ref, "a note")
        else:
            getattr(self.memory.journal, what)(ref)

    @precondition(lambda self: self.memory.journal.entries("pins")[1] > 0)
    @rule()
    def unpin(self) -> None:
        self.memory.journal.unpin(self.memory.journal.entries("pins")[0][0].ref)

    @rule()
    def sync(self) -> None:
        self.memory.sync(embed=False)

    @invariant()
    def following_equals_building(self) -> None:
        if not hasattr(self, "memory") or not self.memory.core.store.exists:
            return
        hits = self.memory.search(Query("rate-limiter", mode="fulltext"))
        self.memory.sync(embed=False)
        with Memory.open(self.root, home=self.folder / "fresh") as fresh:
            shutil.rmtree(fresh.space.data, ignore_errors=True)
            os.makedirs(fresh.space.data)
            with sqlite3.connect(os.path.join(fresh.space.data, "journal.db")) as copy:
                self.memory.core.store.db.backup(copy)
            copy.close()
            fresh.sync(embed=False)
            assert contents(self.memory) == contents(fresh)
            again = fresh.search(Query("rate-limiter", mode="fulltext"))
            assert [(hit[:4], hit.before, hit.after) for hit in hits] == [
                (hit[:4], hit.before, hit.after) for hit in again
            ]

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.close()
            shutil.rmtree(self.folder)


TestHappenings = Happenings.TestCase
TestHappenings.settings = settings(
    max_examples=150 if LONG else 6,
    stateful_step_count=20 if LONG else 12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
