"""The words of a question: quoted phrases, excluded words, runs, and what it is about.

Memories come first for a question that asks for one and whose words they have: `what did we decide
about the queue` is answered by a memory about the queue, however often sessions spoke of it.
"""

from __future__ import annotations

from kinen.model.late import re
from kinen.model.tuples import NamedTuple
from kinen.text import STOP_WORDS, longest_run, terms, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.model.journal import Item
    from kinen.model.records import Query
    from kinen.ports import Index

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
MOST = 20
"""Memories that are looked at."""
STEM = 3
"""Letters that two forms of a word have in common at least: `job`, `jobs`."""
ENDINGS = frozenset("s es x e n en ns ern d ed ing ment".split())
"""Endings that a word may have and another form of it lacks; `front` and `frontend` are two."""
OTHERS = frozenset({("e", "ing"), ("y", "ies"), ("y", "ied"), ("o", "i")})
"""Endings that stand for each other: `policy`, `policies`."""
FUNCTION = frozenset(
    """
    der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren wird
    werden wurde wurden hat haben hatte kann können muss müssen soll sollen wie was wer wen wem wo
    wann warum wieso welche welcher welches welchen welchem viel viele vielen ich du er sie es wir
    ihr mich mir uns man mein meine meinen auf aus bei bis für mit nach über um unter von vom vor zu
    zum zur im am in an als auch nicht noch nur so wenn dass sich
    le la les un une des du de et ou mais est sont être a ont avoir avons avait fait faire faut peut
    on il elle ils elles nous vous je tu me se son sa ses leur leurs mon ma mes notre nos ce cet
    cette ces que qui quoi quel quelle quels quelles quand comment pourquoi combien où à au aux en
    dans par pour sur sous avec sans chez vers ne pas plus si y qu
    el los las una unos unas o del al con por para sin sobre entre es está están era fue ser hay ha
    han hemos he su sus mi mis lo les qué quién quiénes quien cual cuál cuáles cuando cuándo como
    cómo donde dónde cuánto cuánta cuántos cuántas no sí más ya este esta esto tiene tienen
    os as um uma uns umas e do da dos das em na nas num numa ao aos às com pelo pela sem é são estão
    foi há tem têm seu sua seus suas quem qual quais onde quanto quanta quantos quantas não mais já
    vai nós
    lo gli uno di della dei delle dello degli ai alla alle dal dalla nel nella su sul per tra fra è
    sono hanno ho suo che chi cosa quale quali dove quanti quante perché non più viene vengono
    het een of is zijn wordt worden heeft hebben had kan kunnen moet moeten wat waar wanneer waarom
    hoe hoeveel welke welk ik je jij hij zij ze we wij mijn van voor op aan uit bij met naar tot om
    te er niet ook nog dan dat deze dit
    мы что какой какую какие почему для о про нас как где когда кто это сколько есть был была были
    почем сколь 我们 什么 哪个 哪种 为什 什么 关于 の は を に どの なぜ 何""".split()
)
"""Words of German, French, Spanish, Portuguese, Italian, Dutch and others that say nothing about
the subject of a question."""


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


def informative(question: str) -> tuple[str, ...]:
    """The terms of a question that say what it is about, in the languages of `FUNCTION`, too.

    A question is in one of them if it has more of their words than of English ones. If it has
    nothing but function words, these are its terms.
    """
    every_term = terms(question)
    if english(question) >= 0:
        return every_term
    elided = frozenset("cdjlmnst")  # the articles and pronouns before an apostrophe
    telling = tuple(term for term in every_term if term not in FUNCTION and term not in elided)
    return telling or every_term


def english(question: str) -> int:
    """How many more function words a question has of English than of other languages."""
    return english_words({word.lower() for word in words(question)}.union(terms(question)))


def english_words(every: set[str]) -> int:
    """How many more of some words are function words of English than of other languages."""
    return len(every & STOP_WORDS - FUNCTION) - len(every & FUNCTION - STOP_WORDS)


def subject(question: str) -> tuple[str, ...]:
    """What a question asks a memory about; empty if it does not ask for one."""
    question_terms = informative(question)
    rest = tuple(word for word in question_terms if word not in ASKS)
    return rest if len(rest) < len(question_terms) else ()


def memory_chunks(reader: Index, query: Query) -> list[int]:
    """The chunks of memories that have every word of what is asked about."""
    about = subject(query.text)
    if not about or (query.kinds and "memory" not in query.kinds):
        return []
    matches = reader.match(about, query._replace(kinds=("memory",)), MOST)
    loaded = reader.load([id_ for id_, _ in matches])
    return [id_ for id_, (_, chunk) in loaded.items() if _has(terms(chunk.text, 400), about)]


def memories_first(question: str, entries: Sequence[Item]) -> list[Item]:
    """The entries of a recall, memories about what is asked before the others.

    Of these, those that have the very words come first.
    """
    about = subject(question)

    def place(entry: Item) -> int:
        if not answers(about, entry.ref, entry.text):
            return 2
        return 0 if set(about) <= set(terms(entry.text, 400)) else 1

    return sorted(entries, key=place)


def answers(about: tuple[str, ...], ref: str, text: str) -> bool:
    """Is it a memory that has every word of what is asked about?"""
    return bool(about) and ref.startswith("memory:") and _has(terms(text, 400), about)


def _has(own: tuple[str, ...], about: tuple[str, ...]) -> bool:
    return all(any(_same(word, other) for other in own) for word in about)


def _same(word: str, other: str) -> bool:
    """Are two words forms of one: the same but for an ending of inflection?"""
    if word == other:
        return True
    short, long = sorted((word, other), key=len)
    letters = zip(short, long, strict=False)
    shared = next((n for n, (one, two) in enumerate(letters) if one != two), len(short))
    ending = short[shared:], long[shared:]
    return shared >= STEM and (ending in OTHERS or (not ending[0] and ending[1] in ENDINGS))
