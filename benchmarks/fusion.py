"""Does hybrid search lose to one of its halves? Every labelled set, each ranking beside the others.

    python benchmarks/fusion.py --data DIR --cache FOLDER [--help-pages DIR] [--leave-out]

DIR has the labelled sets of `quality.py` and `floor.py`; --help-pages the documentation of
`languages.py`, a folder a language. What both halves find is written to the cache, a file for each
set, so that another way to fuse it is measured in seconds; remove the folder after a change of the
halves themselves. LoCoMo asks for turns, all others for files; each space has the model that its
text chooses.

nDCG@10 of plain FTS5, full text, semantic, RRF and hybrid, without the votes for runs and names.
`difference` is hybrid beside the best of the others, with the 95 % interval of the paired
difference by bootstrap. --leave-out chooses two weights for each set by the mean of the others.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pickle
import random
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import floor
from kinen import Query
from kinen.recall import fuse
from languages import FOLDERS, documentation
from quality import Plain, Question, asked_of, distinct, indexed, ndcg, written
from record import save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kinen.model.records import Chunk, Record
    from kinen.recall.fuse import Evidence, Ranked

COLUMNS = ("plain FTS5", "full text", "semantic", "RRF", "hybrid")
QUESTIONS = 150
"""Of each space."""
TURNS = 60
"""Questions of each conversation."""
PAGES = 24
"""Of each language."""
DRAWS = 1_000
WEIGHTS = (0.3, 0.4, 0.5, 0.6)
"""Weights of full text that --leave-out chooses among."""
DISCOUNTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The same of `fuse.ELSEWHERE`."""
NEAREST = 100
"""Candidates that vectors give."""
DEPTH = 40
"""Candidates that are looked at for ten different names."""


class Asked(NamedTuple):
    """A question, what is right, and everything that a fusion may know."""

    text: str
    gold: set[str]
    evidence: Evidence
    names: dict[int, list[str]]
    """What each candidate is counted as: its file, or the turns it has."""
    plain: list[str]

    def score(self, ranked: list[Ranked]) -> float:
        names = (name for entry in ranked[:DEPTH] for name in self.names.get(entry.id, ()))
        return ndcg(distinct(list(names)), self.gold)

    @property
    def near(self) -> dict[int, float]:
        """What vectors find by themselves; the cosines of the others were looked up."""
        cosines = self.evidence.semantic.items()
        return dict(sorted(cosines, key=lambda item: -item[1])[:NEAREST])

    def columns(self) -> tuple[float, ...]:
        """nDCG@10 of each ranking."""
        lexical = self.evidence.lexical
        return (
            ndcg(self.plain, self.gold),
            self.score(fuse.by_words(lexical)),
            self.score(fuse.by_meaning(self.near)),
            self.score(fuse.reciprocal(lexical.scores, self.near)),
            self.score(fuse.hybrid(self.evidence)),
        )


class Space(NamedTuple):
    files: dict[str, str]
    texts: dict[str, str]
    """What plain FTS5 has as rows."""
    questions: list[Question]
    place: dict[str, dict[int, str]] | None = None
    """The turn at each line of a file, where turns are asked for."""


def spaces(data: Path, pages: Path | None) -> Iterator[tuple[str, Callable[[], list[Space]]]]:
    """The sets by name; each is read when it is needed."""
    yield "LoCoMo turns", lambda: conversations(data)
    for name in ("scifact", "cosqa", "checkpoints", "vaults"):
        yield name, lambda name=name: [_space(space) for space in floor.SETS[name](data)]  # type: ignore[misc]
    for language in ("en", *FOLDERS) if pages else ():
        for kind in ("same", "english")[: 1 if language == "en" else 2]:
            name = f"{language} → {language}" if kind == "same" else f"en → {language}"
            yield name, lambda language=language, kind=kind: [_pages(pages, language, kind)]  # type: ignore[misc]


def conversations(data: Path) -> list[Space]:
    every = []
    for conversation in json.loads(next((data / "locomo").glob("*.json")).read_text()):
        files, place, texts = written(conversation["conversation"])
        questions = [item for item in asked_of(conversation["qa"]) if item.gold]
        chosen = random.Random(1).sample(questions, TURNS)
        every.append(Space(files, texts, chosen, place))
    return every


def _space(space: floor.LabelledSpace) -> Space:
    questions = random.Random(1).sample(space.questions, min(QUESTIONS, len(space.questions)))
    return Space(space.files, space.files, questions)


def _pages(pages: Path, language: str, kind: str) -> Space:
    sets = documentation(pages, language, PAGES)
    files = {f"{name}.md": f"{text}\n" for name, text in sets["files"].items()}
    return Space(files, files, [Question(text, {f"{name}.md"}) for text, name in sets[kind]])


