"""Whether a step that a session left open was done later: by a commit, a request or an outcome.

Pure, and light: hooks import this module. A text that is only about the same thing does not count:
it has to have most words of the step, and the verb among them.
"""

from __future__ import annotations

from kinen.text import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHARE = 0.8
"""The share of a step's words that has to come again."""
STEM = 4
"""Letters that two forms of a word have in common."""
ENDING = 3
"""Letters in which they may differ after that."""
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
LATER = frozenset("please now then also next bitte jetzt dann ahora luego agora".split())
"""Words before the verb of a request, besides those that agree."""


def by_commit(step: str, subject: str) -> bool:
    """Whether a commit did a step, by its subject."""
    head, colon, rest = subject.partition(": ")
    kind, _, scope = head.rstrip("!)").partition("(")
    kind = kind.casefold()
    conventional = bool(colon) and kind.isalpha()
    words = terms(rest if conventional else subject)
    wanted = terms(step)
    if not words or not wanted:
        return False
    # `feat: rate limiting of the API` has no verb: it begins with what is to be added.
    bare = kind in WORK and _has(words[0], wanted[1:])
    if conventional:
        words = (*words, *terms(scope), *(() if kind in WORK else (kind,)))
    return _has_most(wanted, words) or (bare and _has_most_nouns(wanted, words))


def by_request(step: str, request: str) -> bool:
    """Whether a request, which was fulfilled, is the step: it begins with the same verb."""
    words = terms(request)
    wanted = terms(step)
    if not words or not wanted or request.rstrip().endswith(("?", "？")):
        return False
    if not _has_verb(wanted[0], words[:1]):
        from kinen.journal.choices import YES

        words = _without(words, YES | LATER)
    return _has_verb(wanted[0], words[:1]) and _has_most(wanted, words)


def by_outcome(step: str, outcome: str, left: Iterable[str] = ()) -> bool:
    """Whether a sentence of an outcome says that a step was done.

    `left` are the points that the same session left open: they stand in its outcome, too.
    """
    wanted = terms(step)
    if not wanted:
        return False
    points = [set(terms(point)) for point in left]
    for sentence in _sentences(outcome[:LONGEST]):
        words = terms(sentence)
        if not _has_most(wanted, words):
            continue
        own = set(words)
        if not _is_open(sentence) and not any(point and point <= own for point in points):
            return True
    return False


def _sentences(text: str) -> list[str]:
    for end in (". ", "; ", "! ", "。", "！"):
        text = text.replace(end, f"{end}\n")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _is_open(sentence: str) -> bool:
    """Does a sentence ask, or say that something is not done?"""
    if sentence.rstrip("*_ ").endswith(("?", "？", ":", "：")) or "[ ]" in sentence:
        return True
    low = sentence.casefold()
    spoken = {word.strip(".,;:!()`*\"'") for word in low.split()}
    return bool(spoken & OPEN) or any(sign in low for sign in OPEN_SIGNS)


def _without(words: Sequence[str], fillers: frozenset[str]) -> tuple[str, ...]:
    for place, word in enumerate(words):
        if word not in fillers:
            return tuple(words[place:])
    return ()


def _has_most(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Are most words of a step there, and its verb, which is the first?"""
    found = 1 + sum(_has(word, words) for word in wanted[1:])
    return _has_verb(wanted[0], words) and found >= SHARE * len(wanted)


def _has_most_nouns(wanted: Sequence[str], words: Sequence[str]) -> bool:
    found = sum(_has(word, words) for word in wanted[1:])
    return found >= SHARE * (len(wanted) - 1)


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
