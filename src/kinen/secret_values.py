"""Where in a text the values of names stand that are secrets: `password = …`, `--token …`."""

from __future__ import annotations

from kinen import secret_names as names
from kinen.secret_names import class_of
from kinen.secret_shapes import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    Span = tuple[int, int, str]


def named_values(text: str, low: str) -> list[Span]:
    """Beginning, end and class of every value; `low` is the text in lower case."""
    return [*_assigned(text, low), *_announced(text, low)]


def _assigned(text: str, low: str) -> list[Span]:
    """Where values of names begin and end, with their class."""
    spans: list[Span] = []
    verdicts: dict[str, str] = {}
    marks = "[masked:" in low
    quoted = {quote: compiled(names.QUOTED[quote]) for quote in names.QUOTED}
    bare = compiled(names.BARE_START)
    loose = compiled(names.LOOSE_START)
    for expression in (names.ASSIGNED, names.FLAG):
        end = 0
        for match in compiled(expression).finditer(low):
            place = match.start()
            if place < end:
                continue
            start, quote = _opening(text, match.end())
            if quote:
                value = (quoted.get(quote) or compiled(names.ESCAPED)).match(text, start)
            else:
                value = (bare if match["sign"] == "=" else loose).match(text, start)
            if value is None:
                continue
            stop = value.end()
            key = text[place : stop + 1] if stop < place + _REMEMBERED else ""
            name = verdicts.get(key) if key else None
            if name is None:
                name = _verdict(text, match, quote, value[0])
                verdicts[key] = name
            if not name or (marks and _is_mark(low, match.start("word"))):
                continue
            if low.endswith(low[start:stop], 0, match.end("rest")):
                continue  # `api_key=API_KEY`
            if not quote and stop - start == _LONGEST_START:
                stop = _whole_end(text, start, match["sign"])
            spans.append((start, stop, name))
            end = stop
    return spans


_REMEMBERED = 120
"""Characters up to which a name with its value is judged once for all its occurrences."""
_LONGEST_START = 64
"""How much of a bare value is judged."""


def _whole_end(text: str, start: int, sign: str) -> int:
    """Where a long bare value ends."""
    match = compiled(names.BARE if sign == "=" else names.LOOSE).match(text, start)
    return match.end() if match else start


def _verdict(text: str, match: re.Match[str], quote: str, value: str) -> str:
    """The class of a value that follows a name; empty if it is no secret."""
    word_start, word_end = match.span("word")
    word = text[word_start:word_end]
    rest = text[word_end : match.end("rest")]
    while names.is_harmless(word, rest):
        # In `token_id_password` the last name counts.
        further = compiled(names.NAME).search(rest.lower())
        if further is None:
            return ""
        word = rest[further.start("word") : further.end("word")]
        rest = rest[further.start("rest") : further.end("rest")]
    if quote:
        secret = names.is_quoted_secret(word, value)
    else:
        after = match.end() + len(value)
        secret = names.is_bare_secret(word, rest, match["sign"], value, text[after : after + 1])
    return class_of(word) if secret else ""


def _opening(text: str, start: int) -> tuple[int, str]:
    """Where a value begins after its quote, and the quote: empty for a bare value."""
    quote = text[start : start + 1]
    if quote in names.QUOTED:
        return start + 1, quote
    if quote in _STRING_PREFIXES and text[start + 1 : start + 2] in names.QUOTED:
        return start + 2, text[start + 1]
    if quote == "\\" and text[start + 1 : start + 2] in names.QUOTED:
        return start + 2, text[start : start + 2]
    return start, ""


_STRING_PREFIXES = frozenset("bBrRuUfF")


def _announced(text: str, low: str) -> list[Span]:
    """Where secrets stand that a sentence announces: "the password is …"."""
    spans = []
    for match in compiled(names.ANNOUNCED).finditer(low):
        value = compiled(names.SPOKEN).match(text, match.end("sign"))
        secret = value[0].rstrip(".,:;!?") if value else ""
        if names.is_announced_secret(secret) and not _is_mark(low, match.start()):
            start = match.end("sign")
            name = class_of(match["password"] or match["other"])
            spans.append((start, start + len(secret), name))
    return spans


def _is_mark(low: str, place: int) -> bool:
    """Whether a name is that of a mark that masking left: `[masked:password]`."""
    start = low.rfind("[masked:", max(0, place - 40), place)
    return start >= 0 and "]" not in low[start:place]
