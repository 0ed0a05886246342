"""What a vote for what is newer adds to search in the journal, and what it takes away.

    python benchmarks/recency.py --data DIR [--weights 0.02 0.05] [--half-lives 14 90]

DIR holds LoCoMo's JSON as in quality.py. Each conversation becomes a journal: a capsule per
session, an observation per turn, at the time when it was said. Its questions do not ask for what is
new, so they measure the cost of the vote. The gain is measured on the same turns: each that answers
a question gets a twin 60 days before, with one word replaced as if a fact had changed since, and
the newer of the two has to rank above the older. The twin stands alone in a session of its own, or
in a copy of the whole session.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from kinen import Memory, Query
from kinen.recall import fuse
from kinen.text import estimate
from quality import (
    DEPTH,
    Question,
    Ranking,
    asked_of,
    distinct,
    indexed,
    ndcg,
    recall,
    said_in,
    score,
    written,
)
from record import save

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen.model.records import Hit

WEIGHTS = (0.02, 0.05, 0.1, 0.2, 0.3)
HALF_LIVES = (7, 14, 30, 90)
EARLIER = 60 * 86_400_000
TWIN = "before-"
MAY_COST = 0.003
"""The nDCG that a vote may take away from questions that do not ask for what is new."""
ROOM = 1000
"""Tokens that a reader has for turns."""
COMMON = 100
"""The most frequent words of a conversation, which no turn is about."""
AGES = {"30 days": 30, "90 days": 90, "older": 100_000}


class Turn(NamedTuple):
    id: str
    text: str
    role: str
    ts: int


class Vote(NamedTuple):
    weight: float
    half_life: float

    @property
    def name(self) -> str:
        return f"{self.weight:g} × {self.half_life:g} days" if self.weight else "none"


NONE = Vote(0.0, fuse.HALF_LIFE)

Sessions = dict[str, list[Turn]]


# A conversation as a journal


def sessions_of(conversation: dict[str, Any]) -> Sessions:
    """The turns of each session, a minute apart."""
    results: Sessions = {}
    for key, message in conversation.items():
        if not re.fullmatch(r"session_\d+", key) or not message:
            continue
        at = f"{conversation[f'{key}_date_time']} UTC"
        began = datetime.strptime(at, "%I:%M %p on %d %B, %Y %Z").replace(tzinfo=UTC)
        start = round(began.timestamp() * 1000)
        results[key] = [
            Turn(
                turn["dia_id"],
                " ".join(f"{turn['speaker']}: {turn['text']}".split()),
                "user" if turn["speaker"] == conversation["speaker_a"] else "assistant",
                start + n * 60_000,
            )
            for n, turn in enumerate(message)
        ]
    return results


def bundle(sessions: Sessions, *, alone: bool) -> io.BytesIO:
    capsules, observations = [], []
    for name, turns in sessions.items():
        scope = {"sessionId": name}
        about = {"id": name, "type": "session", "intent": name, "status": "closed"}
        capsules.append(
            {**about, "openedAt": turns[0].ts, "closedAt": turns[-1].ts, "scopeIds": scope}
        )
        observations += [
            {
                "id": turn.id,
                "kind": "message",
                "content": turn.text,
                "provenance": {"role": turn.role},
                "ts": turn.ts,
                "scopeIds": scope,
                "capsuleId": "" if alone else name,
            }
            for turn in turns
        ]
    head = {"version": "1.0", "exported_at": 0}
    whole = {**head, "observations": observations, "capsules": capsules}
    return io.BytesIO(json.dumps(whole).encode())


@contextlib.contextmanager
def remembered(sessions: Sessions, *, alone: bool = False) -> Iterator[Memory]:
    """A space whose journal has these sessions, indexed with vectors.

    Observations `alone` are in no capsule, and so in no segment.
    """
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        (root / "space" / ".kinen").mkdir(parents=True)
        with Memory.open(root / "space", home=root / "home") as memory:
            memory.transfer.load(bundle(sessions, alone=alone))
            memory.sync()
            yield memory


class Asker:
    """Questions to one memory; each is embedded once, whatever the vote."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._vectors: dict[str, Any] = {}
        self._units: dict[str, str] = {}

    def ask(self, text: str, vote: Vote, limit: int) -> tuple[Hit, ...]:
        if text not in self._vectors:
            self._vectors[text] = self._memory.core.embedder.embed([text], query=True)[0]
        fuse.HALF_LIFE = vote.half_life
        query = Query(text, limit=limit, vector=self._vectors[text], recency=vote.weight)
        return self._memory.search(query)

    def unit(self, turn: str) -> str:
        """The first turn of the segment that a turn is found with."""
        if turn not in self._units:
            segment = self._memory.core.reader.segment(f"observation:{turn}")
            self._units[turn] = _name(segment[0].ref) if segment else turn
        return self._units[turn]


