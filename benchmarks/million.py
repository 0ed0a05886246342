"""A million chunks: the build, its size, cold and warm searches, and the update of one file.

    python benchmarks/million.py --folder FOLDER [--chunks 1000000] [--no-save]

Text is made of `words.txt` with the word frequencies of language, a section of fifty words for each
chunk, and indexed for real. Vectors are random unit vectors: to embed them would take hours, and
what they say does not change what a search costs; no ranking is measured. FOLDER keeps the space,
so that a second run measures searches alone. Processor time of this process and its children, of
the command for cold searches; warm answers also in the time that passes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinen import Memory, Query
from record import save
from speed import FREQUENCIES, KINEN, QUESTIONS, process, random_vectors
from speed import WORDS as VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Callable

SECTIONS = 100
"""Of each note."""
WORDS = 50
"""Of each section."""
TIMES = 5


def build_notes(space: Path, chunks: int) -> None:
    import numpy as np

    rng = np.random.default_rng(7)
    (space / ".kinen").mkdir(parents=True)
    shares = np.array(FREQUENCIES) / sum(FREQUENCIES)
    words = np.array(VOCABULARY)
    for number in range(chunks // SECTIONS):
        folder = space / f"area-{number % 100}"
        folder.mkdir(exist_ok=True)
        drawn = words[rng.choice(len(words), (SECTIONS, WORDS), p=shares)].tolist()
        page = (f"## {' '.join(text[:3])}\n\n{' '.join(text[3:])}.\n" for text in drawn)
        (folder / f"note-{number}.md").write_text("\n".join(page))


def used() -> float:
    """Processor time of this process and of its children that have ended."""
    every = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in every)


def seconds(call: Callable[[], Any]) -> tuple[float, float]:
    """Processor time and the time that passes."""
    cpu, wall = used(), time.perf_counter()
    call()
    return used() - cpu, time.perf_counter() - wall


def medians(calls: list[Callable[[], Any]]) -> dict[str, float]:
    """Milliseconds of the calls, each several times after a first one."""
    for call in calls:
        call()
    rows = [seconds(call) for _ in range(TIMES) for call in calls]
    cpu, wall = zip(*rows, strict=True)
    return {
        "cpu ms": round(1000 * statistics.median(cpu), 1),
        "wall ms": round(1000 * statistics.median(wall), 1),
        "least wall ms": round(1000 * min(wall), 1),
    }


def cold(space: Path, home: Path, *options: str) -> dict[str, float]:
    """Processor time of a command that searches."""
    env = {**os.environ, "KINEN_HOME": str(home)}
    rows = []
    for question in QUESTIONS * 2:
        words = [KINEN, "search", *options, question]
        rows.append(seconds(lambda words=words: process(words, cwd=space, env=env))[0])  # type: ignore[misc]
    return {"cpu ms": round(1000 * statistics.median(rows[len(QUESTIONS) :]), 1)}


def updated(memory: Memory, note: Path) -> dict[str, float]:
    """One section of a note changes: until it is found by words, and by the next hybrid search."""
    note.write_text(note.read_text() + "\n## Added\n\nThe zeppelin landed on the roof.\n")
    sync, _ = seconds(memory.sync)
    vector = memory.core.embedder.embed(["zeppelin roof"], query=True)[0]  # type: ignore[union-attr]
    found: list[str] = []

    def search() -> None:
        hits = memory.search(Query("zeppelin roof", vector=vector))
        found.extend(hit.record.path for hit in hits)

    first, _ = seconds(search)
    assert note.name in found[0]
    return {"sync cpu s": round(sync, 2), "next search cpu s": round(first, 2)}


def built(memory: Memory) -> dict[str, Any]:
    """What it took to index the notes and to write the vectors for the first search."""
    text, wall = seconds(lambda: memory.sync(embed=False))
    random_vectors(memory)
    mapped, _ = seconds(lambda: memory.search(Query("anything", mode="semantic")))
    return {
        "text indexed": {"cpu s": round(text, 1), "wall s": round(wall, 1)},
        "vectors mapped": {"cpu s": round(mapped, 1)},
        "peak memory MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def measured(folder: Path, chunks: int) -> dict[str, Any]:
    space, home = folder / "space", folder / "home"
    results: dict[str, Any] = {}

    def note(name: str, value: Any) -> None:
        results[name] = value
        print(f"{name:<28}{value}", flush=True)

    build = folder / "build.json"
    if not build.exists():
        build_notes(space, chunks)
    with Memory.open(space, home=home) as memory:
        if not build.exists():
            build.write_text(json.dumps(built(memory)))
        for name, value in json.loads(build.read_text()).items():
            note(name, value)
        note("chunks", memory.index.status().counts.chunks)
        notes = sum(path.stat().st_size for path in space.rglob("*.md"))
        sizes = {path.name: path.stat().st_size for path in home.rglob("*") if path.is_file()}
        note("text MB", round(notes / 1e6))
        note("files MB", {name: round(size / 1e6) for name, size in sizes.items() if size > 5e6})
        embedder = memory.core.embedder
        assert embedder is not None
        vectors = [embedder.embed([question], query=True)[0] for question in QUESTIONS]
        for mode in ("fulltext", "semantic", "hybrid"):
            calls = [
                lambda text=text, vector=vector, mode=mode: memory.search(  # type: ignore[misc]
                    Query(text, vector=vector, mode=mode)
                )
                for text, vector in zip(QUESTIONS, vectors, strict=True)
            ]
            note(f"warm {mode}", medians(calls))
        note("one file updated", updated(memory, space / "area-0" / "note-0.md"))
    note("cold search --fulltext", cold(space, home, "--fulltext"))
    note("cold search --hybrid", cold(space, home, "--hybrid"))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True, help="where the space is kept")
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    results = measured(chosen.folder, chosen.chunks)
    if not chosen.no_save:
        save("million", results)


if __name__ == "__main__":
    main()
