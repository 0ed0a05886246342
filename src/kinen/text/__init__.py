"""Words, tokens, digests and times: pure functions, light enough for a cold start."""

from __future__ import annotations

import time
from itertools import pairwise

from kinen.characters import storable
from kinen.errors import QueryError
from kinen.ids import milliseconds
from kinen.model.late import cache, lru_cache, re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

WRITTEN = len("2026-03-01T12:00:00.000Z")
FIRST = -62_135_596_800
LAST = 253_402_300_799.999
"""The ends of the years 1 and 9999 in epoch seconds."""


class LazyPattern:
    """A regular expression that is compiled by the first call of one of its methods."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        import re

        method = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, method)  # found without `__getattr__` from now on
        return method


class SignedPattern(LazyPattern):
    """A lazy pattern that is tried only on texts with one of its signs."""

    def __init__(self, pattern: str, signs: tuple[str, ...]) -> None:
        super().__init__(pattern, 0)
        self.signs = signs
        self._tried = LazyPattern(pattern, 0)

    def search(self, text: str) -> re.Match[str] | None:
        return self._tried.search(text) if any(map(text.__contains__, self.signs)) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._tried.fullmatch(text) if any(map(text.__contains__, self.signs)) else None


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile` at the first use: a command uses few of the patterns that it imports."""
    return LazyPattern(pattern, flags)  # type: ignore[return-value]


def signed_pattern(pattern: str, *signs: str) -> re.Pattern[str]:
    """A lazy pattern that matches only texts with one of some signs.

    `re` tries every alternative at every word; a sign is found in a fiftieth of the time.
    """
    return SignedPattern(pattern, signs)  # type: ignore[return-value]


# Function and question words: they match nearly everything and say nothing about the topic; in a
# space of thirty notes they even look rare (docs/decisions/0004-ranking.md).
STOP_WORDS = frozenset(
    """a about am an and any are as at be been being but by can could did do does for from had has
    have he her here him his how i if in into is it its just me my no not of on or our
    really she should so some than that the their them then there these they this those to
    too us very was we were what when where which who whom whose why will with would you
    your""".split()
)


class Apart(dict[int, str | int]):
    """Puts spaces in place of what is no letter and no digit, as `[^\\W_]+` without `re`."""

    def __missing__(self, code: int) -> str | int:
        return self.setdefault(code, code if chr(code).isalnum() else " ")


_APART = Apart()
_SIGNS = bytes([*range(48), *range(58, 65), *range(91, 97), *range(123, 128)])
_ASCII_APART = bytes.maketrans(_SIGNS, b" " * len(_SIGNS))
"""The same for the signs of ASCII, in half the time."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Kana, Han and Hangul: words are not, or not only, split by spaces."""
_SCRIPTED = lazy_pattern(f"([{_UNSPACED}]+)|(?:(?![{_UNSPACED}])[^\\W_])+")
_OTHER_SCRIPT = lazy_pattern(f"[^\\W\\0-\u024f]|[{_UNSPACED}]")
"""A letter that is not Latin: most text that is not ASCII has dashes, arrows and emoji only."""
PIECE = 1_000
"""Characters of a text that are read at a time for its first words."""
BEGINNING = 5
"""Letters by which a word is matched whose script the stemmer does not know."""
QUESTION = ("?", "？", "؟", "\u037e", "፧", "⁇", "⁈", "⁉", "‽")
"""Signs that end a question; the fourth is Greek, which is mostly typed as a semicolon."""
_NAME = lazy_pattern(r"(?<!\s)\s++([A-Za-z_]\w*+)")
"""The name after a keyword."""
_DEFINING = tuple("def class function func fn fun interface struct trait enum module".split())
"""Keywords before the name of a definition."""
_MIXED = (b"aA", b"a0", b"AAa", b"A0", b"0a", b"0A")
"""The shapes of words that have parts."""
_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}
QUARTERS = 4
"""A weight is in quarters of a token."""
_CONTINUATION = bytes(range(0x80, 0xC0))


