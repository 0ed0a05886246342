"""Source code as records: one `symbol` for each function, class and method of a file."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from kinen.extract.decode import decode, suffix_of
from kinen.extract.languages import LARGEST, available, is_code
from kinen.model.documents import Change, Delta, Document, State
from kinen.model.records import Chunk, Record
from kinen.privacy import entrance
from kinen.sources.files.ignore import Ignore
from kinen.sources.files.walk import (
    NOT_UTF8,
    RULES,
    Files,
    differs,
    read_change,
    stamp_of,
    time_of,
)
from kinen.text import spelled

READING = 1
"""Raised when symbols are read in another way, so that every file is read again."""
TEXT = 500
"""Characters of a symbol that are indexed, from its beginning (docs/decisions/0018-symbols.md)."""
_NEVER = State("", "")


class Symbols:
    """The symbols of the source files that a walk passed, which are not documents themselves."""

    name = "symbols"

    def __init__(
        self,
        files: Files,
        *,
        enabled: bool = True,
        suppressed: Container[str] = (),
        masked: bool = False,
    ) -> None:
        """Not `enabled`, the index has no symbols: those that it has are removed."""
        self._files = files
        self._enabled = enabled
        self._suppressed = suppressed
        self._masked = masked
        self._odd: dict[str, str] = {}

    def delta(self, states: Mapping[str, State]) -> Delta:
        """Compare all source files with their last state by size and time."""
        if not self._enabled:
            gone = [path for path in states if path != RULES]
            removed = (
                Change(path, states[path], removed=True)
                for path in [*gone, *([RULES] if RULES in states else [])]
            )
            return Delta(len(gone), removed)
        ignore = self._files.ignore
        rules = State(f"{READING}:{self._masked}:{' '.join(sorted(available()))}", ignore.digest)
        before = states.get(RULES, _NEVER)
        known: Mapping[str, State] = states if before == rules else {}
        stamps = dict(self._stamps(states if before.digest == rules.digest else {}, ignore))
        changed = [
            path
            for path, stamp in stamps.items()
            if differs(known.get(path), stamp, hidden=self._hidden(path))
        ]
        gone = [path for path in states if path not in stamps and path != RULES]
        total = len(changed) + len(gone)
        return Delta(total, self._changes(changed, gone, known, states, rules))

    def _stamps(self, known: Container[str], ignore: Ignore) -> Iterator[tuple[str, str]]:
        """The source files with their stamps; rules are applied to those that are not known.

        A name that is not valid UTF-8 is spelled out: the index cannot store it.
        """
        for path in filter(is_code, self._files.attachments):
            name = spelled(path)
            if name not in known and ignore.ignored(path, directory=False):
                continue
            stamp = stamp_of(os.path.join(self._files.root, path))
            if stamp and name != path:
                self._odd[name] = stamp
            if stamp:
                yield name, stamp

    def _hidden(self, path: str) -> bool:
        return f"file:{path}" in self._suppressed

    def _changes(
        self,
        changed: Iterable[str],
        gone: Iterable[str],
        known: Mapping[str, State],
        states: Mapping[str, State],
        rules: State,
    ) -> Iterator[Change]:
        for path in sorted(gone):
            yield Change(path, states[path], removed=True)
        try:
            for path in sorted(changed):
                yield self._read(path, known.get(path, _NEVER))
        finally:
            self._files.reader.close()
        if states.get(RULES) != rules:  # last, so that an interrupted run begins again
            yield Change(RULES, rules)

    def _read(self, path: str, before: State) -> Change:
        if path in self._odd:
            return Change(path, State(self._odd[path], "", NOT_UTF8))

        def index(data: bytes, state: State) -> Change:
            at = time_of(state.stamp)
            lines = decode(data).replace("\r\n", "\n").replace("\r", "\n").split("\n")
            names: dict[str, int] = {}
            documents = []
            for symbol in self._files.reader.symbols(data, suffix_of(path)):
                count = names.get(symbol.name, 0) + 1
                names[symbol.name] = count
                key = f"{symbol.name}~{count}" if count > 1 else symbol.name
                ref = f"symbol:{path}#{key}"
                text, last = _beginning(lines[symbol.first - 1 : symbol.last], symbol.first)
                signature = symbol.signature
                doc = symbol.doc
                if self._masked:
                    text, signature, doc = map(entrance.name, (text, signature, doc))
                about: dict[str, Any] = {
                    "symbol": symbol.kind,
                    "signature": signature,
                    "line": symbol.line,
                    "end_line": symbol.last,
                }
                if doc:
                    about["doc"] = doc.partition("\n\n")[0]
                chunk = Chunk(ref, 0, text, start_line=symbol.first, end_line=last)
                record = Record(ref, "symbol", symbol.name, path, at, metadata=about)
                documents.append(Document(record, (chunk,), dated=False))
            if not documents:
                return Change(path, state, empty=True)
            return Change(path, state, documents[0], others=tuple(documents[1:]))

        hidden = self._hidden(path)
        return read_change(self._files.root, path, before, index, limit=LARGEST, hidden=hidden)


def _beginning(lines: list[str], first: int) -> tuple[str, int]:
    """The lines of a symbol that are indexed as one text, and the number of the last of them."""
    size = 0
    count = 0
    for line in lines:
        size += len(line) + 1
        if count and size > TEXT:
            break
        count += 1
    return "\n".join(lines[:count])[:TEXT].rstrip(), first + max(0, count - 1)
