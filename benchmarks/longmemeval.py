"""LongMemEval: are the sessions with the answer found, and are their turns recalled?

    python benchmarks/longmemeval.py --data longmemeval_s.json [--questions N] [--fulltext]

The file is that of https://github.com/xiaowu0162/LongMemEval (not part of kinen): a list of
questions, each with a haystack of its own. The haystack of a question is imported as transcripts of
Claude Code, with its dates, into a space of its own, and the question is asked there:

- `sessions`: `kinen session resume WORDS`, the sessions in its order;
- `search`: the sessions in the order in which a search meets them;
- `FTS5`: plain SQLite, a row for each session (porter stems, an OR of the words, bm25).

As in the paper: any@k (one of the answer's sessions is among the first k), all@k (every one is),
and nDCG@10; questions that nobody can answer (`_abs`) are left out. `recall` is the share of answer
turns (`has_answer`) of which a recall of 2,000 tokens shows a line. What a model would answer with
that is not measured here: it takes a model and a judge.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from facts import Message, write_transcripts
from quality import ndcg
from record import save
from session_ranking import by_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

BUDGET = 2_000
DEPTH = 10
DAY = "%Y/%m/%d (%a) %H:%M"
SHOWN = 40
"""Characters of a turn in a row that show that it was recalled."""


class Haystack(NamedTuple):
    """A question and the sessions in which its answer is."""

    question: str
    kind: str
    sessions: list[list[Message]]
    times: list[datetime]
    right: set[int]
    turns: list[str]
    """The turns that have the answer."""


def read(path: Path, most: int) -> list[Haystack]:
    """The questions that have an answer."""
    found = []
    for row in json.loads(path.read_text(encoding="utf-8")):
        if row["question_id"].endswith("_abs"):
            continue
        answers = set(row["answer_session_ids"])
        turns = [turn for session in row["haystack_sessions"] for turn in session]
        found.append(
            Haystack(
                row["question"],
                row["question_type"],
                [
                    [Message(turn["role"], turn["content"]) for turn in session]
                    for session in row["haystack_sessions"]
                ],
                [datetime.strptime(day, DAY).replace(tzinfo=UTC) for day in row["haystack_dates"]],
                {n for n, name in enumerate(row["haystack_session_ids"]) if name in answers},
                [turn["content"] for turn in turns if turn.get("has_answer")],
            )
        )
    return found[:most] if most else found


def rankings(stack: Haystack, *, fulltext: bool) -> tuple[dict[str, list[int]], list[bool]]:
    """The sessions in each order, and whether each answer turn was recalled."""
    from kinen import Memory, Query
    from kinen.recall.tiers import shown

    rows = [
        (n, "\n".join(message.text for message in session))
        for n, session in enumerate(stack.sessions)
    ]
    mode = "fulltext" if fulltext else "hybrid"
    settings = {"index.embedding_provider": "none"} if fulltext else {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "space")
        Path(root, ".kinen").mkdir(parents=True)
        with Memory.open(root, home=Path(folder, "home"), settings=settings) as memory:
            for path in write_transcripts(stack.sessions, Path(folder), root, stack.times):
                memory.transfer.import_transcripts(str(path))
            memory.sync()
            hits = memory.search(Query(stack.question, limit=4 * DEPTH, mode=mode))
            matching = memory.sessions.matching(stack.question, DEPTH)
            sessions = [memory.records.get(ref).session for ref in matching]
            recalled = memory.recall(Query(stack.question, budget=BUDGET))
            text = " ".join(shown(recalled).split())
    orders = {
        "FTS5": by_rows(rows)(stack.question),
        "search": _numbers(hit.record.session for hit in hits if hit.record.session),
        "sessions": _numbers(sessions),
    }
    return orders, [_is_shown(turn, text) for turn in stack.turns]


def _numbers(names: Iterable[str]) -> list[int]:
    """The sessions with these ids of transcripts, each once."""
    return list(dict.fromkeys(int(name.partition("-")[0], 16) for name in names))


def _is_shown(turn: str, text: str) -> bool:
    bare = " ".join(turn.split())
    starts = range(0, max(1, len(bare) - SHOWN), SHOWN // 2)
    return any(bare[start : start + SHOWN] in text for start in starts)


def scores(ranking: list[int], right: set[int]) -> dict[str, float]:
    names, gold = [str(n) for n in ranking], {str(n) for n in right}
    return {
        "any@5": float(bool(right & set(ranking[:5]))),
        "all@5": float(right <= set(ranking[:5])),
        "all@10": float(right <= set(ranking[:10])),
        "nDCG@10": ndcg(names, gold),
    }


def measured(stacks: list[Haystack], *, fulltext: bool) -> dict[str, Any]:
    seen: dict[str, dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    recalled: list[bool] = []
    for number, stack in enumerate(stacks, 1):
        orders, turns = rankings(stack, fulltext=fulltext)
        recalled += turns
        for name, ranking in orders.items():
            for kind in ("all", stack.kind):
                seen[kind][name].append(scores(ranking, stack.right))
        print(f"\r{number} of {len(stacks)} questions", end="", file=sys.stderr)
    print(file=sys.stderr)
    results: dict[str, Any] = {"questions": len(stacks), "turns": len(recalled)}
    results["recall"] = round(sum(recalled) / len(recalled), 3) if recalled else None
    for kind, rows in seen.items():
        results[kind] = {
            name: {key: round(sum(score[key] for score in each) / len(each), 3) for key in each[0]}
            for name, each in rows.items()
        }
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="longmemeval_s.json")
    parser.add_argument("--questions", type=int, default=0, help="only the first N")
    parser.add_argument("--fulltext", action="store_true", help="without vectors")
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    results = measured(read(chosen.data, chosen.questions), fulltext=chosen.fulltext)
    print(json.dumps(results, indent=1))
    if not chosen.no_save:
        save("longmemeval", results)


if __name__ == "__main__":
    main()
