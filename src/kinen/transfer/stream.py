"""One big JSON document, or many lines of JSON, read piece by piece in constant memory."""

from __future__ import annotations

import codecs
import json
import re
from itertools import chain, groupby, repeat
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any, NoReturn

from kinen.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Parts = Iterator[tuple[str, list[Any]]]

CHUNK = 1 << 20
LIMIT = 64 << 20
"""The longest element, in characters: more than any entry of a journal, less than a machine has."""
AGAIN = "nothing was imported; export it again"

_PIECE = 16 << 10
"""Text that is decoded in one go: some elements at a time are faster than one or very many."""
_SEVERAL = 50
_NUMBERS = (int, float)
_DOUBT = 32
"""An error this close to the end of what was read may only mean that the rest is still to come."""


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")


_decode = json.JSONDecoder(parse_constant=_refuse).raw_decode
_space = re.compile(r"[ \t\n\r]*").match
_key = itemgetter(0)
_follow = re.compile(r"[ \t\n\r]*([,\]])[ \t\n\r]*").match


def parts(file: IO[bytes], pause: Callable[[], object] | None = None) -> Parts:
    """What is in a document or in lines, whichever it is: a key, and some of its values in order.

    `pause` is called before more is read: a caller that lets go of what it holds there never holds
    more than one reading.
    """
    head = b""
    while len(head) < CHUNK and (more := file.read(CHUNK - len(head))):
        head += more
    first, _, rest = head.partition(b"\n")
    read = _lines if rest.strip() and _whole(first) else _document
    return read(_Source(file, head, pause))


def items(file: IO[bytes]) -> Iterator[tuple[str, object]]:
    """The members of one document; those of arrays one by one, and those of `dataset` as well."""
    return _pairs(_document(_Source(file)))


def lines(file: IO[bytes]) -> Iterator[tuple[str, object]]:
    """The members of every line: those of the header, then `("observation", {…})` and so on."""
    return _pairs(_lines(_Source(file)))


def _pairs(parts: Parts) -> Iterator[tuple[str, object]]:
    return chain.from_iterable(zip(repeat(key), values) for key, values in parts)


def name(file: IO[bytes]) -> str:
    """What a file is called in messages."""
    return str(getattr(file, "name", "the bundle"))


def _whole(line: bytes) -> bool:
    """Whether a line is an object by itself."""
    try:
        return type(json.loads(line)) is dict
    except (ValueError, RecursionError):
        return False


