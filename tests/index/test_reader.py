"""Queries of the index that a recall waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen import Memory

if TYPE_CHECKING:
    from pathlib import Path


def test_the_last_messages_of_a_session_are_found_without_reading_all(space: Path) -> None:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        capsule = memory.journal.open_capsule("Fix the kettle")
        for n in range(4):
            role = "user" if n == 0 else "assistant"
            memory.observe(
                f"message {n}\n\nof the kettle", capsule=capsule.id, provenance={"role": role}
            )
        memory.sync()
        reader = memory.core.reader
        queries: list[str] = []
        reader.db.set_trace_callback(queries.append)
        messages = reader.last_said(f"capsule:{capsule.id}", 2)
        reader.db.set_trace_callback(None)
        assert [message.text.split("\n")[0] for message in messages] == ["message 3", "message 2"]
        assert messages[0].text.endswith("of the kettle")
        plan = [
            row[3] for query in queries for row in reader.db.execute(f"EXPLAIN QUERY PLAN {query}")
        ]
        assert any("records_parent" in step for step in plan), plan
