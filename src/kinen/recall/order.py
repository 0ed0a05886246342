"""The order of a recall's entries, and links from what was said to what was said later.

What has more of the question's words comes first: a newer fact about another thing is no answer.
Time decides between entries that have the same words of the question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log

from kinen.distill.blocks import blocks, sentences, stems
from kinen.distill.relevance import stems_above
from kinen.model.journal import Item
from kinen.model.tuples import NamedTuple
from kinen.recall.candidates import DERIVED
from kinen.recall.tiers import priced
from kinen.text import STOP_WORDS, lazy_pattern

ENOUGH = 0.5
"""The share of the question, by the rarity of its words, from which on an entry may move up."""
LEAST = 2
"""Words that say which thing a sentence is about, and what of it."""
QUESTION = ("?", "？", "؟", "\u037e")
"""Marks that end a question; the last one is Greek."""
_CLOSING = " \t*_`\"'”’»」』)]"
"""What may stand behind the mark that ends a sentence."""
REPLY = "→"
"""Begins the line of an entry where the reply to what stands above it begins."""
_WORD = lazy_pattern(r"\d+(?:[.,:]\d+)*+|[^\W\d_]{2,}|[^\W\d_](?!\d)")
"""A number is one word: `2.1` is not `1.2`. The letter in `v2` says nothing."""
_TOKEN = lazy_pattern(r"[^\W_]+(?:[.,:/@_'-][^\W_]+)*+%?")
_COUNT = lazy_pattern(r"\d+(?:,\d{3})*+%?")


class Word(NamedTuple):
    """A word as names are compared: without case and ending, a number whole."""

    stem: str
    before: str
    """The word directly before it, if it belongs to the same phrase."""
    name: bool
    """Is it a name, and the word before it only says of what kind, as in `version 3.1`?"""
    inside: bool
    """Is it in a folder that need not be named?"""


class Row(NamedTuple):
    """An entry, and the words of the question that one of its blocks has."""

    entry: Item
    words: frozenset[str]


def arranged(question: str, items: Sequence[Item]) -> list[Item]:
    """The entries, those with more words of the question before those with fewer of them.

    Of those with the same words the newest comes first. Otherwise the order stays.
    """
    asked = _words(question)
    if not asked:
        return list(items)
    rows = [Row(entry, _best_words(entry.text, asked)) for entry in items]
    counts = Counter(word for row in rows for word in row.words)
    rarity = {
        word: log(1 + (len(rows) - count + 0.5) / (count + 0.5)) for word, count in counts.items()
    }
    enough = ENOUGH * sum(rarity.values())
    order: list[Row] = []
    equal: dict[frozenset[str], list[Row]] = {}
    for row in rows:
        place = len(order)
        if sum(rarity[word] for word in row.words) >= enough:
            place = next((n for n, other in enumerate(order) if other.words < row.words), place)
            equal.setdefault(row.words, []).append(row)
        order.insert(place, row)
    for same in equal.values():
        places = sorted(order.index(row) for row in same)
        for place, row in zip(places, sorted(same, key=_time, reverse=True), strict=True):
            order[place] = row
    return [row.entry for row in order]


def _time(row: Row) -> tuple[bool, str]:
    """When an entry was said; a summary repeats what may be much older than it."""
    return not _is_derived(row.entry), row.entry.at


def _is_derived(entry: Item) -> bool:
    return entry.ref.partition(":")[0] in DERIVED


def shared_words(question: str, text: str) -> frozenset[str]:
    """The words of a question that a text has, as names are compared."""
    return _shared(_words(question), _words(text), frozenset())


def _words(text: str) -> list[Word]:
    found: list[Word] = []
    before = ""
    common = False
    end = 0
    for match in _WORD.finditer(text):
        gap = text[end : match.start()]
        end = match.end()
        own = [match[0]] if match[0][0].isdigit() else stems(match[0])
        if not own and gap and not gap.strip("-_/."):  # a name continues with a function word
            own = [match[0].lower()]
        if gap.strip(" `'\"*@-_/.") or ". " in gap:
            before = ""
        name = match[0][0].isdigit() or (common and match[0][0].isupper())
        found += [Word(stem, before, name, "/" in gap) for stem in own]
        before = own[-1] if own else ""
        common = match[0].islower()
    return found


def _best_words(text: str, asked: Sequence[Word]) -> frozenset[str]:
    """The words of a question that an entry has: of a prompt and its answer, one of the two."""
    parts = text.split(f"\n{REPLY} ")
    return max((_words_of(part, asked) for part in parts), key=len)


def _words_of(text: str, asked: Sequence[Word]) -> frozenset[str]:
    """The words of a question that one block of a text has, with its headings and its lead-in.

    What a text asks is no answer, so that its questions do not count.
    """
    own = list(blocks(text))
    best: frozenset[str] = frozenset()
    for block, above in zip(own, stems_above("", own), strict=True):
        said = (block.text[begin:end] for begin, end in sentences(block.text))
        stated = " ".join(sentence for sentence in said if not is_question(sentence))
        best = max(best, _shared(asked, _words(stated), above), key=len)
    return best


def _shared(asked: Sequence[Word], words: Sequence[Word], above: frozenset[str]) -> frozenset[str]:
    """The words of a question that a text has, or need not have beside a name that it has.

    `Lumen` is `customer Lumen`, and `release 3.1` is `version 3.1`: the name decides. A file may be
    without its folder, but not in another one.
    """
    own = {word.stem for word in words}
    bare = {word.stem for word in words if not word.before}
    omitted = {
        word.before
        for word in asked
        if (word.name and word.stem in own) or (word.inside and word.stem in bare)
    }
    return frozenset(word.stem for word in asked if word.stem in own | above | omitted)


def is_question(sentence: str) -> bool:
    """Does a sentence ask something, in any language whose questions have a mark?"""
    return sentence.rstrip(_CLOSING).endswith(QUESTION)


def fewest(question: str, items: Sequence[Item]) -> list[Item]:
    """The first entry, and each other that has half of the question and a word that is still open.

    What only repeats words of the question that others have answered would hide the answer.
    """
    asked = _words(question)
    enough = ENOUGH * len({word.stem for word in asked})
    chosen = list(items[:1])
    answered = _best_words(items[0].text, asked) if items else frozenset()
    for entry in items[1:]:
        words = _best_words(entry.text, asked)
        if len(words) >= enough and words - answered:
            chosen.append(entry)
            answered |= words
    return chosen


def with_later(items: Sequence[Item]) -> list[Item]:
    """The entries, each with the ref of the newest that has one of its sentences with other counts.

    All other words of the two sentences are the same, names and versions included.
    """
    said: dict[frozenset[str], list[tuple[str, str, frozenset[str]]]] = {}
    for entry in items:
        if entry.at and not _is_derived(entry):
            for thing, counts in _counted(entry.text):
                said.setdefault(thing, []).append((entry.at, entry.ref, counts))
    later: dict[str, str] = {}
    for statements in said.values():
        at, ref, counts = max(statements, key=lambda statement: statement[:2])
        later.update((other, ref) for then, other, old in statements if then < at and old != counts)
    return [
        priced(entry._replace(later=later[entry.ref])) if entry.ref in later else entry
        for entry in items
    ]


def _counted(text: str) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """The words of each sentence that has counts, and the counts.

    A count stands behind a function word (`has 40 endpoints`), a name does not (`ticket 4711`).
    """
    for block in blocks(text):
        for begin, end in sentences(block.text):
            tokens = [match[0].lower() for match in _TOKEN.finditer(block.text, begin, end)]
            counts = {
                token
                for before, token in pairwise(tokens)
                if before in STOP_WORDS and _COUNT.fullmatch(token)
            }
            thing = frozenset(tokens) - counts - STOP_WORDS
            if counts and len(thing) >= LEAST:
                yield thing, frozenset(counts)
