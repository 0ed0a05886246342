"""How long until a colleague's decision is in my session start, with real hooks.

    python benchmarks/decision.py [--spaces 10] [--rounds 6]

Two machines, ada's and bob's, each with a home, a daemon and a clone of every space, share through
`kinen serve --team` with the settings that they come with. In each round an agent of ada decides
something in every space: it says so in the last message of a session that ends, or it saves it with
`kinen memories add` in a session that goes on. Measured is the time from the end of that command
until a SessionStart on bob's machine tells it. Bob's hook is asked once his journal has the words,
since every session start begins a sync.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from kinen.postgres.connection import Database
from kinen.team import tokens
from kinen.team.schema import prepare
from record import save
from team import _free_port, figures

LIMIT_SECONDS = 120.0
POLL_SECONDS = 0.5
INTERVAL_SECONDS = 30
"""`team.interval` as it comes: decisions are spread over it."""


class Machine:
    """A person's home, and clones of the spaces."""

    def __init__(self, folder: Path, name: str, server: str, token: str, spaces: int) -> None:
        self.home = folder / name
        self.roots = [self.home / f"shop{number}" for number in range(spaces)]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("KINEN_")}
        self._env = {**kept, "HOME": str(self.home)}
        for name_ in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            self._env.pop(name_, None)
        for root in self.roots:
            (root / ".kinen").mkdir(parents=True)
            about = f"space: {{id: {root.name}, name: {root.name}}}\n"
            (root / ".kinen" / "config.yml").write_text(about)
        for key, value in (
            ("team.url", server),
            ("team.share", "all"),
            ("index.embedding_provider", "none"),
        ):
            self.run(self.roots[0], "config", "set", "--user", key, value)
        self.run(self.roots[0], "team", "login", stdin=token)

    def run(self, root: Path, *words: str, stdin: str = "") -> str:
        line = [sys.executable, "-m", "kinen", *words]
        done = subprocess.run(
            line, cwd=root, env=self._env, input=stdin, capture_output=True, text=True, check=True
        )
        return done.stdout

    def event(self, root: Path, name: str, session: str, **more: Any) -> str:
        payload = {"hook_event_name": name, "session_id": session, "cwd": str(root), **more}
        return self.run(root, "hook", "claude-code", stdin=json.dumps(payload))

    def holds(self, word: str) -> bool:
        for path in (self.home / ".local" / "share" / "kinen").rglob("journal.db"):
            with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as db:
                query = "SELECT 1 FROM {} WHERE instr(content, ?)"
                if any(
                    db.execute(query.format(table), (word,)).fetchone()
                    for table in ("observations", "memories")
                ):
                    return True
        return False


def decide(ada: Machine, bob: Machine, number: int, round_: int, seconds: list[float]) -> None:
    """One decision, and how long it takes to bob."""
    time.sleep(random.uniform(0, INTERVAL_SECONDS))
    root = ada.roots[number]
    session = f"s{round_}"
    word = f"queue{number}x{round_}"
    ada.event(root, "SessionStart", session, source="startup")
    ada.event(root, "UserPromptSubmit", session, prompt=f"choose how {word} is locked")
    text = f"We decided to use SKIP LOCKED for {word}"
    if round_ % 2:
        ada.event(root, "Stop", session, last_assistant_message=f"{text}. It is in place.")
        ada.event(root, "SessionEnd", session)
    else:
        ada.run(root, "memories", "add", text)
    begin = time.monotonic()
    told = False
    start = "nothing of it arrived"
    while not told and time.monotonic() - begin < LIMIT_SECONDS:
        if bob.holds(text):
            again = f"b{round_} {time.monotonic()}"  # a session is told once
            start = bob.event(bob.roots[number], "SessionStart", again, source="startup")
            told = text in start and "by ada" in start
        if not told:
            time.sleep(POLL_SECONDS)
    if not told:
        print(f"{root.name}, round {round_ + 1}: {start}", file=sys.stderr)
    seconds.append(time.monotonic() - begin if told else float("inf"))


def run(options: argparse.Namespace, url: str, folder: Path) -> dict[str, Any]:
    with Database(url) as database:
        prepare(database)
        secrets = [
            tokens.create(database, name, ["*"], ("read", "write"), 1)[0] for name in ("ada", "bob")
        ]
    port = _free_port()
    line = [sys.executable, "-m", "kinen", "serve", "--team", "--port", str(port)]
    server = subprocess.Popen(
        line, stdout=subprocess.PIPE, text=True, env={**os.environ, "DATABASE_URL": url}
    )
    assert server.stdout
    server.stdout.readline()
    address = f"http://127.0.0.1:{port}"
    ada, bob = (
        Machine(folder, name, address, secret, options.spaces)
        for name, secret in zip(("ada", "bob"), secrets, strict=True)
    )
    ended: list[float] = []
    going: list[float] = []
    try:
        for machine in (ada, bob):  # a session each: that is how a space and its daemon begin
            for root in machine.roots:
                machine.event(root, "SessionStart", "first", source="startup")
                machine.event(root, "UserPromptSubmit", "first", prompt="look around")
                machine.event(root, "SessionEnd", "first")
        for round_ in range(options.rounds):
            seconds = ended if round_ % 2 else going
            threads = [
                threading.Thread(target=decide, args=(ada, bob, number, round_, seconds))
                for number in range(options.spaces)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            print(f"round {round_ + 1}: {sorted(round(each, 1) for each in seconds)}", flush=True)
    finally:
        for machine in (ada, bob):
            machine.run(machine.roots[0], "daemon", "stop")
        server.send_signal(signal.SIGTERM)
        server.communicate()
    return {
        "interval_seconds": INTERVAL_SECONDS,
        "never": sum(each == float("inf") for each in ended + going),
        "all": figures(ended + going),
        "session_ended": figures(ended),
        "saved_in_a_session_that_goes_on": figures(going),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--spaces", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    import postgres_server

    try:
        with tempfile.TemporaryDirectory() as folder:
            result = run(options, postgres_server.server_url(), Path(folder))
    finally:
        postgres_server.stop(postgres_server.run_id())
    for name, value in result.items():
        print(f"{name:<32} {value}")
    print(f"\nwrote {save('decision', result)}")


if __name__ == "__main__":
    main()
