"""How long a key takes in `kinen tui` until its first result, beside the search itself.

    python benchmarks/tui.py [--notes 1000] [--observations 100000] [--times 15]

A query is typed letter by letter in the real program, which Textual drives without a terminal. The
same searches (`Memory.search`, before and after each key) run on a memory of their own, and the
medians are compared: the limit is 1.3. Then every screen is opened in a journal of many records and
moved through, with the longest time in which the program did not answer (`stall_ms`), and the pages
of an entry are read. Import is CPU time of a new process.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from textual.worker import WorkerCancelled

from journal import write_bundle
from kinen import Memory, Query
from kinen.tui import lists
from kinen.tui.app import Browser
from kinen.tui.lists import Entry
from record import save
from speed import prose

LIMIT = 1.3
QUERY = "water lev"
MOVES = 200
PAUSE = 0.1
"""Seconds between two keys, in which the screen is drawn, as when somebody types quickly."""
IMPORT = "import resource, {0}; u = resource.getrusage(0); print(u.ru_utime + u.ru_stime)"


def build(root: Path, notes: int, observations: int) -> Path:
    rng = random.Random(7)
    space = root / "space"
    (space / ".kinen").mkdir(parents=True)
    for number in range(notes):
        text = f"# {prose(rng, 4)}\n\n{prose(rng, 120)}\n"
        (space / f"note-{number}.md").write_text(text)
    bundle = root / "bundle.json"
    write_bundle(bundle, observations)
    with Memory.open(space) as memory:
        memory.transfer.load(bundle)
        memory.sync(embed=False)
    return space


class Watched(Browser):
    """The program, with a sign when its list was filled: looking again and again costs time."""

    def __init__(self) -> None:
        super().__init__()
        self.filled = asyncio.Event()
        show = self.rows.show

        def shown(lines: Sequence[Entry], cursor: int = 0) -> None:
            show(lines, cursor)
            self.filled.set()

        self.rows.show = shown  # type: ignore[method-assign]


async def arrival(app: Watched) -> None:
    """Wait until the list was filled again."""
    await app.filled.wait()


async def idle(app: Browser) -> None:
    """Wait until nothing is being read; a question that a newer one replaced is no failure."""
    while app.workers:
        with contextlib.suppress(WorkerCancelled):
            await app.workers.wait_for_complete()
        await asyncio.sleep(0)


async def typing(app: Watched, memory: Memory, times: int) -> tuple[list[float], list[float]]:
    """Milliseconds from each key to its results, and of each search alone."""
    keys: list[float] = []
    searches: list[float] = []

    def alone(typed: str) -> float:
        began = time.perf_counter()
        memory.search(Query(typed, limit=lists.HITS))
        return 1000 * (time.perf_counter() - began)

    for turn in range(times + 1):
        for n in range(1, len(QUERY) + 1):
            typed = QUERY[:n]
            around = [alone(typed)]
            app.filled.clear()
            began = time.perf_counter()
            app.field.value = typed
            await arrival(app)
            key = 1000 * (time.perf_counter() - began)
            await idle(app)
            around.append(alone(typed))
            await asyncio.sleep(PAUSE)
            if turn:  # the first turn warms up
                keys.append(key)
                searches += around
    return keys, searches


async def stalls(longest: list[float]) -> None:
    """Note the longest time in which the loop of events did not run, in milliseconds."""
    last = time.perf_counter()
    while True:
        await asyncio.sleep(0.005)
        now = time.perf_counter()
        longest[0] = max(longest[0], 1000 * (now - last) - 5)
        last = now


async def moving(app: Watched, name: str) -> dict[str, float]:
    """Milliseconds until a list is there, of the longest stall, and CPU time of a move."""
    longest = [0.0]
    watch = asyncio.create_task(stalls(longest))
    app.filled.clear()
    began = time.perf_counter()
    app.action_view(name)
    await arrival(app)
    opened = time.perf_counter() - began
    began = time.process_time()
    for _ in range(MOVES):
        app.rows.action_move(1)
        await asyncio.sleep(0)
    moves = time.process_time() - began
    await idle(app)
    watch.cancel()
    return {
        "entries": len(app.entries),
        "open_ms": 1000 * opened,
        "move_cpu_ms": 1000 * moves / MOVES,
        "stall_ms": longest[0],
    }


def pages(memory: Memory) -> dict[str, float]:
    """Milliseconds of the pages of a hit and of a session, each for the second time."""
    hit = next(entry for entry in lists.search(memory, lists.Request(QUERY)) if entry.hit)
    session = next(entry for entry in lists.sessions(memory, lists.Request(most=1)) if entry.ref)
    output = [entry for entry in lists.outgoing(memory, lists.Request()) if entry.ref]
    results: dict[str, float] = {}
    for name, page, entry in (
        ("record", lists.page, hit),
        ("links", lists.links_page, hit),
        ("history", lists.history_page, hit),
        ("why", lists.why_page, hit),
        ("session", lists.session_page, session),
        ("start", lists.page, output[0]),
        ("recall", lists.page, output[1]),
    ):
        page(memory, entry)
        began = time.perf_counter()
        page(memory, entry)
        results[name] = 1000 * (time.perf_counter() - began)
    return results


async def measure(space: Path, times: int) -> dict[str, object]:
    app = Watched()
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(app)
        await pilot.press("slash")
        await idle(app)
        with Memory.open(space) as memory:
            keys, searches = await typing(app, memory, times)
            read = pages(memory)
        views = {view.name: await moving(app, view.name) for view in lists.VIEWS}
    key = statistics.median(keys)
    search = statistics.median(searches)
    return {
        "key_ms": key,
        "search_ms": search,
        "ratio": key / search,
        "lists": views,
        "pages_ms": read,
    }


def import_seconds(module: str) -> float:
    words = [sys.executable, "-c", IMPORT.format(module)]
    runs = [subprocess.run(words, capture_output=True, check=True).stdout for _ in range(7)]
    return statistics.median(map(float, runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--observations", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--space", type=Path, help="a space that is there already (KINEN_HOME)")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="kinen-tui-")).resolve()
    os.environ["KINEN_INDEX_EMBEDDING_PROVIDER"] = "none"
    if not options.space:
        os.environ["KINEN_HOME"] = str(root / "home")
    try:
        space = options.space or build(root, options.notes, options.observations)
        os.chdir(space)
        results = asyncio.run(measure(space, options.times))
    finally:
        os.chdir("/")
        shutil.rmtree(root)
    program = import_seconds("kinen.tui.app")
    textual = import_seconds("textual.app, textual.widgets")
    results["import_cpu"] = {"program": program, "textual": textual, "ratio": program / textual}
    print(json.dumps(results, indent=1))
    verdict = "holds" if float(str(results["ratio"])) <= LIMIT else "does not hold"
    print(f"a key takes at most {LIMIT} × the search: {verdict}")
    save("tui", {"notes": options.notes, "observations": options.observations, **results})


if __name__ == "__main__":
    main()
