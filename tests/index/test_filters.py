from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.index.match import conditions, expression, literal
from kinen.model.records import Query

texts = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=20)


@pytest.fixture(scope="module")
def db() -> sqlite3.Connection:
    return sqlite3.connect(":memory:")


@given(texts, texts)
def test_a_literal_glob_matches_only_its_text(
    db: sqlite3.Connection, text: str, other: str
) -> None:
    matched = db.execute("SELECT ? GLOB ?, ? GLOB ?", (text, literal(text), other, literal(text)))
    assert matched.fetchone() == (1, text == other)


@given(st.lists(texts.filter(str.strip), min_size=1, max_size=4))
def test_any_terms_are_a_valid_full_text_query(db: sqlite3.Connection, terms: list[str]) -> None:
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS probe USING fts5(body)")
    db.execute("SELECT rowid FROM probe WHERE probe MATCH ?", (expression(terms),)).fetchall()


def test_without_filters_there_is_no_condition() -> None:
    assert conditions(Query("redis")) == ("", [])


FILTERS = {
    "kinds": ("note", "commit"),
    "session": "s1",
    "tags": ("a", "b/c"),
    "paths": ("docs", "*.md"),
    "required": ("two words", "++"),
    "excluded": ("redis",),
    "events": ("command",),
    "files": ("src/a.py",),
    "symbols": ("Memory.open",),
    "repo": "kinen",
    "agent": "codex",
    "user": "mira",
    "since": "2026-01-01T00:00:00.000Z",
    "until": "2026-02-01T00:00:00.000Z",
}


@given(st.sets(st.sampled_from(sorted(FILTERS))))
def test_every_value_has_a_place_and_none_is_in_the_statement(names: set[str]) -> None:
    query = Query("q", **{name: FILTERS[name] for name in names})  # type: ignore[arg-type]
    clause, values = conditions(query)
    assert clause.count("?") == len(values)
    assert bool(clause) == bool(names)
    for value in ("kinen", "codex", "mira", "Memory.open", "src/a.py", "two words"):
        assert value not in clause
