"""Is the fact that was asked for in a recall, and not that of another thing?

    python benchmarks/facts.py [--pairs 600] [--changes 200] [--budget 2000] [--verbose]

Sessions are generated from `facts_texts.json`: two services, customers, environments, files,
versions or people have the same attribute (a number, a choice, a state) with other values, and one
of them is asked for. In others the value of one thing changes, and the newer one is the answer.
The two facts are in one message, one session, two sessions of a day, or on two days; among other
sentences, from the agent or the user; names are written with and without capitals and punctuation,
and not always as in the question. Twelve pairs and four changes share a space, so that every
question has the facts of thirty other things beside its own. Half of the facts that have a text
for it are followed by one about another attribute of the same thing, in some of the same words.

The texts called `held out` were written before anything was tuned and are not looked at while the
ranking is worked on. Those called `unseen` were written before the order of changes was worked on
again, but what they say of other attributes later, and that was used to choose between two rules.

`answered`: the sentence with the asked fact is in the answer. `first`: it is in the first entry.
`newer first`: of a change, the first entry has the newer sentence. `undated`: answers in which an
entry with the older sentence does not say its day. `links`: answers in which it links the newer.
`false links`: links from or to anything else than an older and a newer sentence of the same thing.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

TEXTS = Path(__file__).parent / "facts_texts.json"
PAIRS = 12
CHANGES = 4
"""Cases of each kind in one space."""
SESSIONS = 6
LAYOUTS = ("one message", "one session", "one day", "two days")
BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
CITED = re.compile(r"\[([^\[\]\n]+)\] \d{4}-\d\d-\d\d")
LINKED = re.compile(r"later: \[([^\[\]\n]+)\]")


class Message(NamedTuple):
    role: str
    text: str


class Case(NamedTuple):
    """A question, the sentence that answers it, and the other thing's or the older one."""

    question: str
    answer: str
    other: str
    change: bool
    about: tuple[str, str, str]
    """The kind of thing, the type of fact, the layout."""
    beside: str = ""
    """What is said later of another attribute of the thing, with some of the same words."""


class World(NamedTuple):
    """The sessions of one space, and what is asked about them."""

    sessions: list[list[Message]]
    cases: list[Case]


class Result(NamedTuple):
    case: Case
    answered: bool
    first: bool
    older: bool
    undated: bool
    linked: bool
    false_links: int
    text: str


# Sessions


