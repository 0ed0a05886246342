"""The order of a recall's entries, and links from what was said to what was said later.

What has more of the question's words comes first: a newer fact about another thing is no answer.
Time decides between entries that have the same words of the question.
"""

from __future__ import annotations

from itertools import chain, pairwise, zip_longest
from math import log

from kinen.distill.blocks import blocks, sentences, stems, word_stems
from kinen.distill.relevance import stems_above
from kinen.model.journal import Item
from kinen.model.late import lru_cache
from kinen.model.tuples import NamedTuple
from kinen.recall.candidates import DERIVED
from kinen.recall.tiers import priced
from kinen.text import QUESTION, STOP_WORDS, lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set

ENOUGH = 0.5
"""The share of the question, by the rarity of its words, from which on an entry may move up."""
LEAST = 2
"""Words that say which thing a sentence is about, and what of it."""
REPLY = "→"
"""Begins the line of an entry where the reply to what stands above it begins."""
_WORD = lazy_pattern(
    r"(?:(?<![^\W_])[^\W\d_])?\d+(?>(?:[.,:]\d+)*)[^\W\d_]*+"
    r"|[^\W\d_]++(?:\+\++|#(?!\w))?"
)
"""A number is one word: `2.1` is not `1.2`, `4` is not `4o`. Signs are of a name: `C++`, `C#`."""
_JOINTS = "-_/."
"""What joins the parts of a name."""
EXACT = "="
"""Begins a part of a name as it is written, in a set of words without endings."""
_MARKS = "".join(QUESTION)
LONGEST_VALUE = 4
"""Words of a value; more are another statement."""
MOST_STATEMENTS = 40
"""Statements with the same words of a question that are compared with each other."""
NOW = frozenset(
    """all now today since currently again meanwhile jetzt nun heute seit inzwischen wieder
    maintenant désormais depuis ahora hoy desde agora hoje já теперь сейчас сегодня уже""".split()
)
"""Words of a statement that only say that it holds now, or for all."""
_REPLY = lazy_pattern(rf"\n{REPLY} (?:\[[^\[\]\n]*\] )?")
_TOKEN = lazy_pattern(r"[^\W_]+(?>(?:[.,:/@_'-][^\W_]+)*)%?")
_COUNT = lazy_pattern(r"\d+(?>(?:,\d{3})*)%?")
_LABEL = lazy_pattern(r"\*\*[^*\n]{1,40}\*\*")
_GREEK = lazy_pattern(r"[\u0370-\u03ff\u1f00-\u1fff]")


class Word(NamedTuple):
    """A word as names are compared: without case and ending, a number whole."""

    stem: str
    before: str
    """The word directly before it, if it belongs to the same phrase."""
    written: str
    """As it is written, with its ending; in small letters unless it is in mixed ones."""
    name: bool = False
    """Is it a name, and the word before it only says of what kind, as in `version 3.1`?"""
    inside: bool = False
    """Is it in a folder that need not be named?"""
    exact: bool = False
    """Is it a part of a name (`eu-west-1`, `getUser`), which has no endings?"""
    tells: bool = False
    """Does it tell things apart that have the same word before it, as in `node 1` or `dev-eu`?"""
    proper: bool = False
    """Is it quoted as code, or has a capital inside a sentence?"""


class Row(NamedTuple):
    """An entry, and the words of the question that one of its blocks has."""

    entry: Item
    words: frozenset[str]
    other: bool
    """Does it name another thing of the same kind, and not the one that was asked for?"""


def arranged(question: str, items: Sequence[Item]) -> list[Item]:
    """The entries, those with more words of the question before those with fewer of them.

    Of those with the same words the newest comes first. Otherwise the order stays.
    """
    query = _words(question)
    if not query or not items:
        return list(items)
    rows = [_row(entry, query) for entry in items]
    counts: dict[str, int] = {}
    for row in rows:
        for word in row.words:
            counts[word] = counts.get(word, 0) + 1
    rarity = {
        word: log(1 + (len(rows) - count + 0.5) / (count + 0.5)) for word, count in counts.items()
    }
    enough = ENOUGH * sum(rarity.values())
    names = {word.stem for word in query if word.tells}
    order: list[Row] = []
    equal: dict[frozenset[str], list[Row]] = {}
    for row in rows:
        place = len(order)
        if sum(rarity[word] for word in row.words) >= enough:
            is_it = names and names <= row.words and not row.other
            place = next(
                (n for n, it in enumerate(order) if it.words < row.words or (is_it and it.other)),
                place,
            )
            equal.setdefault(row.words, []).append(row)
        order.insert(place, row)
    for same in equal.values():
        places = sorted(order.index(row) for row in same)
        for place, row in zip(places, sorted(same, key=_time, reverse=True), strict=True):
            order[place] = row
    return [row.entry for row in _newest_value_first(order, query)]


