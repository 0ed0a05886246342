"""What the columns of a bundle may hold, and how they are kept and shown.

On the way in, entries are judged column by column: that is where the time of an import goes.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from functools import lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.journal.schema import LATEST
from kinen.privacy.entrance import identifier, masked, masked_values, name
from kinen.privacy.masking import evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Column = list[Any]
    Found = dict[int, dict[str, int]] | None

LONGEST_ID = 200
SCOPE = {f"{name}Id": name for name in ("session", "repo", "agent", "user", "task")}

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_MARK, _BETWEEN, _END = "\x00", ', "\\u0000", ', ', "\\u0000"]'

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode
_decode = json.JSONDecoder(parse_constant=lambda _: None).decode


def encode(value: object) -> str:
    """JSON that can be written as UTF-8: half a surrogate pair stays an escape."""
    text = _encode(value)
    return text if text.isascii() else _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


# What may be in a column


class Form(NamedTuple):
    """What a field may hold, how it is kept in columns, and how these are shown as JSON."""

    words: str
    fits: Callable[[Column], bool]
    keep: Callable[[Column, Found], Sequence[Column]]
    show: Callable[..., str] = encode


def _of(*types: type) -> Callable[[Iterable[Any]], bool]:
    accepted = frozenset(types).issuperset
    return lambda values: accepted(map(type, values))


_texts, _lists, _objects, _times = _of(str), _of(list), _of(dict), _of(int)


def _ids(values: Column) -> bool:
    return _names(values) and all(values)


def _names(values: Column) -> bool:
    if not _texts(values) or max(map(len, values), default=0) > LONGEST_ID:
        return False
    whole = "".join(values)
    return whole.isprintable() or not _CONTROL.search(whole)


def _refs(values: Column) -> bool:
    return _texts(values) and all(values) and not _SURROGATE.search("".join(values))


def _moments(values: Column) -> bool:
    return _times(values) and min(values) >= 0 and max(values) < LATEST


def _ratios(values: Column) -> bool:
    return _of(int, float)(values) and min(values) >= 0 and max(values) <= 1


def _listed(fits: Callable[[Column], bool]) -> Callable[[Column], bool]:
    return lambda values: _lists(values) and fits(list(chain.from_iterable(values)))


def _scopes(values: Column) -> bool:
    if not _objects(values):
        return False
    fits = _of(str, type(None))
    return _texts(chain.from_iterable(map(dict.values, values))) or all(
        fits(one.get(key) for one in values) for key in SCOPE
    )


def _proofs(values: Column) -> bool:
    return _objects(values) and all(
        type(one.get("count", 0)) is int and _listed(_texts)([one.get("classes", [])])
        for one in values
        if one
    )


def _as_is(values: Column, _: Found) -> Sequence[Column]:
    return (values,)


def _kept_flags(values: Column, _: Found) -> Sequence[Column]:
    return (list(map(int, values)),)  # SQLite takes twice as long for a bool


def _kept_names(values: Column, found: Found) -> Sequence[Column]:
    """Names as they are looked up; of a sealed bundle as they are."""
    if found is None or _harmless(values):
        return (values,)
    return ([name(value) for value in values],)


def _kept_ids(values: Column, found: Found) -> Sequence[Column]:
    if found is None or _harmless(values):
        return (values,)
    return ([identifier(value) for value in values],)


def _harmless(values: Column) -> bool:
    """Whether none has to be changed, judged together: most imports have nothing to mask here."""
    whole = "\n".join(dict.fromkeys(values))
    return name(whole) == whole


def _masked_text(values: Column, found: Found) -> Sequence[Column]:
    """Text without secrets; where nothing is to be found, it was masked before it was sealed."""
    if found is None:
        return (values,)
    texts = list(values)
    for index, text in enumerate(texts):
        texts[index], secrets = masked(text)
        if secrets:
            _add(found, index, secrets)
    return (texts,)


def _masked_object(values: Column, found: Found) -> Sequence[Column]:
    texts = _encoded(values)
    for index, text in enumerate(texts if found is not None else ()):
        if text != "{}":
            texts[index], secrets = masked_json(text)
            if secrets and found is not None:
                _add(found, index, secrets)
    return (texts,)


def let_go() -> None:
    """Forget what was held to save time: a text may be there as it was before masking."""
    for held in (masked_json, array, shown_json, shown_scope):
        held.cache_clear()


@lru_cache(512)
def masked_json(text: str) -> tuple[str, dict[str, int]]:
    """A text of JSON without secrets. The same comes up again and again, and masking is dear."""
    value, secrets = masked_values(_decode(text))
    return encode(value), secrets


@lru_cache(512)
def array(*texts: str) -> str:
    """A list as JSON; the same files come up again and again."""
    return encode(texts)


def _add(found: dict[int, dict[str, int]], index: int, secrets: dict[str, int]) -> None:
    here = found.setdefault(index, {})
    for kind, count in secrets.items():
        here[kind] = here.get(kind, 0) + count


def _kept_list(values: Column, found: Found) -> Sequence[Column]:
    if found is not None and not _harmless(list(chain.from_iterable(values))):
        values = [[name(item) for item in value] for value in values]
    return ([array(*value) for value in values],)


def _kept_scope(values: Column, found: Found) -> Sequence[Column]:
    """Most entries have the scope of the one before."""
    last: dict[str, str] = {}
    cells, rows = ("",) * len(SCOPE), []
    for one in values:
        if one != last:
            last, cells = one, tuple(one.get(key) or "" for key in SCOPE)
        rows.append(cells)
    return [_kept_names(list(column), found)[0] for column in zip(*rows, strict=True)]


def _kept_proof(values: Column, found: Found) -> Sequence[Column]:
    """What had been masked before, and what was masked now."""
    values = list(values)
    for index, secrets in (found or {}).items():
        old: dict[str, Any] = values[index]
        new: dict[str, Any] = evidence(secrets)
        classes = {*old.get("classes", ()), *new["classes"]}
        count = old.get("count", 0) + new["count"]
        values[index] = {**old, "count": count, "classes": sorted(classes)}
    return (_encoded(values),)


def _encoded(values: Column) -> list[str]:
    """Each value as JSON. They are encoded together with a mark between them, for half the cost."""
    if not any(values):
        return [_encode(values[0])] * len(values)
    with contextlib.suppress(ValueError, RecursionError):
        whole = encode(list(chain.from_iterable(zip(values, repeat(_MARK), strict=False))))
        parts = whole[1 : -len(_END)].split(_BETWEEN)
        if len(parts) == len(values):  # more if a value holds the mark
            return parts
    return [encode(value) for value in values]


def _shown_flag(cell: int) -> str:
    return "true" if cell else "false"


@lru_cache(512)
def shown_json(cell: str) -> str:
    """The same JSON always written the same way."""
    value = _decode(cell)
    try:
        return encode(value)
    except ValueError:
        return encode(_finite(value))


def _finite(value: Any) -> Any:
    """A value with null for the infinite numbers, which JSON has not."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if value in (math.inf, -math.inf) else value


