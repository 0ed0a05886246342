"""The page of `kinen export --html`: how it is written, opened and searched.

    python benchmarks/page.py [--observations 100000] [--rounds 3]

Writing is compared with a bundle of the same journal, by processes of their own; opening and
searching are measured in chromium, from file://, which needs chromium and Playwright.
`KINEN_CHROMIUM` is the path of another browser of its kind.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from journal import ASKED, Bench
from record import save

CHILD = """
import json, sys, time
from kinen import Memory
sys.path.insert(0, sys.argv[5])
from speed import peak_mb
with Memory.open(sys.argv[1], home=sys.argv[2]) as memory:
    began = time.perf_counter()
    memory.transfer.export(sys.argv[3], form=sys.argv[4])
    print(json.dumps({"seconds": time.perf_counter() - began, "peak_mb": peak_mb()}))
"""
TYPED = ("water", "test fail", "which test failed last", "decided water level")
TIMES = 5


def export(space: str, home: str, out: Path, form: str) -> dict[str, float]:
    """Seconds, peak memory and size of an export in a process of its own."""
    here = str(Path(__file__).parent)
    words = [sys.executable, "-c", CHILD, space, home, str(out), form, here]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    return {**json.loads(run.stdout), "mb": out.stat().st_size / 1e6}


def measure_export(bench: Bench, count: int, rounds: int) -> tuple[dict[str, Any], Path]:
    with bench.memory(count) as memory:
        space = memory.space.root
        home = memory.space.home
    page = bench.root / f"page-{count}.html"
    forms = {"bundle": (bench.root / "out.jsonl", "jsonl"), "page": (page, "html")}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in forms}
    for _ in range(rounds):
        for name, (out, form) in forms.items():
            runs[name].append(export(space, home, out, form))
    figures = {
        name: {key: round(statistics.median(run[key] for run in some), 2) for key in some[0]}
        for name, some in runs.items()
    }
    with bench.memory() as memory:
        began = time.perf_counter()
        memory.transfer.load(page)
        figures["page"]["import_seconds"] = round(time.perf_counter() - began, 2)
    return figures, page


def measure_browser(page: Path, rounds: int) -> dict[str, Any]:
    """Milliseconds until a page shows something, until it can search, and of searches in it.

    Those of the CPU are of the page's own thread; others of the machine do not lengthen them.
    """
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("KINEN_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened: list[dict[str, float]] = [open_page(browser, page) for _ in range(rounds)]
        tab = browser.new_page()
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-state=ready]", timeout=300_000)
        searches = {
            query: round(statistics.median(search(tab, query) for _ in range(TIMES)), 1)
            for query in (*TYPED, *ASKED)
        }
        browser.close()
    medians = {key: round(statistics.median(run[key] for run in opened)) for key in opened[0]}
    return {**medians, "search_ms": searches}


def open_page(browser: Any, page: Path) -> dict[str, float]:
    context = browser.new_context()
    tab = context.new_page()
    session = context.new_cdp_session(tab)
    session.send("Performance.enable")
    began = time.perf_counter()
    tab.goto(page.as_uri(), wait_until="commit")
    times = {}
    for state in ("open", "ready"):
        later = "ready" if state == "open" else state
        selector = f"html[data-state={state}], html[data-state={later}]"
        tab.wait_for_selector(selector, timeout=300_000)
        times[f"{state}_ms"] = (time.perf_counter() - began) * 1000
        metrics = session.send("Performance.getMetrics")["metrics"]
        cpu = next(metric["value"] for metric in metrics if metric["name"] == "ThreadTime")
        times[f"{state}_cpu_ms"] = cpu * 1000
    times["heap_mb"] = tab.evaluate("performance.memory.usedJSHeapSize") / 1e6
    context.close()
    return times


def search(tab: Any, query: str) -> float:
    """Milliseconds from an input to the results on the page, without the pause after a key."""
    script = """query => {
      const form = document.getElementById("query");
      form.elements.q.value = query;
      const began = performance.now();
      form.requestSubmit();
      document.getElementById("results").getBoundingClientRect();
      return performance.now() - began;
    }"""
    return float(tab.evaluate(script, query))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observations", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    count = arguments.observations
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), count)
        tenth, _ = measure_export(bench, count // 10, arguments.rounds)
        whole, page = measure_export(bench, count, arguments.rounds)
        browser = measure_browser(page, arguments.rounds)
    ratios = {
        "seconds of a page / of a bundle": whole["page"]["seconds"] / whole["bundle"]["seconds"],
        "size of a page / of a bundle": whole["page"]["mb"] / whole["bundle"]["mb"],
        "peak memory / with a tenth": whole["page"]["peak_mb"] / tenth["page"]["peak_mb"],
    }
    results = {
        "observations": count,
        "export": whole,
        "export of a tenth": tenth,
        "browser": browser,
        "ratios": {name: round(value, 2) for name, value in ratios.items()},
    }
    print(json.dumps(results, indent=1))
    save("page", results)


if __name__ == "__main__":
    main()
