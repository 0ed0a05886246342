"""What the daemon saves, and what it costs while nobody asks.

    python benchmarks/daemon.py [--rows warm edit idle storm day] [--idle 300] [--documents 2000]
                                [--storm 10000] [--searches 20000]

A hybrid `kinen search` answered by the daemon, against the same one without, `curl` on the socket
and a bare interpreter. The daemon at rest: resident memory, processor time, how often the kernel
switched to any of its threads, over --idle seconds. An edit until full text has it, in intervals of
the debounce; a storm of files until the last of them is searchable. A day in minutes: 24 times some
searches, observations and edits, then a rest until the model is freed; memory after each.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from journal import NO_LIMIT, alternated, as_saved
from kinen import Memory
from kinen.daemon import control
from kinen.ipc import client
from record import save
from speed import KINEN, Row, build_space, process, prose

QUESTION = "why does the limiter wait for its bucket"
DEBOUNCE = 1.0
"""Seconds, as configured by default."""


class Bench:
    """A space with a daemon beside it."""

    def __init__(self, folder: Path, documents: int) -> None:
        self.space = build_space(folder / "space", documents, 3, 60)
        self.home = folder / "kinen"
        os.environ.update(KINEN_HOME=str(self.home), HOME=str(folder))
        os.environ["KINEN_DAEMON_AUTO_START"] = "true"  # as it is answered where daemons may run
        (self.space / ".kinen").mkdir(exist_ok=True)
        # The user's own setting: that of a space, which a clone brings, may only turn it off.
        process([KINEN, "config", "set", "--user", "hooks.inject_on_prompt", "true"])
        with Memory.open(self.space) as memory:
            memory.sync()
            self.index = memory.core.file("index.db")
            self.documents = memory.index.status().counts.documents

    def start(self) -> dict[str, Any]:
        control.start(str(self.home))
        return self.rest()

    def rest(self) -> dict[str, Any]:
        """The daemon's state once there is nothing left to do."""
        while True:
            state = control.look(str(self.home)).state
            spaces = state.get("spaces")  # none while it starts
            if spaces and all(space["state"] == "idle" for space in spaces):
                return state
            time.sleep(0.05)

    def stop(self) -> None:
        control.stop(str(self.home))

    def knows(self, word: str) -> bool:
        with sqlite3.connect(self.index) as db:
            rows = db.execute("SELECT 1 FROM search WHERE search MATCH ?", (f'"{word}"',))
            return rows.fetchone() is not None


def warm_rows(bench: Bench, times: int) -> list[Row]:
    """A search in every way there is."""
    search = [KINEN, "search", QUESTION]
    address = f"http://localhost/v1/search?query={QUESTION.replace(' ', '%20')}"
    curl = ["curl", "-s", "--unix-socket", str(bench.home / "daemon.sock"), address]
    curl += ["-H", "Accept: text/plain", "-H", f"X-Kinen-Space: {bench.space}"]
    alone = {**os.environ, "KINEN_SEARCH_CONTEXT_CHUNKS": "0", "KINEN_HOME": str(bench.home)}
    message = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(bench.space)}
    payload = json.dumps({**message, "prompt": QUESTION}).encode()
    hook = [KINEN, "hook", "claude-code"]
    bench.start()
    calls = {
        "warm": lambda: process(search, cwd=bench.space),
        "curl": lambda: process(curl),
        "python": lambda: process([sys.executable, "-c", ""]),
    }
    for call in calls.values():
        call()
    seconds = alternated(calls, times)
    remaining = {
        "hook": lambda: process(hook, cwd=bench.space, input=payload),
        "after": calls["warm"],
    }
    seconds |= alternated(remaining, times)
    answered = control.look(str(bench.home)).state["answered"]
    request = 2 * (times + 1) + 2 * times
    assert answered == request, f"the daemon answered {answered} of {request}"
    bench.stop()
    cold = alternated({"cold": lambda: process(search, cwd=bench.space, env=alone)}, times)
    calls = {"hook alone": lambda: process(hook, cwd=bench.space, input=payload)}
    cold |= alternated(calls, times)
    middle = {name: statistics.median(all_) for name, all_ in (seconds | cold).items()}
    name = f"warm kinen search, hybrid, {bench.documents:,} documents"
    return [
        Row(name, middle["warm"], middle["cold"], 1.0, "the same without a daemon"),
        Row(name, middle["warm"], middle["curl"], NO_LIMIT, "curl on the socket"),
        Row(name, middle["warm"], middle["python"], NO_LIMIT, "a bare interpreter"),
        Row(
            "such a search right after something was kept",
            middle["after"],
            middle["cold"],
            1.0,
            "the same without a daemon",
        ),
        Row(
            "a prompt, told what belongs to it",
            middle["hook"],
            middle["hook alone"],
            1.0,
            "the same without a daemon",
        ),
    ]


def idle_figures(bench: Bench, seconds: float) -> dict[str, Any]:
    """The daemon while nothing happens; looked at from outside."""
    pid = bench.start()["pid"]
    process([KINEN, "search", QUESTION], cwd=bench.space)
    bench.rest()
    time.sleep(15)  # connections time out, caches settle
    before, began = _used(pid), time.monotonic()
    time.sleep(seconds)
    after, passed = _used(pid), time.monotonic() - began
    bench.stop()
    return {
        "seconds": round(passed, 1),
        "resident_mb": after["resident_mb"],
        "cpu_percent": round(100 * (after["cpu"] - before["cpu"]) / passed, 4),
        "cpu_limit_percent": 0.5,
        "wake_ups": after["switches"] - before["switches"],
        "threads": after["threads"],
    }


