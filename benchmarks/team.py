"""A team under load: agents that record, people who search, a server that is killed in between.

    python benchmarks/team.py --database postgresql://… [--agents 50] [--events 10] [--searches 20]
        [--seconds 600] [--restart-postgres COMMAND]

Every agent has a journal of its own and synchronises through `kinen serve --team`. A third of the
way the server is killed with SIGKILL and started again on the same port; two thirds of the way
COMMAND restarts PostgreSQL. At the end every event that an agent recorded has to be in the database
once, and what was acknowledged before a crash is compared first.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from kinen import Memory
from kinen.errors import KinenError
from kinen.postgres.connection import Database
from kinen.team import tokens
from kinen.team.client import HttpTeam
from kinen.team.replica import Replica
from kinen.team.schema import prepare
from kinen.team.share import Policy
from kinen.team.sync import synchronize
from record import save

SPACE = "load"
WORDS = "kettle retry cache token migration index worker release budget queue".split()
READERS = 4
"""Threads that search."""
SETTINGS = {"index.embedding_provider": "none", "team.name": "reader"}


class Load:
    """What all threads share."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.database = Database(options.database, most=4)
        prepare(self.database)
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM kinen.team_entry WHERE space = %s", (SPACE,))
        self.end = time.monotonic() + options.seconds
        self.written: set[str] = set()
        self.acknowledged: set[str] = set()
        self.writes: list[float] = []
        self.searches: list[float] = []
        self.rounds: list[float] = []
        self.refusals = 0
        self.lock = threading.Lock()
        self.port = _free_port()

    def running(self) -> bool:
        return time.monotonic() < self.end

    def token(self, person: str) -> str:
        """A token of an agent's own: the server limits the requests of each."""
        return tokens.create(self.database, person, [SPACE], ("read", "write"), 1)[0]

    def team(self, token: str) -> HttpTeam:
        return HttpTeam(f"http://127.0.0.1:{self.port}", SPACE, token)


class Acknowledged(Replica):
    """A replica that remembers what the team has acknowledged."""

    load: Load

    def acknowledge(self, versions: Any) -> None:
        items = list(versions)
        super().acknowledge(items)
        with self.load.lock:
            self.load.acknowledged |= {version.id for version in items}


def agent(load: Load, number: int) -> None:
    """Records events at its rate and synchronises every few seconds."""
    root = load.folder / f"agent-{number}"
    (root / ".kinen").mkdir(parents=True)
    token = load.token(f"agent-{number}")
    pause = load.options.agents / load.options.events
    due = time.monotonic() + random.uniform(0, pause)
    next_sync = time.monotonic() + random.uniform(0, 5)
    with Memory.open(root, home=root / "home", settings=SETTINGS) as memory:
        replica = Acknowledged(
            memory.core.store.db, "agent", Policy("all"), now=lambda: int(time.time() * 1000)
        )
        replica.load = load
        while load.running() or next_sync:
            moment = time.monotonic()
            if load.running() and moment >= due:
                words = " ".join(random.choices(WORDS, k=12))
                start = time.perf_counter()
                entry = memory.observe(f"agent {number}: {words}", scope={"agent": "bench"})
                load.writes.append(time.perf_counter() - start)
                load.written.add(entry.id)
                due += pause
            if moment >= next_sync or not load.running():
                next_sync = _round(load, replica, token)
            time.sleep(0.02)


def _round(load: Load, replica: Replica, token: str) -> float:
    """One run of synchronising; when the next one is due, 0 after the last one."""
    last = not load.running()
    team = load.team(token)
    start = time.perf_counter()
    try:
        synchronize(replica, team, SPACE)
        load.rounds.append(time.perf_counter() - start)
    except KinenError:
        load.refusals += 1
        last = False
    finally:
        team.close()
    return 0.0 if last else time.monotonic() + 5


def reader(load: Load) -> None:
    """Searches a replica that follows the team."""
    root = load.folder / f"reader-{threading.get_ident()}"
    (root / ".kinen").mkdir(parents=True)
    token = load.token("reader")
    pause = READERS / load.options.searches
    due = time.monotonic()
    with Memory.open(root, home=root / "home", settings=SETTINGS) as memory:
        memory.observe("the first entry makes the journal")
        replica = Replica(
            memory.core.store.db, "reader", Policy(), now=lambda: int(time.time() * 1000)
        )
        next_sync = 0.0
        while load.running():
            if time.monotonic() >= next_sync:
                next_sync = _round(load, replica, token)
            if time.monotonic() >= due:
                start = time.perf_counter()
                memory.search(" ".join(random.choices(WORDS, k=2)))
                load.searches.append(time.perf_counter() - start)
                due = max(due + pause, time.monotonic() - 1)
            time.sleep(0.005)


def serve(load: Load) -> subprocess.Popen[str]:
    words = ["serve", "--team", "--port", str(load.port), "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "kinen", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "DATABASE_URL": load.options.database},
    )
    assert process.stdout is not None
    assert "team server" in process.stdout.readline()
    return process


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def figures(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    if len(ordered) < 2:
        return {"count": len(ordered)}
    return {
        "count": len(ordered),
        "p50_ms": round(statistics.median(ordered) * 1000, 2),
        "p95_ms": round(ordered[int(len(ordered) * 0.95)] * 1000, 2),
        "max_ms": round(ordered[-1] * 1000, 2),
    }


def stored(load: Load) -> list[str]:
    with load.database.connect() as connection:  # those of the pool may be of before a restart
        rows = connection.execute(
            "SELECT id FROM kinen.team_entry WHERE space = %s AND noun = 'observation'", (SPACE,)
        )
        return [id_ for (id_,) in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--events", type=float, default=10, help="events a second in all")
    parser.add_argument("--searches", type=float, default=20, help="searches a second in all")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--restart-postgres", default="", metavar="COMMAND")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        load = Load(options, Path(folder))
        server = serve(load)
        threads = [
            threading.Thread(target=agent, args=(load, number)) for number in range(options.agents)
        ]
        threads += [threading.Thread(target=reader, args=(load,)) for _ in range(READERS)]
        for thread in threads:
            thread.start()
        time.sleep(options.seconds / 3)
        server.kill()
        server.communicate()
        lost_at_kill = load.acknowledged - set(stored(load))
        server = serve(load)
        time.sleep(options.seconds / 3)
        if options.restart_postgres:
            subprocess.run(shlex.split(options.restart_postgres), check=True, capture_output=True)
        for thread in threads:
            thread.join()
        server.send_signal(signal.SIGTERM)
        server.communicate()
        entries = stored(load)
        result = {
            "agents": options.agents,
            "seconds": options.seconds,
            "postgres_restarted": bool(options.restart_postgres),
            "events_written": len(load.written),
            "events_stored": len(set(entries) & load.written),
            "events_doubled": len(entries) - len(set(entries)),
            "acknowledged_and_lost": len(lost_at_kill | (load.acknowledged - set(entries))),
            "rounds_failed_and_repeated": load.refusals,
            "write_locally": figures(load.writes),
            "search_locally": figures(load.searches),
            "synchronize": figures(load.rounds),
            "server_exit": server.returncode,
        }
        load.database.close()
    for name, value in result.items():
        print(f"{name:28} {value}")
    save("team", result)
    if result["acknowledged_and_lost"] or result["events_stored"] != result["events_written"]:
        sys.exit("events were lost")


if __name__ == "__main__":
    main()