def digest(data: str | bytes) -> str:
    """The first 32 hex digits of the SHA-256."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return str(_sha256()(raw).hexdigest()[:32])


@cache
def _sha256() -> Any:
    """`hashlib` is imported late: a plain search does not need it."""
    from hashlib import sha256

    return sha256


def words(text: str) -> list[str]:
    """The words as the full-text tokenizer sees them: runs of letters and digits, in their case."""
    spaced = text.encode("utf-8", "surrogatepass").translate(_ASCII_APART)
    split = spaced.decode("utf-8", "surrogatepass").split()
    if text.isascii():
        return split
    return [
        part
        for word in split
        for part in ((word,) if word.isascii() else word.translate(_APART).split())
    ]


def word_places(text: str) -> Iterator[tuple[int, str]]:
    """The `words` of a text, each with its place."""
    end = 0
    for word in words(text):
        begin = text.index(word, end)
        end = begin + len(word)
        yield begin, word


def parts(word: str) -> list[str]:
    """The parts of an identifier: `getUserName` → get User Name, `utf8` → utf 8."""
    if not word.isascii() or (word.isalpha() and (word[1:].islower() or word.isupper())):
        return [word]
    cuts = [0]
    before = 0
    for at, kind in enumerate(word.encode().translate(_letters())):
        if kind != before:  # the last capital before small letters is theirs: HTTPServer
            cuts.append(at - (bytes((before, kind)) == b"Aa"))
            before = kind
    cuts.append(len(word))
    pieces = [word[start:end] for start, end in pairwise(cuts)]
    return [piece for piece in pieces if piece.isalnum()]


def _has_unspaced(text: str) -> bool:
    """May a text have scripts without spaces? To compile their ranges is a tenth of a search."""
    return not text.isascii() and max(text) >= _UNSPACED[0]


def pairs(text: str) -> list[str]:
    """The letters of each run of a script without spaces in pairs; one that stands alone as it is.

    Vowel signs are left out, as SQLite does not take them for letters.
    """
    if not _has_unspaced(text):
        return []
    found: list[str] = []
    for run in re.findall(f"[{_UNSPACED}]+", text):
        letters = [letter for letter in run if letter.isalnum()]
        found += map("".join, pairwise(letters)) if len(letters) > 1 else letters
    return found


def identifier_parts(text: str) -> str:
    """What the full-text index needs besides the text: the parts of identifiers, the names that
    code defines, and of words in other scripts what `terms` asks for.
    """
    extra: dict[str, None] = {}
    for word in _mixed(text) if text.isascii() else words(text):
        split = _lower_parts(word)
        if len(split) > 1:
            extra.update(dict.fromkeys(split))
    for name in _defined(text):
        for word in words(name.replace("_", " ")):
            extra.update(dict.fromkeys(_lower_parts(word)))
    if text.isascii() or not _OTHER_SCRIPT.search(text):
        return " ".join(extra)
    single: dict[str, None] = {}
    for match in _SCRIPTED.finditer(text):
        if match[1]:
            single.update(dict.fromkeys(letter for letter in match[1] if letter.isalnum()))
        elif match[0] != _beginning(match[0]) or _touches_unspaced(text, match):
            extra[_beginning(match[0]).lower()] = None
    return " ".join([*extra, *pairs(text), *single])


def _beginning(word: str) -> str:
    """A word without its ending, if it is of a script that the stemmer does not know."""
    return word[:BEGINNING] if word[:1] > "\u024f" and len(word) > BEGINNING else word


def _touches_unspaced(text: str, match: re.Match[str]) -> bool:
    """Is a word written to a script without spaces, so that the tokenizer takes both for one?"""
    around = text[match.start() - 1 : match.start()] + text[match.end() : match.end() + 1]
    return bool(pairs(around))


@lru_cache(1 << 16)
def _lower_parts(word: str) -> tuple[str, ...]:
    """The parts of a word in lower case; cached because the same names recur."""
    return tuple(part.lower() for part in parts(word))


def _mixed(text: str) -> list[str]:
    """The words of an ASCII text that may have parts, by the shape of their letters."""
    shape = text.encode().translate(_letters())
    mixed = []
    for pattern in _MIXED:
        at = shape.find(pattern)
        while at >= 0:
            end = shape.find(b" ", at)
            end = len(shape) if end < 0 else end
            mixed.append(text[shape.rfind(b" ", 0, at) + 1 : end])
            at = shape.find(pattern, end)
    return mixed


def _defined(text: str) -> list[str]:
    """The names that code in a text defines."""
    names = []
    for keyword in _DEFINING:
        at = text.find(keyword)
        while at >= 0:
            before = text[at - 1 : at]
            at += len(keyword)
            if text[at : at + 1].isspace() and not before.isalnum() and before != "_":
                definition = _NAME.match(text, at)
                if definition:
                    names.append(definition[1])
            at = text.find(keyword, at)
    return names


@cache
def _letters() -> bytes:
    """A table of bytes: `a` for a small letter, `A` for a capital, `0` for a digit, else space."""
    kinds = ((str.islower, "a"), (str.isupper, "A"), (str.isdigit, "0"))
    classes = (next((to for is_, to in kinds if is_(chr(n))), " ") for n in range(128))
    return "".join(classes).encode() + b" " * 128


@lru_cache(64)
def terms(text: str, limit: int = 48) -> tuple[str, ...]:
    """The search terms of a question in lower case, each once, without stop words.

    Identifiers give their parts too; scripts without spaces give pairs of letters, and words of
    others that are not Latin their beginnings. A question of nothing but stop words gives these.
    """
    every: dict[str, None] = {}
    decisive: dict[str, None] = {}
    scripted = _SCRIPTED.finditer(text) if _has_unspaced(text) else ()
    for word in (match[0] for match in scripted) if scripted else _words_of(text):
        if word in every:
            continue
        if word.islower() and word.isascii() and word.isalpha():  # most words are plain
            candidates = [word]
        else:
            split = parts(word)
            candidates = pairs(word) or [_beginning(word), *(split if len(split) > 1 else ())]
            candidates = [term.lower() for term in candidates]
        for term in candidates:
            every[term] = None
            if term not in STOP_WORDS:
                decisive[term] = None
        if len(decisive) >= limit:
            break  # a text of a megabyte is not read to the end for its first words
    return tuple(decisive or every)[:limit]


def _words_of(text: str) -> Iterator[str]:
    """The words of a text, read piece by piece up to a space."""
    start = 0
    while start < len(text):
        end = text.find(" ", start + PIECE)
        yield from words(text[start:end] if end > 0 else text[start:])
        start = end if end > 0 else len(text)


def contains(text: str, phrase: str) -> bool:
    """Whether a text contains a phrase, ignoring case and line breaks.

    A phrase of words alone matches across punctuation and markup; one with punctuation, such as
    `f(x)`, matches literally.
    """
    plain = " ".join(text.split()).casefold()
    folded = " ".join(phrase.split()).casefold()
    if folded in plain:
        return True
    sequence = words(folded)
    if " ".join(sequence) != folded:
        return False
    return longest_run(sequence, words(plain)) == len(sequence)


def longest_run(question: Sequence[str], text: Sequence[str]) -> int:
    """The length in words of the longest run of a question that a text contains."""
    places: dict[str, list[int]] = {}
    for at, word in enumerate(question):
        places.setdefault(word, []).append(at)
    best = 0
    lengths: dict[int, int] = {}
    for word in text:
        lengths = {at: lengths.get(at - 1, 0) + 1 for at in places.get(word, ())}
        best = max(best, *lengths.values()) if lengths else best
    return best


def spelled(path: str) -> str:
    """A path as it can be stored: bytes that are not UTF-8 become `\\xNN`."""
    return path if path.isascii() else path_bytes(path).decode("utf-8", "backslashreplace")


def unspelled(path: str) -> bytes:
    """The bytes of a path that `spelled` has escaped."""
    raw = path_bytes(path)
    return re.sub(rb"\\x([0-9a-f]{2})", lambda match: bytes.fromhex(match[1].decode()), raw)


def path_bytes(path: str) -> bytes:
    """The bytes of a path on disk; a lone surrogate that stands for no byte is replaced."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return storable(path).encode()


