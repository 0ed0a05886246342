"""Is the right session first? Sessions ranked by kinen, beside plain SQLite with a row for each.

    python benchmarks/session_ranking.py --data DIR [--questions 300] [--vectors] [--no-save]
    python benchmarks/session_ranking.py --data DIR --times

DIR holds LoCoMo's JSON as in quality.py. The sessions of all its conversations are imported as
transcripts of Claude Code into one space, without vectors unless --vectors is passed, and asked for
by LoCoMo's questions; the sessions of a question's evidence are right. Beside `kinen session resume
WORDS` (`sessions`) stand the order in which a search meets sessions (`search`), and SQLite's FTS5
over the same text: porter stems, an OR of the words, bm25; a row for each session, or for each
message. With --times the sessions have their dates, and the questions that name a time by a date
or by an event are asked as a recall asks them, by words, with and without the vote for that time;
`dated` is how many of them records date.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from facts import Message, write_transcripts
from record import save

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 10
CATEGORIES = (1, 2, 3, 4)
"""Kinds of questions that have an answer."""


class Question(NamedTuple):
    text: str
    right: frozenset[int]
    """The numbers of the sessions with the evidence."""


def read(data: Path) -> tuple[list[list[Message]], list[Question]]:
    """The sessions of all conversations, and the questions about them."""
    sessions: list[list[Message]] = []
    questions = []
    for path in sorted(data.glob("locomo/*.json")):
        for conversation in json.loads(path.read_text()):
            told = conversation["conversation"]
            numbers = {}
            for n in range(1, 100):
                if f"session_{n}" not in told:
                    continue
                numbers[f"D{n}"] = len(sessions)
                roles = {told["speaker_a"]: "user", told["speaker_b"]: "assistant"}
                sessions.append(
                    [
                        Message(roles[turn["speaker"]], f"{turn['speaker']}: {turn['text']}")
                        for turn in told[f"session_{n}"]
                    ]
                )
            for asked in conversation["qa"]:
                evidence = {place.partition(":")[0] for place in asked.get("evidence", ())}
                right = frozenset(numbers[place] for place in evidence if place in numbers)
                if asked["category"] in CATEGORIES and right:
                    questions.append(Question(asked["question"], right))
    Random(7).shuffle(questions)
    return sessions, questions


def by_rows(rows: list[tuple[int, str]]) -> Callable[[str], list[int]]:
    """FTS5 over rows of a session's number and text; sessions in the order of their best rows."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(text, session UNINDEXED, tokenize='porter')")
    db.executemany("INSERT INTO t(session, text) VALUES (?, ?)", rows)

    def ask(question: str) -> list[int]:
        words = "".join(letter if letter.isalnum() else " " for letter in question).split()
        match = " OR ".join(f'"{word}"' for word in words)
        sql = "SELECT session FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 300"
        return list(dict.fromkeys(row[0] for row in db.execute(sql, (match,))))[:MOST]

    return ask


def times_of(data: Path) -> list[datetime]:
    """When the sessions of all conversations were, in the order of `read`."""
    return [
        datetime.strptime(told[f"session_{n}_date_time"], "%I:%M %p on %d %B, %Y").replace(
            tzinfo=UTC
        )
        for path in sorted(data.glob("locomo/*.json"))
        for told in (each["conversation"] for each in json.loads(path.read_text()))
        for n in range(1, 100)
        if f"session_{n}" in told
    ]


