"""What is asked of one session takes no longer in a journal of many."""

from __future__ import annotations

import pytest

from journals import closed_journals, journal
from kinen.journal import capsules, queries, recent, tally

__all__ = ["closed_journals"]
pytestmark = pytest.mark.usefixtures("closed_journals")

CAPSULE = "01KH2KW1F90003ZAWQ9RXZ16E8"
AT = 1_770_688_218_601


def test_observations_of_a_session_are_found_without_reading_others() -> None:
    db = journal()
    db.execute(
        "INSERT INTO capsules(id, type, intent, status, opened_at) VALUES (?, 'session', 'x',"
        " 'open', ?)",
        (CAPSULE, AT),
    )
    db.execute(
        "INSERT INTO observations(id, kind, content, provenance, ts, capsule, branch)"
        " VALUES ('o', 'message', 'Fix the labels', '{\"role\":\"user\"}', ?, ?, 'main')",
        (AT, CAPSULE),
    )
    asked: list[str] = []
    db.set_trace_callback(asked.append)
    assert capsules.first_prompt(db, CAPSULE) == "Fix the labels"
    assert capsules.last_prompt(db, CAPSULE) == AT
    capsules.turn_before(db, CAPSULE, AT)
    capsules.worked(db, CAPSULE, AT)
    assert recent.sessions(db, "", AT)[0].branch == "main"
    recent.own(db, CAPSULE, AT)
    list(tally.tail(db, CAPSULE, 10))
    list(queries.stream(db, CAPSULE))
    queries.page(db, "observations", queries.EntryFilter(capsule=CAPSULE, limit=1))
    db.set_trace_callback(None)
    of_one = [sql for sql in asked if "FROM observations" in sql and f"'{CAPSULE}'" in sql]
    assert len(of_one) >= 9
    for sql in of_one:
        plan = "\n".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}"))
        assert "SCAN observations" not in plan, sql
