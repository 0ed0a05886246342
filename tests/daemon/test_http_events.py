"""What listeners are told: in order, from any thread, and that they missed something."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import TYPE_CHECKING

import pytest

from daemon.served import application, client, serving, unix_door
from kinen.http.space import Hub

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx


def events(lines: Iterator[str], count: int) -> list[tuple[int, str, dict[str, object]]]:
    """The first `count` events of a stream."""
    results, about = [], dict[str, str]()
    for line in lines:
        name, _, value = line.partition(": ")
        if name in ("id", "event", "data"):
            about[name] = value
        elif not line and about:
            results.append((int(about["id"]), about["event"], json.loads(about["data"])))
            about = {}
            if len(results) == count:
                break
    return results


@pytest.fixture
def hub() -> Hub:
    return Hub(recent=5)


@pytest.fixture
def over(hub: Hub, space: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    door, path = unix_door()
    with serving(application(hub=hub, default=str(space)), door), client(path) as item:
        yield item
        hub.close()


def test_a_listener_hears_what_happens_from_then_on(hub: Hub, over: httpx.Client) -> None:
    hub.publish("sync", {"space": "before"})
    with over.stream("GET", "/v1/events") as heard:
        assert heard.headers["content-type"].startswith("text/event-stream")
        lines = heard.iter_lines()
        assert next(lines) == ": listening"
        hub.publish("sync", {"space": "ä\nb", "at": 1.5})
        over.post("/v1/observations", json={"id": "o1", "content": "secret words"})
        first, second = events(lines, 2)
    assert first == (2, "sync", {"space": "ä\nb", "at": 1.5})
    assert second == (3, "observation", {"space": "space", "ref": "observation:o1"})


def test_a_listener_that_comes_back_hears_what_it_missed(hub: Hub, over: httpx.Client) -> None:
    for n in range(4):
        hub.publish("sync", {"n": n})
    with over.stream("GET", "/v1/events", headers={"Last-Event-ID": "2"}) as heard:
        assert [event[0] for event in events(heard.iter_lines(), 2)] == [3, 4]
    for unknown in ("99", "-1"):
        with over.stream("GET", "/v1/events", headers={"Last-Event-ID": unknown}) as heard:
            lines = heard.iter_lines()
            assert next(lines) == ": listening"
            hub.publish("sync", {"n": unknown})
            assert events(lines, 1)[0][2] == {"n": unknown}
    assert over.get("/v1/events", headers={"Last-Event-ID": "x"}).status_code == 400


def test_a_slow_listener_loses_the_oldest_and_is_told_how_many(
    hub: Hub, over: httpx.Client
) -> None:
    for n in range(12):
        hub.publish("sync", {"n": n})
    with over.stream("GET", "/v1/events", headers={"Last-Event-ID": "2"}) as heard:
        results = events(heard.iter_lines(), 6)
    assert results[0] == (7, "lost", {"count": 5})
    assert [result[0] for result in results[1:]] == [8, 9, 10, 11, 12]


def test_publishing_waits_for_nobody(hub: Hub, over: httpx.Client) -> None:
    with over.stream("GET", "/v1/events") as heard:
        lines = heard.iter_raw()
        next(lines)
        for n in range(20_000):  # the listener reads nothing, and this comes to its end
            hub.publish("sync", {"n": n, "text": "a" * 200})


def test_listeners_end_when_the_hub_closes_and_have_heard_all(hub: Hub, over: httpx.Client) -> None:
    with over.stream("GET", "/v1/events") as heard:
        lines = heard.iter_lines()
        next(lines)
        threads = [threading.Thread(target=hub.publish, args=("sync", {"n": n})) for n in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        hub.close()
        results = events(lines, 99)
    assert [result[0] for result in results] == [1, 2, 3, 4, 5]
    assert sorted(str(item[2]["n"]) for item in results) == list("01234")
    assert over.get("/v1/events").text == ": listening\n\n"


def test_a_listener_that_hears_nothing_is_shown_that_the_line_is_alive(hub: Hub) -> None:
    async def listen() -> list[str]:
        heard = hub.subscribe(heartbeat=0.05)
        return [await anext(heard) for _ in range(3)]

    assert asyncio.run(listen()) == [": listening\n\n", ": still here\n\n", ": still here\n\n"]


def test_a_listener_that_has_gone_is_forgotten(hub: Hub, over: httpx.Client) -> None:
    with over.stream("GET", "/v1/events") as heard:
        lines = heard.iter_lines()
        next(lines)
        assert len(hub._bells) == 1
    end = time.monotonic() + 300
    while hub._bells and time.monotonic() < end:
        time.sleep(0.01)
    assert not hub._bells
