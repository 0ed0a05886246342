"""Does a search find what is there in other languages, and nothing where there is nothing?

    python benchmarks/languages.py [--verbose] [--no-save]
    python benchmarks/languages.py --data DIR [--languages de ja …] [--pages 60] [--model english]

`languages_texts.json` has, for each language, eight notes of a small company, eight questions that
one of them answers and eight about something else. Each language is a space of its own; its notes
are searched with the floor, by default and by full text, and recalled.

`first`: the right note is the first hit; `hit`: it is among the hits. `noise`: questions about
something else that have a hit, `strong`: such a hit that is called strong.

With --data, DIR has a folder of Markdown for each language, with the same permalinks or paths in
each: the public documentation of some program. Every section is a file without its heading. `same`
asks for it by title and heading, `english` by those of the English page (nDCG@10 with half of its
95 % interval by bootstrap); `lost` are right answers among the first ten that the floor hides,
`noise` are the questions of `languages_texts.json` about something else that have a hit above it.
Without --model the text of a space chooses it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from quality import distinct, ndcg

TEXTS = Path(__file__).parent / "languages_texts.json"
STRONG = 65
MODES = ("fulltext", "semantic", "rrf", "hybrid")
QUESTIONS = 100
SHORTEST = 60
"""Characters below which a section has too little text to be asked for."""
FOLDERS = {
    "de": "German",
    "es": "Spanish",
    "ru": "Russian",
    "zh": "Chinese",
    "ja": "Japanese",
    "fr": "French",
    "pt-br": "Portuguese",
    "ko": "Korean",
    "ar": "Arabic",
}
"""The folders of languages that `languages_texts.json` has questions in."""


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


class Section(NamedTuple):
    """A part of a page: its heading, and the text below it."""

    heading: str
    text: str


def plain(text: str) -> str:
    """Markdown without code, links, images and signs."""
    text = re.sub(r"(?s)```.*?```|!\[[^\]]*\]\([^)]*\)|!\[\[[^\]]*\]\]", " ", text)
    text = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]|\[([^\]]*)\]\([^)]*\)", r"\1\2", text)
    return " ".join(re.sub(r"<[^>]+>|[*_`>#|]", " ", text).split())


def sections(page: Path) -> list[Section]:
    text = re.sub(r"(?s)\A---\n.*?\n---\n", "", page.read_text("utf-8", "replace"))
    first, *rest = re.split(r"(?m)^#{1,4}\s+(.+)$", text)
    parts = zip(["", *rest[::2]], [first, *rest[1::2]], strict=True)
    return [Section(plain(heading), plain(body)) for heading, body in parts]


def pages_of(folder: Path) -> dict[str, Path]:
    """The pages of a language by what they have in common: a permalink, or else their path."""
    pages = {}
    for path in sorted(folder.rglob("*.md")):
        link = re.search(r"(?m)\A---\n(?:.*\n)*?permalink: *(\S+)$", path.read_text("utf-8"))
        pages[link[1] if link else path.relative_to(folder).as_posix()] = path
    return pages


def documentation(data: Path, language: str, most: int) -> dict[str, Any]:
    """Files of a space, one a section, and the questions that name each in both languages."""
    own, english = pages_of(data / language), pages_of(data / "en")
    shared = sorted(own.keys() & english.keys())
    files: dict[str, str] = {}
    same: list[tuple[str, str]] = []
    translated: list[tuple[str, str]] = []
    for key in random.Random(7).sample(shared, min(most, len(shared))):
        parts, others = sections(own[key]), sections(english[key])
        for number, part in enumerate(parts):
            if len(part.text) < SHORTEST:
                continue
            name = f"{len(files):04}"
            files[name] = part.text
            if part.heading:
                same.append((f"{own[key].stem}: {part.heading}", name))
            if len(parts) == len(others) and others[number].heading:
                translated.append((f"{english[key].stem}: {others[number].heading}", name))
    rng = random.Random(7)
    return {
        "files": files,
        "same": rng.sample(same, min(QUESTIONS, len(same))),
        "english": rng.sample(translated, min(QUESTIONS, len(translated))),
    }


def half_width(values: list[float], draws: int = 400) -> float:
    """Half of the 95 % interval of a mean, by bootstrap."""
    rng = random.Random(3)
    means = sorted(statistics.fmean(rng.choices(values, k=len(values))) for _ in range(draws))
    return (means[int(0.975 * draws)] - means[int(0.025 * draws)]) / 2


def measured_documentation(
    data: Path, language: str, pages: int, model: str, noise: list[str]
) -> dict[str, Any]:
    """nDCG@10 by mode and direction, and what the floor hides and lets through."""
    from kinen import Memory, Query
    from kinen.recall.floor import CLOSE

    sets = documentation(data, language, pages)
    settings = {"index.embedding_model": model} if model else {}
    rows: dict[str, Any] = {"sections": len(sets["files"])}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "space")
        Path(root, ".kinen").mkdir(parents=True)
        for name, text in sets["files"].items():
            Path(root, f"{name}.md").write_text(text + "\n")
        with Memory.open(root, home=Path(folder, "home"), settings=settings) as memory:
            memory.sync()
            rows["model"] = memory.index.status().model
            for direction in ("same", "english"):
                for mode in MODES:
                    scores, lost, right = [], 0, 0
                    for question, name in sets[direction]:
                        hits = found(memory, Query(question, mode=mode, limit=10))
                        names = [Path(hit.record.path).stem for hit in hits]
                        scores.append(ndcg(distinct(names), {name}))
                        if name in names:
                            right += 1
                            lost += hits[names.index(name)].strength < CLOSE
                    figures = (round(statistics.fmean(scores), 3), round(half_width(scores), 3))
                    rows[f"{direction} {mode}"] = (*figures, lost, right)
            shown = [found(memory, Query(question, floor=True)) for question in noise]
            rows["noise"] = (sum(map(bool, shown)), len(noise))
    return rows


def found(memory: Any, query: Any) -> list[Any]:
    """The hits of a search; none where the model is said not to know the script."""
    from kinen.errors import QueryError

    try:
        return list(memory.search(query))
    except QueryError:
        return []


def run_documentation(chosen: argparse.Namespace) -> dict[str, Any]:
    texts = json.loads(TEXTS.read_text())
    figures = {}
    for language in chosen.languages or FOLDERS:
        noise = texts.get(FOLDERS.get(language, ""), {"off": []})["off"]
        rows = measured_documentation(chosen.data, language, chosen.pages, chosen.model, noise)
        figures[language] = rows
        print(f"{language}: {rows['sections']} sections, {rows['model']}, noise {rows['noise']}")
        for direction in ("same", "english"):
            cells = [
                f"{mode} {score:.3f} ±{half:.3f} (lost {lost}/{right})"
                for mode in MODES
                for score, half, lost, right in [rows[f"{direction} {mode}"]]
            ]
            print(f"  {direction:<8}" + "  ".join(cells), flush=True)
    return figures


def main() -> None:
    from record import save

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--verbose", action="store_true", help="questions that went wrong")
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument("--data", type=Path, help="folder of documentation, by language")
    parser.add_argument("--languages", nargs="+", help="folders of it; those with questions")
    parser.add_argument("--pages", type=int, default=60, help="pages of each language")
    parser.add_argument("--model", default="", help="english or multilingual")
    chosen = parser.parse_args()
    if chosen.data:
        found = run_documentation(chosen)
        if not chosen.no_save:
            save("languages-documentation", found)
        return
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