class _Source:
    """A window onto a file: its text, how far it was read, and how to get more of it."""

    def __init__(
        self, file: IO[bytes], head: bytes = b"", pause: Callable[[], object] | None = None
    ) -> None:
        self.name = name(file)
        self.text, self.at, self.ended = "", 0, False
        self.doubtful = 0
        self._fed = 0
        self._pause = pause or (lambda: None)
        rest = iter(lambda: file.read(CHUNK), b"")
        self._chunks = self._decoded(chain([head] if head else [], rest))

    def _decoded(self, raw: Iterable[bytes]) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")()
        start = True
        for data in chain(raw, [b""]):
            held = len(decoder.getstate()[0])
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                what = "not UTF-8" if data else "cut short"
                raise self.wrong(what, self._fed + error.start) from error
            self._fed += held + len(data) - len(decoder.getstate()[0])
            if start and text:
                text, start = text.removeprefix("\ufeff"), False
            if text:
                yield text
        self.ended = True

    def wrong(self, what: str, at: int | None = None) -> StoreError:
        """What is said of a place, by default the one that was reached."""
        if at is None:
            at = self._fed - len(self.text[self.at :].encode("utf-8", "surrogatepass"))
        return StoreError(f"{self.name}: {what} at byte {at}", AGAIN)

    def chunks(self) -> Iterator[str]:
        """The text as it comes."""
        while not self.ended:
            self._pause()
            text = next(self._chunks, "")
            if text:
                yield text

    def more(self) -> None:
        """Drop what was read, and read as much again as is left: an element is met log n times."""
        left = self.text[self.at :]
        if len(left) > LIMIT:
            raise self.wrong(f"an element of more than {LIMIT >> 20} MiB")
        self._pause()
        parts, wanted = [left], max(CHUNK, min(len(left), LIMIT - len(left)))
        while wanted > 0 and not self.ended:
            parts.append(next(self._chunks, ""))
            wanted -= len(parts[-1])
        self.text, self.at, self.doubtful = "".join(parts), 0, 0

    def peek(self) -> str:
        """The next character that is no space; nothing at the end."""
        while True:
            found = _space(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended:
                return ""
            self.more()

    def take(self, wanted: str) -> str:
        """The next sign, which has to be one of these."""
        sign = self.peek()
        if not sign:
            raise self.wrong("cut short")
        if sign not in wanted:
            raise self.wrong("not JSON")
        self.at += 1
        return sign

    def value(self) -> object:
        """The value that begins here."""
        while True:
            try:
                value, end = _decode(self.text, self.at)
            except json.JSONDecodeError as error:
                self._doubt(error)
            except ValueError as error:
                raise self.wrong(f"not JSON ({error})") from error
            except RecursionError as error:
                raise self.wrong("nested too deep") from error
            else:
                # `1` may go on as 12, 1.5 or 1e+5.
                if self.ended or type(value) not in _NUMBERS or end + 4 <= len(self.text):
                    self.at = end
                    return value
            self.more()

    def several(self, joint: str) -> tuple[list[Any], bool]:
        """The elements up to a joint as far off as may be, and whether the array ended there.

        A joint inside a string or a nested array leaves it open, and that does not decode: then
        there are none, and none are to be had before `doubtful`.
        """
        cut = self.text.rfind(joint, self.at, self.at + _PIECE)
        if cut < 0:
            self.doubtful = self.at + _PIECE
            return [], False
        piece = f"[{self.text[self.at : cut + 1]}]"
        try:
            values, end = _decode(piece)
        except (ValueError, RecursionError):
            self.doubtful = cut + 1
            return [], False
        ended = end < len(piece)
        self.at = self.at + end - 1 if ended else cut + len(joint) - 1
        return values, ended

    def _doubt(self, error: json.JSONDecodeError) -> None:
        """Raise, unless more text may mend it."""
        unfinished = error.msg.startswith("Unterminated string")
        near = unfinished or error.pos > len(self.text) - _DOUBT
        if not near or self.ended:
            if not unfinished:
                self.at = error.pos
            cut = unfinished or error.pos >= len(self.text.rstrip())
            raise self.wrong("cut short" if cut else "not JSON") from error


def _document(source: _Source) -> Parts:
    if source.peek() != "{":
        raise source.wrong("no JSON object")
    source.at += 1
    yield from _members(source, "")
    if source.peek():
        raise source.wrong("more text after the end")


def _members(source: _Source, prefix: str) -> Parts:
    """What follows a `{`: scalars and objects whole, arrays by element, `dataset` by member."""
    seen: set[str] = set()
    if source.peek() == "}":
        source.at += 1
        return
    while True:
        if source.peek() not in {'"', ""}:
            raise source.wrong("not JSON")
        key = str(source.value())
        if key in seen:
            raise source.wrong(f"a second {key[:80]!r}")
        seen.add(key)
        source.take(":")
        opening = source.peek()
        if opening == "[":
            source.at += 1
            yield from ((prefix + key, values) for values in _elements(source))
        elif opening == "{" and prefix + key == "dataset":
            source.at += 1
            yield from _members(source, "dataset.")
        else:
            yield prefix + key, [source.value()]
        if source.take(",}") == "}":
            return


def _elements(source: _Source) -> Iterator[list[Any]]:
    """What follows a `[`, some at a time."""
    if source.peek() == "]":
        source.at += 1
        return
    joint = ""
    while True:
        while joint and source.at >= source.doubtful:
            values, ended = source.several(joint)
            yield values
            if ended:
                return
        value = source.value()
        gap = _follow(source.text, source.at)
        joint = f"}}{gap[0]}{{" if gap else joint
        sign = source.take(",]")
        yield [value]
        if sign == "]":
            return
        source.peek()


def _lines(source: _Source) -> Parts:
    """The members of every line; the first has to be a header."""
    number, header = 0, False
    for lines in _split(source):
        texts = [line.strip(" \t\r") for line in lines]
        values = _objects([text for text in texts if text])
        if values is None:
            values = [_object(source, text, number + n) for n, text in enumerate(texts, 1) if text]
        if values and not header and "version" not in values[0]:
            raise _broken(source, number + 1, "no header with a version")
        number += len(lines)
        header = header or bool(values)
        for key, group in groupby(chain.from_iterable(map(dict.items, values)), _key):
            yield key, [value for _, value in group]


def _objects(texts: list[str]) -> list[dict[str, object]] | None:
    """Lines decoded together, which is faster; nothing if one of them is wrong."""
    whole = f"[{','.join(texts)}]"
    try:
        values, end = _decode(whole)
    except (ValueError, RecursionError):
        return None
    fits = end == len(whole) and len(values) == len(texts)
    return values if fits and {dict}.issuperset(map(type, values)) else None


def _object(source: _Source, text: str, number: int) -> dict[str, object]:
    try:
        value, end = _decode(text)
    except (ValueError, RecursionError) as error:
        raise _broken(source, number, "cut short or not JSON") from error
    if type(value) is not dict or end != len(text):
        raise _broken(source, number, "not one JSON object")
    return value


def _broken(source: _Source, number: int, what: str) -> StoreError:
    return StoreError(f"{source.name}: line {number}: {what}", AGAIN)


def _split(source: _Source) -> Iterator[list[str]]:
    """Lines, some at a time. They end at a line feed and nowhere else; the last may have none."""
    parts: list[str] = []
    for chunk in source.chunks():
        first, *rest = chunk.split("\n")
        parts.append(first)
        if rest:
            lines = ["".join(parts), *rest[:-1]]
            yield from (lines[at : at + _SEVERAL] for at in range(0, len(lines), _SEVERAL))
            parts = rest[-1:]
        elif sum(map(len, parts)) > LIMIT:
            raise source.wrong(f"a line of more than {LIMIT >> 20} MiB")
    yield ["".join(parts)]
