"""How fast the pages are, as ratios to the call of the API that each rests on.

    python benchmarks/web.py [--observations 100000] [--notes 5000] [--times 15] [--root DIR]
        [--beside COMMIT]

With `--beside` the pages of an earlier commit are asked in turns with these, each from its sources
with the same interpreter and packages, in a space of its own with the same contents. With `--root`
the space is built in that folder and stays there for the next run. Page and call take turns in one
loop and the medians of their CPU time are compared, the client's included, so that it does not
matter what else the machine does. With Playwright and chromium, the graph is dragged and frames are
counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from before_after import TREE, extracted
from journal import SESSION, write_bundle
from kinen import Memory
from kinen.http import server as httpserver
from kinen.http.app import create_app
from kinen.http.guard import Access, failure
from kinen.http.routes_web import PATIENCE
from kinen.http.space import Hub
from kinen.memory.pool import MemoryPool
from kinen.web.graph import layout
from record import save
from speed import Row, prose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOKEN = "a-token-of-the-benchmark"
TYPED = ("w", "wa", "wat", "wate", "water", "water l", "water lev", "water level")
"""A query as somebody types it."""
LIMIT = 1.5
LIST = 2.0
"""A page of rows costs as much again as what it shows."""
TODAY = 12.0
YEAR = 25.0
"""A week and a year in one picture: sessions, commits, decisions, files, what comes next."""
NO_LIMIT = float("inf")
DAYS = 86_400_000
GOING_ON = 5
"""Sessions that are open."""
COMMITS = 5_000
SENT = 300
"""Texts in the ledger."""
TOO_LONG = 504
WAITING = "One moment"
"""The title of the page that waits for another."""
TURNS = 3
"""How often each of two trees is measured."""
DRAGS = 150
"""Movements of the pointer while frames are counted."""


def commit(space: Path, count: int) -> None:
    """A repository whose commits lie an hour apart, the last one now."""
    end = round(time.time())
    lines = []
    for number in range(count):
        at = end - 3_600 * (count - 1 - number)
        text = f"fix: part {number}"
        lines += [
            "commit refs/heads/main",
            f"committer Ada <ada@example.org> {at} +0000",
            f"data {len(text)}",
            text,
            f"M 100644 inline src/part_{number % 200}.py",
            f"data {len(str(number))}",
            str(number),
        ]
    subprocess.run(["git", "init", "-q", "-b", "main", str(space)], check=True)
    stream = "\n".join([*lines, ""]).encode()
    subprocess.run(["git", "fast-import", "--quiet"], cwd=space, input=stream, check=True)


def build(root: Path, notes: int, observations: int) -> Path:
    """A space of linked notes and a journal."""
    rng = random.Random(7)
    space = root / "space"
    (space / ".kinen").mkdir(parents=True)
    for number in range(notes):
        folder = space / f"area-{number % 50}"
        folder.mkdir(exist_ok=True)
        near = (number + 50 * rng.randrange(1, 40)) % notes
        links = f"See [[note-{near}]] and [[note-{rng.randrange(notes)}]]."
        text = f"# {prose(rng, 4)[:-1]}\n\n{prose(rng, 60)}\n\n{links}\n"
        (folder / f"note-{number}.md").write_text(text)
    bundle = root / "bundle.json"
    began = round(1000 * time.time()) - DAYS * -(-observations // SESSION)
    write_bundle(bundle, observations, began, GOING_ON)
    commit(space, COMMITS)
    with Memory.open(space) as memory:
        memory.transfer.load(bundle)
        memory.sync()
        for number in range(SENT):
            text = prose(rng, 120)
            memory.ledger.record_answer("kinen_recall", "claude", text, [f"note:note-{number}.md"])
    return space


@contextmanager
def server(space: Path) -> Iterator[tuple[httpx.Client, str, str]]:
    """A client with token and cookie, the address of the server, and a link for a browser."""
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    port = door.getsockname()[1]
    hub = Hub()
    app = create_app(MemoryPool(Memory.open), hub=hub, state=dict, access=Access(TOKEN, port))
    serving = httpserver.make(app, failure, None)
    thread = threading.Thread(target=lambda: asyncio.run(serving.serve(sockets=[door])))
    thread.start()
    while not serving.started:
        time.sleep(0.01)
    origin = f"http://127.0.0.1:{port}"
    headers = {"Authorization": f"Bearer {TOKEN}", "X-Kinen-Space": str(space)}
    try:
        with httpx.Client(base_url=origin, headers=headers, timeout=600) as client:
            while client.post("/v1/web").status_code == TOO_LONG:
                pass  # the machine is busy, and the space is opened first
            links = [client.post("/v1/web").json()["url"] for _ in range(2)]
            client.get(links[0])
            yield client, origin, links[1]
    finally:
        hub.close()
        serving.stop()
        thread.join()


def ratio(client: httpx.Client, name: str, page: str, call: str, times: int, limit: float) -> Row:
    """A page against a call of the API, in turns."""
    used: dict[str, list[float]] = {page: [], call: []}
    for turn in range(times + 2):
        for path in (page, call):
            for query in TYPED if "{}" in path else ("",):
                began = time.process_time()
                answer = client.get(path.replace("{}", query))
                seconds = time.process_time() - began
                assert answer.status_code == 200, answer.text
                if turn > 1:
                    assert WAITING not in answer.text, f"{path}: not within {PATIENCE} seconds"
                    used[path].append(seconds)
                while WAITING in answer.text:
                    answer = client.get(path.replace("{}", query))
    ours, baseline = (statistics.median(used[path]) for path in (page, call))
    return Row(name, ours, baseline, limit, call)


def graph_figures(client: httpx.Client, base: str) -> dict[str, Any]:
    """The layout of the whole graph, and what is sent of it."""
    answers = []
    for _ in range(2):
        began = time.perf_counter()
        answer = client.get(f"{base}/graph/data?all=1")
        answers.append((time.perf_counter() - began, len(answer.content)))
    return {
        "first_seconds": round(answers[0][0], 3),
        "again_seconds": round(answers[1][0], 3),
        "bytes": answers[0][1],
        "layouts": layout.cache_info().misses,
    }


def drag(link: str, origin: str, base: str) -> dict[str, Any]:
    """Frames per second while the graph is dragged in chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {"skipped": "Playwright is not installed"}
    chromium = shutil.which("chromium")
    if not chromium:
        return {"skipped": "no chromium"}
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(300_000)
        page.goto(link)
        page.wait_for_url("**/today")
        began = time.perf_counter()
        page.goto(f"{origin}{base}/graph?all=1")
        page.wait_for_selector("#graph[data-ready]")
        ready = time.perf_counter() - began
        count = int(page.get_attribute("#graph", "data-ready"))
        page.wait_for_timeout(1_000)
        place = page.locator("#canvas").bounding_box()
        page.evaluate(
            "() => { window.drawn = 0; const next = () => { window.drawn++;"
            " requestAnimationFrame(next); }; requestAnimationFrame(next); }"
        )
        page.mouse.move(place["x"] + 400, place["y"] + 200)
        page.mouse.down()
        before = page.evaluate("window.drawn")
        began = time.perf_counter()
        for step in range(DRAGS):
            page.mouse.move(place["x"] + 400 + step, place["y"] + 200 + step % 60)
        seconds = time.perf_counter() - began
        frames = page.evaluate("window.drawn") - before
        page.mouse.up()
        browser.close()
    return {"records": count, "ready_seconds": round(ready, 2), "fps": round(frames / seconds, 1)}