def _newest_value_first(rows: list[Row], query: Sequence[Word]) -> list[Row]:
    """The rows, before the first those that were said later and state another value of the same."""
    first = rows[0]
    if _is_of_named_time(first.entry):
        return rows
    stated = max(_answers(first.entry, query), key=lambda said: len(said.asked), default=None)
    newer = [
        row
        for row in rows[1:]
        if row.entry.ref == first.entry.later
        or (
            stated
            and _time(row) > _time(first)
            and any(_is_same_attribute(stated, it, query) for it in _answers(row.entry, query))
        )
    ]
    return [
        *sorted(newer, key=_time, reverse=True),
        *(row for row in rows if not any(row is other for other in newer)),
    ]


class Statement(NamedTuple):
    """A sentence of an answer: what it has of the question, and what it says besides."""

    words: Sequence[Word]
    shared: frozenset[str]
    names: frozenset[str]
    """Words of the question that are written as names, in it or around the sentence."""
    asked: frozenset[str]
    """Words of the question that are no names, nor stand beside one (`customer`, `service`)."""
    rest: frozenset[str]
    units: frozenset[str]
    """What its numbers count; an empty string for a number that counts nothing."""


def _answers(entry: Item, query: Sequence[Word]) -> list[Statement]:
    """The statements of an entry that have words of a question, and all of its names.

    They are those of the last part that has any: a request is followed by its answer.
    """
    every = {word.stem for word in query}
    for part in reversed(_parts(entry)):
        own = list(blocks(part))
        spoken = [
            (_words(block.text[begin:end]), above)
            for block, above in zip(own, stems_above("", own), strict=True)
            for begin, end in sentences(block.text)
            if not is_question(block.text[begin:end])
        ]
        written = chain(query, chain.from_iterable(words for words, _ in spoken))
        names = (
            frozenset(
                word.stem
                for word in written
                if (word.exact or word.name or word.tells or word.proper)
            )
            & every
        )
        answers = [
            _statement(words, shared, names, query)
            for words, above in spoken
            if (shared := _shared(query, words, above)) and names <= shared
        ]
        if answers:
            return answers
    return []


def _statement(
    words: Sequence[Word], shared: frozenset[str], names: frozenset[str], query: Sequence[Word]
) -> Statement:
    every = {word.stem for word in query}
    rest = frozenset(word.stem for word in words) - every
    units = frozenset(
        unit.stem if unit and unit.before == word.stem else ""
        for word, unit in zip_longest(words, words[1:])
        if word.stem[0].isdigit() and word.stem not in every
    )
    asked = _stems(shared) - _beside(query, names)
    return Statement(words, shared, names, asked, rest, units)


def _beside(query: Sequence[Word], names: Set[str]) -> set[str]:
    """Names, and the words of a question directly before and behind them."""
    near = {word.stem for word in query if word.before in names}
    return near.union(names, (word.before for word in query if word.stem in names))


def _is_same_attribute(first: Statement, other: Statement, query: Sequence[Word]) -> bool:
    """Do two statements say the same of the same thing?

    They have the names in common and a word of the question besides; if the first has none, they
    differ in their numbers only. What the other lacks of the question stands beside a name or is
    the last word of a phrase (`staging environment`, `staging`); all of it may be missing where the
    first says nothing else, as a `finished` that was asked for. Without names only last words may
    be missing. A word before one that both have tells attributes apart (`yearly plan`, `monthly
    plan`), and so does what is counted.
    """
    names = first.names | other.names
    stems_of_other = {word.stem for word in other.words} - names
    if not names <= first.shared & other.shared:
        return False
    asked = first.asked or _stems(first.shared) - names
    rest = {word for word in first.rest if not word[0].isdigit()}
    if asked.isdisjoint(stems_of_other) if asked else not rest or not rest <= stems_of_other:
        return False
    lacking = first.shared - other.shared
    if lacking != _stems(lacking):  # a name that is written otherwise
        return False
    phrases = {(word.before, word.stem) for word in first.words}
    last = {
        word.stem
        for word in query
        if word.before in other.shared and (word.before, word.stem) in phrases
    }
    if not names and not lacking <= last:
        return False
    if not lacking:
        return bool(names)
    counted = first.units & (other.units | stems_of_other if "" in other.units else other.units)
    if first.rest and (first.units or other.units) and not counted:
        return False
    before = {word.stem: word.before for word in query if word.before in lacking}
    if any(word.before not in ("", before.get(word.stem, word.before)) for word in other.words):
        return False
    return not lacking - last - _beside(query, names) or not first.rest