def observed(space: Space) -> Iterator[Asked]:
    """What both halves find for each question of a space, as a search hands it to the fusion."""
    evidence: list[Evidence] = []
    plain = Plain(space.texts)
    hybrid = fuse.hybrid

    def recorded(found: Evidence) -> list[Ranked]:
        evidence[:] = [found]
        return hybrid(found)

    fuse.hybrid = recorded
    try:
        with indexed(space.files) as memory:
            for question in space.questions:
                evidence.clear()
                memory.search(Query(question.text))
                ids = [*{**evidence[0].semantic, **evidence[0].lexical.scores}]
                loaded = memory.core.reader.load(ids).items()
                names = {id_: _names(record, chunk, space.place) for id_, (record, chunk) in loaded}
                ranking = plain.ask(question.text)
                yield Asked(question.text, question.gold, evidence[0], names, ranking)
    finally:
        fuse.hybrid = hybrid


def _names(record: Record, chunk: Chunk, place: dict[str, dict[int, str]] | None) -> list[str]:
    if place is None:
        return [record.path]
    where = place[record.path]
    return [where[n] for n in range(chunk.start_line, chunk.end_line + 1) if n in where]


def cached(folder: Path, name: str, read: Callable[[], list[Space]]) -> list[Asked]:
    path = folder / f"{name.replace(' ', '_')}.pickle"
    if not path.exists():
        every = [asked for space in read() for asked in observed(space)]
        path.write_bytes(pickle.dumps(every))
    found: list[Asked] = pickle.loads(path.read_bytes())
    return found


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """A mean with its 95 % interval by bootstrap."""
    rng = random.Random(3)
    draws = sorted(statistics.fmean(rng.choices(values, k=len(values))) for _ in range(DRAWS))
    ends = draws[round(0.025 * DRAWS)], draws[round(0.975 * DRAWS) - 1]
    return tuple(round(value, 3) for value in (statistics.fmean(values), *ends))  # type: ignore[return-value]


def measured(every: list[Asked]) -> dict[str, Any]:
    rows = [asked.columns() for asked in every]
    by_column = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    row: dict[str, Any] = {name: interval(values) for name, values in by_column.items()}
    best = max(COLUMNS[:-1], key=lambda name: statistics.fmean(by_column[name]))
    pairs = zip(by_column["hybrid"], by_column[best], strict=True)
    row["difference"] = interval([mine - other for mine, other in pairs])
    return {"questions": len(every), **row, "best": best}


def left_out(sets: dict[str, list[Asked]]) -> dict[str, Any]:
    """For each set the weights that the others choose, and what they give, beside ours."""
    ours = (fuse.LEXICAL_WEIGHT, fuse.ELSEWHERE)
    means: dict[tuple[float, float], dict[str, float]] = {}
    for weights in sorted({ours, *itertools.product(WEIGHTS, DISCOUNTS)}):
        fuse.LEXICAL_WEIGHT, fuse.ELSEWHERE = weights
        means[weights] = {
            name: statistics.fmean(asked.score(fuse.hybrid(asked.evidence)) for asked in every)
            for name, every in sets.items()
        }
    fuse.LEXICAL_WEIGHT, fuse.ELSEWHERE = ours
    rows = {}
    for name in sets:

        def others(weights: tuple[float, float], name: str = name) -> float:
            return sum(mean for other, mean in means[weights].items() if other != name)

        chosen = max(means, key=others)
        rows[name] = (*chosen, round(means[chosen][name], 3), round(means[ours][name], 3))
        print(f"{name:<14} weights {chosen}: {rows[name][2]:.3f}, ours {rows[name][3]:.3f}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the labelled sets")
    parser.add_argument("--help-pages", type=Path, help="documentation, a folder a language")
    parser.add_argument("--cache", type=Path, required=True, help="what the halves found")
    parser.add_argument("--sets", nargs="+", help="names of sets; all of them")
    parser.add_argument("--leave-out", action="store_true", help="choose weights by other sets")
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    chosen.cache.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    sets: dict[str, list[Asked]] = {}
    print(
        f"{'':<14}{'n':>4}"
        + "".join(f"{name:>11}" for name in COLUMNS)
        + "  difference to the best"
    )
    for name, read in spaces(chosen.data, chosen.help_pages):
        if chosen.sets and name not in chosen.sets:
            continue
        sets[name] = cached(chosen.cache, name, read)
        row = results[name] = measured(sets[name])
        cells = "".join(f"{row[column][0]:>11.3f}" for column in COLUMNS)
        mean, low, high = row["difference"]
        told = f"{mean:+.3f} [{low:+.3f}, {high:+.3f}] {row['best']}"
        print(f"{name:<14}{row['questions']:>4}{cells}  {told}", flush=True)
    if chosen.leave_out:
        results["left out"] = left_out(sets)
    if not chosen.no_save:
        save("fusion", results)


if __name__ == "__main__":
    main()
