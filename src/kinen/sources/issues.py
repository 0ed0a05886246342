"""Issues as records: `.beads/issues.jsonl` of a repository, and exports of other trackers.

beads (`bd`) exports one JSON object a line. `kinen issues import` stores what `gh issue list
--json` and others print in the same form, so that there is one reader. A line is parsed only if
its digest is new.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from kinen.characters import storable
from kinen.errors import QueryError, UnsafeFile
from kinen.model.documents import Change, Delta, Document, Part, State
from kinen.model.issues import NO_PRIORITY, VALID_ID
from kinen.model.records import Record
from kinen.model.tuples import NamedTuple
from kinen.privacy import entrance
from kinen.privacy.injected import without_wrappers
from kinen.sources.files.walk import SUPPRESSED
from kinen.storage import inside, regular
from kinen.text import digest, now, parse_time
from kinen.text.chunks import chunk_parts

FOLDER = ".beads"
NAMES = ("issues.jsonl", "beads.jsonl")
"""The file of a repository's issues: now, and in earlier versions of beads."""
EXPORTED = "bd-export.jsonl"
"""What `bd export` printed last; it counts while the repository's own file is older."""
READING = 1
"""Raised when issues are read in another way, so that every line is read again."""
LINE = 2 << 20
"""Bytes of the longest line that is read."""
MOST = 200_000
"""Issues that are read of a space."""
FIELD = 20_000
"""Characters of a description or a comment that are indexed."""
COMMENTS = 50
"""The comments of an issue that are indexed, the newest ones."""
_FILE = "file:"
"""Before the names of files among the keys, which are ids of issues and places of bad lines."""
_PARTS = (
    ("description", ""),
    ("design", "Design"),
    ("acceptance_criteria", "Acceptance criteria"),
    ("notes", "Notes"),
    ("close_reason", "Close reason"),
)
_TIMES = ("created_at", "updated_at", "started_at", "closed_at", "due_at", "defer_until")
_WORDS = ("status", "issue_type", "assignee", "owner", "close_reason", "closed_by_session")
_MORE = ("external_ref", "created_by", "source_system", "spec_id", "url")
_NEVER = State("", "")


class Damaged(ValueError):
    """A line that is no issue; the message says why."""


class Place(NamedTuple):
    """Where a line is, and its digest."""

    file: int
    start: int
    size: int
    digest: str


