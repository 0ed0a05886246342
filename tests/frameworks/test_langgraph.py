"""The store of LangGraph: used as its own stores are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langgraph.store.base", reason="make frameworks")
from langgraph.store.base import InvalidNamespaceError

from frameworks_memory import SECRET, on_disk
from kinen.frameworks.langgraph import KinenStore

if TYPE_CHECKING:
    from pathlib import Path

    from kinen import Memory

ANN = ("users", "ann/1")


@pytest.fixture
def store(memory: Memory) -> KinenStore:
    store = KinenStore(memory)
    store.put(ANN, "food", {"text": "Ann likes green tea", "rank": 2})
    store.put(ANN, "work", {"text": "Ann deploys on Mondays", "rank": 1})
    store.put(("users", "bob"), "food", {"text": "Bob likes black coffee", "rank": 3})
    return store


def test_a_value_comes_back_with_its_times(store: KinenStore) -> None:
    item = store.get(ANN, "food")
    assert item is not None
    assert (item.namespace, item.key) == (ANN, "food")
    assert item.value == {"text": "Ann likes green tea", "rank": 2}
    assert item.created_at <= item.updated_at
    assert store.get(ANN, "nothing") is None
    assert store.get(("users",), "food") is None


def test_the_newest_value_counts(store: KinenStore, memory: Memory) -> None:
    for number in range(5):
        store.put(ANN, "food", {"number": number})
    assert store.get(ANN, "food").value == {"number": 4}
    assert KinenStore(memory).get(ANN, "food").value == {"number": 4}


def test_a_deleted_value_is_gone(store: KinenStore, tmp_path: Path) -> None:
    store.put(ANN, "food", {"text": "Ann likes rooibos"})
    store.delete(ANN, "food")
    assert store.get(ANN, "food") is None
    assert [item.key for item in store.search(ANN)] == ["work"]
    assert not on_disk(tmp_path / "home", "rooibos")
    store.put(ANN, "food", {"text": "Ann likes water"})
    assert store.get(ANN, "food").value == {"text": "Ann likes water"}


def test_a_search_has_a_prefix_a_filter_and_pages(store: KinenStore) -> None:
    def keys(*args: Any, **kwargs: Any) -> set[tuple[str, str]]:
        return {(item.namespace[1], item.key) for item in store.search(*args, **kwargs)}

    everything = {("ann/1", "food"), ("ann/1", "work"), ("bob", "food")}
    assert keys(("users",)) == everything
    assert keys(ANN) == {("ann/1", "food"), ("ann/1", "work")}
    assert keys(("users",), filter={"rank": 3}) == {("bob", "food")}
    assert keys(("users",), filter={"rank": {"$gte": 2}}) == {("ann/1", "food"), ("bob", "food")}
    assert keys(("users",), filter={"absent": 1}) == set()
    first = store.search(("users",), limit=2)
    rest = store.search(("users",), limit=2, offset=2)
    assert len(first) == 2
    assert len(rest) == 1


def test_a_query_ranks_by_words_and_meaning(store: KinenStore) -> None:
    best = store.search(("users",), query="who drinks coffee?")[0]
    assert best.value["text"] == "Bob likes black coffee"
    assert best.score > 0
    assert store.search(ANN, query="green tea")[0].key == "food"


def test_namespaces_are_listed(store: KinenStore) -> None:
    assert store.list_namespaces() == [ANN, ("users", "bob")]
    assert store.list_namespaces(max_depth=1) == [("users",)]
    assert store.list_namespaces(prefix=("users", "*")) == [ANN, ("users", "bob")]
    assert store.list_namespaces(suffix=("bob",)) == [("users", "bob")]
    with pytest.raises(InvalidNamespaceError):
        store.put((), "key", {})


def test_the_async_methods_answer_the_same(store: KinenStore) -> None:
    async def main() -> None:
        await store.aput(ANN, "pet", {"text": "a cat"})
        assert (await store.aget(ANN, "pet")).value == {"text": "a cat"}
        assert {item.key for item in await store.asearch(ANN)} == {"food", "work", "pet"}

    asyncio.run(main())


def test_secrets_are_masked(store: KinenStore, tmp_path: Path) -> None:
    store.put(ANN, "token", {"text": f"the token is {SECRET}"})
    assert SECRET not in store.get(ANN, "token").value["text"]
    assert not on_disk(tmp_path / "home", SECRET)


def test_a_memory_that_fails_does_not_fail_the_graph(broken: Any) -> None:
    store = KinenStore(broken)
    store.put(ANN, "food", {"text": "tea"})
    assert store.get(ANN, "food") is None
    assert store.search(ANN, query="tea") == []
    assert store.list_namespaces() == []
