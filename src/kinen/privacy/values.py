"""Finds the values of names that are secrets: `password = …`, `--token …`."""

from __future__ import annotations

from kinen.privacy import names
from kinen.privacy.names import class_of
from kinen.privacy.shapes import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    Span = tuple[int, int, str]


def named_values(text: str, low: str) -> list[Span]:
    """Beginning, end and class of every value; `low` is the text in lower case."""
    spans: list[Span] = []
    verdicts: dict[str, str] = {}
    for expression in (names.NAMED_VALUE, names.FLAG):
        end = 0
        for match in compiled(expression).finditer(low):
            place = match.start()
            if place < end:
                continue
            start, stop = match.span(match.lastindex or 0)
            kind = match.lastgroup
            if kind == "spoken":
                stop = start + len(text[start:stop].rstrip(".,:;!?"))
                name_end = match.end("word")
            else:
                name_end = match.end("rest")
            judged = len(verdicts) < names.JUDGED
            key_end = stop + 1 if judged else name_end
            key = text[place:key_end] if key_end <= place + _REMEMBERED else ""
            name = verdicts.get(key)
            if name is None:
                name = _verdict(text, match, text[start:stop], judged)
                if key:
                    verdicts[key] = name
            if not name:
                continue
            if low[stop - 1] == low[name_end - 1] and low.endswith(low[start:stop], 0, name_end):
                continue  # `api_key=API_KEY`
            if stop - start == _LONGEST_START and kind in ("bare", "loose"):
                stop = _whole_end(text, start, kind)
            spans.append((start, stop, name))
            end = stop
    return spans


_REMEMBERED = 120
"""Characters up to which a name with its value is judged once for all its occurrences."""
_LONGEST_START = 64
"""How much of a bare value is judged."""


def _whole_end(text: str, start: int, kind: str) -> int:
    """Where a long bare value ends."""
    match = compiled(names.BARE if kind == "bare" else names.LOOSE).match(text, start)
    return match.end() if match else start


def _verdict(text: str, match: re.Match[str], value: str, judged: bool) -> str:
    """The class of a value that follows a name; empty if it is not a secret.

    A value that is not `judged` is a secret if its name is one of a secret.
    """
    word_start, word_end = match.span("word")
    word = text[word_start:word_end]
    if match.lastgroup == "spoken":
        return class_of(word) if not judged or names.is_announced_secret(value) else ""
    rest = text[word_end : match.end("rest")]
    while names.is_harmless(word, rest):
        # In `token_id_password` the last name counts.
        further = compiled(names.NAME).search(rest.lower())
        if further is None:
            return ""
        word = rest[further.start("word") : further.end("word")]
        rest = rest[further.start("rest") : further.end("rest")]
    if not judged:
        secret = True
    elif match.lastgroup in names.QUOTED:
        secret = names.is_quoted_secret(word, value)
    else:
        after = match.end() + len(value)
        secret = names.is_bare_secret(word, rest, match["sign"], value, text[after : after + 1])
    return class_of(word) if secret else ""