def _time(row: Row) -> tuple[bool, bool, str]:
    """When an entry was said; a summary repeats what may be much older than it.

    The time that the question names comes before any other.
    """
    return _is_of_named_time(row.entry), not _is_derived(row.entry), row.entry.at


def _is_of_named_time(entry: Item) -> bool:
    return any(vote.retriever == "date" and vote.score == 1 for vote in entry.votes)


def _is_derived(entry: Item) -> bool:
    return entry.ref.partition(":")[0] in DERIVED


def shared_words(question: str, text: str) -> frozenset[str]:
    """The words of a question that a text has, as names are compared."""
    return _shared(_words(question), _words(text), frozenset())


@lru_cache(1 << 12)
def _words(text: str) -> Sequence[Word]:
    """The words of a text; a recall compares the same sentences several times."""
    read: list[Word] = []
    before = ""
    common = False
    start = end = 0
    for token in text.split(" "):
        stop = start + len(token)
        plain = token.isalpha() and token.islower() and token.isascii() and len(token) > 1
        if plain and 0 < end == start - 1:
            # As most words: a name has another sign around it or in it.
            stem = "".join(word_stems(token))
            if stem:
                read.append(Word(stem, before, token))
            before = stem
            common = True
            end = stop
        else:
            for match in _WORD.finditer(text, start, stop):
                gap = text[end : match.start()]
                begins = end == 0 or ". " in gap or bool(gap.strip(" `'\"*@#" + _JOINTS))
                end = match.end()
                before = "" if begins else before
                common = common and not begins
                own = _own_words(match[0], gap, text[end : end + 2], before, begins, common)
                read += own
                before = own[-1].stem if own else ""
                common = match[0].islower()
        start = stop + 1
    return read


def _own_words(
    written: str, gap: str, rest: str, before: str, begins: bool, common: bool
) -> list[Word]:
    """A word, or its parts; `gap` is what stands before it, and `rest` begins behind it."""
    joins = rest[:1] in _JOINTS and rest[1:].isalnum()
    joined = not begins and not gap.strip(_JOINTS)
    number = written[0].isdigit() or written[1:2].isdigit()
    if number:
        # The letter in `v2.1` says nothing, but `s3` is not `s4`.
        letter = "" if written[0].isdigit() else written[0].lower()
        own = [written[len(letter) :].lower()]
        kind = letter or gap[-1:].strip(" -_/.`'\"*@")
        before = before if joined and before else kind or before
    elif not written[-1].isalpha():  # `C++`
        own = [written.lower()]
    else:
        own = [*word_stems(written)] or _function_name(written, joined or joins, begins, rest)
    tells = number or joined or len(written) == 1
    mixed = not (number or written[1:].islower() or written.islower() or written.isupper())
    return [
        Word(
            stem,
            before,
            name=number or (common and written[0].isupper()),
            inside="/" in gap,
            written=stem if n else written if mixed else written.lower(),
            exact=not n and (joined or joins or mixed),
            tells=tells and bool(before),
            proper=gap.endswith(("`", "@")) or (not begins and written[0].isupper()),
        )
        for n, stem in enumerate(own)
    ]


def _function_name(word: str, joined: bool, begins: bool, rest: str) -> list[str]:
    """A function word that is a name: `worker-a`, `team A`, `region US`; else nothing."""
    if joined or (word.lower() == "a" and not begins and (word == "A" or not rest.strip(" ?.!"))):
        return [word.lower()]
    return [word] if len(word) > 1 and word.isupper() else []


def _row(entry: Item, query: Sequence[Word]) -> Row:
    """An entry with what it has of a question: of a prompt and its answer, one of the two."""
    parts = (_words_of(part, query) for part in _parts(entry))
    words, other = max(parts, key=lambda pair: len(pair[0]))
    return Row(entry, words, other)


def _parts(entry: Item) -> list[str]:
    """The text of an entry, and each reply to it without its ref."""
    return _REPLY.split(entry.text)


def _stems(words: frozenset[str]) -> frozenset[str]:
    """Words of a question without the parts of names that are written the same."""
    return frozenset(word for word in words if word[0] != EXACT)