def rows_of(client: httpx.Client, base: str, times: int) -> list[Row]:
    compare: Callable[..., Row] = ratio
    search = "/v1/search?query={}"
    capsules = "/v1/capsules?limit=50"
    session = client.get("/v1/capsules?limit=1").json()["capsules"][0]["id"]
    note = "note:area-0/note-0.md"
    around = f"/v1/links?ref={note}&depth=2"
    return [
        compare(client, "search, empty", f"{base}/search", "/v1/status", times, LIMIT),
        compare(client, "search as one types", f"{base}/search?q={{}}", search, times, LIMIT),
        compare(client, "sessions", f"{base}/sessions", capsules, times, LIST),
        compare(client, "today", f"{base}/today", capsules, times, TODAY),
        compare(client, "today, a year", f"{base}/today?days=365", capsules, 5, YEAR),
        compare(
            client,
            "session",
            f"{base}/session?id={session}",
            f"/v1/capsules/{session}",
            times,
            NO_LIMIT,
        ),
        compare(
            client, "record", f"{base}/record?ref={note}", f"/v1/records/{note}", times, NO_LIMIT
        ),
        compare(client, "neighbourhood", f"{base}/graph?ref={note}", around, times, NO_LIMIT),
        compare(client, "memories", f"{base}/knowledge", "/v1/memories", times, NO_LIMIT),
        compare(client, "sent", f"{base}/sent", capsules, times, NO_LIMIT),
        compare(client, "status", "/v1/status", capsules, 3, NO_LIMIT),
    ]


