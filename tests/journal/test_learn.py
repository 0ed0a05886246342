"""Memories in the journal: kept once, masked, hidden and shown again without a loss."""

from __future__ import annotations

import io
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory, Query
from kinen.consolidation.fold import fold
from kinen.journal import queries
from kinen.journal.erase import erase, suppress, unsuppress
from kinen.journal.memories import Counts, clock, keep_clock, learn, memories
from kinen.journal.store import Journal
from kinen.model.journal import Clock, Finding, Learned, Scope
from kinen.model.kinds import REDACTED
from kinen.transfer.bundle import export, load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

T = 1_767_261_600_000
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PLAIN = {"index.embedding_provider": "none"}


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(str(tmp_path / "data"), [str(tmp_path / "spool" / "a")])) as opened:
        yield opened


def drawn(text: str = "Use PostgreSQL for sessions", source: str = "note:a.md") -> Learned:
    at = "2026-01-01T10:00:00.000Z"
    (item,) = fold([Finding("decision", text, 0.9, (source,), at)]).learned
    return item


def bundle(db: sqlite3.Connection) -> str:
    out = io.StringIO()
    export(db, out.write, exported_at=T, key=b"k")
    return out.getvalue()


def test_what_is_learned_is_there_as_it_was_given(journal: Journal) -> None:
    changed = drawn()._replace(scope=Scope(repo="r"), superseded_by="x")
    assert learn(journal.db, [changed]) == Counts(added=1)
    assert memories(journal.db) == [changed]


def test_learning_the_same_again_changes_nothing(journal: Journal) -> None:
    learn(journal.db, [drawn()])
    mark = journal.db.execute("SELECT MAX(seq) FROM changes").fetchone()
    assert learn(journal.db, [drawn()]) == Counts()
    assert journal.db.execute("SELECT MAX(seq) FROM changes").fetchone() == mark


def test_sources_are_united_and_what_supersedes_is_noted(journal: Journal) -> None:
    drawing = drawn()
    learn(journal.db, [drawing])
    later = drawing._replace(
        derived_from=("commit:abc",), confidence=0.8, created_at=drawing.created_at + 9
    )
    assert learn(journal.db, [later._replace(superseded_by="y")]) == Counts(changed=1)
    (now,) = memories(journal.db)
    assert now == drawing._replace(derived_from=("note:a.md", "commit:abc"), superseded_by="y")


def test_a_secret_is_masked_and_the_memory_still_known(journal: Journal) -> None:
    text = f"Deploys use the token {SECRET}"
    learn(journal.db, [drawn(text)])
    (remaining,) = memories(journal.db)
    assert SECRET not in remaining.content
    results = Finding("decision", text, 0.9, ("note:a.md",), "2026-01-01T10:00:00.000Z")
    assert fold([results], memories(journal.db)).learned == ()


def test_all_is_learned_or_nothing(journal: Journal) -> None:
    broken: Any = drawn("Use tea")._replace(created_at=None)
    with pytest.raises(sqlite3.IntegrityError):
        learn(journal.db, [drawn(), broken])
    assert memories(journal.db) == []


@pytest.mark.parametrize("forget", [False, True], ids=["redact", "forget"])
def test_what_was_erased_stays_so_however_often_it_is_drawn(journal: Journal, forget: bool) -> None:
    learn(journal.db, [drawn()])
    erase(journal, drawn().ref, forget=forget, now=T)
    assert learn(journal.db, [drawn(source="note:b.md")]) == Counts()
    (left,) = memories(journal.db, everything=True)
    assert left.content == ("" if forget else REDACTED)
    assert left.derived_from == ("note:a.md",)
    again = Finding("decision", "Use PostgreSQL for sessions", 1.0, ("note:c.md",), "2026-02-01")
    assert fold([again], [left]).learned == ()