def world(texts: dict[str, Any], random: Random) -> World:
    """Sessions with twelve pairs and four changes; no thing has two of them."""
    exchanges: list[list[tuple[float, list[Message]]]] = [[] for _ in range(SESSIONS)]
    cases = []
    kinds = list(texts["kinds"])
    names = {kind: random.sample(about["names"], 6) for kind, about in texts["kinds"].items()}
    chosen = [(kind, False) for kind in kinds * (PAIRS // len(kinds))]
    chosen += [(kind, True) for kind in random.sample(kinds, CHANGES)]
    for kind, change in chosen:
        things = [names[kind].pop()] * 2 if change else [names[kind].pop(), names[kind].pop()]
        layout = random.choice(LAYOUTS[1:] if change else LAYOUTS)
        case, told = _case(texts, kind, things, layout, random)
        cases.append(case)
        places = sorted([random.random(), random.random()])
        sessions = _sessions(layout, random)
        for session, place, exchange in zip(sessions, places, told, strict=False):
            exchanges[session].append((place, exchange))
        if case.beside:
            exchange = _exchange(texts, random.choice(texts["before"]), [case.beside], random)
            exchanges[random.randint(sessions[1], SESSIONS - 1)].append((1.0, exchange))
    return World(
        [[message for _, some in sorted(session) for message in some] for session in exchanges],
        cases,
    )


def _sessions(layout: str, random: Random) -> tuple[int, int]:
    """The sessions of the earlier and the later fact; two follow each other on each day."""
    if layout in ("one message", "one session"):
        session = random.randrange(SESSIONS)
        return session, session
    day = 2 * random.randrange(SESSIONS // 2)
    if layout == "one day":
        return day, day + 1
    return tuple(sorted(random.sample(range(0, SESSIONS, 2), 2)))  # type: ignore[return-value]


def _case(
    texts: dict[str, Any], kind: str, things: list[str], layout: str, random: Random
) -> tuple[Case, list[list[Message]]]:
    about = texts["kinds"][kind]
    attribute = random.choice(about["attributes"])
    ask, say = random.choice(attribute["ask"]), random.choice(attribute["say"])
    change = things[0] == things[1]
    says = [say, random.choice(attribute["say"]) if random.random() < 0.5 else say]
    facts = [
        _sentence(says[n], _written(about["forms"], thing, random), value)
        for n, (thing, value) in enumerate(zip(things, _values(attribute, random), strict=True))
    ]
    asked = 1 if change else random.randrange(2)
    question = ask.format(thing=_written(about["asked"], things[asked], random))
    shown = [
        facts[0],
        random.choice(texts["changes"]).format(fact=facts[1]) if change else facts[1],
    ]
    beside = ""
    if "beside" in attribute and random.random() < 0.5:
        said = _written(about["forms"], things[asked], random)
        beside = _sentence(random.choice(attribute["beside"]), said, "")
    case = Case(
        question,
        facts[asked],
        facts[1 - asked],
        change,
        (kind, attribute["type"], layout),
        beside,
    )
    prompts = [
        random.choice(texts["prompts"]).format(thing=_written(about["asked"], thing, random))
        for thing in things
    ]
    if layout == "one message":
        return case, [_exchange(texts, prompts[0], shown, random)]
    return case, [
        _exchange(texts, prompt, [fact], random)
        for prompt, fact in zip(prompts, shown, strict=True)
    ]


def _values(attribute: dict[str, Any], random: Random) -> list[Any]:
    values = attribute["values"]
    return random.sample(range(*values) if attribute["type"] == "number" else values, 2)


def _written(forms: list[str], name: str, random: Random) -> str:
    """A thing in one of the ways to write it."""
    return random.choice(forms).format(
        name=name,
        Name=name[:1].upper() + name[1:],
        small=name.lower(),
        base=name.rpartition("/")[2],
        handle=name.lower().replace(" ", ".").replace("'", ""),
    )


def _sentence(template: str, thing: str, value: object) -> str:
    text = template.format(thing=thing, value=value)
    return text[:1].upper() + text[1:] if thing.startswith(("the ", "our ", "customer ")) else text


def _exchange(
    texts: dict[str, Any], prompt: str, facts: list[str], random: Random
) -> list[Message]:
    """A prompt and its answer; sometimes it is the user who states the fact."""
    before = random.sample(texts["before"], random.randrange(3))
    after = random.sample(texts["after"], random.randrange(3))
    if random.random() < 0.2:
        return [
            Message("user", " ".join([*facts, *after[:1], prompt])),
            Message("assistant", " ".join([*before, "Noted."])),
        ]
    lines = [*before, *facts, *after]
    layouts = (
        " ".join(lines),
        "\n\n".join(lines),
        "\n".join(["## Findings", *(f"- {line}" for line in lines)]),
        "\n".join([" ".join(before) or "Here is what I found.", "", *facts, "", *after]),
    )
    return [Message("user", prompt), Message("assistant", random.choice(layouts))]


def write_transcripts(
    sessions: list[list[Message]], folder: Path, cwd: Path, times: Sequence[datetime] = ()
) -> list[Path]:
    """The sessions as transcripts of Claude Code, at their times, or two a day."""
    paths = []
    for n, messages in enumerate(sessions):
        if not messages:
            continue
        at = times[n] if times else BEGIN + timedelta(days=n // 2, hours=4 * (n % 2))
        session = f"{n:08x}-0000-4000-8000-{n:012x}"
        rows = []
        for place, message in enumerate(messages):
            content: Any = message.text
            if message.role == "assistant":
                content = [{"type": "text", "text": message.text}]
            rows.append(
                {
                    "type": message.role,
                    "uuid": f"{n:04x}{place:04x}-0000-4000-8000-000000000000",
                    "sessionId": session,
                    "cwd": str(cwd),
                    "isSidechain": False,
                    "timestamp": f"{at + timedelta(minutes=2 * place):%Y-%m-%dT%H:%M:%S.000Z}",
                    "message": {"role": message.role, "content": content},
                }
            )
        path = folder / f"{session}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        paths.append(path)
    return paths


# Answers


@contextmanager
def recalls_of(sessions: list[list[Message]]) -> Iterator[Callable[[str, int], str]]:
    """A space of its own into which the sessions were imported, to be asked with a budget."""
    from kinen import Memory, Query
    from kinen.recall.tiers import shown

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "space")
        Path(root, ".kinen").mkdir(parents=True)
        with Memory.open(root, home=Path(folder, "home")) as memory:
            for path in write_transcripts(sessions, Path(folder), root):
                memory.transfer.import_transcripts(str(path))
            memory.sync()
            yield lambda question, budget: shown(memory.recall(Query(question, budget=budget)))


def judged(case: Case, text: str, cases: Iterable[Case]) -> Result:
    """What an answer has of a case; `cases` are all of its space."""
    entries = re.split(r"(?m)^- ", text)[1:]
    asked = [entry for entry in entries if _has(entry, case.answer)]
    older = [entry for entry in entries if case.change and _has(entry, case.other)]
    by_ref = {ref: entry for entry in entries for ref in CITED.findall(entry)}
    links = [(entry, by_ref.get(ref, "")) for entry in entries for ref in LINKED.findall(entry)]
    changes = [some for some in cases if some.change]
    true = [
        any(_has(old, some.other) and _has(new, some.answer) for some in changes)
        for old, new in links
    ]
    return Result(
        case,
        answered=bool(asked),
        first=bool(entries) and _has(entries[0], case.answer),
        older=bool(older),
        undated=any(not CITED.search(entry) for entry in older),
        linked=any(old in older and new in asked for old, new in links),
        false_links=true.count(False),
        text=text,
    )


def _has(text: str, sentence: str) -> bool:
    return _words(sentence) in _words(text)


def _words(text: str) -> str:
    return " ".join(["", *re.findall(r"[^\W_]+", text.casefold()), ""])


def results_of(
    split: str, pairs: int, changes: int, budgets: Iterable[int], seed: int = 1
) -> dict[int, list[Result]]:
    """The answers to so many pairs and changes, by budget."""
    texts = json.loads(TEXTS.read_text())[split]
    random = Random(f"{split} {seed}")
    results: dict[int, list[Result]] = {budget: [] for budget in budgets}
    count: Counter[bool] = Counter()
    while count[False] < pairs or count[True] < changes:
        some = world(texts, random)
        wanted = []
        for case in some.cases:
            count[case.change] += 1
            if count[case.change] <= (changes if case.change else pairs):
                wanted.append(case)
        with recalls_of(some.sessions) as recall:
            for budget in results:
                results[budget] += [
                    judged(case, recall(case.question, budget), some.cases) for case in wanted
                ]
    return results


def shares(results: Iterable[Result]) -> dict[str, Any]:
    """The figures of answers: shares in percent, and counts."""
    pairs = [result for result in results if not result.case.change]
    changes = [result for result in results if result.case.change]
    return {
        "pairs": len(pairs),
        "answered": percent(result.answered for result in pairs),
        "first": percent(result.first for result in pairs),
        "changes": len(changes),
        "newer answered": percent(result.answered for result in changes),
        "newer first": percent(result.first for result in changes),
        "older shown": sum(result.older for result in changes),
        "undated": sum(result.undated for result in changes),
        "links": sum(result.linked for result in changes),
        "false links": sum(result.false_links for result in (*pairs, *changes)),
    }


def percent(values: Iterable[bool]) -> float:
    some = list(values)
    return round(100 * sum(some) / len(some), 1) if some else 0.0


def by_part(results: list[Result]) -> dict[str, str]:
    """For each kind, type and layout: how many first of how many."""
    rows: dict[str, str] = {}
    for change in (False, True):
        for parts in zip(*(result.case.about for result in results), strict=True):
            for part in dict.fromkeys(parts):
                own = [
                    result.first
                    for result in results
                    if part in result.case.about and result.case.change is change
                ]
                rows[f"{part}, {'changes' if change else 'pairs'}"] = f"{sum(own)}/{len(own)}"
    return rows


def failures(results: Iterable[Result]) -> Iterator[str]:
    for result in results:
        if not result.first or result.false_links:
            fault = "not there" if not result.answered else "not first"
            case = result.case
            yield (
                f"\n=== {fault}{' (change)' if case.change else ''}: {case.question}\n"
                f"    {case.answer} | {case.other} {case.about}\n{result.text}"
            )


def main() -> None:
    from record import save

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=600)
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--budget", type=int, nargs="*", default=[2000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--split", nargs="*", default=["tuned", "held out", "unseen"])
    parser.add_argument("--verbose", action="store_true", help="failures of the tuned texts")
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args()
    figures: dict[str, Any] = {}
    for split in chosen.split:
        results = results_of(split, chosen.pairs, chosen.changes, chosen.budget, chosen.seed)
        figures[split] = {
            str(budget): {**shares(some), "first by part": by_part(some)}
            for budget, some in results.items()
        }
        if chosen.verbose and split == "tuned":
            print("\n".join(failures(results[chosen.budget[0]])))
        for budget, row in figures[split].items():
            print(f"\n{split}, {budget} tokens")
            for name, value in row.items():
                print(f"  {name:<18}{value if name != 'first by part' else ''}")
            for name, value in row["first by part"].items():
                print(f"    {name:<28}{value:>8}")
    if not chosen.no_save:
        save("facts", figures)


if __name__ == "__main__":
    main()
