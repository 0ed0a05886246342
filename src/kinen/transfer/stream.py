"""Read one big JSON document or many lines of JSON, entry by entry, in bounded memory.

`json` decodes one entry at a time from a window onto the file. An event parser such as `ijson`
would not do: its C parser replaces lone surrogates by `?` and fails on long integers, and its
Python parser is twenty times slower than `json`.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any, NoReturn

from kinen.errors import StoreError

Members = Iterator[tuple[str, Any]]


CHUNK = 1 << 20
LIMIT = 64 << 20
"""The longest entry, in characters: longer than any of a journal, and it still fits in memory."""
EXPORT_AGAIN = "nothing was imported; export it again"

_LONGEST_NUMBER_END = 4
"""`1` may continue as `12`, `1.5` or `1e+5` in the next chunk."""
_NEAR = 32
"""An error this close to the end of the window may be gone once more text is read."""


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode
_space = re.compile(r"[ \t\n\r]*")


def members(file: IO[bytes]) -> Members:
    """The keys and values of a document or of lines, whichever the file holds."""
    head = b""
    while len(head) < CHUNK and (data := file.read(CHUNK - len(head))):
        head += data
    first, _, rest = head.partition(b"\n")
    window = _Window(file, head)
    if rest.strip() and _is_object(first):
        return _line_members(window)
    return _document_members(window)


def document(file: IO[bytes]) -> Members:
    """The members of one document; arrays, also those of `dataset`, element by element."""
    return _document_members(_Window(file))


def elements(file: IO[bytes], key: str) -> Iterator[Any]:
    """The elements of one list: the document itself, or that under a key of it."""
    window = _Window(file)
    if window.peek() == "[":
        window.at += 1
        yield from _elements(window)
        return
    yield from (value for name, value in _document_members(window) if name == key)


def lines(file: IO[bytes]) -> Members:
    """The members of every line: those of the header, then `("observation", {…})` and so on."""
    return _line_members(_Window(file))


def file_name(file: IO[bytes]) -> str:
    """The name of a file in messages."""
    return str(getattr(file, "name", "the bundle"))


def _is_object(line: bytes) -> bool:
    try:
        return type(json.loads(line)) is dict
    except (ValueError, RecursionError):
        return False


class _Window:
    """The part of a file that is being parsed: `text` from `at` on is not parsed yet."""

    def __init__(self, file: IO[bytes], head: bytes = b"") -> None:
        self.name = file_name(file)
        self.text = ""
        self.at = 0
        self.ended = False
        self._file = file
        self._head = head
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._decoded_bytes = 0

    def fault(self, fact: str, byte: int | None = None) -> StoreError:
        """An error at a byte of the file, by default the next one to parse."""
        if byte is None:
            rest = self.text[self.at :].encode("utf-8", "surrogatepass")
            byte = self._decoded_bytes - len(rest)
        return StoreError(f"{self.name}: {fact} at byte {byte}", EXPORT_AGAIN)

    def extend(self) -> None:
        """Drop the parsed text and read on.

        At least as much is read as is left over, so that a long entry is decoded only log n times.
        """
        rest = self.text[self.at :]
        if len(rest) > LIMIT:
            raise self.fault(f"an entry of more than {LIMIT >> 20} MiB")
        pieces = [rest]
        missing = max(CHUNK, len(rest))
        while missing > 0 and not self.ended:
            data = self._head or self._file.read(CHUNK)
            self._head = b""
            pending = len(self._decoder.getstate()[0])
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                fact = "not UTF-8" if data else "cut short"
                raise self.fault(fact, self._decoded_bytes + error.start) from error
            if not self._decoded_bytes:
                text = text.removeprefix("\ufeff")
            self._decoded_bytes += pending + len(data) - len(self._decoder.getstate()[0])
            self.ended = not data
            pieces.append(text)
            missing -= len(pieces[-1])
        self.text = "".join(pieces)
        self.at = 0

    def peek(self) -> str:
        """The next character that is not a space; empty at the end."""
        while True:
            space = _space.match(self.text, self.at)
            self.at = space.end() if space else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended:
                return ""
            self.extend()

    def take(self, expected: str) -> str:
        """The next character, which has to be one of the expected ones."""
        character = self.peek()
        if not character:
            raise self.fault("cut short")
        if character not in expected:
            raise self.fault("not JSON")
        self.at += 1
        return character

    def value(self) -> Any:
        """The JSON value that begins here."""
        while True:
            try:
                value, end = _decode(self.text, self.at)
            except json.JSONDecodeError as error:
                self._check_incomplete(error)
            except ValueError as error:
                raise self.fault(f"not JSON ({error})") from error
            except RecursionError as error:
                raise self.fault("nested too deep") from error
            else:
                if self.ended or end + _LONGEST_NUMBER_END <= len(self.text):
                    self.at = end
                    return value
            self.extend()

    def _check_incomplete(self, error: json.JSONDecodeError) -> None:
        """Raise, unless reading more text may help."""
        open_string = error.msg.startswith("Unterminated string")
        if not self.ended and (open_string or error.pos > len(self.text) - _NEAR):
            return
        if not open_string:
            self.at = error.pos
        cut = open_string or error.pos >= len(self.text.rstrip())
        raise self.fault("cut short" if cut else "not JSON") from error

    def lines(self) -> Iterator[str]:
        """The lines without their ends. Only a line feed ends a line; the last may have none."""
        while True:
            end = self.text.find("\n", self.at)
            if end >= 0:
                line = self.text[self.at : end]
                self.at = end + 1
                yield line
            elif self.ended:
                yield self.text[self.at :]
                return
            else:
                self.extend()


def _document_members(window: _Window) -> Members:
    if window.peek() != "{":
        raise window.fault("no JSON object")
    window.at += 1
    yield from _object_members(window, "")
    if window.peek():
        raise window.fault("more text after the end")


def _object_members(window: _Window, prefix: str) -> Members:
    """What follows a `{`: scalars and objects whole, arrays by element, `dataset` by member."""
    seen: set[str] = set()
    if window.peek() == "}":
        window.at += 1
        return
    while True:
        if window.peek() not in {'"', ""}:
            raise window.fault("not JSON")
        key = str(window.value())
        if key in seen:
            raise window.fault(f"a second {key[:80]!r}")
        seen.add(key)
        window.take(":")
        opening = window.peek()
        if opening == "[":
            window.at += 1
            for value in _elements(window):
                yield prefix + key, value
        elif opening == "{" and prefix + key == "dataset":
            window.at += 1
            yield from _object_members(window, "dataset.")
        else:
            yield prefix + key, window.value()
        if window.take(",}") == "}":
            return


def _elements(window: _Window) -> Iterator[Any]:
    if window.peek() == "]":
        window.at += 1
        return
    while True:
        value = window.value()
        delimiter = window.take(",]")
        yield value
        if delimiter == "]":
            return
        window.peek()


def _line_members(window: _Window) -> Members:
    """The members of every line; the first one has to be a header."""
    has_header = False
    for number, line in enumerate(window.lines(), 1):
        text = line.strip(" \t\r")
        if not text:
            continue
        try:
            value, end = _decode(text)
        except (ValueError, RecursionError) as error:
            raise _line_fault(window, number, "cut short or not JSON") from error
        if type(value) is not dict or end != len(text):
            raise _line_fault(window, number, "not one JSON object")
        if not has_header and "version" not in value:
            raise _line_fault(window, number, "no header with a version")
        has_header = True
        yield from value.items()


def _line_fault(window: _Window, number: int, fact: str) -> StoreError:
    return StoreError(f"{window.name}: line {number}: {fact}", EXPORT_AGAIN)
