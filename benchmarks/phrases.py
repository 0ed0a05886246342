"""Whether exact words are found: five-word phrases drawn from real vaults, asked as questions.

    python benchmarks/phrases.py --data DIR [--vault FOLDER ...] [--phrases 60]

A phrase is a run of five words on one line that occurs in at most three files. It counts as found
first when the text of the first hit contains it. `grep` is what a plain search of the files finds.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from kinen import Memory, Query
from kinen.text import contains, words
from record import save

LENGTH = 5
MOST_FILES = 3
MODES = ("hybrid", "fulltext", "semantic")


def texts(folder: Path) -> dict[Path, str]:
    """The markdown files of a vault."""
    return {path: path.read_text("utf-8", "replace") for path in sorted(folder.rglob("*.md"))}


def draw(files: dict[Path, str], count: int, rng: random.Random) -> list[str]:
    """Phrases as they stand on a line, each in at most three files."""
    lines = [line for text in files.values() for line in text.splitlines() if "](" not in line]
    lines = [line for line in lines if len(words(line)) >= LENGTH and not line.startswith("---")]
    phrases: dict[str, None] = {}
    while len(phrases) < count and lines:
        sequence = words(rng.choice(lines))
        if len(sequence) < LENGTH:
            continue
        at = rng.randrange(len(sequence) - LENGTH + 1)
        phrase = " ".join(sequence[at : at + LENGTH])
        holders = sum(contains(text, phrase) for text in files.values())
        if 1 <= holders <= MOST_FILES:
            phrases[phrase] = None
    return list(phrases)


def first(memory: Memory, phrase: str, mode: str) -> bool:
    """Does the first hit contain the phrase, as a reader sees it?"""
    hits = memory.search(Query(phrase, limit=1, mode=mode))
    return bool(hits) and contains(f"{hits[0].record.title}\n{hits[0].chunk.text}", phrase)


def measure(folder: Path, count: int) -> dict[str, object]:
    files = texts(folder)
    phrases = draw(files, count, random.Random(7))
    with tempfile.TemporaryDirectory() as home, Memory.open(folder, home=home) as memory:
        memory.sync()
        results = {mode: [first(memory, phrase, mode) for phrase in phrases] for mode in MODES}
    for phrase, right in zip(phrases, results["hybrid"], strict=True):
        if not right:
            print(f"  not first: {phrase}")
    return {
        "files": len(files),
        "phrases": len(phrases),
        **{mode: sum(right) for mode, right in results.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder with vaults/")
    parser.add_argument("--vault", type=Path, action="append", default=[], help="one more vault")
    parser.add_argument("--phrases", type=int, default=60)
    parser.add_argument("--no-save", action="store_true")
    options = parser.parse_args()
    vaults = sorted(path for path in (options.data / "vaults").iterdir() if path.is_dir())
    rows = {}
    for folder in [*vaults, *options.vault]:
        rows[folder.name] = measure(folder, options.phrases)
        print(folder.name, rows[folder.name])
    if not options.no_save:
        save("phrases", rows)


if __name__ == "__main__":
    main()