def _name(ref: str) -> str:
    return ref.removeprefix("observation:")


def cited(hits: tuple[Hit, ...]) -> Ranking:
    return [_name(hit.record.ref) for hit in hits]


def units(hits: tuple[Hit, ...]) -> Ranking:
    """What is shown together, by its first turn."""
    return distinct([_name((hit.before or (hit.chunk,))[0].ref) for hit in hits])


def turns_shown(hits: tuple[Hit, ...]) -> Ranking:
    """Every turn that is shown, in the order of reading."""
    chunks = [chunk for hit in hits for chunk in (*hit.before, hit.chunk, *hit.after)]
    return distinct([_name(chunk.ref) for chunk in chunks])


# The cost: questions that do not ask for what is new


def cost(
    asker: Asker, questions: list[Question], votes: list[Vote], results: dict[str, Any]
) -> None:
    """nDCG@10 and recall@5 of the turns that are cited, and of the segments that have them."""
    for vote in votes:
        row = results[vote.name]
        for question in questions:
            hits = asker.ask(question.text, vote, 10)
            gold = {asker.unit(turn) for turn in question.gold}
            row["cited ndcg@10"].append(ndcg(cited(hits), question.gold))
            row["cited recall@5"].append(recall(cited(hits), question.gold, 5))
            row["segment ndcg@10"].append(ndcg(units(hits), gold))
            within = set(turns_shown(hits[:5]))
            row["segment recall@5"].append(len(question.gold & within) / len(question.gold))


# Turns as observations in segments, alone, and as paragraphs of files


def compare(sessions: Sessions, files: Any, questions: list[Question], results: Any) -> None:
    """The same turns and questions, no vote: quality.py's way of counting for all."""
    with remembered(sessions) as memory:
        asker = Asker(memory)
        for question in questions:
            hits = asker.ask(question.text, NONE, DEPTH)
            results["segments, turns cited"].append((distinct(cited(hits)), question))
            results["segments, turns shown"].append((turns_shown(hits), question))
            first = [name for hit in hits for name in (*cited((hit,)), *turns_shown((hit,)))]
            results["segments, turns shown, cited first"].append((distinct(first), question))
    with remembered(sessions, alone=True) as memory:
        asker = Asker(memory)
        for question in questions:
            hits = asker.ask(question.text, NONE, DEPTH)
            results["no segments, turns cited"].append((distinct(cited(hits)), question))
    pages, place, _ = files
    with indexed(pages) as memory:
        for question in questions:
            hits = memory.search(Query(question.text, limit=DEPTH))
            output = distinct([turn for hit in hits for turn in said_in(hit, place)])
            results["files, turns shown"].append((output, question))


def affordable(ranking: Ranking, gold: set[str], tokens: dict[str, int]) -> float:
    """The share of the gold turns among those that fit into the room when read in order."""
    left, read = ROOM, set()
    for turn in ranking:
        left -= tokens.get(turn, 0)
        if left < 0:
            break
        read.add(turn)
    return len(gold & read) / len(gold)


# The gain: facts that have changed


