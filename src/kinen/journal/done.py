"""Whether a step that a session left open was done later: by a commit, a request or an outcome.

Pure, and light: hooks import this module. A text that is only about the same thing does not count:
it has to have most words of the step, and the verb among them.
"""

from __future__ import annotations

from kinen.text import STOP_WORDS, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHARE = 0.8
"""The share of a step's words that has to come again."""
STEM = 4
"""Letters that two forms of a word have in common."""
ENDING = 3
"""Letters in which they may differ after that."""
HEAD = 3
"""Letters that all forms of a word begin with, but for those of some verbs."""
CUT = 30
"""Characters of a subject that was cut with which a step has to begin."""
LONGEST = 4_000
"""Characters of an outcome that are read."""
VOWELS = frozenset("aeiouyäöüáéíóúàèâêîôûãõ")
WORK = frozenset("feat fix refactor perf build".split())
"""Types of commits that say what kind of work was done, and not on what."""
OPEN = frozenset(
    """not no never cannot without still yet later pending unless failed fails failing blocked
    nicht kein keine noch nie ohne später pas jamais encore sans todavía aún sin nunca falta ainda
    não sem depois не нет ещё еще без пока""".split()
)
"""Words of a sentence that says that something is not done."""
OPEN_SIGNS = ("n't", "n’t", "未", "没", "不", "まだ", "ない", "ません")
SPACES = dict.fromkeys(map(ord, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), " ")
LATER = frozenset("please now then also next bitte jetzt dann ahora luego agora".split())
"""Words before the verb of a request, besides those that agree."""


class Words:
    """The words of a step or of a sentence; a step begins with its verb."""

    __slots__ = ("heads", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = _words(text)
        self.heads = {word[:HEAD] for word in self.words}

    def may_be_in(self, others: Words) -> bool:
        """Whether so many words begin alike that a closer look is worth it; a verb may not."""
        missing = len(self.heads) - len(self.heads & others.heads)
        return missing <= 1 + (1 - SHARE) * len(self.words)


def by_commit(step: Words, subject: str) -> bool:
    """Whether a commit did a step, by its subject, of which a summary may have the beginning."""
    begin = subject.removesuffix("…").rstrip()
    if begin != subject and len(begin) >= CUT:
        return step.text.startswith(begin)
    every = Words(subject)
    needed = step.words
    if not needed or not step.may_be_in(every):
        return False
    head, colon, rest = subject.partition(": ")
    kind, _, scope = head.rstrip("!)").partition("(")
    kind = kind.casefold()
    conventional = bool(colon) and kind.isalpha()
    words = _words(rest) if conventional else every.words
    # `feat: rate limiting of the API` has no verb: it begins with what is to be added.
    bare = kind in WORK and _has(words[0], needed[1:]) if words else False
    if conventional:
        words = (*words, *_words(scope), *(() if kind in WORK else (kind,)))
    return _has_most(needed, words) or (bare and _has_most_nouns(needed, words))


def by_request(step: Words, request: Words) -> bool:
    """Whether a request, which was fulfilled, is the step: it begins with the same verb."""
    words = request.words
    needed = step.words
    if not (words and needed and step.may_be_in(request)) or _is_question(request.text):
        return False
    if not _has_verb(needed[0], words[:1]):
        from kinen.journal.choices import YES

        words = _without(words, YES | LATER)
    return _has_verb(needed[0], words[:1]) and _has_most(needed, words)


def by_outcome(step: Words, outcome: Iterable[Words], left: Iterable[Words] = ()) -> bool:
    """Whether a sentence of an outcome says that a step was done; see `sentences`.

    `left` are the points that the same session left open: they stand in its outcome, too.
    """
    for sentence in outcome:
        if not (step.words and step.may_be_in(sentence) and _has_most(step.words, sentence.words)):
            continue
        own = set(sentence.words)
        repeats = any(point.words and own.issuperset(point.words) for point in left)
        if not repeats and not _is_open(sentence.text):
            return True
    return False


def sentences(text: str) -> list[Words]:
    """The sentences of an outcome; an item that is ticked off is one, whatever it says."""
    parts: list[str] = []
    for line in text[:LONGEST].splitlines():
        for end in () if _is_ticked(line) else (". ", "; ", "! ", "。", "！"):
            line = line.replace(end, f"{end}\n")  # noqa: PLW2901
        parts += line.splitlines()
    return [Words(part.strip()) for part in parts if part.strip()]


def _is_ticked(line: str) -> bool:
    return line.lstrip("-*+•0123456789. ")[:4].casefold() == "[x] "


def _words(text: str) -> tuple[str, ...]:
    """The words of a text in small letters, without those that say nothing."""
    if not text.isascii():
        return terms(text.casefold())
    words = text.lower().translate(SPACES).split()
    return tuple(dict.fromkeys(word for word in words if word not in STOP_WORDS))


def _is_question(text: str) -> bool:
    return text.rstrip("*_ ").endswith(("?", "？"))


def _is_open(sentence: str) -> bool:
    """Does a sentence ask, or say that something is not done?"""
    if _is_ticked(sentence):
        return False
    if _is_question(sentence) or sentence.endswith((":", "：")) or "[ ]" in sentence:
        return True
    low = sentence.casefold()
    spoken = {word.strip(".,;:!()`*\"'") for word in low.split()}
    return bool(spoken & OPEN) or any(sign in low for sign in OPEN_SIGNS)


def _without(words: Sequence[str], fillers: frozenset[str]) -> tuple[str, ...]:
    for place, word in enumerate(words):
        if word not in fillers:
            return tuple(words[place:])
    return ()


def _has_most(needed: Sequence[str], words: Sequence[str]) -> bool:
    """Are most words of a step there, and its verb, which is the first?"""
    shared = 1 + sum(_has(word, words) for word in needed[1:])
    return _has_verb(needed[0], words) and shared >= SHARE * len(needed)


def _has_most_nouns(needed: Sequence[str], words: Sequence[str]) -> bool:
    shared = sum(_has(word, words) for word in needed[1:])
    return shared >= SHARE * (len(needed) - 1)


def _has(word: str, words: Iterable[str]) -> bool:
    return any(_alike(word, other) for other in words)


def _alike(word: str, other: str) -> bool:
    """Are two words forms of one: `refund` and `refunds`, `map` and `mapped`?"""
    if word == other:
        return True
    short, long = sorted((word, other), key=len)
    shared = 0
    while shared < len(short) and short[shared] == long[shared]:
        shared += 1
    whole = shared == len(short) and shared >= ENDING
    return (whole or shared >= STEM) and len(long) - shared <= ENDING


def _has_verb(verb: str, words: Iterable[str]) -> bool:
    """Is a verb among some words, in any of its forms: `run` and `ran`, `write` and `wrote`?"""
    bones = _consonants(verb)
    return any(
        _alike(verb, word) or (len(bones) > 1 and bones == _consonants(word)) for word in words
    )


def _consonants(word: str) -> str:
    return "".join(letter for letter in word if letter not in VOWELS)
