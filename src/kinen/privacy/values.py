"""Finds the values of names that are secrets: `password = …`, `--token …`."""

from __future__ import annotations

from kinen.privacy import names
from kinen.privacy.names import class_of, kind_of
from kinen.privacy.shapes import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    Span = tuple[int, int, str]


def named_values(text: str, low: str) -> list[Span]:
    """Beginning, end and class of every value; `low` is the text in lower case."""
    spans: list[Span] = []
    verdicts: dict[str, bool] = {}
    ascii_only = low.isascii()
    match_value = compiled(names.NAMED_VALUE).match
    for word in names.WORDS:
        if (ascii_only and not word.isascii()) or word not in low:
            continue
        end = 0
        place = low.find(word)
        while place >= 0:
            name_end = place + len(word)
            kind = kind_of(low, place, word) if place >= end else ""
            match = match_value(low, name_end) if kind else None
            if match:
                start, stop = match.span(match.lastindex or 0)
                if match.lastgroup == "spoken":
                    stop = start + len(text[start:stop].rstrip(".,:;!?"))
                if _is_secret(text, low, place, kind, match, text[start:stop], verdicts):
                    if stop - start == _LONGEST_START and match.lastgroup in names.WHOLE:
                        whole = compiled(names.WHOLE[match.lastgroup]).match(text, start)
                        stop = whole.end() if whole else stop
                    spans.append((start, stop, class_of(kind)))
                    end = stop
            place = low.find(word, name_end)
    return spans


_REMEMBERED = 120
"""Characters up to which a name with its value is judged once for all its occurrences."""
_LONGEST_START = 64
"""How much of a bare value is judged."""
_BEFORE = 48
"""Characters before a name that say what it is: an option, a variable of a Dockerfile."""


def _is_secret(
    text: str,
    low: str,
    place: int,
    kind: str,
    match: re.Match[str],
    value: str,
    verdicts: dict[str, bool],
) -> bool:
    """Whether a value that follows a name is a secret; each name with its value is judged once.

    Past `JUDGED` of them, every value is a secret whose name is one of a secret.
    """
    start, stop = match.span(match.lastindex or 0)
    spoken = match.lastgroup == "spoken"
    rest_start, name_end = (match.start(), match.start()) if spoken else match.span("rest")
    if low[stop - 1] == low[name_end - 1] and low.endswith(low[start:stop], 0, name_end):
        return False  # `api_key=API_KEY`
    judged = len(verdicts) < names.JUDGED
    blank = not spoken and not match["sign"].strip()
    key_start = max(0, place - _BEFORE) if blank else max(0, place - 1)
    key_end = stop + 1 if judged else name_end
    key = text[key_start:key_end] if key_end <= place + _REMEMBERED else ""
    verdict = verdicts.get(key)
    if verdict is None:
        word = text[place:rest_start]
        verdict = _verdict(text, place, kind, word, match, value, judged)
        if key:
            verdicts[key] = verdict
    return verdict


def _verdict(
    text: str,
    place: int,
    kind: str,
    word: str,
    match: re.Match[str],
    value: str,
    judged: bool,
) -> bool:
    """Whether a value is a secret; one that is not `judged` is, if its name is one of a secret."""
    if match.lastgroup == "spoken":
        if kind in ("short", "general") or (match["whose"] and kind != "password"):
            return False
        if ":" in match["is"] and not match["whose"]:
            return False
        return not judged or names.is_announced_secret(value)
    rest = text[slice(*match.span("rest"))]
    if names.is_harmless(word, rest) or (kind == "general" and rest):
        return False
    if not judged:
        return True
    sign = match["sign"]
    operator = sign.strip()
    if match.lastgroup in names.QUOTED:
        if operator in ("(", ",") or (not operator and not word.isupper()):
            beside = operator != "," or text[match.end("rest") : match.end("rest") + 1] in "\"'"
            return beside and names.is_literal_secret(kind, word, value)
        return names.is_quoted_secret(kind, word, value)
    if operator == ">":
        return names.is_quoted_secret(kind, word, value)
    after = match.end() + len(value)
    before = text[place - 1 : place]
    if not operator and not _is_set(text, place, word):
        return kind == "password" and names.is_spoken_secret(value)
    around = (before, text[after : after + 1])
    return names.is_bare_secret(kind, word + rest, sign, value, around)


def _is_set(text: str, place: int, word: str) -> bool:
    """Whether blanks set a name to what follows: `--token …`, `ENV TOKEN …`, `requirepass …`."""
    before = text[max(0, place - _BEFORE) : place]
    if word in ("requirepass", "masterauth"):
        return not before.rpartition("\n")[2].strip()
    if before and not before[-1].isspace():
        name = before.split()[-1] if before.strip() else ""
        before = before[: len(before) - len(name)]
        if name.startswith("-") and not name.startswith("---") and "=" not in name:
            return True
    return compiled(names.SETTER).search(before) is not None
