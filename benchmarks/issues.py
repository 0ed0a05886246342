"""How long 10,000 issues take to index again after few changed, beside reading the file.

    python benchmarks/issues.py [--issues 10000] [--changed 20] [--rounds 7]

Issues of about a kilobyte are generated and indexed in a temporary home, then some lines change and
the source is compared and written again. The ratio is CPU time against reading the file and
parsing each line as JSON; reading alone is reported too. Written to benchmarks/results/.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kinen.index.writer import Writer
from kinen.sources.issues import Issues
from record import save

WORDS = "token login cookie retry index vector queue worker label parcel route cache lock".split()


def issue(n: int, chance: random.Random) -> dict[str, object]:
    """An issue with two paragraphs and a dependency."""
    text = [" ".join(chance.choices(WORDS, k=60)) for _ in range(2)]
    return {
        "id": f"shop-{n:05d}",
        "title": " ".join(chance.choices(WORDS, k=6)),
        "description": "\n\n".join(text),
        "status": chance.choice(["open", "closed", "in_progress"]),
        "priority": n % 5,
        "issue_type": "task",
        "updated_at": "2026-03-01T10:00:00Z",
        "labels": ["auth"],
        "dependencies": [{"depends_on_id": f"shop-{max(0, n - 1):05d}", "type": "blocks"}],
    }


def write(path: Path, issues: list[dict[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in issues), encoding="utf-8")


def cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def read(path: Path) -> None:
    with path.open("rb") as lines:
        for line in lines:
            json.loads(line)


def index(root: Path, database: Path) -> None:
    """What a sync does for issues: compare, and write what changed."""
    with contextlib.closing(Writer(str(database))) as writer:
        source = Issues(str(root), str(root / "none"))
        delta = source.delta(writer.states(source.name))
        writer.apply(source.name, delta.changes, anew=False, bulk=delta.total > 300, done=bool)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--issues", type=int, default=10_000)
    parser.add_argument("--changed", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        file = root / ".beads" / "issues.jsonl"
        file.parent.mkdir()
        rows = [issue(n, chance) for n in range(chosen.issues)]
        write(file, rows)
        first = cpu(lambda: index(root, root / "index.db"))
        reading, parsing, again = [], [], []
        for _ in range(chosen.rounds):
            for n in chance.sample(range(chosen.issues), chosen.changed):
                rows[n]["title"] = " ".join(chance.choices(WORDS, k=6))
            write(file, rows)
            reading.append(cpu(file.read_bytes))
            parsing.append(cpu(lambda: read(file)))
            again.append(cpu(lambda: index(root, root / "index.db")))
        bytes_ = file.stat().st_size
    figures = {
        "issues": chosen.issues,
        "changed": chosen.changed,
        "bytes": bytes_,
        "first_seconds": round(first, 3),
        "read_ms": round(1000 * statistics.median(reading), 2),
        "parse_ms": round(1000 * statistics.median(parsing), 2),
        "delta_ms": round(1000 * statistics.median(again), 2),
        "delta_to_parse": round(statistics.median(again) / statistics.median(parsing), 2),
    }
    print(json.dumps(figures, indent=2))
    save("issues", figures)


if __name__ == "__main__":
    main()
