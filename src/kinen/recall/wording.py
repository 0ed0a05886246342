"""The exact words of a question: quoted phrases, excluded words, runs, what asks for a memory."""

from __future__ import annotations

from kinen.model.late import re
from kinen.model.tuples import NamedTuple
from kinen.text import STOP_WORDS, longest_run, terms, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_WITHOUT_QUOTES = str.maketrans('"“”', "   ")
SHORTEST_RUN = 3
"""Consecutive words from which on a match is no coincidence."""
MOST_WORDS = 40
"""Words of a question in which runs are looked for."""
ASKS = frozenset(
    """
    decide decided decides decision decisions choose chose chosen choice pick picked agree agreed
    use used uses using prefer preferred learn learned learnt lesson lessons rule rules convention
    conventions entscheiden entschieden entscheidung entscheidungen nutzen benutzen verwenden nehmen
    gelernt regel regeln décider décidé décision décisions utiliser utilisons utilise choisi appris
    règle règles decidir decidimos decidido decisión decisiones usar usamos usa elegimos aprendimos
    regla reglas decisão decisões escolhemos aprendemos regra regras решил решен испол выбра прави
    决定 使用 选择 规则 決定 使う 使っ って 決め めた ルー ール""".split()
)
"""Terms by which a question asks for a memory, and which say nothing about its subject: words, and
pairs of letters of scripts without spaces."""


class Wording(NamedTuple):
    """A question, and what it says about exact words."""

    text: str
    """The question without quotation marks and excluded words."""
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


def read_wording(text: str) -> Wording:
    """Split `"must contain"` and `-without` from a question; one of nothing else stays as it is."""
    led = any(word.startswith("-") for word in text.split())
    if not led and '"' not in text and "“" not in text:  # as most questions
        return Wording(" ".join(text.split()) if words(text) else text)
    quotes = re.compile(r'"([^"]{1,400})"|“([^“”]{1,400})”')
    # Three letters or more: shorter ones are options of commands (`ls -la`).
    without = re.compile(r"(?<!\S)-([^\W\d_]\w{2,})(?!\S)")
    required = tuple(
        phrase for match in quotes.finditer(text) if (phrase := (match[1] or match[2]).strip())
    )
    rest = quotes.sub(" ", text)
    excluded = tuple(dict.fromkeys(word.lower() for word in without.findall(rest)))
    rest = without.sub(" ", rest)
    if not required and not words(rest):
        return Wording(text)
    plain = quotes.sub(lambda match: f" {match[1] or match[2]} ", text)
    return Wording(" ".join(without.sub(" ", plain).split()), required, excluded)


def asks_memory(question: str) -> bool:
    """Does a question have a word by which it asks for a memory?"""
    return not ASKS.isdisjoint(terms(question))


def exact_wording(text: str) -> Wording:
    """A question as one phrase that must be contained, as if all of it were quoted."""
    phrase = " ".join(text.translate(_WITHOUT_QUOTES).split())
    return Wording(phrase, (phrase,)) if phrase else Wording(text)


def decisive(sequence: Sequence[str]) -> int:
    """The number of words that are not function words."""
    return sum(word not in STOP_WORDS for word in sequence)


def telling_runs(question: str) -> list[tuple[str, ...]]:
    """The runs of three words in a question that can tell one passage from others."""
    sequence = [word.lower() for word in words(question)[:MOST_WORDS]]
    windows = zip(sequence, sequence[1:], sequence[2:], strict=False)
    return [run for run in dict.fromkeys(windows) if decisive(run)]


def run_strength(question: str, text: str) -> float:
    """How much of a question a text says word by word: 0 for no run of three words, at most 1."""
    sequence = [word.lower() for word in words(question)[:MOST_WORDS]]
    run = longest_run(sequence, [word.lower() for word in words(text)])
    if run < min(SHORTEST_RUN, len(sequence)) or run < 2:
        return 0.0
    return run / len(sequence)
