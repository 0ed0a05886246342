"""One request waits for the news of all spaces, and nobody asks while there is none."""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from daemon.conftest import Running
from kinen.team.client import HttpTeam
from kinen.team.postgres import PostgresTeam
from team_service import ended, observation, start, token, until

if TYPE_CHECKING:
    from pathlib import Path

    from kinen.postgres.connection import Database


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"seen": {}},
        {"seen": ["shop"]},
        {"seen": {"shop": 1}},
        {"seen": {"a\nb": ""}},
        {"seen": {"shop": ""}, "wait": -1},
        {"seen": {"shop": ""}, "wait": "x"},
        {"seen": {str(number): "" for number in range(1001)}},
    ],
)
def test_what_is_no_request_for_news_is_refused(body: Any, server: str, database: Database) -> None:
    headers = {"Authorization": f"Bearer {token(database)}"}
    assert httpx.post(f"{server}/v1/team/news", json=body, headers=headers).status_code == 400
    assert httpx.post(f"{server}/v1/team/news", json=body).status_code == 401


def test_one_request_waits_for_all_spaces_and_tells_only_those_of_the_token(
    server: str, database: Database
) -> None:
    spaces = ["news one", "news two"]
    secret = token(database, "ada", spaces[0])
    team = HttpTeam(server, spaces[0], secret)
    states, refused = team.news(dict.fromkeys(spaces, ""), 0)
    assert (set(states), refused) == ({spaces[0]}, [spaces[1]])
    assert team.news(states, 0) == ({}, [])
    told: list[dict[str, str]] = []
    thread = threading.Thread(target=lambda: told.append(team.news(states, 25)[0]))
    thread.start()
    PostgresTeam(database, spaces[1], "bob").push([observation("n1", "not for ada")])
    PostgresTeam(database, spaces[0], "bob").push([observation("n1", "for ada")])
    thread.join()
    assert told[0].keys() == {spaces[0]}
    assert told[0] != states
    team.close()


def test_a_server_ends_while_machines_wait(database: Database, url: str) -> None:
    process, address = start(url, "--workers", "1")
    team = HttpTeam(address, "news end", token(database, "ada", "news end"), sleep=lambda _: None)
    states, _ = team.news({"news end": ""}, 0)
    waiting = threading.Thread(target=team.news, args=(states, 25))
    waiting.start()
    process.terminate()
    assert ended(process) == 0
    waiting.join()


def test_a_daemon_asks_for_what_is_new_and_for_nothing_else(
    kinen: Any, space: Path, home: Path, server: str, database: Database
) -> None:
    kinen("init")
    for name, value in {
        "team.url": server,
        "team.space": "news daemon",
        "team.share": "all",
        "team.interval": "1",
        "index.embedding_provider": "none",
    }.items():
        kinen("config", "set", "--user", name, value)
    kinen("team", "login", stdin=token(database, "ada", "news daemon"))
    prometheus = {"Authorization": f"Bearer {token(database, rights=['metrics'])}"}

    def pulls() -> int:
        text = httpx.get(f"{server}/metrics", headers=prometheus).text
        line = r'kinen_team_requests_total\{path="/v1/team/pull",status="2xx"\} (\d+)'
        return sum(map(int, re.findall(line, text)))

    def succeeded() -> str:
        return str(json.loads(kinen("team", "status", "--json").out)["last_success"])

    def rests() -> bool:
        """Whether the next two runs that succeed ask for nothing."""
        before = pulls()
        for _ in range(2):
            last = succeeded()
            until(lambda last=last: succeeded() != last, running.log)
        return pulls() == before

    running = Running(home / "kinen")
    running.start()
    try:
        until(rests, running.log)
        colleague = PostgresTeam(database, "news daemon", "bob")
        colleague.push([observation("of-bob", "bob descaled the kettle")])
        until(lambda: "descaled" in kinen("list", "observations").out, running.log)
        kinen("log", "ada filled the kettle")
        until(lambda: len(colleague.pull(0, 10, erased=False).versions) == 2, running.log)
        until(rests, running.log)
    finally:
        running.end()
