"""How long a search of 13 spaces takes, as a multiple of a search of one of them.

    python benchmarks/federation.py [--spaces 13] [--notes 60] [--rounds 25]

Spaces of generated notes are indexed in a temporary home. A search of one space and one of all of
them are run in turns, each as a command in a process of its own: without a daemon, and with one
that has looked at all of them.
Medians, and their ratio within the run; the figures are written to benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import save

WORDS = (
    "kettle tea pot leaf water steam cup saucer spoon sugar milk lemon whistle copper iron tin "
    "session cookie token login refresh database index vector query search journal memory agent"
).split()
QUESTION = "how does the login refresh a token"


def write_space(root: Path, notes: int, seed: int) -> None:
    """A space of notes with random sentences."""
    chance = random.Random(seed)
    (root / ".kinen").mkdir(parents=True)
    for n in range(notes):
        lines = [" ".join(chance.choices(WORDS, k=14)).capitalize() + "." for _ in range(12)]
        (root / f"note{n}.md").write_text(f"# Note {n} of {seed}\n\n" + "\n\n".join(lines))


def kinen(env: dict[str, str], cwd: Path, *words: str) -> float:
    """The seconds that a command takes."""
    line = [sys.executable, "-m", "kinen", *words]
    began = time.perf_counter()
    done = subprocess.run(line, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return seconds


def wait_for_daemon(env: dict[str, str], root: Path) -> None:
    """Wait until the daemon has looked at every space that it was asked for."""
    line = [sys.executable, "-m", "kinen", "daemon", "status", "--json"]
    while True:
        done = subprocess.run(line, cwd=root, env=env, capture_output=True, text=True, check=True)
        if all(space["state"] == "idle" for space in json.loads(done.stdout)["daemon"]["spaces"]):
            return
        time.sleep(0.2)


def compare(env: dict[str, str], root: Path, rounds: int) -> dict[str, float]:
    """Medians of a search of one space and of all, in turns, and their ratio."""
    item: list[float] = []
    every: list[float] = []
    for n in range(rounds + 1):
        alone = kinen(env, root, "search", QUESTION)
        together = kinen(env, root, "search", "--space", "all", QUESTION)
        if n:  # the first of each warms the caches
            item.append(alone)
            every.append(together)
    return {
        "one_s": round(statistics.median(item), 3),
        "all_s": round(statistics.median(every), 3),
        "ratio": round(statistics.median(every) / statistics.median(item), 2),
    }


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--spaces", type=int, default=13)
    options.add_argument("--notes", type=int, default=60)
    options.add_argument("--rounds", type=int, default=25)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        own = {name: value for name, value in os.environ.items() if not name.startswith("KINEN_")}
        env = {**own, "HOME": folder, "KINEN_HOME": f"{folder}/kinen"}
        env["KINEN_DAEMON_AUTO_START"] = "false"
        roots = [top / f"space{n:02}" for n in range(chosen.spaces)]
        for n, root in enumerate(roots):
            write_space(root, chosen.notes, n)
            kinen(env, root, "index")
        figures = {"without_daemon": compare(env, roots[0], chosen.rounds)}
        kinen(env, roots[0], "daemon", "start")
        try:
            kinen(env, roots[0], "search", "--space", "all", QUESTION)
            wait_for_daemon(env, roots[0])
            figures["with_daemon"] = compare(env, roots[0], chosen.rounds)
        finally:
            kinen(env, roots[0], "daemon", "stop")
    for name, row in figures.items():
        print(
            f"{name:<16} one {row['one_s']:.3f} s  all {row['all_s']:.3f} s  {row['ratio']:.2f} x"
        )
    sizes = {"spaces": chosen.spaces, "notes": chosen.notes, "rounds": chosen.rounds}
    save("federation", {**sizes, **figures})


if __name__ == "__main__":
    main()