def superseded(sessions: Sessions, questions: list[Question], *, alone: bool) -> Sessions:
    """The sessions, and before them a twin of every turn that answers a question."""
    twins = {turn.id: turn for turn in changed(sessions, questions)}
    results = dict(sessions)
    for name, turns in sessions.items():
        if alone:
            results.update(
                {
                    response.id: [response]
                    for turn in turns
                    if (response := twins.get(TWIN + turn.id))
                }
            )
        elif any(TWIN + turn.id in twins for turn in turns):
            results[TWIN + name] = [twins.get(TWIN + turn.id, _earlier(turn)) for turn in turns]
    return results


def _earlier(turn: Turn) -> Turn:
    return turn._replace(id=TWIN + turn.id, ts=turn.ts - EARLIER)


def changed(sessions: Sessions, questions: list[Question]) -> Iterator[Turn]:
    """Each turn that answers a question as it might have been before: one word is another.

    The word is none that its questions use, for they ask for it.
    """
    turns = [turn for some in sessions.values() for turn in some]
    counts = Counter(word for turn in turns for word in _words(turn.text))
    common = {word for word, _ in counts.most_common(COMMON)}
    telling = sorted(word for word in counts if word not in common)
    request: dict[str, set[str]] = defaultdict(set)
    for question in questions:
        for id_ in question.gold:
            request[id_] |= set(_words(question.text))
    for turn in turns:
        own = [word for word in _words(turn.text) if word in counts and word not in common]
        own = [word for word in own if word not in request.get(turn.id, ())]
        if turn.id in request and own:
            word = own[crc32(turn.id.encode()) % len(own)]
            other = telling[crc32(f"{turn.id} {word}".encode()) % len(telling)]
            text = re.sub(rf"\b{word}\b", other, turn.text, count=1, flags=re.IGNORECASE)
            yield _earlier(turn)._replace(text=text)


def _words(text: str) -> list[str]:
    """The words of a turn that may say something; not who said it."""
    return re.findall(r"\b[a-z]{4,}\b", text.partition(": ")[2].lower() or text.lower())


class Pair(NamedTuple):
    question: str
    turn: str
    days: float
    """How long before the last turn the newer one was said."""


def pairs_of(sessions: Sessions, questions: list[Question], twins: Sessions) -> list[Pair]:
    message = {turn.id: turn.ts for turns in sessions.values() for turn in turns}
    paired = {turn.id for turns in twins.values() for turn in turns}
    last = max(message.values())
    return [
        Pair(question.text, turn, (last - message[turn]) / 86_400_000)
        for question in questions
        for turn in sorted(question.gold)
        if turn in message and TWIN + turn in paired
    ]


def gain(asker: Asker, pairs: list[Pair], votes: list[Vote], results: dict[str, Any]) -> None:
    """Is the newer above the older? Nothing where neither is among the best 40."""
    for vote in votes:
        rankings: dict[str, Ranking] = {}
        for pair in pairs:
            if pair.question not in rankings:
                rankings[pair.question] = units(asker.ask(pair.question, vote, DEPTH))
            ranking = rankings[pair.question]
            newer, older = (
                ranking.index(unit) if unit in ranking else DEPTH
                for unit in (asker.unit(pair.turn), asker.unit(TWIN + pair.turn))
            )
            results[vote.name].append((pair.days, None if newer == older else newer < older))


def accuracy(outcomes: list[tuple[float, bool | None]]) -> dict[str, float]:
    output = [(days, right) for days, right in outcomes if right is not None]
    row = {"all": _mean([right for _, right in output])}
    least = 0.0
    for name, most in AGES.items():
        row[name] = _mean([right for days, right in output if least <= days < most])
        least = most
    return row | {"pairs": len(output)}


def _mean(values: list[Any]) -> float:
    return round(statistics.fmean(values), 4) if values else 0.0


# All of it