def now() -> float:
    return milliseconds() / 1000


def bounded(seconds: float) -> float:
    """A moment that can be written: the first or last of the years 1 to 9999 for one beyond."""
    return min(max(seconds, FIRST), LAST)


def iso(seconds: float) -> str:
    """A moment as kinen writes it: UTC, milliseconds, Z; see `bounded`."""
    whole, millis = divmod(round(bounded(seconds) * 1000), 1000)
    at = time.gmtime(whole)
    clock = f"{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02}.{millis:03}Z"
    return f"{at.tm_year:04}-{at.tm_mon:02}-{at.tm_mday:02}T{clock}"


def epoch(at: str) -> int:
    """Epoch milliseconds of a UTC moment as kinen writes it, or of a date; 0 where it is none."""
    try:
        clock = int(at[11:13]) * 3600 + int(at[14:16]) * 60 + int(at[17:19]) if at[10:] else 0
        fraction = at[20:23] if at[20:23].isdecimal() else "0"
        return (day_number(at) - FIRST_DAY) * 86_400_000 + clock * 1000 + int(fraction)
    except ValueError:
        return 0


def timestamp(at: str) -> float:
    """Epoch seconds of an ISO time; of one as kinen writes it without `datetime`."""
    if len(at) == WRITTEN and at.endswith("Z") and (known := epoch(at)):
        return known / 1000
    from datetime import datetime

    return datetime.fromisoformat(at).timestamp()