def _words_of(text: str, query: Sequence[Word]) -> tuple[frozenset[str], bool]:
    """The words of a question that one block of a text has, with its headings and its lead-in.

    What a text asks is no answer, so that its questions do not count. Also whether the block names
    another thing.
    """
    own = list(blocks(text))
    best: tuple[frozenset[str], bool] = (frozenset(), False)
    for block, above in zip(own, stems_above("", own), strict=True):
        spoken = (block.text[begin:end] for begin, end in sentences(block.text))
        stated = _words(" ".join(sentence for sentence in spoken if not is_question(sentence)))
        match = _shared(query, stated, above), bool(_others(query, stated))
        best = max(best, match, key=lambda pair: len(pair[0]))
    return best


def _others(query: Sequence[Word], words: Sequence[Word]) -> set[str]:
    """The words of a question in whose place a text has others: `2` of `node 2` for `node 1`."""
    if not any(word.tells for word in query):
        return set()
    kinds = {word.before for word in words if word.tells}
    beside = {(word.before, word.stem) for word in words}
    # The `1` of `node-1` is of no other name; `version 2.1` may be said without its kind.
    return {
        word.stem
        for word in query
        if word.tells
        and (word.before, word.stem) not in beside
        and (word.before in kinds or (word.exact and word.name))
    }


def _shared(query: Sequence[Word], words: Sequence[Word], above: frozenset[str]) -> frozenset[str]:
    """The words of a question that a text has, or need not have beside a name that it has.

    `Lumen` is `customer Lumen`, and `release 3.1` is `version 3.1`: the name decides. A file may be
    without its folder, but not in another one. A part of a name counts once more if it is written
    the same.
    """
    own = {word.stem for word in words} - _others(query, words)
    omitted = {
        word.before
        for word in query
        if (word.name and word.stem in own)
        or (word.inside and any(it.stem == word.stem and not it.before for it in words))
    }
    shared = {word.stem for word in query if word.stem in own | above | omitted}
    exact = {
        EXACT + word.written
        for word in query
        if word.exact
        and (word.stem in omitted - own or any(it.written == word.written for it in words))
    }
    return frozenset(shared | exact)


def is_question(sentence: str) -> bool:
    """Does a sentence ask something, in any language whose questions have a mark?"""
    end = len(sentence)
    while end and not (sentence[end - 1].isalnum() or sentence[end - 1] in ".。…:;" + _MARKS):
        end -= 1
    bare = sentence[:end]
    if bare.endswith(QUESTION) or "՞" in bare:  # Armenian puts its mark into the word
        return True
    return bare.endswith(";") and bool(_GREEK.search(bare))


def fewest(question: str, items: Sequence[Item]) -> list[Item]:
    """The first entry, and each other that has half of the question and a word that is still open.

    What only repeats words of the question that others have answered would hide the answer, unless
    it was said later in the same session: the last word on something may be the shortest.
    """
    query = _words(question)
    enough = ENOUGH * len({word.stem for word in query})
    chosen: list[Item] = []
    answered: frozenset[str] = frozenset()
    for entry in items:
        parts = [_words_of(part, query)[0] for part in _parts(entry)]
        words = max(parts, key=len)
        open_ = _stems(words - answered) or any(_settles(entry, other) for other in chosen)
        if not chosen or (len(_stems(words)) >= enough and open_):
            chosen.append(entry)
            answered = answered.union(*parts)
    return chosen


def _settles(entry: Item, other: Item) -> bool:
    """Was an entry said later than another of its session? A summary may only repeat the other."""
    if not entry.session or entry.session != other.session or entry.at <= other.at:
        return False
    now, before = (set(stems(_LABEL.sub("", item.text))) for item in (entry, other))
    return not _is_derived(entry) or not (before <= now or now <= before)


def with_later(items: Sequence[Item], question: str = "") -> list[Item]:
    """The entries, each with the ref of the newest that has one of its sentences with other values.

    All other words of the two sentences are the same, names and versions included. Counts are
    values by themselves; what else is one is told by the question, which both answer.
    """
    dated = [entry for entry in items if entry.at and not _is_derived(entry)]
    by_thing: dict[frozenset[str], list[tuple[str, str, frozenset[str]]]] = {}
    for entry in dated:
        for thing, counts in _counted(entry.text):
            by_thing.setdefault(thing, []).append((entry.at, entry.ref, counts))
    later = _later_values(question, dated)
    for statements in by_thing.values():
        at, ref, counts = max(statements, key=lambda statement: statement[:2])
        later.update((other, ref) for then, other, old in statements if then < at and old != counts)
    return [
        priced(entry._replace(later=later[entry.ref])) if entry.ref in later else entry
        for entry in items
    ]