def measured_times(data: Path) -> dict[str, Any]:
    """The ranking of questions that name a time, with and without its vote, and of all."""
    from kinen import Memory, Query
    from kinen.recall import dates, fuse
    from kinen.recall.milestones import milestones

    sessions, questions = read(data)
    today = datetime.now(UTC).date()
    by_date = [each for each in questions if dates.span(each.text, today)]
    by_event = [each for each in questions if each not in by_date and milestones(each.text)]
    results: dict[str, Any] = {"sessions": len(sessions)}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "space")
        Path(root, ".kinen").mkdir(parents=True)
        settings = {"index.embedding_provider": "none"}
        with Memory.open(root, home=Path(folder, "home"), settings=settings) as memory:
            for path in write_transcripts(sessions, Path(folder), root, times_of(data)):
                memory.transfer.import_transcripts(str(path))
            memory.sync()
            notes: list[str] = []
            weight_of_dates = fuse.DATED

            def ask(question: str) -> list[int]:
                recency = fuse.RECENCY_WEIGHT
                hits = memory.search(Query(question, limit=20, mode="fulltext", recency=recency))
                notes.extend(hits.notes)
                every = (int(hit.record.session.partition("-")[0], 16) for hit in hits)
                return list(dict.fromkeys(every))

            for name, some in (("date", by_date), ("event", by_event), ("all", questions)):
                for weight in (0.0, weight_of_dates):
                    notes.clear()
                    fuse.DATED = weight
                    row: dict[str, Any] = {"questions": len(some), **figures(ask, some)}
                    row["dated"] = sum(", by '" in note or ', by "' in note for note in notes)
                    results[f"{name}, {'with' if weight else 'without'} the vote"] = row
    return results


def figures(ask: Callable[[str], list[int]], questions: list[Question]) -> dict[str, float]:
    places = []
    for question in questions:
        ranking = ask(question.text)[:5]
        places.append(next((n for n, s in enumerate(ranking, 1) if s in question.right), 0))
    count = len(places)
    return {
        "hit@1": round(sum(place == 1 for place in places) / count, 3),
        "any@5": round(sum(map(bool, places)) / count, 3),
        "MRR@5": round(sum(1 / place for place in places if place) / count, 3),
    }


def measured(data: Path, most: int, vectors: bool) -> dict[str, Any]:
    from kinen import Memory, Query

    sessions, questions = read(data)
    questions = questions[:most]
    results: dict[str, Any] = {"sessions": len(sessions), "questions": len(questions)}
    rows = [(n, "\n".join(message.text for message in some)) for n, some in enumerate(sessions)]
    results["FTS5, a row for each session"] = figures(by_rows(rows), questions)
    rows = [(n, message.text) for n, some in enumerate(sessions) for message in some]
    results["FTS5, a row for each message"] = figures(by_rows(rows), questions)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "space")
        Path(root, ".kinen").mkdir(parents=True)
        mode = "hybrid" if vectors else "fulltext"
        settings = {} if vectors else {"index.embedding_provider": "none"}
        with Memory.open(root, home=Path(folder, "home"), settings=settings) as memory:
            for path in write_transcripts(sessions, Path(folder), root):
                memory.transfer.import_transcripts(str(path))
            memory.sync()
            numbers: dict[str, int] = {}

            def number(ref: str) -> int:
                if ref not in numbers:
                    session = memory.records.get(ref).session
                    numbers[ref] = int(session.partition("-")[0], 16)
                return numbers[ref]

            def search(question: str) -> list[int]:
                hits = memory.search(Query(question, limit=20, mode=mode))
                every = (int(hit.record.session.partition("-")[0], 16) for hit in hits)
                return list(dict.fromkeys(every))

            results["kinen, search"] = figures(search, questions)
            results["kinen, sessions"] = figures(
                lambda question: [number(ref) for ref in memory.sessions.matching(question, MOST)],
                questions,
            )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with locomo/")
    parser.add_argument("--questions", type=int, default=760)
    parser.add_argument("--vectors", action="store_true", help="with vectors: half a minute of CPU")
    parser.add_argument("--times", action="store_true", help="questions that name a time")
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    if chosen.times:
        results = measured_times(chosen.data)
    else:
        results = measured(chosen.data, chosen.questions, chosen.vectors)
    for name, row in results.items():
        print(f"{name:<32}{row}")
    if not chosen.no_save:
        suffix = "-times" if chosen.times else "-vectors" if chosen.vectors else ""
        save(f"session-ranking{suffix}", results)


if __name__ == "__main__":
    main()
