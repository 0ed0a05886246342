"""Memories before everything else, for a question that asks for one and whose words they have.

`what did we decide about the queue` asks for a decision about the queue: a memory about the queue
answers it, however often sessions spoke of the queue. A question without such a word, and a memory
that lacks a word of the question, are ranked as ever.
"""

from __future__ import annotations

from kinen.text import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.model.journal import Item
    from kinen.model.records import Query
    from kinen.ports import Index

MOST = 20
"""Memories that are looked at."""
STEM = 5
"""Letters from which on two words with the same beginning are the same: `queue`, `queues`."""
ASKS = frozenset(
    term
    for word in """
    decide decided decides decision decisions choose chose chosen choice pick picked agree agreed
    use used uses using prefer preferred learn learned learnt lesson lessons rule rules convention
    conventions entscheiden entschieden entscheidung entscheidungen nutzen benutzen verwenden nehmen
    gelernt regel regeln décider décidé décision décisions utiliser utilisons utilise choisi appris
    règle règles decidir decidimos decidido decisión decisiones usar usamos usa elegimos aprendimos
    regla reglas decisão decisões escolhemos aprendemos regra regras решили решение используем
    выбрали правило правила 决定 使用 选择 规则 決定 使う 使って 決めた ルール""".split()
    for term in terms(word)
)
"""Words by which a question asks for a memory, and which say nothing about its subject."""

FUNCTION = frozenset(
    term
    for word in """
    was welche welchen welches welcher warum wieso wir uns haben über für der die das den dem ein
    eine zur zum quel quelle quels quelles pourquoi nous avons on pour sur au le la les un une du
    qué que cuál por para sobre el los las una hemos o a os as um uma qual nós мы что какой какую
    какие почему для о про нас 我们 什么 哪个 哪种 为什么 关于 の は を に どの なぜ 何""".split()
    for term in terms(word)
)
"""Words of a question in other languages than English that say nothing about its subject."""


def subject(question: str) -> tuple[str, ...]:
    """What a question asks a memory about; empty if it does not ask for one."""
    words = [word for word in terms(question) if word not in FUNCTION]
    rest = tuple(word for word in words if word not in ASKS)
    return rest if len(rest) < len(words) else ()


def chunks(reader: Index, query: Query) -> list[int]:
    """The chunks of memories that have every word of what is asked about."""
    about = subject(query.text)
    if not about or (query.kinds and "memory" not in query.kinds):
        return []
    matches = reader.match(about, query._replace(kinds=("memory",)), MOST)
    loaded = reader.load([id_ for id_, _ in matches])
    return [id_ for id_, (_, chunk) in loaded.items() if _has(terms(chunk.text, 400), about)]


def first(question: str, entries: Sequence[Item]) -> list[Item]:
    """The entries of a recall, memories about what is asked before the others."""
    about = subject(question)
    return sorted(entries, key=lambda entry: not answers(about, entry.ref, entry.text))


def answers(about: tuple[str, ...], ref: str, text: str) -> bool:
    """Is it a memory that has every word of what is asked about?"""
    return bool(about) and ref.startswith("memory:") and _has(terms(text, 400), about)


def _has(words: tuple[str, ...], about: tuple[str, ...]) -> bool:
    return all(any(_same(word, other) for other in words) for word in about)


def _same(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    return short == long or (len(short) >= STEM and long.startswith(short))
