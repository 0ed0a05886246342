"""Does a recall date what a question names a time by: the right day, a wrong one, or none?

    python benchmarks/milestones.py REPOSITORY [--commits 150] [--no-save]

Questions are made of the subjects of a repository's latest commits, as "what was decided during
the ...": a whole subject without its type, without its first word, its words 2 to 4, 2 and 3, or
the second alone. Right is a time that has the commit's day. The repository is cloned, and indexed
without vectors; sessions that it has (Entire) are read, too.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from record import save

PARTS = {
    "whole": slice(None),
    "without the first word": slice(1, None),
    "words 2 to 4": slice(1, 4),
    "words 2 and 3": slice(1, 3),
    "word 2": slice(1, 2),
}


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def subjects(root: Path, most: int) -> list[tuple[date, list[str]]]:
    """The days of the latest commits, and the words of their subjects without types."""
    from kinen.recall.dates import local_day
    from kinen.recall.milestones import without_type

    log = git("-C", str(root), "log", f"-{most}", "--no-merges", "--format=%cI%x09%s")
    rows = (line.partition("\t") for line in log.splitlines())
    return [(local_day(at), without_type(subject).split()) for at, _, subject in rows]


def measured(repository: Path, most: int) -> dict[str, Any]:
    from kinen import Memory, Query
    from kinen.recall.milestones import days_of

    today = datetime.now(UTC).date()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "space")
        git("clone", "-q", "--no-checkout", str(repository), str(root))
        (root / ".kinen").mkdir()
        settings = {"index.embedding_provider": "none"}
        with Memory.open(root, home=Path(folder, "home"), settings=settings) as memory:
            memory.sync()
            commits = subjects(root, most)
            for name, part in PARTS.items():
                counts = Counter(right=0, wrong=0, none=0)
                for day, words in commits:
                    question = f"what was decided during the {' '.join(words[part])}"
                    days, _ = days_of(memory.core.reader, Query(question), today)
                    right = days and days[0] <= day <= days[1]
                    counts["right" if right else "wrong" if days else "none"] += 1
                results[name] = dict(counts)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=150)
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    results = {"repository": chosen.repository.resolve().parent.name}
    results |= measured(chosen.repository, chosen.commits)
    for name, row in results.items():
        print(f"{name:<24}{row}")
    if not chosen.no_save:
        save(f"milestones-{results['repository'].lower().replace('+', '-')}", results)


if __name__ == "__main__":
    main()
