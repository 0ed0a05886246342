"""What the floor of a search costs: right answers lost against noise shown, as a curve.

    python benchmarks/floor.py --data DIR [--sets locomo checkpoints vaults scifact cosqa]

Each labelled set is a space. It is asked its own questions, whose answers are known, and three
kinds of noise: questions of the other sets, questions in other languages about things that are in
none of them, and words drawn at random. For each strength from which on hits might be shown: the
share of answers in the first ten hits that would be lost, and the share of noise that would show a
hit. The floor of `kinen search` is `kinen.recall.floor.CLOSE`. By meaning alone, a question in a
script that the model does not know is refused; it shows nothing and is counted.

The vaults have no questions: their headings are asked for. Of SciFact and CoSQA the documents with
answers and every sixth of the others are indexed.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen import Memory, Query
from kinen.errors import QueryError
from kinen.recall.floor import CLOSE, UNKNOWN_SCRIPT
from quality import Question, asked_of, beir, indexed, read_options, session_of, written
from record import save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODES = ("hybrid", "semantic", "fulltext")
STRENGTHS = (0, 20, 25, 30, CLOSE, 40, 45, 50, 60)
DEPTH = 10
QUESTIONS = 150
"""Of each BEIR set."""
SPARSE = 6
"""One in this many documents without an answer is indexed."""
NONSENSE = 40
ELSEWHERE = 8
"""Questions of each other set."""
FOREIGN = """
wie lange muss der Sauerteig gehen
welche Winterreifen passen auf einen Golf
¿cuánto cuesta un billete de tren a Sevilla?
receta de gazpacho sin pepino
quel vin servir avec des huîtres
horaires du musée d'Orsay le lundi
quanto tempo cuocere gli spaghetti al dente
come si pulisce una moka
jak dlouho se vaří knedlíky
ile kosztuje bilet do Zakopanego
как приготовить борщ без мяса
расписание поездов до Казани
明日の京都の天気は
寿司の握り方を教えて
北京烤鸭怎么做
上海地铁几点关门
서울에서 부산까지 기차 시간
김치찌개 만드는 법
كيف أطبخ الكسكس
एक अच्छी दाल कैसे बनाएं
hur lagar man köttbullar
hoeveel kost een retourtje Antwerpen
quantas calorias tem um pastel de nata
kaç derecede baklava pişer
""".strip().splitlines()


class LabelledSpace(NamedTuple):
    name: str
    files: dict[str, str]
    questions: list[Question]
    """Each with the paths of the files that answer it."""


def locomo(data: Path) -> Iterator[LabelledSpace]:
    for conversation in json.loads(next((data / "locomo").glob("*.json")).read_text()):
        files, _, _ = written(conversation["conversation"])
        questions = [
            Question(question.text, {f"{session_of(turn)}.md" for turn in question.gold})
            for question in asked_of(conversation["qa"])
            if question.gold
        ]
        yield LabelledSpace("locomo", files, questions)


def checkpoints(data: Path) -> Iterator[LabelledSpace]:
    folder = data / "goldfish-memories"
    files = {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in (folder / ".memories").rglob("*")
        if path.suffix in (".md", ".json")
    }
    rows = json.loads((Path(__file__).parent / "distill_questions.json").read_text())
    questions = [Question(row["question"], {f".memories/{row['file']}"}) for row in rows]
    yield LabelledSpace("checkpoints", files, questions)


def vaults(data: Path) -> Iterator[LabelledSpace]:
    for folder in sorted((data / "vaults").iterdir()):
        files = {
            path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace")
            for path in sorted(folder.rglob("*.md"))
        }
        headings = [
            Question(heading, {path})
            for path, text in files.items()
            for heading in re.findall(r"^#{1,4} (\w+ \w.*)$", text, re.MULTILINE)
        ]
        yield LabelledSpace("vaults", files, headings)


def scifact(data: Path) -> Iterator[LabelledSpace]:
    def text(row: dict[str, str]) -> str:
        return f"# {row['title']}\n\n{row['text']}\n"

    yield _sparse("scifact", data, "papers/{}.md", text)


def cosqa(data: Path) -> Iterator[LabelledSpace]:
    yield _sparse("cosqa", data, "resources/examples/{}.py", lambda row: row["text"] + "\n")


def _sparse(
    name: str, data: Path, place: str, text_of: Callable[[dict[str, str]], str]
) -> LabelledSpace:
    documents, every = beir(data / name)
    questions = every[:QUESTIONS]
    gold = {key for question in questions for key in question.gold}
    files = {
        place.format(key): text_of(row)
        for number, (key, row) in enumerate(documents.items())
        if key in gold or number % SPARSE == 0
    }
    request = [
        Question(question.text, {place.format(key) for key in question.gold})
        for question in questions
    ]
    return LabelledSpace(name, files, request)


SETS = {
    "locomo": locomo,
    "checkpoints": checkpoints,
    "vaults": vaults,
    "scifact": scifact,
    "cosqa": cosqa,
}


def nonsense(rng: random.Random) -> list[str]:
    """Words drawn at random, two to five together."""
    words = (Path(__file__).parent / "words.txt").read_text().split()
    long = [word for word in words if len(word) > 4]
    drawn = [" ".join(rng.sample(long, rng.randint(2, 5))) for _ in range(NONSENSE)]
    return ["quantum zebra banana", "asdf qwer zxcv", *drawn]


class Tally:
    """The best strengths of right answers and of noise, by set and mode."""

    def __init__(self) -> None:
        self.right: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.noise: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        self.refused: Counter[str] = Counter()
        """Questions by meaning in a script that the model does not know, by set."""

    def add(self, space: LabelledSpace, noise: dict[str, list[str]]) -> None:
        with indexed(space.files) as memory:
            for mode in MODES:
                for question in space.questions:
                    strengths = _strengths(memory, question.text, mode, question.gold)
                    if strengths:  # only what a search finds can be lost
                        self.right[space.name, mode].append(max(strengths))
                for kind, texts in noise.items():
                    for text in texts:
                        try:
                            best = max(_strengths(memory, text, mode), default=0)
                        except QueryError as error:
                            if UNKNOWN_SCRIPT not in error.message:
                                raise
                            self.refused[space.name] += 1
                            best = 0
                        self.noise[space.name, mode, kind].append(best)

    def curve(self, name: str, mode: str) -> list[dict[str, float]]:
        right = self.right[name, mode]
        kinds = {key[2]: best for key, best in self.noise.items() if key[:2] == (name, mode)}
        return [
            {
                "strength": strength,
                "lost": _share(right, lambda best, least=strength: best < least),
                **{
                    kind: _share(bests, lambda best, least=strength: best >= max(least, 1))
                    for kind, bests in kinds.items()
                },
            }
            for strength in STRENGTHS
        ]


def _strengths(memory: Memory, text: str, mode: str, gold: set[str] | None = None) -> list[int]:
    hits = memory.search(Query(text, limit=DEPTH, mode=mode))
    return [hit.strength for hit in hits if gold is None or hit.record.path in gold]


def _share(values: list[int], holds: Callable[[int], bool]) -> float:
    return round(sum(map(holds, values)) / max(1, len(values)), 4)


def main() -> None:
    chosen = read_options(__doc__, SETS)
    # Of all sets, so that a set has the same noise whichever others are chosen.
    every = [space for read in SETS.values() for space in read(chosen.data)]
    spaces = [space for space in every if space.name in chosen.sets]
    rng = random.Random(5)
    tally = Tally()
    for space in every:
        others = [other for other in every if other.name != space.name]
        elsewhere = [
            question.text
            for other in others
            for question in rng.sample(other.questions, min(ELSEWHERE, len(other.questions)))
        ]
        noise = {"elsewhere": elsewhere, "foreign": FOREIGN, "nonsense": nonsense(rng)}
        if space in spaces:
            tally.add(space, noise)
    results: dict[str, Any] = {}
    for name in dict.fromkeys(space.name for space in spaces):
        for mode in MODES:
            curve = tally.curve(name, mode)
            results.setdefault(name, {})[mode] = curve
            print(f"\n{name}, {mode}: {len(tally.right[name, mode])} answers")
            for row in curve:
                cells = [f"{key} {100 * value:5.1f} %" for key, value in [*row.items()][1:]]
                mark = "  <- the floor" if row["strength"] == CLOSE else ""
                print(f"  {row['strength']:>3}  " + "  ".join(cells) + mark)
        results[name]["refused"] = tally.refused[name]
        print(f"  refused by meaning: {tally.refused[name]}")
    if not chosen.no_save:
        save("floor", results)


if __name__ == "__main__":
    main()