def test_two_processes_that_learn_at_once_lose_no_source(journal: Journal) -> None:
    learn(journal.db, [drawn()])
    program = (
        "import sys\nfrom kinen.journal.write import connect\n"
        "from kinen.journal.memories import learn, memories\n"
        "db = connect(sys.argv[1], 20_000)\n"
        "one = memories(db)[0]\n"
        "for n in range(20):\n"
        "    learn(db, [one._replace(derived_from=(f'note:{sys.argv[2]}{n}.md',))])\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", program, journal.path, name]) for name in ("a", "b")
    ]
    assert [run.wait(60) for run in runs] == [0, 0]
    (now,) = memories(journal.db)
    assert {f"note:{name}{n}.md" for name in "ab" for n in range(20)} <= {*now.derived_from}


def test_memories_travel_in_a_bundle_and_stay_hidden_there(
    journal: Journal, tmp_path: Path
) -> None:
    old, new = drawn("Use Redis for sessions"), drawn("Use PostgreSQL for sessions", "commit:ä")
    learn(journal.db, [old._replace(superseded_by=new.id), new])
    suppress(journal, [old.ref], T)
    text = bundle(journal.db)
    with closing(Journal(str(tmp_path / "other"), [str(tmp_path / "spool" / "b")])) as other:
        load(other.db, io.BytesIO(text.encode()))
        assert bundle(other.db) == text
        assert memories(other.db) == [new]
        assert memories(other.db, everything=True) == memories(journal.db, everything=True)
        assert learn(other.db, [new]) == Counts()


# Hidden and shown again


def test_a_hidden_memory_is_found_no_more_until_it_is_shown_again(space: Path) -> None:
    drawing = drawn("The zeppelin is moored at the northern mast")
    with closing(Memory.open(space, settings=PLAIN)) as memory:
        journal = memory.core.store
        learn(journal.db, [drawing])
        query = Query("zeppelin")
        memory.sync(embed=False)
        assert [hit.record.ref for hit in memory.search(query)] == [drawing.ref]
        suppress(journal, [drawing.ref], T)
        assert list(memory.search(query)) == []
        assert memories(journal.db) == []
        memory.sync(embed=False, rebuild=True)
        assert list(memory.search(query)) == [], "nor after a rebuild"
        assert unsuppress(journal, drawing.id) == drawing.ref
        assert [hit.record.ref for hit in memory.search(query)] == [drawing.ref]
        assert memories(journal.db) == [drawing]


def test_what_a_hidden_memory_says_is_not_learned_under_another_name(journal: Journal) -> None:
    drawing = drawn()
    learn(journal.db, [drawing])
    suppress(journal, [drawing.ref], T)
    at = "2026-03-01T10:00:00.000Z"
    message = Finding("decision", "Sessions are stored in PostgreSQL", 0.9, ("commit:abc",), at)
    learn(journal.db, fold([message], memories(journal.db, everything=True)).learned)
    assert memories(journal.db) == []
    (hidden,) = memories(journal.db, everything=True)
    assert hidden.derived_from == ("note:a.md", "commit:abc")


def test_a_memory_says_in_the_index_what_it_is_drawn_from_and_what_superseded_it(
    space: Path,
) -> None:
    changed = drawn("The zeppelin is moored at the mast")._replace(superseded_by="abc")
    with closing(Memory.open(space, settings=PLAIN)) as memory:
        learn(memory.core.store.db, [changed])
        memory.sync(embed=False)
        metadata = memory.records.get(changed.ref).metadata or {}
        assert metadata["superseded_by"] == "abc"
        assert metadata["derived_from"] == ["note:a.md"]
        assert metadata["type"] == "decision"
        assert metadata["confidence"] == 0.9


# The clock


def test_the_clock_is_kept(journal: Journal) -> None:
    assert clock(journal.db) == Clock()
    keep_clock(journal.db, Clock(3, 1.25))
    assert clock(journal.db) == Clock(3, 1.25)
    keep_clock(journal.db, Clock(4, 0.0))
    journal.close()
    assert clock(journal.db) == Clock(4, 0.0)
    assert queries.entries(journal.db, "memories", queries.EntryFilter())[1] == 0