def day_number(at: str) -> int:
    """The number of a day in the calendar, counted without `datetime`, which is slow to import."""
    year = int(at[:4])
    month = int(at[5:7])
    day = int(at[8:10])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        raise ValueError(at)
    year -= month < 3
    month += 12 if month < 3 else 0
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 + day


FIRST_DAY = day_number("1970-01-01")


def parse_time(phrase: str, at: float, *, end: bool = False) -> str:
    """A time phrase as a UTC moment: ISO or epoch times, `2h`, `3d`, `1w`, `today`, `yesterday`.

    A bare date means the start of that day here, or with `end` its last moment.
    """
    from datetime import datetime, timedelta

    phrase = phrase.strip()
    lowered = phrase.lower()
    ago = re.fullmatch(r"(\d{1,6})\s*([mhdw])(?:\s+ago)?", lowered)
    if ago:
        return iso(at - int(ago[1]) * _UNITS[ago[2]])
    if re.fullmatch(r"\d{9,13}", phrase):  # 20260301 is a date
        return iso(int(phrase) / (1000 if len(phrase) > 10 else 1))
    midnight = (
        datetime.fromtimestamp(at).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    )
    if lowered in {"today", "yesterday"}:
        day = midnight if lowered == "today" else midnight - timedelta(days=1)
        return _moment(day, end)
    try:
        parsed = datetime.fromisoformat(phrase)
    except ValueError as error:
        raise QueryError(
            f"invalid time {phrase!r}",
            "use 2026-03-01, 2026-03-01T12:00Z, 2h, 3d, 1w, today or yesterday",
        ) from error
    try:
        if parsed.tzinfo is None:
            parsed = parsed.astimezone()
        return _moment(parsed, end and len(phrase) <= 10)
    except (OverflowError, ValueError, OSError) as error:
        raise QueryError(
            f"time out of range: {phrase!r}", "use a year from 1970 to 9999"
        ) from error


def _moment(day: object, end: bool) -> str:
    from datetime import datetime, timedelta

    assert isinstance(day, datetime)
    if end:
        day = day + timedelta(days=1) - timedelta(milliseconds=1)
    return iso(day.timestamp())