def _used(pid: int) -> dict[str, Any]:
    root = Path(f"/proc/{pid}")
    fields = (root / "stat").read_text().rpartition(")")[2].split()
    switches = 0
    for task in (root / "task").iterdir():
        for line in (task / "status").read_text().splitlines():
            switches += int(line.split()[1]) if "ctxt_switches" in line else 0
    pages = int((root / "statm").read_text().split()[1])
    return {
        "cpu": (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
        "switches": switches,
        "threads": len(list((root / "task").iterdir())),
        "descriptors": len(list((root / "fd").iterdir())),
        "resident_mb": round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1),
    }


def edit_row(bench: Bench, times: int) -> Row:
    """From the end of a write until full text has its words."""
    bench.start()
    used = []
    for n in range(times):
        (bench.space / f"edited-{n % 3}.md").write_text(f"# Edited\n\nzebra{n}word\n")
        began = time.perf_counter()
        while not bench.knows(f"zebra{n}word"):
            time.sleep(0.005)
        used.append(time.perf_counter() - began)
        bench.rest()
    bench.stop()
    print(f"edits: {', '.join(f'{item:.2f}' for item in used)} s", file=sys.stderr)
    return Row("an edit is searchable (the slowest)", max(used), DEBOUNCE, 2.0, "the debounce")


def storm_rows(bench: Bench, count: int) -> tuple[list[Row], dict[str, Any]]:
    """Many files at once, against one `kinen index` of as many."""
    bench.start()
    many = bench.space / "storm"
    began = time.perf_counter()
    for n in range(count):
        folder = many / f"part-{n % 100}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"note-{n}.md").write_text(f"# Note {n}\n\nstorm{n}word\n")
    written = time.perf_counter() - began
    while not bench.knows(f"storm{count - 1}word"):
        time.sleep(0.05)
    existing = time.perf_counter() - began - written
    bench.rest()
    log = (bench.home / "daemon.log").read_text()
    bench.stop()
    syncs = [line.partition(": ")[2] for line in log.splitlines() if f"{count:,} added" in line]
    for n in range(count):
        (many / f"part-{n % 100}" / f"note-{n}.md").write_text(f"# Note {n}\n\ncalm{n}word\n")
    began = time.perf_counter()
    subprocess.run([KINEN, "index", "--no-embed"], cwd=bench.space, check=True)
    index = time.perf_counter() - began
    row = Row(
        f"{count:,} new files until the last is searchable", existing, index, NO_LIMIT, "index"
    )
    return [row], {"files": count, "written_seconds": round(written, 1), "syncs_that_added": syncs}


def day_figures(bench: Bench, searches: int) -> dict[str, Any]:
    """The daemon through 24 hours of work, each followed by a rest that is long enough to free."""
    os.environ["KINEN_DAEMON_MODEL_IDLE_SECONDS"] = "3"
    pid = bench.start()["pid"]
    rng, used = random.Random(5), [_used(pid)]
    busy: list[float] = []

    def ask(line: str, **body: Any) -> None:
        home, answer = str(bench.home), None
        while answer is None:  # while it starts anew, a client does the work itself
            answer = client.ask(home, line, body, space=str(bench.space), sign=60, wait=60)
        assert answer.code in (200, 201), (line, answer.body)

    for hour in range(24):
        for n in range(searches // 24):
            mode = "hybrid" if n % 20 == 0 else "fulltext"
            ask("POST /v1/search", query=prose(rng, 5), limit=5, mode=mode)
            if n % 40 == 0:
                ask("POST /v1/observations", content=prose(rng, 60), kind="message")
        (bench.space / f"hour-{hour % 5}.md").write_text(f"# Hour {hour}\n\n{prose(rng, 300)}\n")
        busy.append(_used(pid)["resident_mb"])
        bench.rest()
        time.sleep(8)
        bench.rest()
        used.append(_used(pid))
    bench.stop()
    return {
        "searches": searches // 24 * 24,
        "resident_mb_after_work": busy,
        "resident_mb_at_rest": [moment["resident_mb"] for moment in used],
        "threads_at_rest": [moment["threads"] for moment in used],
        "descriptors_at_rest": [moment["descriptors"] for moment in used],
        "cpu_seconds": round(used[-1]["cpu"] - used[0]["cpu"], 1),
    }


ROWS = ("warm", "edit", "idle", "storm", "day")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=ROWS)
    parser.add_argument("--idle", type=float, default=300.0)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--storm", type=int, default=10_000)
    parser.add_argument("--searches", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=21)
    options = parser.parse_args()
    rows: list[Row] = []
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.documents)
        try:
            if "warm" in options.rows:
                rows += warm_rows(bench, options.times)
            if "edit" in options.rows:
                rows.append(edit_row(bench, 7))
            if "idle" in options.rows:
                figures["idle"] = idle_figures(bench, options.idle)
            if "storm" in options.rows:
                storm, figures["storm"] = storm_rows(bench, options.storm)
                rows += storm
            if "day" in options.rows:
                figures["day"] = day_figures(bench, options.searches)
        finally:
            bench.stop()
    for row in rows:
        limit = "" if row.limit == NO_LIMIT else f"(limit {row.limit:g})"
        milliseconds = f"{row.ours * 1000:9.1f} ms"
        print(f"{row.name:<52} {milliseconds} {row.ratio:7.2f} × {row.against} {limit}")
    for name, figure in figures.items():
        print(f"{name}: {figure}")
    save("daemon", {"rows": [as_saved(row) for row in rows], **figures})


if __name__ == "__main__":
    main()