def measure(data: Path, votes: list[Vote]) -> dict[str, Any]:
    costs: dict[str, Any] = defaultdict(lambda: defaultdict(list))
    compared: dict[str, Any] = defaultdict(list)
    room: dict[str, list[float]] = defaultdict(list)
    gains: dict[str, Any] = {"alone": defaultdict(list), "in a session": defaultdict(list)}
    conversations = json.loads(next((data / "locomo").glob("*.json")).read_text())
    for conversation in conversations:
        questions = [item for item in asked_of(conversation["qa"]) if item.gold]
        sessions = sessions_of(conversation["conversation"])
        with remembered(sessions) as memory:
            cost(Asker(memory), questions, votes, costs)
        some: dict[str, Any] = defaultdict(list)
        compare(sessions, written(conversation["conversation"]), questions, some)
        tokens = {turn.id: estimate(turn.text) for turns in sessions.values() for turn in turns}
        for name, rankings in some.items():
            compared[name] += rankings
            room[name] += [affordable(result, entry.gold, tokens) for result, entry in rankings]
        for name, matches in gains.items():
            twins = superseded(sessions, questions, alone=name == "alone")
            with remembered(twins) as memory:
                gain(Asker(memory), pairs_of(sessions, questions, twins), votes, matches)
    return {
        "questions": len(compared["files, turns shown"]),
        "turns, no vote": {
            name: {**score(rankings), f"recall in {ROOM:,} tokens": _mean(room[name])}
            for name, rankings in compared.items()
        },
        "cost": {
            vote: {name: _mean(values) for name, values in row.items()}
            for vote, row in costs.items()
        },
        "newer above older": {
            name: {vote: accuracy(outcomes) for vote, outcomes in results.items()}
            for name, results in gains.items()
        },
    }


def best(results: dict[str, Any]) -> str:
    """The vote with the most newer ones above older ones among those that cost little."""
    costs, gains = results["cost"], results["newer above older"]
    cheap = [
        vote
        for vote, row in costs.items()
        if all(
            costs["none"][name] - row[name] <= MAY_COST for name in row if name.endswith("ndcg@10")
        )
    ]
    return max(cheap, key=lambda vote: sum(value[vote]["all"] for value in gains.values()))


def show(results: dict[str, Any]) -> None:
    compared = results["turns, no vote"]
    columns = list(compared["files, turns shown"])
    print(f"{results['questions']} questions, no vote")
    print(f"{'':<36}" + "  ".join(f"{column:>23}" for column in columns))
    for name, row in compared.items():
        print(f"{name:<36}" + "  ".join(f"{row[column]:>23.4f}" for column in columns))
    costs, gains = results["cost"], results["newer above older"]
    columns = list(costs["none"])
    heads = [*columns, *(f"newer, {name}" for name in gains)]
    print("\n" + f"{'vote':<16}" + "  ".join(f"{head:>19}" for head in heads))
    for vote, row in costs.items():
        cells = [f"{row[name]:.4f} ({row[name] - costs['none'][name]:+.4f})" for name in columns]
        for value in gains.values():
            all_, recent = value[vote]["all"], value[vote]["30 days"]
            cells.append(f"{all_:.4f} ({recent:.4f})")
        print(f"{vote:<16}" + "  ".join(f"{cell:>19}" for cell in cells))
    pairs = ", ".join(f"{result['none']['pairs']} {name}" for name, result in gains.items())
    print(f"newer above older: of all pairs (of those in the last 30 days); pairs: {pairs}")
    print(f"most gain for at most {MAY_COST} nDCG: {results['best']}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the labelled sets")
    parser.add_argument("--weights", nargs="+", type=float, default=WEIGHTS)
    parser.add_argument("--half-lives", nargs="+", type=float, default=HALF_LIVES, help="in days")
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    began = time.perf_counter()
    votes = [Vote(weight, days) for weight in chosen.weights for days in chosen.half_lives]
    results = measure(chosen.data, [NONE, *votes])
    results["best"] = best(results)
    show(results)
    print(f"{time.perf_counter() - began:.0f} s")
    if not chosen.no_save:
        save("recency", results)


if __name__ == "__main__":
    main()