def code_density(text: str) -> float:
    """The share of characters that are common in code and rare in prose and markdown."""
    total = len("".join(text.split()))
    punctuation = sum(map(text.count, "(){}=_;"))
    return punctuation / total if total else 0.0


def is_identifier(text: str) -> bool:
    """Whether a question names code: `user_id`, `getUser`, `a.b`, `f(`, `x::y`, or a path."""
    return re.search(r"\w_\w|[a-z][A-Z]|\w\.\w|\w\(|::|\w/\w", text) is not None


def plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def nearest(word: str, names: Iterable[str]) -> str:
    """The name that a misspelled word most likely means; empty if none is near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, names, 1, 0.7)), "")


def excerpt(text: str, limit: int) -> str:
    """The text on one line, cut with an ellipsis: after a word, if that leaves a third."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    begin = line[: limit - 1]
    words = begin.rsplit(" ", 1)[0]
    return (words if 3 * len(words) >= limit else begin).rstrip(" .,") + "…"


def estimate(text: str) -> int:
    """About how many tokens the shipped model makes of a text; more often too many than too few.

    The sum over the words of a text is never less than the estimate of the text.
    """
    return -(-weight(text) // QUARTERS)


@lru_cache(256)
def weight(text: str) -> int:
    """The size of a text in quarters of a token, from the shape of its characters.

    Calibrated against the model's tokenizer. Spaces weigh nothing, and each word weighs in a text
    what it weighs alone.
    """
    ascii_only = text.isascii()
    if not ascii_only:
        text = " ".join(text.split())  # other kinds of space weigh nothing either
    shape = b" " + text.encode("utf-8", "replace").translate(_shapes(), _CONTINUATION)
    count = shape.replace(b"A", b"a").count
    weight = 4 * (count(b" a") + count(b".") + shape.count(b"aA")) + 6 * count(b".a")
    weight += count(b"aaaaa") + 3 * count(b"aaaaaaaaaa")
    if b"0" in shape:
        weight += 4 * sum(map(count, (b" 0", b".0", b"a0", b"000"))) + 6 * count(b"0a")
    if b"x" in shape:
        weight += 4 * (count(b"x") + count(b"x0")) + 6 * count(b"xa")
    if not ascii_only:
        weight += 4 * (count(b"-") - 3 * count(b"----")) + 6 * count(b"-a") + 4 * count(b"-0")
        weight += 2 * count(b"c") + 6 * count(b"ca") + 4 * count(b"c0")
    return weight


def breadth(text: str) -> float:
    """How many times the tokens of English a text takes by its script: from 1 to 2."""
    if text.isascii():
        return 1
    return 1 + sum(letter > "\u024f" and letter.isalpha() for letter in text) / len(text)


@cache
def _shapes() -> bytes:
    """The class of each byte of UTF-8 for `weight`; built when first needed."""
    classes = {
        b"a": b"abcdefghijklmnopqrstuvwxyz" + bytes(range(0xC3, 0xCA)),
        b"A": b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        b"0": b"0123456789",
        b".": b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
        b"x": bytes([*range(9), *range(14, 28), 127, 0xC0, 0xC1, 0xC2])
        + bytes([*range(0xCA, 0xCD), *range(0xDC, 0xE2), *range(0xE3, 0x100)]),
        # Greek, Cyrillic, Armenian, Hebrew, Arabic: a token of the models that read it has two
        # letters or more. The shipped one splits them, and its vectors of them are not used.
        b"c": bytes(range(0xCD, 0xDC)),
        b"-": b"\xe2",  # typography and box drawing: long runs are few tokens
    }
    table = bytearray(b" " * 256)
    for shape, members in classes.items():
        for byte in members:
            table[byte] = shape[0]
    return bytes(table)


_BLANK = lazy_pattern(r"\n[ \t]*\n(?>(?:[ \t]*\n)+)")


def squeezed(text: str) -> str:
    """A text with one blank line in place of several."""
    return _BLANK.sub("\n\n", text)
