"""How well search finds what is known to be right: labelled sets, asked through `Memory.search`.

    python benchmarks/quality.py --data DIR [--sets scifact cosqa locomo]

DIR holds the sets in their public layouts (BEIR for SciFact and CoSQA, LoCoMo's JSON). Each
document is written as a file of a space, indexed by `Memory` and asked for by `Memory.search`.
Beside it stands plain FTS5: porter stemming, an OR of the question's words, bm25.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen import Memory, Query
from record import save

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MODES = ("fulltext", "semantic", "rrf", "hybrid")
DEPTH = 40
"""Hits asked for, so that ten different documents are among them."""

Ranking = list[str]


class Question(NamedTuple):
    text: str
    gold: set[str]
    category: str = ""


def ndcg(ranking: Ranking, gold: set[str], k: int = 10) -> float:
    gains = [1 / math.log2(at + 2) for at, name in enumerate(ranking[:k]) if name in gold]
    best = sum(1 / math.log2(at + 2) for at in range(min(k, len(gold))))
    return sum(gains) / best if best else 0.0


def recall(ranking: Ranking, gold: set[str], k: int = 10) -> float:
    return len(gold.intersection(ranking[:k])) / len(gold) if gold else 0.0


def distinct(names: list[str]) -> Ranking:
    return list(dict.fromkeys(names))


class Plain:
    """The floor: FTS5 as its manual shows it."""

    def __init__(self, documents: dict[str, str]) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute(
            "CREATE VIRTUAL TABLE f USING fts5(name UNINDEXED, t, tokenize='porter unicode61')"
        )
        self.db.executemany("INSERT INTO f VALUES (?, ?)", documents.items())

    def ask(self, text: str) -> Ranking:
        words = re.findall(r"\w+", text)
        query = " OR ".join(f'"{word}"' for word in words)
        rows = self.db.execute(
            "SELECT name FROM f WHERE f MATCH ? ORDER BY rank LIMIT 40", (query,)
        )
        return [row[0] for row in rows]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def beir(folder: Path) -> tuple[dict[str, dict[str, str]], list[Question]]:
    documents = {row["_id"]: row for row in lines(folder / "corpus.jsonl")}
    texts = {row["_id"]: row["text"] for row in lines(next(folder.glob("queries*.jsonl")))}
    gold: dict[str, set[str]] = defaultdict(set)
    for row in next((folder / "qrels").glob("*.tsv")).read_text().splitlines()[1:]:
        query, document, score = row.split("\t")
        if int(score) > 0:
            gold[query].add(document)
    return documents, [Question(texts[query], names) for query, names in gold.items()]


@contextlib.contextmanager
def indexed(files: dict[str, str], *, embed: bool = True) -> Iterator[Memory]:
    """A space with these files, indexed with vectors, unless these are not needed."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        for path, text in files.items():
            full = root / "space" / path
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_text(text)
        (root / "space" / ".kinen").mkdir()
        with Memory.open(root / "space", home=root / "home") as memory:
            memory.sync(progress=progress, embed=embed)
            yield memory


