"""How long a key takes in `kinen tui` until its first result, beside the search itself.

    python benchmarks/tui.py [--notes 1000] [--observations 100000] [--times 15]

A query is typed letter by letter in the real program, which Textual drives without a terminal. The
same searches run on a memory of their own in the same loop, and the medians are compared: the
limit is 1.3. Then the lists of a journal of many records are opened, and moved through. Import is
CPU time of a new process.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from textual.widgets import OptionList
from textual.worker import WorkerCancelled

from journal import write_bundle
from kinen import Memory
from kinen.tui import lists
from kinen.tui.app import Browser
from record import save
from speed import prose

LIMIT = 1.3
QUERY = "water lev"
MOVES = 200
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


async def arrival(app: Browser, before: object) -> None:
    """Wait until the list was filled again."""
    while app.entries is before:
        await asyncio.sleep(0.0005)  # the search has the interpreter to itself


async def idle(app: Browser) -> None:
    """Wait until nothing is being read; a question that a newer one replaced is no failure."""
    while app.workers:
        with contextlib.suppress(WorkerCancelled):
            await app.workers.wait_for_complete()
        await asyncio.sleep(0)


async def typing(app: Browser, memory: Memory, times: int) -> tuple[list[float], list[float]]:
    """Milliseconds from each key to its results, and of each search alone."""
    keys: list[float] = []
    searches: list[float] = []
    field = app.query_one("#typed")
    for turn in range(times + 1):
        for n in range(1, len(QUERY) + 1):
            typed = QUERY[:n]
            began = time.perf_counter()
            lists.search(memory, typed, lists.PAGE)
            alone = time.perf_counter() - began
            before = app.entries
            began = time.perf_counter()
            field.value = typed  # type: ignore[attr-defined]
            await arrival(app, before)
            if turn:  # the first turn warms up
                keys.append(1000 * (time.perf_counter() - began))
                searches.append(1000 * alone)
            await idle(app)
    return keys, searches


async def moving(app: Browser, name: str) -> dict[str, float]:
    """Milliseconds until a list is there and until its end is reached, CPU time of a move."""
    before = app.entries
    began = time.perf_counter()
    app.action_view(name)
    await arrival(app, before)
    opened = time.perf_counter() - began
    options = app.query_one("#list", OptionList)
    began = time.process_time()
    for _ in range(MOVES):
        options.action_cursor_down()
        await asyncio.sleep(0)
    moves = time.process_time() - began
    await idle(app)
    return {
        "entries": len(app.entries),
        "open_ms": 1000 * opened,
        "move_cpu_ms": 1000 * moves / MOVES,
    }


async def measure(space: Path, times: int) -> dict[str, object]:
    app = Browser()
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(app)
        await pilot.pause()
        with Memory.open(space) as memory:
            keys, searches = await typing(app, memory, times)
        views = {view.name: await moving(app, view.name) for view in lists.VIEWS[1:4]}
    key = statistics.median(keys)
    search = statistics.median(searches)
    return {"key_ms": key, "search_ms": search, "ratio": key / search, "lists": views}


def import_seconds(module: str) -> float:
    words = [sys.executable, "-c", IMPORT.format(module)]
    runs = [subprocess.run(words, capture_output=True, check=True).stdout for _ in range(7)]
    return statistics.median(map(float, runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--observations", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=15)
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="kinen-tui-")).resolve()
    os.environ["KINEN_HOME"] = str(root / "home")
    os.environ["KINEN_INDEX_EMBEDDING_PROVIDER"] = "none"
    try:
        space = build(root, options.notes, options.observations)
        os.chdir(space)
        results = asyncio.run(measure(space, options.times))
    finally:
        os.chdir("/")
        shutil.rmtree(root)
    program = import_seconds("kinen.tui.app")
    textual = import_seconds("textual.app, textual.widgets")
    results["import_cpu"] = {"program": program, "textual": textual, "ratio": program / textual}
    for name, value in results.items():
        print(f"{name}: {value}")
    verdict = "holds" if float(str(results["ratio"])) <= LIMIT else "does not hold"
    print(f"a key takes at most {LIMIT} × the search: {verdict}")
    save("tui", {"notes": options.notes, "observations": options.observations, **results})


if __name__ == "__main__":
    main()