@lru_cache(512)
def shown_scope(*cells: str) -> str:
    return encode({key: cell for key, cell in zip(SCOPE, cells, strict=True) if cell})


def one_of(words: tuple[str, ...]) -> Form:
    known = frozenset(words).issuperset
    said = f"one of {', '.join(words)}"
    return Form(said, lambda values: _texts(values) and known(values), _as_is)


ID = Form(f"an id of 1 to {LONGEST_ID} characters", _ids, _kept_ids)
ID_OR_NONE = Form(f"an id of at most {LONGEST_ID} characters", _names, _kept_ids)
IDS = Form("a list of ids", _listed(_ids), _as_is)
REF = Form("a name", _refs, _kept_names)
WORD = Form("a text", _texts, _kept_names)
TEXT = Form("a text", _texts, _masked_text)
TIME = Form("a time in epoch milliseconds before the year 10000", _moments, _as_is, str)
FLAG = Form("true or false", _of(bool), _kept_flags, _shown_flag)
RATIO = Form("a number from 0 to 1", _ratios, _as_is)
LIST = Form("a list of texts", _listed(_texts), _kept_list, shown_json)
OBJECT = Form("an object", _objects, _masked_object, shown_json)
SCOPES = Form("an object of texts", _scopes, _kept_scope, shown_scope)
PROOF = Form("an object with a count and classes", _proofs, _kept_proof, shown_json)
