"""What a digest by `extract` keeps of what was found, and what it costs.

    python benchmarks/distill.py --data DIR [--parts turns segments checkpoints speed] [--hits 40]

DIR holds LoCoMo's JSON as in quality.py, and `goldfish-memories/`, a project's checkpoints.

**turns**: LoCoMo's turns as observations, each a document of its own. A question's first 20 hits
are distilled to 10, 20 and 30 % of their tokens: of their bare text, and as a recall would list
them, with ref and time. Counted are the gold turns that were found. Such a turn is `kept` where
what the digest quotes of it, under its ref, has every word of the answer that the turn has, and at
least half of its content words. `half` is without the answer: the whole of a turn of one or two
sentences, else half of its content words.

**segments**: the same turns in segments; a hit comes with 2 turns before and 4 after.

**checkpoints**: questions to the checkpoints, asked by hand (`distill_questions.json`), each with
the names, hashes and numbers that answer it. The five best records, whole, are distilled; a string
is kept where the digest has it, as a word of its own, under the ref of its checkpoint.

Beside `extract` stand the first sentence of each hit (the text up to a full stop) and the hits in
order, the last of them cut at a word: both with refs, both until the budget is spent.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen import Memory, Query
from kinen.distill.blocks import sentences
from kinen.distill.extract import extract
from kinen.model.journal import Passage
from kinen.recall.tiers import item
from kinen.text import STOP_WORDS, estimate, words
from quality import DEPTH, asked_of, indexed
from recency import NONE, Asker, remembered, sessions_of
from record import save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kinen.model.records import Hit

    Method = Callable[[str, list[Passage], int], str]

SHARES = (0.1, 0.2, 0.3)
CHOSEN_ON = (0, 2, 4)
"""The conversations that the weights were chosen on."""
TOKENS, RECORDS = 500, 5
BEFORE, AFTER = 2, 4
REPEATS = 15


class Vectors:
    """The model's vectors; those of a text are made once, whatever the budget."""

    def __init__(self, memory: Memory) -> None:
        self._embed = memory.core.embedder.embed
        self._known: dict[str, Any] = {}

    def __call__(self, texts: list[str]) -> Any:
        import numpy as np

        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._embed(new), strict=True))
        return np.array([self._known[text] for text in texts])


# The methods


def methods(vectors: Vectors) -> dict[str, Method]:
    return {
        "extract": lambda *request: extract(*request, embed=vectors).text,
        "extract, no vectors": lambda *query: extract(*query).text,
        "in order": in_order,
        "first sentences": first_sentences,
    }


def in_order(_: str, passages: list[Passage], budget: int) -> str:
    return _until(((passage.ref, passage.text.split()) for passage in passages), budget, cut=True)


def first_sentences(_: str, passages: list[Passage], budget: int) -> str:
    output = ((passage.ref, f"{passage.text.split('.')[0]}.".split()) for passage in passages)
    return _until(output, budget, cut=False)


def _until(values: Iterable[tuple[str, list[str]]], budget: int, *, cut: bool) -> str:
    """A list item each until the budget is spent; the last may be cut at a word."""
    lines: list[str] = []
    for ref, message in values:
        left = budget - sum(map(estimate, lines))
        line = f"- {' '.join(message)} [{ref}]"
        if estimate(line) > left:
            while cut and message and estimate(f"- {' '.join(message)} [{ref}]") > left:
                message.pop()
            return "\n".join(
                [*lines, f"- {' '.join(message)} [{ref}]"] if cut and message else lines
            )
        lines.append(line)
    return "\n".join(lines)


# What is left


def quoted(text: str, passages: list[Passage]) -> dict[str, str]:
    """What a digest has of each record."""
    results: dict[str, str] = defaultdict(str)
    ref = ""
    for line in text.splitlines():
        if line.startswith("- "):
            ref = next(passage.ref for passage in passages if f"[{passage.ref}]" in line)
        results[ref] += " " + line.replace(f"[{ref}]", "").removeprefix("- ").strip()
    return results


def content(text: str) -> set[str]:
    return {word.lower() for word in words(text)} - STOP_WORDS