class Issues:
    """The issues of a space as documents."""

    name = "issues"

    def __init__(
        self,
        root: str,
        stored: str,
        *,
        size: int = 512,
        overlap: int = 50,
        suppressed: Container[str] = (),
        masked: bool = False,
    ) -> None:
        """`stored` is the folder of imported issues; it need not exist."""
        self._root = root
        self._stored = stored
        self._size = size
        self._overlap = overlap
        self._suppressed = suppressed
        self._masked = masked

    def delta(self, states: Mapping[str, State]) -> Delta:
        """Compare the files by size and time, then their lines by digest."""
        files = self._open()
        stamps = {_FILE + name: _stamp(file) for name, file in files.items()}
        rules = f"{READING}:{self._size}:{self._overlap}:{self._masked}"
        indexed = {key for key in states if key.startswith(_FILE)}
        same = all(states.get(key) == State(stamp, rules) for key, stamp in stamps.items())
        # An issue may have been forgotten, or may no longer be, since the index was made.
        shown_again = any(
            (f"issue:{key}" in self._suppressed) != (state.reason == SUPPRESSED)
            for key, state in states.items()
            if not key.startswith(_FILE) and ":" not in key
        )
        if indexed == set(stamps) and same and not shown_again:
            _close(files.values())
            return Delta(0, iter(()))
        if any(states[key].digest != rules for key in indexed):
            states = dict.fromkeys(states, _NEVER)
        # Where each issue is, by id, and each line that cannot be read, by place. Of two lines with
        # one id the later one counts: that is what a merge of two exports leaves.
        by_digest = {state.digest: key for key, state in states.items() if state.digest}
        places: dict[str, Place] = {}
        for name, file in files.items():
            start = 0
            for number, line in enumerate(_lines(file), 1):
                content = digest(line)
                key = by_digest.get(content, "")
                if not key or key.startswith(_FILE) or ":" in key:
                    key = _id_or_place(line, name, number)
                if line.strip() and len(places) < MOST:
                    places[key] = Place(file, start, len(line), content)
                start += len(line)
        changed = [key for key, place in places.items() if self._differs(key, place, states)]
        gone = [key for key in states if key not in places and key not in stamps]
        total = len(changed) + len(gone)
        new = {key: State(stamp, rules) for key, stamp in stamps.items()}
        return Delta(total, self._changes(files, places, changed, gone, new))

    def _open(self) -> dict[str, int]:
        """The files that have issues, open, by name."""
        files: dict[str, int] = {}
        for name in (f"{FOLDER}/{name}" for name in NAMES):
            if os.path.lexists(os.path.join(self._root, name)):
                with contextlib.suppress(OSError, UnsafeFile):
                    files[name] = inside.open_file(self._root, name)
                    break
        try:
            stored = sorted(os.listdir(self._stored))
        except OSError:
            stored = []
        own = [*files.values()]
        for name in stored:
            file = -1
            if name.endswith(".jsonl"):
                file = regular.open_file(os.path.join(self._stored, name))
            if name == EXPORTED and own and _written(file) < _written(own[0]):
                os.close(file)
            elif file >= 0:
                files[name] = file
        return files

    def _differs(self, key: str, place: Place, states: Mapping[str, State]) -> bool:
        state = states.get(key, _NEVER)
        hidden = f"issue:{key}" in self._suppressed
        return state.digest != place.digest or hidden != (state.reason == SUPPRESSED)

    def _changes(
        self,
        files: Mapping[str, int],
        places: Mapping[str, Place],
        changed: Iterable[str],
        gone: Iterable[str],
        new: Mapping[str, State],
    ) -> Iterator[Change]:
        names = {file: name for name, file in files.items()}
        try:
            for key in sorted(gone):
                yield Change(key, None, removed=True)
            for key in sorted(changed):
                place = places[key]
                yield self._change(key, place, names[place.file])
            for key, state in new.items():  # last, so that an interrupted run begins again
                yield Change(key, state)
        finally:
            _close(files.values())

    def _change(self, key: str, place: Place, name: str) -> Change:
        line = os.pread(place.file, place.size, place.start)
        if f"issue:{key}" in self._suppressed:
            return Change(key, State(name, place.digest, SUPPRESSED))
        try:
            if digest(line) != place.digest:
                raise Damaged("it changed while it was read; `kinen index` reads it again")
            document = self._document(parse(line), name)
        except Damaged as error:
            return Change(key, State(name, place.digest, str(error)))
        return Change(key, State(name, place.digest), document)

    def _document(self, fields: Mapping[str, Any], name: str) -> Document:
        id_ = fields["id"]
        ref = f"issue:{id_}"
        title = self._clean(fields.get("title", ""), 500) or id_
        parts = [
            Part(text, heading)
            for key, heading in _PARTS
            if (text := self._clean(fields.get(key, ""), FIELD))
        ]
        parts += [Part(text, "Comment") for text in self._comments(fields)]
        chunks = chunk_parts(parts or [Part(title)], ref, size=self._size, overlap=self._overlap)
        about: dict[str, Any] = {
            key: storable(value)[:500]
            for key in (*_WORDS, *_MORE)
            if isinstance(value := fields.get(key), str) and value
        }
        about.update((key, time) for key in _TIMES if (time := _moment(fields.get(key))))
        priority = fields.get("priority")
        valid = type(priority) is int and 0 <= priority < NO_PRIORITY
        about["priority"] = priority if valid else NO_PRIORITY
        about["dependencies"] = list(_dependencies(fields))
        about["source"] = name
        at = about.get("updated_at") or about.get("created_at") or ""
        labels = fields.get("labels")
        names = labels if isinstance(labels, list) else []
        tags = tuple(dict.fromkeys(storable(name)[:100] for name in names if isinstance(name, str)))
        record = Record(ref, "issue", title, "", at, tags=tags, metadata=about)
        return Document(record, chunks, aliases=(id_,), dated=bool(at))

    def _comments(self, fields: Mapping[str, Any]) -> Iterator[str]:
        comments = fields.get("comments")
        for comment in comments[-COMMENTS:] if isinstance(comments, list) else ():
            if isinstance(comment, dict):
                author = str(comment.get("author") or "")
                text = self._clean(comment.get("text", ""), FIELD)
                if text:
                    yield f"{author}: {text}" if author else text

    def _clean(self, text: object, most: int) -> str:
        """A text without terminal colours, which `bd` output that was pasted has."""
        if not isinstance(text, str):
            return ""
        plain = storable(without_wrappers(text)).strip()[:most]
        return entrance.name(plain) if self._masked else plain


def parse(line: bytes) -> dict[str, Any]:
    """The fields of an issue; raises Damaged for a line that is none."""
    if len(line) >= LINE:
        raise Damaged(f"the line is longer than {LINE >> 20} MB")
    try:
        fields = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise Damaged("the line is not JSON: is it half of a merge?") from None
    if not isinstance(fields, dict):
        raise Damaged("the line is not a JSON object")
    id_ = fields.get("id")
    if not isinstance(id_, str) or not VALID_ID.fullmatch(id_):
        raise Damaged("the line has no valid id")
    return fields


def _id_or_place(line: bytes, name: str, number: int) -> str:
    """The id of an issue; the place of a line that is no issue."""
    try:
        return str(parse(line)["id"])
    except Damaged:
        return f"{name}:{number}"


def _lines(file: int) -> Iterator[bytes]:
    """The lines of an open file with their ends; a longer one than LINE comes in pieces."""
    with os.fdopen(os.dup(file), "rb", buffering=1 << 20) as stream:
        stream.seek(0)
        while line := stream.readline(LINE):
            yield line


def _written(file: int) -> int:
    return os.fstat(file).st_mtime_ns


def _stamp(file: int) -> str:
    stat = os.fstat(file)
    return f"{stat.st_mtime_ns}:{stat.st_size}"


def _close(files: Iterable[int]) -> None:
    for file in files:
        os.close(file)


def _dependencies(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    rows = fields.get("dependencies")
    for row in rows if isinstance(rows, list) else ():
        other = row.get("depends_on_id") if isinstance(row, dict) else None
        if isinstance(other, str) and VALID_ID.fullmatch(other):
            yield other, str(row.get("type") or "blocks")[:40]


def _moment(time: object) -> str:
    try:
        return parse_time(time, now()) if isinstance(time, str) and time else ""
    except QueryError:
        return ""
