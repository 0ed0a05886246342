from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.config.keys import SearchSection
from kinen.errors import QueryError
from kinen.model.records import KINDS
from kinen.query import (
    LONGEST,
    MOST,
    NAMES,
    events_of,
    kinds_of,
    place,
    recall_query,
    search_query,
    storable_query,
)

names = st.text("abcdefgh./_-", min_size=1, max_size=12)


def test_omitted_parameters_are_those_of_the_space() -> None:
    settings = SearchSection(default_limit=7, default_mode="fulltext", context_chunks=2)
    query = search_query("redis", settings)
    assert (query.limit, query.mode, query.context) == (7, "fulltext", 2)
    query = search_query("redis", settings, limit=3, mode="semantic", context=0)
    assert (query.limit, query.mode, query.context) == (3, "semantic", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_type_may_be_written_in_the_plural(kind: str) -> None:
    plural = {"memory": "memories", "summary": "summaries"}.get(kind, f"{kind}s")
    assert kinds_of([kind]) == kinds_of([plural.upper()]) == (kind,)


def test_types_may_be_separated_by_commas_and_all_means_no_filter() -> None:
    assert kinds_of(["notes,commits", "notes"]) == ("note", "commit")
    assert kinds_of(["notes", "all"]) == ()


def test_an_unknown_type_is_refused_with_the_list() -> None:
    with pytest.raises(QueryError) as refused:
        kinds_of(["zzz"])
    assert "commits" in refused.value.hint
    with pytest.raises(QueryError) as refused:
        events_of(["zzz"])
    assert "command" in refused.value.hint


def test_what_would_take_long_is_refused_before_it_begins() -> None:
    settings = SearchSection()
    with pytest.raises(QueryError, match="characters"):
        search_query("a" * (LONGEST + 1), settings)
    for parameter in ("tags", "paths", "types"):
        with pytest.raises(QueryError, match="too many") as refused:
            search_query("a", settings, **{parameter: ["notes"] * (NAMES + 1)})  # type: ignore[arg-type]
        assert refused.value.parameter == parameter
    for parameter in ("limit", "context"):
        with pytest.raises(QueryError, match="too much"):
            search_query("a", settings, **{parameter: MOST[parameter] + 1})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("budget", -1), ("limit", -1), ("min_similarity", 1.5), ("files", [" "])],
)
def test_a_recall_refuses_values_out_of_range_by_name(parameter: str, value: object) -> None:
    with pytest.raises(QueryError) as refused:
        recall_query("why", **{parameter: value})  # type: ignore[arg-type]
    assert refused.value.parameter == parameter


def test_a_recall_may_ask_for_types_of_memories_but_not_mixed_with_records() -> None:
    assert recall_query("why", types=["decisions"]).events == ("decision",)
    with pytest.raises(QueryError, match="types of notes and kinds of records"):
        recall_query("why", types=["decisions", "notes"])


def test_halves_of_characters_do_not_reach_the_database() -> None:
    query = storable_query(search_query("caf\ud83d", SearchSection(), tags=["\udc00x"]))
    assert query.text == "caf\ufffd"
    assert query.tags == ("\ufffdx",)


@given(names, st.integers(0, 10**6))
def test_a_place_is_a_path_and_a_line(path: str, line: int) -> None:
    assert place(f"docs/{path}:{line}") == (f"docs/{path}", line, -1)
    assert place(f"note:{path}#{line}") == (f"note:{path}", -1, line)


@given(names)
def test_a_path_without_a_number_is_itself(path: str) -> None:
    assert place(f"docs/{path}") == (f"docs/{path}", -1, -1)
    assert place(f"note:{path}") == (f"note:{path}", -1, -1)