def survives(turn: str, answer: str, have: str) -> tuple[bool, bool]:
    """Is a turn kept, and is half of it?"""
    message = turn.partition(": ")[2] or turn
    own, left = content(message), content(have)
    half = 2 * len(own & left) >= len(own)
    remaining = half and content(answer) & own <= left
    return remaining, half if len(sentences(message)) > 2 else message in have


# Turns and segments


class Case(NamedTuple):
    """A question with what was found, and the gold turns in it: (ref of the passage, text)."""

    question: str
    answer: str
    passages: list[Passage]
    gold: list[tuple[str, str]]
    part: str

    def size(self, basis: str) -> int:
        if basis == "text":
            return sum(estimate(entry.text) for entry in self.passages)
        return sum(
            item("hits", passage.ref, passage.text, at=passage.at).tokens
            for passage in self.passages
        )


def passage_of(hit: Hit, around: bool) -> Passage:
    chunks = [*hit.before[-BEFORE:], hit.chunk, *hit.after[:AFTER]] if around else [hit.chunk]
    text = "\n".join(chunk.text.strip() for chunk in chunks)
    return Passage(hit.record.ref, text, at=hit.record.at)


def cases(asker: Asker, conversation: dict[str, Any], number: int, hits: int, around: bool) -> Any:
    turns = {
        turn.id: turn.text
        for some in sessions_of(conversation["conversation"]).values()
        for turn in some
    }
    answers = {row["question"]: str(row.get("answer", "")) for row in conversation["qa"]}
    for entry in asked_of(conversation["qa"]):
        results = [
            hit for hit in asker.ask(entry.text, NONE, DEPTH) if hit.record.kind == "observation"
        ]
        passages = [passage_of(hit, around) for hit in results[:hits]]
        gold = [
            (passage.ref, turns[turn])
            for turn in sorted(entry.gold & turns.keys())
            for passage in passages
            if turns[turn] in passage.text.split("\n")
        ]
        part = "chosen on" if number in CHOSEN_ON else "held out"
        yield (
            Case(entry.text, answers[entry.text], passages, gold, part),
            len(entry.gold & turns.keys()),
        )


def conversations(data: Path, hits: int, *, around: bool) -> dict[str, Any]:
    tally: dict[tuple[str, str, str, str], list[tuple[bool, bool]]] = defaultdict(list)
    results, gold, questions, tokens = 0, 0, 0, []
    loaded = json.loads(next((data / "locomo").glob("*.json")).read_text())
    for number, conversation in enumerate(loaded):
        sessions = sessions_of(conversation["conversation"])
        with remembered(sessions, alone=not around) as memory:
            able = methods(Vectors(memory))
            for case, expected in cases(Asker(memory), conversation, number, hits, around):
                gold += expected
                if not case.gold:
                    continue
                results, questions = results + len(case.gold), questions + 1
                tokens.append(case.size("recall"))
                for basis in ("text", "recall"):
                    size = case.size(basis)
                    for share in SHARES:
                        count(tally, case, able, basis, share, int(share * size))
    rows: dict[str, Any] = defaultdict(lambda: defaultdict(dict))
    for (name, basis, share, part), outcomes in sorted(tally.items()):
        remaining, half = zip(*outcomes, strict=True)
        rows[basis][share][f"{name}, {part}" if part != "all" else name] = {
            "kept": round(statistics.fmean(remaining), 4),
            "half": round(statistics.fmean(half), 4),
        }
    about = {"questions": questions, "gold turns": gold, "found": results, "hits": hits}
    return {**about, "tokens of a recall": round(statistics.fmean(tokens)), "share of": rows}


def count(
    tally: dict[Any, Any],
    case: Case,
    able: dict[str, Method],
    basis: str,
    share: float,
    budget: int,
) -> None:
    for name, method in able.items():
        text = method(case.question, case.passages, budget)
        assert estimate(text) <= budget
        left = quoted(text, case.passages)
        outcomes = [survives(turn, case.answer, left[ref]) for ref, turn in case.gold]
        for part in ("all", case.part):
            tally[name, basis, f"{share:.0%}", part] += outcomes


# Checkpoints


