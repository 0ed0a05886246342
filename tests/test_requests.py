"""What MCP and HTTP share: names of fields, complaints, pages, responses."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kinen.errors import QueryError
from kinen.mcp.calls import TOOLS
from kinen.memory import Memory
from kinen.memory.memory import JOURNAL
from kinen.memory.pool import MemoryPool
from kinen.model.journal import Pin
from kinen.verbs import journal, requests
from kinen.verbs.catalogue import verbs
from kinen.verbs.journal import decode_cursor, encode_cursor
from kinen.verbs.requests import complaint, request_model
from kinen.verbs.requests import schema as shape
from kinen.verbs.verb import next_offset

if TYPE_CHECKING:
    from pathlib import Path


def test_every_other_name_means_a_field_of_some_request() -> None:
    fields = {name for kind in TOOLS.values() for name in kind.model_fields}
    fields |= {"scope", *(name for _, verb in verbs() for name in verb.params)}
    for name, meanings in requests.SYNONYMS.items():
        assert set(meanings) <= fields, name


@pytest.mark.parametrize(
    ("tool", "values", "field"),
    [
        ("kinen_search", {"question": "tea"}, "query"),
        ("kinen_search", {"query": "tea", "contextChunks": 2}, "context"),
        ("kinen_recall", {"sessionId": "s1"}, "session"),
        ("kinen_links", {"ref": "note:a.md"}, "path"),
        ("kinen_get_artifact", {"file": "a.md"}, "path"),
        ("kinen_get_artifact", {"path": "a.md", "commit": "HEAD"}, "ref"),
        ("kinen_get_cochange", {"files": ["a.md"]}, "paths"),
        ("kinen_fix", {"text": "ValueError"}, "error"),
        ("kinen_how", {"tool": "pytest"}, "command"),
        ("kinen_checkpoint", {"summary": "done"}, "description"),
        ("kinen_plan", {"action": "get", "planId": "p"}, "id"),
        ("kinen_observe", {"message": "tea"}, "content"),
        ("kinen_pin", {"targetId": "note:a.md"}, "ref"),
    ],
)
def test_a_tool_takes_the_names_that_agents_use(
    tool: str, values: dict[str, object], field: str
) -> None:
    kind, fields = TOOLS[tool].part(dict(values))
    assert field in kind.model_validate(fields).model_fields_set


def test_complaints_name_the_field_and_the_reason() -> None:
    model = request_model(journal.open_capsule, "Open", requests.Request)
    with pytest.raises(ValidationError) as raised:
        model.model_validate({"mood": "x", "id": "a/b"})
    lines = complaint(raised.value.errors()).split("; ")
    assert sorted(lines) == [
        "id has characters that are not allowed",
        "intent is required",
        "unknown field 'mood'",
    ]


@given(st.integers(-(2**63), 2**63 - 1), st.text().filter(str.isprintable))
def test_a_cursor_is_the_position_it_was_made_of(number: int, name: str) -> None:
    cursor = encode_cursor((number, name))
    assert cursor is not None
    assert decode_cursor(cursor) == (number, name)


def test_there_is_no_page_after_the_last() -> None:
    assert encode_cursor(None) is None
    assert decode_cursor("") is None
    assert next_offset(total=10, offset=0, size=5) == 5
    assert next_offset(total=10, offset=5, size=5) == 0
    with pytest.raises(QueryError, match="invalid cursor"):
        decode_cursor("x")


def test_a_response_has_all_its_fields_and_no_others() -> None:
    schema = shape(Pin).model_json_schema(mode="serialization")
    assert set(schema["required"]) == set(schema["properties"])
    assert schema["additionalProperties"] is False


def test_calls_of_a_space_take_turns_and_a_cancelled_one_leaves_the_queue(
    space: Path,
) -> None:
    pool = MemoryPool(lambda folder: Memory.open(folder or space))
    started, release = threading.Event(), threading.Event()
    calls: list[str] = []

    def slow(_memory: Memory) -> None:
        started.set()
        release.wait(60)
        calls.append("slow")

    async def run() -> None:
        first = asyncio.ensure_future(pool.call([str(space)], slow))
        await asyncio.to_thread(started.wait, 60)
        queued = asyncio.ensure_future(pool.call([str(space)], lambda _: calls.append("queued")))
        await pool.call([str(space)], lambda _: calls.append("journal"), lane=JOURNAL)
        queued.cancel()
        first.cancel()  # it runs to its end all the same
        release.set()
        await pool.call([str(space)], lambda _: calls.append("last"))
        await pool.close()

    asyncio.run(run())
    assert calls == ["journal", "slow", "last"]
