"""How often a hit that is called strong, fair or weak answers the question.

    python benchmarks/strength.py --data DIR [--help-pages DIR] [--sets NAME …] [--modes MODE …]

The labelled sets of `floor.py` and, with --help-pages, the documentation of `languages.py` in ten
languages, each asked by heading and by the English heading. Only hits above the floor count, each
file once. An answer is a file with a label: others may answer too, so these are the least. The
curve is that of hybrid search: hits by the chance that their strength stands for, in tenths.
"""

from __future__ import annotations

import functools
import random
from argparse import ArgumentParser
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import floor
from kinen import Query
from kinen.recall.floor import CHANCES, CLOSE, FAIR, STRONG, strength_word
from languages import FOLDERS, documentation, found
from quality import Question, indexed
from record import save

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

QUESTIONS = 200
"""Of each space."""
WORDS = ("strong", "fair", "weak")
MODES = ("hybrid", "semantic", "fulltext")
GROUPS = ("English", "other languages", "from English", "all")


def spaces(data: Path, pages: Path | None) -> Iterator[floor.LabelledSpace]:
    for read in floor.SETS.values():
        yield from read(data)
    for language in ("en", *FOLDERS) if pages else ():
        sets = documentation(pages, language, 40)
        files = {f"{name}.md": f"{text}\n" for name, text in sets["files"].items()}
        for kind in ("same", "english")[: 1 if language == "en" else 2]:
            questions = [Question(text, {f"{name}.md"}) for text, name in sets[kind]]
            yield floor.LabelledSpace(f"{kind} {language}", files, questions)


def measured(space: floor.LabelledSpace, modes: Sequence[str]) -> dict[tuple[str, str], list[bool]]:
    """Whether hits answered, by mode and what their strength is called."""
    answered: dict[tuple[str, str], list[bool]] = defaultdict(list)
    chosen = random.Random(1).sample(space.questions, min(QUESTIONS, len(space.questions)))
    with indexed(space.files, embed=any(mode != "fulltext" for mode in modes)) as memory:
        for question in chosen:
            for mode in modes:
                query = Query(question.text, mode=mode, floor=True, once=True)
                for hit in found(memory, query):
                    right = hit.record.path in question.gold
                    answered[mode, strength_word(hit.strength)].append(right)
                    if mode == "hybrid":
                        tenth = min(9, int(10 * chance(hit.strength)))
                        answered["chance", f"from {tenth / 10:.1f}"].append(right)
    return answered


def chance(strength: int) -> float:
    """The chance to answer that a strength stands for."""
    place = (strength >= FAIR) + (strength >= STRONG)
    low, high = (CLOSE, FAIR, STRONG, 100)[place : place + 2]
    least, most = CHANCES[place : place + 2]
    return least + (most - least) * max(0, strength - low) / (high - low)


def curve(rows: dict[tuple[str, str], list[bool]]) -> dict[str, tuple[float, int]]:
    """The share of hits that answer, and their number, by tenths of their chance."""
    answers = {key: found for key, found in rows.items() if key[0] == "chance"}
    return {
        name: (round(sum(found) / len(found), 3), len(found))
        for (_, name), found in sorted(answers.items())
    }


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the labelled sets")
    parser.add_argument("--help-pages", type=Path, help="documentation, a folder a language")
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument("--sets", nargs="+", help="names of sets; all of them")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    options = parser.parse_args()
    totals: dict[str, dict[tuple[str, str], list[bool]]] = {}
    every = [
        space
        for space in spaces(options.data, options.help_pages)
        if not options.sets or space.name in options.sets
    ]
    with ProcessPoolExecutor() as pool:
        for space, answered in zip(
            every, pool.map(functools.partial(measured, modes=options.modes), every), strict=True
        ):
            kind = "other languages" if space.name.startswith("same") else "from English"
            kind = "English" if space.name in (*floor.SETS, "same en") else kind
            for name in (space.name, kind, "all"):
                rows = totals.setdefault(name, defaultdict(list))
                for key, answers in answered.items():
                    rows[key] += answers
    results: dict[str, Any] = {}
    for name, rows in totals.items():
        for mode in options.modes:
            cells = {word: rows[mode, word] for word in WORDS}
            shares = {
                word: (round(sum(answers) / max(1, len(answers)), 3), len(answers))
                for word, answers in cells.items()
            }
            results.setdefault(name, {})[mode] = shares
            print(f"{name:<14}{mode:<10}", end="")
            print(
                "  ".join(f"{word} {share:4.0%} of {n:>4}" for word, (share, n) in shares.items())
            )
    for name in GROUPS if "hybrid" in options.modes else ():
        results.setdefault(name, {})["curve"] = tenths = curve(totals.get(name, {}))
        print(name, *(f"{key}: {share:.0%} of {n}" for key, (share, n) in tenths.items()), sep="  ")
    if not options.no_save:
        save("strength" if options.modes == MODES else "strength-part", results)


if __name__ == "__main__":
    main()