def checkpoints(data: Path, _: int) -> dict[str, Any]:
    folder = data / "goldfish-memories"
    files = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.md")}
    questions = json.loads((Path(__file__).parent / "distill_questions.json").read_text())
    tally: dict[tuple[str, str], list[list[bool]]] = defaultdict(list)
    tokens = []
    with indexed(files) as memory:
        able = methods(Vectors(memory))
        for question in questions:
            hits = memory.search(Query(question["question"], limit=DEPTH))
            paths = {hit.record.ref: hit.record.path for hit in hits}
            refs = list(paths)[:RECORDS]
            gold = [ref for ref in refs if paths[ref] == f".memories/{question['file']}"]
            passages = [whole(memory, ref) for ref in refs]
            tokens.append(sum(estimate(passage.text) for passage in passages))
            for ref in gold:
                for name, method in able.items():
                    for limit, budget in (("500", TOKENS), ("20%", int(0.2 * tokens[-1]))):
                        text = method(question["question"], passages, budget)
                        assert estimate(text) <= budget
                        left = quoted(text, passages)[ref]
                        tally[limit, name].append(
                            [has(left, string) for string in question["must"]]
                        )
    results = len(tally["500", "extract"])
    rows: dict[str, Any] = defaultdict(dict)
    for (limit, name), outcomes in tally.items():
        rows[limit][name] = {
            "strings": round(statistics.fmean(entry for some in outcomes for entry in some), 4),
            "all of a question": round(statistics.fmean(map(all, outcomes)), 4),
        }
    about = {
        "questions": len(questions),
        "found": results,
        "tokens": round(statistics.fmean(tokens)),
    }
    return {**about, "budget": rows}


def whole(memory: Memory, ref: str) -> Passage:
    record, chunks = memory.records.show(ref)
    return Passage(ref, "\n".join(chunk.text for chunk in chunks), record.title, record.at)


def has(text: str, string: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(string)}(?!\w)", text) is not None


# Speed


def speed(data: Path, hits: int) -> dict[str, Any]:
    """Processor time of a digest of the beginnings of `hits` checkpoints."""
    folder = data / "goldfish-memories"
    texts = sorted(path.read_text().split("\n---\n", 1)[-1] for path in folder.rglob("2026*/*.md"))
    cut = [Passage(f"checkpoint:{n}.md", text[:640]) for n, text in enumerate(texts[-hits:])]
    with indexed({"a.md": "# Tea\n"}) as memory:
        embed = memory.core.embedder.embed
        embed(["warm"])
        return {
            "tokens": sum(estimate(entry.text) for entry in cut),
            "no vectors, ms": timed(lambda: extract("what was the fix for the race?", cut, TOKENS)),
            "vectors, ms": timed(
                lambda: extract("what was the fix for the race?", cut, TOKENS, embed)
            ),
            "2 MB, ms": timed(lambda: extract("what was the fix?", [large(texts)], TOKENS), 3),
        }


def large(texts: list[str]) -> Passage:
    text = "\n\n".join(texts)
    return Passage("note:a.md", (text * (1 + 2_000_000 // len(text)))[:2_000_000])


def timed(run: Callable[[], object], repeats: int = REPEATS) -> float:
    spent = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        spent.append(1000 * (time.process_time() - began))
    return round(statistics.median(spent), 1)


PARTS = {
    "turns": lambda data, hits: conversations(data, hits, around=False),
    "segments": lambda data, hits: conversations(data, hits, around=True),
    "checkpoints": checkpoints,
    "speed": speed,
}


def show(name: str, results: dict[str, Any]) -> None:
    tables = results.get("share of") or {"": results.get("budget", {})}
    print(
        f"\n{name}: " + ", ".join(f"{k} {v}" for k, v in results.items() if not isinstance(v, dict))
    )
    for basis, columns in tables.items():
        for column, rows in columns.items():
            print(f"  {column} {f'of {basis}' if basis else ''}")
            for method, row in rows.items():
                cells = "  ".join(f"{key} {value:.3f}" for key, value in row.items())
                print(f"    {method:<32}{cells}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the labelled sets")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--hits", type=int, default=40, help="hits that are distilled")
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    results = {}
    for name in chosen.parts:
        results[name] = PARTS[name](chosen.data, chosen.hits)
        show(name, results[name])
    if not chosen.no_save:
        save("distill", results)


if __name__ == "__main__":
    main()
