"""Does a search find what is there in other languages, and nothing where there is nothing?

    python benchmarks/languages.py [--verbose] [--no-save]

`languages_texts.json` has, for each language, eight notes of a small company, eight questions that
one of them answers and eight about something else. Each language is a space of its own; its notes
are searched with the floor, by default and by full text, and recalled.

`first`: the right note is the first hit; `hit`: it is among the hits. `noise`: questions about
something else that have a hit, `strong`: such a hit that is called strong.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

TEXTS = Path(__file__).parent / "languages_texts.json"
STRONG = 65


def measured(texts: dict[str, Any], verbose: bool) -> dict[str, Any]:
    """The counts of one language, by mode."""
    from kinen import Memory, Query

    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "space")
        Path(root, ".kinen").mkdir(parents=True)
        for name, text in texts["notes"].items():
            Path(root, f"{name}.md").write_text(text + "\n")
        with Memory.open(root, home=Path(folder, "home")) as memory:
            memory.sync()
            for mode in ("hybrid", "fulltext"):
                row = dict.fromkeys(("first", "hit", "noise", "strong"), 0)
                for question, name in zip(texts["on"], texts["notes"], strict=True):
                    hits = list(memory.search(Query(question, mode=mode, floor=True)))
                    paths = [hit.record.path for hit in hits]
                    row["first"] += paths[:1] == [f"{name}.md"]
                    row["hit"] += f"{name}.md" in paths
                    if verbose and f"{name}.md" not in paths:
                        print(f"  {mode}: no hit for {question}")
                for question in texts["off"]:
                    hits = list(memory.search(Query(question, mode=mode, floor=True)))
                    row["noise"] += bool(hits)
                    row["strong"] += any(hit.strength >= STRONG for hit in hits)
                    if verbose and hits:
                        print(f"  {mode}: {hits[0].record.path} {hits[0].strength} for {question}")
                rows[mode] = row
            recalls = [memory.recall(question) for question in texts["off"]]
            rows["recall"] = {"noise": sum(bool(recall.items) for recall in recalls)}
    return rows


def main() -> None:
    from record import save

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--verbose", action="store_true", help="questions that went wrong")
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    figures = {}
    print(f"{'of 8':<10}{'mode':<10}{'first':>6}{'hit':>6}{'noise':>7}{'strong':>8}")
    for language, texts in json.loads(TEXTS.read_text()).items():
        figures[language] = measured(texts, chosen.verbose)
        for mode, row in figures[language].items():
            cells = (row.get(name, "") for name in ("first", "hit", "noise", "strong"))
            print(f"{language:<10}{mode:<10}" + "{:>6}{:>6}{:>7}{:>8}".format(*cells))
    if not chosen.no_save:
        save("languages", figures)


if __name__ == "__main__":
    main()