def _later_values(question: str, items: Sequence[Item]) -> dict[str, str]:
    """The refs of entries that answer a question, each with the newest that has another value."""
    query = _words(question)
    stems_asked = {word.stem for word in query}
    names = {word.stem for word in query if word.name or word.tells}
    groups: dict[frozenset[str], list[tuple[str, str, list[Word]]]] = {}
    required = stems_asked - {word.before for word in query if word.name or word.inside}
    for entry in items if query else ():
        for words in _stated(entry.text, required):
            shared = _stems(_shared(query, words, frozenset()))
            missing = stems_asked - shared
            if len(shared) >= LEAST and len(missing) <= 1 and missing.isdisjoint(names):
                groups.setdefault(shared, []).append((entry.at, entry.ref, words))
    later: dict[str, str] = {}
    for shared, group in groups.items():
        if any(shared < other for other in groups):  # they may be about another thing
            continue
        newest = sorted(group, key=lambda statement: statement[:2], reverse=True)[:MOST_STATEMENTS]
        for place, (at, ref, statement) in enumerate(newest):
            for then, other, new in newest[:place]:
                values = _values(statement, new) if then > at else None
                if values is None:
                    continue
                old, changed, rest = values
                if changed and all(_is_value(words, rest, stems_asked) for words in (old, changed)):
                    later.setdefault(ref, other)
                break
    return later


def _stated(text: str, required: Set[str]) -> Iterator[list[Word]]:
    """The words of each statement, without those that only say that it holds now.

    Statements that cannot have all required words but one are left out before they are read: a word
    without its ending is a part of the word.
    """
    for block in blocks(text):
        if _lacks(block.text, required):
            continue
        for begin, end in sentences(block.text):
            sentence = block.text[begin:end]
            if _lacks(sentence, required) or is_question(sentence):
                continue
            rest = sentence.partition(": ")[2]
            for statement in filter(None, (sentence, rest)):
                if not _lacks(statement, required):
                    yield [word for word in _words(statement) if word.written not in NOW]


def _lacks(text: str, required: Set[str]) -> bool:
    """Is more than one of the required words nowhere in a text?"""
    small = text.lower()
    return sum(word not in small for word in required) > 1


def _values(old: list[Word], new: list[Word]) -> tuple[list[Word], list[Word], list[Word]] | None:
    """Where two statements differ, and what they share; None unless they differ in one place."""
    first, second = ([word.stem for word in words] for words in (old, new))
    head = 0
    while head < min(len(first), len(second)) and first[head] == second[head]:
        head += 1
    tail = 0
    while tail < min(len(first), len(second)) - head and first[-1 - tail] == second[-1 - tail]:
        tail += 1
    if head == len(first) == len(second):
        return [], [], old
    rest = old[:head] + old[len(old) - tail :]
    changed = old[head : len(old) - tail], new[head : len(new) - tail]
    counts = all(len(words) == 1 and words[0].stem[0].isdigit() for words in changed)
    if (
        (head or counts)
        and all(0 < len(words) <= LONGEST_VALUE for words in changed)
        and len(rest) >= LEAST
    ):
        return *changed, rest
    return None


def _is_value(words: list[Word], rest: list[Word], query: set[str]) -> bool:
    """Are words the value of what a question asks for, and not the name of another thing?

    Names and numbers are; other words where all that is said of the thing was asked. A number that
    tells tickets or phases apart is a name of its own, but that of a product is its version.
    """
    together = all(word.before == before.stem for before, word in pairwise(words))
    if not together or any(word.stem in query for word in words):
        return False
    if all(word.name or word.tells or word.exact for word in words):
        kind = words[0].before
        before = [word.stem for word in rest]
        if not (kind and words[0].tells and words[0].name and kind in before):
            return True
        place = before.index(kind)
        return place > 0 and (rest[place].name or (kind in query and place > 1))
    if any(word.name or word.tells or word.exact for word in words) or len(rest) < LEAST + 1:
        return False
    return len([word for word in rest if word.stem not in query]) <= 1


@lru_cache(1 << 9)
def _counted(text: str) -> Sequence[tuple[frozenset[str], frozenset[str]]]:
    """The words of each sentence that has counts, and the counts.

    A count stands behind a function word (`has 40 endpoints`), a name does not (`ticket 4711`).
    """
    counted = []
    for block in blocks(text):
        for begin, end in sentences(block.text) if _COUNT.search(block.text) else ():
            tokens = [match[0].lower() for match in _TOKEN.finditer(block.text, begin, end)]
            counts = {
                token
                for before, token in pairwise(tokens)
                if before in STOP_WORDS and _COUNT.fullmatch(token)
            }
            thing = frozenset(tokens) - counts - STOP_WORDS
            if counts and len(thing) >= LEAST:
                counted.append((thing, frozenset(counts)))
    return counted