def progress(phase: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{phase} {done:,} of {total:,}   ", end="", file=sys.stderr, flush=True)


def score(rankings: list[tuple[Ranking, Question]]) -> dict[str, float]:
    return {
        "ndcg@10": round(
            statistics.fmean(ndcg(result, query.gold) for result, query in rankings), 4
        ),
        "recall@10": round(
            statistics.fmean(recall(results, request.gold) for results, request in rankings), 4
        ),
    }


def run_beir(folder: Path, path_of: Any, text_of: Any) -> dict[str, Any]:
    documents, questions = beir(folder)
    plain = Plain({name: f"{row['title']} {row['text']}" for name, row in documents.items()})
    results = {
        "plain FTS5": score([(plain.ask(question.text), question) for question in questions])
    }
    files = {path_of(name): text_of(row) for name, row in documents.items()}
    with indexed(files) as memory:
        for mode in MODES:
            results[mode] = score([(ask(memory, item.text, mode), item) for item in questions])
    return {"documents": len(documents), "questions": len(questions), "scores": results}


def ask(memory: Memory, text: str, mode: str) -> Ranking:
    hits = memory.search(Query(text, limit=DEPTH, mode=mode))
    return distinct([Path(hit.record.path).stem for hit in hits])


def scifact(data: Path) -> dict[str, Any]:
    return run_beir(
        data / "scifact",
        lambda name: f"papers/{name}.md",
        lambda row: f"# {row['title']}\n\n{row['text']}\n",
    )


def cosqa(data: Path) -> dict[str, Any]:
    return run_beir(
        data / "cosqa", lambda name: f"resources/examples/{name}.py", lambda row: row["text"] + "\n"
    )


def locomo(data: Path) -> dict[str, Any]:
    """Long conversations: one space each, one file per session, turns as paragraphs."""
    turns: dict[str, list[tuple[Ranking, Question]]] = defaultdict(list)
    sessions: dict[str, list[tuple[Ranking, Question]]] = defaultdict(list)
    conversations = json.loads(next((data / "locomo").glob("*.json")).read_text())
    for conversation in conversations:
        files, place, texts = written(conversation["conversation"])
        questions = [item for item in asked_of(conversation["qa"]) if item.gold]
        plain = Plain(texts)
        for question in questions:
            answer = plain.ask(question.text)
            turns["plain FTS5"].append((answer, question))
            sessions["plain FTS5"].append(
                (distinct([session_of(name) for name in answer]), question)
            )
        with indexed(files) as memory:
            for mode in MODES:
                for question in questions:
                    hits = memory.search(Query(question.text, limit=DEPTH, mode=mode))
                    matched = (turn for hit in matches(hits) for turn in said_in(hit, place))
                    answer = distinct(list(matched))
                    turns[mode].append((answer, question))
                    stems = [Path(hit.record.path).stem for hit in hits]
                    sessions[mode].append((distinct(stems), question))
    return {
        "conversations": len(conversations),
        "questions": len(turns["hybrid"]),
        "scores": {mode: {**score(turns[mode]), **at_five(sessions[mode])} for mode in turns},
        "by category": {mode: by_category(turns[mode], sessions[mode]) for mode in turns},
    }


def written(
    conversation: dict[str, Any],
) -> tuple[dict[str, str], dict[str, dict[int, str]], dict[str, str]]:
    """Files of one conversation, which turn stands at which line, and each turn's text."""
    files, place, texts = {}, {}, {}
    for key, message in conversation.items():
        number = re.fullmatch(r"session_(\d+)", key)
        if not number or not message:
            continue
        path = f"D{number[1]}.md"
        page = [f"# {conversation[key + '_date_time']}", ""]
        place[path] = {}
        for turn in message:
            said_by = " ".join(f"{turn['speaker']}: {turn['text']}".split())
            texts[turn["dia_id"]] = f"{conversation[key + '_date_time']} {said_by}"
            place[path][len(page) + 1] = turn["dia_id"]
            page += [said_by, ""]
        files[path] = "\n".join(page)
    return files, place, texts


def asked_of(rows: list[dict[str, Any]]) -> list[Question]:
    return [
        Question(
            row["question"],
            set(re.findall(r"D\d+:\d+", " ".join(row["evidence"]))),
            str(row["category"]),
        )
        for row in rows
        if row["category"] != 5
    ]


def matches(hits: Iterable[Any]) -> list[Any]:
    """What matched, best first: each hit, and each that a better one's passage shows."""
    results = [value for hit in hits for value in (hit, *hit.also)]
    return sorted(results, key=lambda hit: -hit.score)


def said_in(hit: Any, place: dict[str, dict[int, str]]) -> list[str]:
    where = place[hit.record.path]
    span = range(hit.chunk.start_line, hit.chunk.end_line + 1)
    return [where[line] for line in span if line in where]


def session_of(turn: str) -> str:
    return turn.split(":", maxsplit=1)[0]


def at_five(rankings: list[tuple[Ranking, Question]]) -> dict[str, float]:
    some, every = [], []
    for results, request in rankings:
        expected = {session_of(turn) for turn in request.gold}
        some.append(bool(expected & set(results[:5])))
        every.append(expected <= set(results[:5]))
    return {
        "session any@5": round(statistics.fmean(some), 4),
        "session all@5": round(statistics.fmean(every), 4),
    }


def by_category(
    turns: list[tuple[Ranking, Question]], sessions: list[tuple[Ranking, Question]]
) -> dict[str, Any]:
    results = {}
    for name in sorted({request.category for _, request in turns}):
        mine = [row for row in turns if row[1].category == name]
        theirs = [row for row in sessions if row[1].category == name]
        results[name] = {"questions": len(mine), **score(mine), **at_five(theirs)}
    return results


SETS = {"scifact": scifact, "cosqa": cosqa, "locomo": locomo}


def read_options(about: str | None, sets: Iterable[str]) -> argparse.Namespace:
    """The options of a benchmark on labelled sets."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the labelled sets")
    parser.add_argument("--sets", nargs="+", choices=sets, default=list(sets))
    parser.add_argument("--no-save", action="store_true", help="print only")
    return parser.parse_args()


def main() -> None:
    chosen = read_options(__doc__, SETS)
    results = {}
    for name in chosen.sets:
        began = time.perf_counter()
        results[name] = SETS[name](chosen.data)
        print(
            f"\n{name}: {results[name]['questions']} questions, {time.perf_counter() - began:.0f} s"
        )
        scores = results[name]["scores"]
        columns = list(scores["hybrid"])
        print("  " + " " * 12 + "  ".join(f"{column:>14}" for column in columns))
        for mode, row in scores.items():
            print(f"  {mode:<12}" + "  ".join(f"{row[column]:>14.4f}" for column in columns))
    if not chosen.no_save:
        save("quality", results)


if __name__ == "__main__":
    main()
