"""The JSON of a hook, read whatever it is like: cut short, nested too deep, with odd numbers.

Light on purpose: `json` itself would cost a hook as much as all the rest.
"""

from __future__ import annotations

from kinen.privacy.entrance import plain, plain_values, suspicious

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

    Payload = dict[str, Any]

LONGEST = 64 << 20
"""Bytes of a payload that are read as JSON."""
HEAD = 8 << 20
"""Bytes of a longer one that are read: more than is kept of any field."""
ENDLESS = 1 << 30
"""Bytes after which a stream is taken for one without an end."""
TAIL = 1 << 16
"""Bytes at the end of a longer payload in which small fields are looked for."""
SMALL = ("hook_event_name", "session_id", "cwd", "tool_name", "tool_use_id", "prompt_id")
CUT = "kinen_cut"
"""The key under which the size of a payload stands that was cut."""
DEEP = 8
"""Levels of a broken payload that are read one by one."""
SKIPPED = 1 << 20
"""Characters of a value nested too deep that are skipped to reach what follows it."""
_BLANK = " \t\r\n"


class _Strictly:
    """What the scanner of `json` asks for: everything as usual."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


class _Loosely(_Strictly):
    parse_int = float  # type: ignore[assignment]
    """An integer of more than 4,300 digits is refused by `int`."""


def read(stream: IO[bytes]) -> Payload:
    """The payload that a client writes. Of one over the limit the beginning, with its size."""
    data = stream.read(LONGEST)
    if len(data) < LONGEST:
        return parsed(data)
    size = len(data)
    tail = b""
    while size < ENDLESS:
        more = stream.read(1 << 20)
        if not more:
            break
        size += len(more)
        tail = (tail + more)[-TAIL:]
    if size == LONGEST:
        return parsed(data)
    head = data[:HEAD]
    payload = _tidy(_broken(_decoded(head)), head)
    _add_small(payload, tail.decode("utf-8", "replace"))
    payload[CUT] = size
    return payload


def parsed(data: bytes) -> Payload:
    """The object that some JSON holds; of broken JSON what can be read, of anything else nothing.

    Its strings can be stored: see `entrance.plain`.
    """
    text = _decoded(data)
    value = None
    for how in (_Strictly, _Loosely):
        try:
            value = _scanner(how)(text, 0)[0]
            break
        except (StopIteration, ValueError, SystemError):
            continue  # SystemError: its error needs `json.decoder`, which is not loaded
        except RecursionError:
            break
    if value is None:
        value = _broken(text)
    return _tidy(value, data) if isinstance(value, dict) else {}


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace").lstrip("\ufeff" + _BLANK)


def _tidy(payload: Payload, data: bytes) -> Payload:
    if suspicious(data):
        plain_values(payload)
    return payload


def _scanner(how: type) -> Any:
    from _json import make_scanner

    return make_scanner(how)  # type: ignore[arg-type]


def _broken(text: str) -> Any:
    """What can be read of an object until the text ends or stops being JSON."""
    return _Broken(text).value(0, DEEP)[0] if text.startswith("{") else {}


class _Broken:
    """Reads JSON member by member and keeps the beginning of the string that is cut."""

    def __init__(self, text: str) -> None:
        import json.decoder  # noqa: F401 the scanner raises an error of it

        self.text = text
        self.scan = _scanner(_Loosely)

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        """The value at a place, and where it ends; -1 if nothing after it can be read."""
        deep = False
        try:
            value, end = self.scan(self.text, at)
            return value, end
        except (StopIteration, ValueError):
            pass
        except RecursionError:
            deep = True
        first = self.text[at : at + 1]
        if first == '"':
            return self._string(at), -1
        if first not in ("{", "[") or not depth:
            return None, self._end(at) if deep else -1
        members, end = self._members(at, depth - 1)
        return members, end

    def _members(self, at: int, depth: int) -> tuple[Any, int]:
        mapping = self.text[at] == "{"
        members: Any = {} if mapping else []
        at = self._skip(at + 1)
        while at >= 0 and self.text[at : at + 1] not in ("", "}", "]"):
            key, at = self._key(at) if mapping else (None, at)
            if at < 0:
                return members, -1
            value, at = self.value(at, depth)
            if not mapping:
                members.append(value)
            elif value is not None:
                members[key] = value
            at = self._skip(at)
            if at >= 0 and self.text[at : at + 1] == ",":
                at = self._skip(at + 1)
        return members, at + 1 if at >= 0 and at < len(self.text) else -1

    def _key(self, at: int) -> tuple[str, int]:
        from _json import scanstring

        try:
            key, at = scanstring(self.text, at + 1, False)
        except ValueError:
            return "", -1
        at = self._skip(at)
        if self.text[at : at + 1] != ":":
            return "", -1
        return key, self._skip(at + 1)

    def _string(self, at: int) -> str:
        """The beginning of a string that does not end. An escape that is cut goes."""
        from _json import scanstring

        rest = self.text[at + 1 :]
        for shorter in range(7):
            try:
                text: str = scanstring(rest[: len(rest) - shorter] + '"', 0, False)[0]
                return text
            except ValueError:
                continue
        return ""

    def _skip(self, at: int) -> int:
        while at >= 0 and self.text[at : at + 1] in _BLANK and at < len(self.text):
            at += 1
        return at

    def _end(self, at: int) -> int:
        """Where a list or an object ends, -1 if not soon: its brackets are counted."""
        text = self.text
        depth = 0
        quoted = False
        stop = min(len(text), at + SKIPPED)
        while at < stop:
            character = text[at]
            if quoted:
                if character == "\\":
                    at += 1
                quoted = character != '"'
            elif character == '"':
                quoted = True
            elif character in "[{":
                depth += 1
            elif character in "]}":
                depth -= 1
                if not depth:
                    return at + 1
            at += 1
        return -1


def _add_small(payload: Payload, tail: str) -> None:
    """Fields that stand after the value that was cut."""
    from _json import scanstring

    for name in SMALL:
        sign = f'"{name}"'
        at = tail.rfind(sign)
        before = tail[:at].rstrip(_BLANK)[-1:]
        rest = tail[at + len(sign) :].lstrip(_BLANK)
        if name in payload or at < 0 or before != "," or not rest.startswith(":"):
            continue
        rest = rest[1:].lstrip(_BLANK)
        if rest.startswith('"'):
            try:
                payload[name] = plain(scanstring(rest, 1, False)[0])
            except ValueError:
                continue