def beside(commit: str, root: Path, options: argparse.Namespace) -> dict[str, Any]:
    """CPU milliseconds of the pages of an earlier commit and of these, and their ratio."""
    sources = {"before": extracted(commit, root / "tree"), "after": TREE / "src"}
    used: dict[str, dict[str, list[float]]] = {}
    for _ in range(TURNS):
        for name, source in sources.items():
            words = [sys.executable, __file__, "--root", str(root / name), "--quick"]
            for option in ("observations", "notes", "times"):
                words += [f"--{option}", str(getattr(options, option))]
            env = {**os.environ, "PYTHONPATH": str(source)}
            run = subprocess.run(words, env=env, check=True, capture_output=True, text=True)
            for page, milliseconds in json.loads(run.stdout).items():
                used.setdefault(page, {}).setdefault(name, []).append(milliseconds)
    medians = {
        page: {name: statistics.median(times) for name, times in by_name.items()}
        for page, by_name in used.items()
    }
    for page, both in medians.items():
        both["ratio"] = round(both["after"] / both["before"], 3)
        print(f"{page:<22} {both['before']:8.1f} {both['after']:8.1f} ms {both['ratio']:6.2f} ×")
    return {"commit": commit, "pages": medians}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observations", type=int, default=100_000)
    parser.add_argument("--notes", type=int, default=5_000)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--root", type=Path, help="folder to build in, and to keep")
    parser.add_argument("--beside", metavar="COMMIT", help="an earlier commit, in turns")
    parser.add_argument("--quick", action="store_true", help="only CPU milliseconds, as JSON")
    options = parser.parse_args()
    root = options.root or Path(tempfile.mkdtemp(prefix="kinen-web-"))
    os.environ["KINEN_HOME"] = str(root / "home")
    os.environ["KINEN_INDEX_EMBEDDING_PROVIDER"] = "none"
    os.environ["KINEN_DAEMON_AUTO_START"] = "false"
    about = {"observations": options.observations, "notes": options.notes}
    try:
        if options.beside:
            save("web-beside", {"size": about, **beside(options.beside, root, options)})
            return
        space = root / "space"
        if not space.exists():
            build(root, options.notes, options.observations)
        with server(space) as (client, origin, link):
            base = f"/web/s/{space.name}"
            rows = rows_of(client, base, options.times)
            if options.quick:
                print(json.dumps({row.name: round(1000 * row.ours, 2) for row in rows}))
                return
            graph = graph_figures(client, base)
            graph |= drag(link, origin, base)
    finally:
        if not options.root:
            shutil.rmtree(root)
    for row in rows:
        limit = f"≤ {row.limit}" if row.limit < NO_LIMIT else ""
        print(f"{row.name:<22} {1000 * row.ours:8.1f} ms {row.ratio:6.2f} × {row.against} {limit}")
    print("graph", graph)
    results = {
        row.name: {"ms": round(1000 * row.ours, 2), "ratio": round(row.ratio, 3)} for row in rows
    }
    save("web", {"size": about, "pages": results, "graph": graph})


if __name__ == "__main__":
    main()
