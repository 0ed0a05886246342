"""Is the answer in what a search shows? Hits as a reader sees them, and not only their ranks.

    python benchmarks/passages.py --data DIR [--sets locomo checkpoints] [--modes hybrid fulltext]

DIR holds LoCoMo's JSON as in quality.py, and a folder goldfish-memories with real checkpoints.
LoCoMo: questions whose answer stands word by word in a turn that is named as evidence; a hit shows
it where the text contains it. Checkpoints: questions asked by hand, each with strings that answer
it; the share of these strings. `text` is what programs and agents get of a hit (the content in JSON
and MCP), `terminal` is what `kinen search` prints. `tokens` is what five texts cost.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen import Memory, Query
from kinen.render.json import hit_json
from kinen.render.screen import Screen
from kinen.render.text import hit_text
from kinen.text import contains, estimate, terms
from quality import asked_of, indexed, written
from recall import QUESTIONS, checkpoint_space
from record import save

if TYPE_CHECKING:
    from collections.abc import Iterator

MODES = ("hybrid", "fulltext")
DEPTHS = (1, 5)

Shares = dict[str, list[float]]


class Case(NamedTuple):
    question: str
    answers: list[str]


def locomo(data: Path, modes: list[str]) -> dict[str, Any]:
    shares: dict[str, Shares] = {mode: defaultdict(list) for mode in modes}
    for conversation in json.loads(next((data / "locomo").glob("*.json")).read_text()):
        files, _, turns = written(conversation["conversation"])
        with indexed(files) as memory:
            for case in answerable(conversation, turns):
                ask(memory, case, shares)
    return summary(shares)


def answerable(conversation: dict[str, Any], turns: dict[str, str]) -> Iterator[Case]:
    """Questions whose answer is said word by word in one of the turns that are evidence for it."""
    answers = {row["question"]: str(row.get("answer", "")) for row in conversation["qa"]}
    for question in asked_of(conversation["qa"]):
        answer = answers[question.text].strip(" .")
        message = [turns[turn] for turn in question.gold if turn in turns]
        if answer and any(contains(text, answer) for text in message):
            yield Case(question.text, [answer])


def checkpoints(data: Path, modes: list[str]) -> dict[str, Any]:
    shares: dict[str, Shares] = {mode: defaultdict(list) for mode in modes}
    with checkpoint_space(data / "goldfish-memories") as memory:
        memory.sync()
        for row in json.loads(QUESTIONS.read_text()):
            ask(memory, Case(row["question"], row["must"]), shares)
    return summary(shares)


def ask(memory: Memory, case: Case, shares: dict[str, Shares]) -> None:
    """Add the share of a question's answers that the first hits show, for each mode."""
    for mode, results in shares.items():
        hits = list(memory.search(Query(case.question, limit=max(DEPTHS), mode=mode)))
        texts = [hit_json(hit)["chunk"]["content"] for hit in hits]
        printed = [hit_text(hit, terms(case.question), Screen(), verbose=True) for hit in hits]
        for depth in DEPTHS:
            results[f"text@{depth}"].append(share(case.answers, texts[:depth]))
            results[f"terminal@{depth}"].append(share(case.answers, printed[:depth]))
        results["tokens"].append(sum(map(estimate, texts)))


def share(answers: list[str], texts: list[str]) -> float:
    return statistics.fmean(any(contains(text, answer) for text in texts) for answer in answers)


def summary(shares: dict[str, Shares]) -> dict[str, Any]:
    questions = len(next(iter(shares.values()))["tokens"])
    rows = {
        mode: {name: round(statistics.fmean(values), 4) for name, values in results.items()}
        for mode, results in shares.items()
    }
    return {"questions": questions, "shares": rows}


SETS = {"locomo": locomo, "checkpoints": checkpoints}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    results = {}
    for name in chosen.sets:
        results[name] = SETS[name](chosen.data, chosen.modes)
        print(f"\n{name}: {results[name]['questions']} questions")
        for mode, row in results[name]["shares"].items():
            cells = "  ".join(f"{key} {value:.4g}" for key, value in row.items())
            print(f"  {mode:<10}{cells}")
    if not chosen.no_save:
        save("passages", results)


if __name__ == "__main__":
    main()
