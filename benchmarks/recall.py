"""What each part of a recall adds or takes away, what an answer costs, and how long it takes.

    python benchmarks/recall.py parts --data DIR
    python benchmarks/recall.py speed --data DIR [--times 20]

DIR holds LoCoMo's JSON as in quality.py, and a folder goldfish-memories with real checkpoints.
parts: recall@5 of what answers a question, with everything, and with one part left out or added:
vectors, recency, consolidated memories; and the tokens of the recall. speed: the rows of Goldfish's
plan for checkpoints, as figures and as ratios to what each rests on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinen import Memory, Query
from kinen.recall.fuse import RECENCY_WEIGHT
from quality import asked_of
from recency import remembered, sessions_of, turns_shown
from record import save
from speed import KINEN, process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kinen.model.records import Hit

QUESTIONS = Path(__file__).parent / "distill_questions.json"
DEPTH = 5
WAYS = {
    "as shipped": {"recency": RECENCY_WEIGHT},
    "without recency": {},
    "without vectors": {"recency": RECENCY_WEIGHT, "mode": "fulltext"},
    "vectors only": {"recency": RECENCY_WEIGHT, "mode": "semantic"},
}
MANY = 1000


# What each part adds


def locomo(data: Path) -> dict[str, Any]:
    results: dict[str, Any] = defaultdict(lambda: defaultdict(list))
    drawn = 0
    for entry in json.loads(next((data / "locomo").glob("*.json")).read_text()):
        questions = [ask for ask in asked_of(entry["qa"]) if ask.gold]
        with remembered(sessions_of(entry["conversation"])) as memory:

            def share(hits: tuple[Hit, ...], gold: set[str]) -> float:
                return len(gold & set(turns_shown(hits))) / len(gold)

            _ways(memory, [(ask.text, ask.gold) for ask in questions], share, results)
            done = memory.consolidation.consolidate()
            drawn += done.added
            memory.sync()
            request = [(ask.text, ask.gold) for ask in questions]
            _ways(memory, request, share, results, only="with memories")
    return {"memories": drawn, **_means(results)}


def checkpoints(data: Path) -> dict[str, Any]:
    request = [(entry["question"], {entry["file"]}) for entry in json.loads(QUESTIONS.read_text())]
    results: dict[str, Any] = defaultdict(lambda: defaultdict(list))

    def share(hits: tuple[Hit, ...], gold: set[str]) -> float:
        return float(any(hit.record.path.endswith(name) for hit in hits for name in gold))

    with checkpoint_space(data / "goldfish-memories") as memory:
        memory.sync()
        _ways(memory, request, share, results)
        drawn = memory.consolidation.consolidate().added
        memory.sync()
        _ways(memory, request, share, results, only="with memories")
    return {"memories": drawn, **_means(results)}


@contextlib.contextmanager
def checkpoint_space(folder: Path) -> Iterator[Memory]:
    """A space with the checkpoints of a folder."""
    with tempfile.TemporaryDirectory() as created:
        root = Path(created, "space")
        shutil.copytree(folder / ".memories", root / ".memories")
        (root / ".kinen").mkdir()
        with Memory.open(root, home=Path(created, "home")) as memory:
            yield memory


def _ways(
    memory: Memory,
    values: list[tuple[str, set[str]]],
    share: Callable[[tuple[Hit, ...], set[str]], float],
    results: dict[str, Any],
    only: str = "",
) -> None:
    ways = {only: WAYS["as shipped"]} if only else WAYS
    if only:
        recall = memory.config.recall._replace(memories=True)
        memory.core.config = memory.config._replace(recall=recall)
    for text, gold in values:
        for name, how in ways.items():
            hits = memory.search(Query(text, limit=DEPTH, **how))
            results[name]["recall@5"].append(share(hits, gold))
            if "recency" in how and "mode" not in how:
                recalled = memory.recall(Query(text, limit=DEPTH))
                results[name]["tokens"].append(recalled.tokens)


def _means(results: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {key: round(statistics.fmean(values), 4) for key, values in row.items()}
        for name, row in results.items()
    }


# How long it takes


def speed(data: Path, times: int) -> dict[str, Any]:
    source = data / "goldfish-memories" / ".memories"
    texts = [path.read_text() for path in sorted(source.glob("2*/*.md"))]
    results: dict[str, Any] = {"checkpoints": MANY}
    with tempfile.TemporaryDirectory() as created:
        root, home = Path(created, "space"), Path(created, "home")
        (root / ".kinen").mkdir(parents=True)
        for n in range(MANY):
            _write(root, n, texts)
        with Memory.open(root, home=home) as memory:
            memory.sync()
            results |= _embedding(memory, texts)
            results |= _asking(memory, times)
        results |= _cold(root, home, times)
    return results


def _write(root: Path, n: int, texts: list[str]) -> None:
    """A checkpoint like a real one, and like no other."""
    front, _, body = texts[n % len(texts)].removeprefix("---\n").partition("\n---\n")
    other = texts[(7 * n + n // len(texts) + 1) % len(texts)].rpartition("\n---\n")[2]
    front = front.replace("checkpoint_", f"checkpoint_{n:04x}", 1)
    path = root / ".memories" / "2026-02-14" / f"{n:06}_{n:04x}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{front}\n---\n{body}\n{other.strip()[:200]} {n}\n")


def _embedding(memory: Memory, texts: list[str]) -> dict[str, Any]:
    embedder = memory.core.embedder
    bodies = [text.rpartition("\n---\n")[2] for text in texts[:100]]
    embedder.embed(bodies[:2])
    alone = [_timed(lambda body=body: embedder.embed([body])) for body in bodies]
    batch = min(_timed(lambda: embedder.embed(bodies)) for _ in range(3))
    each = statistics.median(alone)
    return {
        "embedding of a checkpoint": {"ms": each, "asked_ms": 50},
        "embedding of 100 at once": {
            "ms": batch,
            "of the same alone": batch / sum(alone),
            "asked_ms": 5000,
        },
    }


ASKED = (
    "why did the standup skill need a week unit",
    "registry race between two servers",
    "how many tests pass after the subtract sprint",
    "what happens when a brief is stale",
)


def _asking(memory: Memory, times: int) -> dict[str, Any]:
    for text in ASKED:
        memory.recall(text, distiller="extract")
    search = [_timed(lambda q=q: memory.search(Query(q, limit=5))) for q in ASKED * times]
    plain = [_timed(lambda q=q: memory.recall(Query(q, limit=5))) for q in ASKED * times]
    whole = [_timed(lambda q=q: memory.recall(q, distiller="extract")) for q in ASKED * times]
    base = statistics.median(search)
    return {
        "search over 1,000": {"ms": base, "asked_ms": 100},
        "recall": {"ms": statistics.median(plain), "of a search": statistics.median(plain) / base},
        "recall with extract": {
            "ms": statistics.median(whole),
            "of a search": statistics.median(whole) / base,
            "asked_ms": 2500,
        },
    }


def _cold(root: Path, home: Path, times: int) -> dict[str, Any]:
    """A digest that was given before, in a new process, against one that does nothing."""
    env = {**os.environ, "KINEN_HOME": str(home)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [KINEN, "recall", "--distill", ASKED[0]]
    first = _timed(lambda: process(command, cwd=root, env=env))
    again, bare = [], []
    for _ in range(2 * times):
        again.append(_timed(lambda: process(command, cwd=root, env=env)))
        bare.append(_timed(lambda: process([sys.executable, "-c", "pass"], env=env)))
    mine, plain = statistics.median(again), statistics.median(bare)
    return {
        "digest in a new process": {"ms": first},
        "cached digest in a new process": {"ms": mine, "of a bare start": mine / plain},
    }


def _timed(call: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1e3


# All of it


def show(results: dict[str, Any], indent: str = "") -> None:
    for name, value in results.items():
        if isinstance(value, dict) and any(isinstance(item, dict) for item in value.values()):
            print(f"{indent}{name}")
            show(value, indent + "  ")
        elif isinstance(value, dict):
            cells = "  ".join(f"{key} {number:,.4g}" for key, number in value.items())
            print(f"{indent}{name:<34}{cells}")
        else:
            print(f"{indent}{name:<34}{value:,}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["parts", "speed"])
    parser.add_argument("--data", type=Path, required=True, help="folder with the labelled sets")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    if chosen.what == "parts":
        results = {"LoCoMo": locomo(chosen.data), "checkpoints": checkpoints(chosen.data)}
    else:
        results = speed(chosen.data, chosen.times)
    show(results)
    if not chosen.no_save:
        save(f"recall-{chosen.what}", results)


if __name__ == "__main__":
    main()
