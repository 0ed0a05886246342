"""One's own machines without a server: through a folder that a program syncs, or over ssh.

Both are teams of one person (`kinen.ports.Team`). In a folder each machine appends versions to a
file of its own, one JSON object a line; what a folder holds is the join of all lines, so copies,
conflict files and lines that are there twice change nothing. Erased text is taken out of all files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from kinen.characters import visible_line
from kinen.errors import Busy, ConfigError, InvalidEntry, QueryError, StoreError, UnsafeFile
from kinen.model.team import Comparison, Page, Pushed, Version
from kinen.storage import private, regular
from kinen.team.merge import (
    PROTOCOL,
    encode,
    fingerprint,
    from_json,
    from_list,
    join,
    range_digest,
    range_of,
    to_json,
)
from kinen.team.replica import Replica
from kinen.team.rows import only_valid

FOLDER = "kinen"
"""The folder with kinen's files in the one that is synced."""
SUFFIX = ".kinen.jsonl"
LARGEST = 1 << 30
"""Bytes of a file of a machine."""
LONGEST = 64 << 20
"""Bytes of a message over ssh."""
ANSWER = 'PATH="$HOME/.local/bin:$PATH" exec kinen sync -'
"""What runs on the other machine. Names travel through its standard input."""
_HOST = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?[A-Za-z0-9_\[][A-Za-z0-9._:%\[\]-]*")


class Held:
    """Versions by key, answering as a team does."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], Version] = {}

    def compare(self) -> Comparison:
        digests = {name: range_digest(rows.values()) for name, rows in self._ranges().items()}
        return Comparison("", 0, digests)

    def prints(self, range_: str) -> Mapping[str, str]:
        return self._ranges().get(range_, {})

    def _ranges(self) -> dict[str, dict[str, str]]:
        ranges: dict[str, dict[str, str]] = {}
        for key, version in self._held.items():
            ranges.setdefault(range_of(*key), {})[version.ref] = fingerprint(version)
        return ranges

    def fetch(self, refs: Sequence[str]) -> Page:
        keys = (ref.partition(":")[::2] for ref in refs)
        return Page(tuple(self._held[key] for key in keys if key in self._held))


class FolderTeam(Held):
    """The entries of one space in a synced folder."""

    def __init__(self, folder: str, space: str, person: str, machine: str) -> None:
        super().__init__()
        if not os.path.isdir(folder):
            raise QueryError(f"no folder {folder}", "make it, or give the one that is synced")
        safe = re.sub(r"[^A-Za-z0-9.-]+", "_", space).strip(".") or "space"
        self._folder = private.folder(os.path.join(folder, FOLDER, safe), tighten=False)
        self._own = os.path.join(self._folder, f"{machine}{SUFFIX}")
        self.unread: dict[str, str] = {}
        """Why lines of files could not be read."""
        for name in self._names():
            for version in self._lines(name):
                self._join(version)
        authors = sorted({version.author for version in self._held.values() if version.author})
        self.person = person or next(iter(authors), "")

    def _names(self) -> list[str]:
        return sorted(name for name in os.listdir(self._folder) if ".kinen" in name)

    def _lines(self, name: str) -> Iterator[Version]:
        try:
            data = regular.read(os.path.join(self._folder, name), LARGEST)
        except (OSError, UnsafeFile) as error:
            self.unread[visible_line(name)] = str(error)
            return
        for number, line in enumerate(data.split(b"\n"), 1):
            versions: list[Version] = []
            with suppress(ValueError, RecursionError, InvalidEntry):
                versions, _ = only_valid([from_json(json.loads(line))], passed_on=True)
            if line.strip() and not versions:
                self.unread[visible_line(f"{name}:{number}")] = "not a version of an entry"
            yield from versions

    def _join(self, version: Version) -> bool:
        """Take a version; whether the folder did not hold it."""
        before = self._held.get(version.key)
        after = join(before, version) if before else version
        self._held[version.key] = after
        return after != before

    def push(self, versions: Sequence[Version]) -> Pushed:
        """Append what the folder does not hold; it is on disk when this returns."""
        new = [self._held[version.key] for version in versions if self._join(version)]
        if new:
            with open(self._own, "ab+", opener=private.opener) as file:
                file.seek(-1 if file.seek(0, os.SEEK_END) else 0, os.SEEK_END)
                torn = file.read(1) not in (b"", b"\n")  # a process died in the middle of a line
                rows = [encode(to_json(version)).encode() + b"\n" for version in new]
                file.write(b"\n" * torn + b"".join(rows))
                file.flush()
                os.fsync(file.fileno())
        return Pushed()

    def pull(self, after: int, limit: int, *, erased: bool) -> Page:  # noqa: ARG002
        """Everything, as one page: comparing is what finds the differences."""
        rows = self._held.values()
        return Page(tuple(row for row in rows if row.erased or not erased), after)

    def withdraw(self, machine: str) -> int:  # noqa: ARG002
        return 0

    def close(self) -> None:
        """Take erased text out of every file, whichever machine wrote it."""
        for name in self._names():
            kept: list[bytes] = []
            stale = False
            for version in self._lines(name):
                held = self._held.get(version.key, version)
                stale |= held.erased and held != version
                kept.append(encode(to_json(held if held.erased else version)).encode() + b"\n")
            if stale:
                private.write(os.path.join(self._folder, name), b"".join(kept))


class SshTeam:
    """The journal of the same space on another machine."""

    def __init__(self, host: str, space: str, person: str) -> None:
        import subprocess

        if not _HOST.fullmatch(host):
            raise QueryError(f"not a name of a machine: {host!r}", "give HOST or USER@HOST")
        program = shutil.which("ssh") or ""
        if not os.path.isabs(program):
            raise ConfigError("no program ssh", "install OpenSSH, or sync through a folder")
        self._host = host
        self._process = subprocess.Popen(
            [program, "-T", "--", host, ANSWER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.unread: dict[str, str] = {}
        answer = self._ask(op="hello", protocol=PROTOCOL, space=space, person=person)
        self.person = str(answer.get("person", ""))

    def _ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = b""
        with suppress(OSError):
            self._process.stdin.write(encode(request).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline(LONGEST)
        answer = _object(line)
        if not line.endswith(b"\n") or answer is None:
            self._stop()
            hint = f"`ssh {self._host} kinen status` shows whether kinen is there"
            raise Busy(f"{self._host} gave no answer; what was exchanged stays", hint)
        if "error" in answer:
            self._stop()
            fact = visible_line(f"{self._host}: {answer['error']}")
            raise StoreError(fact, visible_line(str(answer.get("hint", ""))))
        return answer

    def compare(self) -> Comparison:
        return Comparison("", 0, _texts(self._ask(op="compare")))

    def prints(self, range_: str) -> Mapping[str, str]:
        return _texts(self._ask(op="prints", range=range_))

    def fetch(self, refs: Sequence[str]) -> Page:
        versions, unread = from_list(_list(self._ask(op="fetch", refs=list(refs)), "versions"))
        return Page(tuple(versions), unread=unread)

    def push(self, versions: Sequence[Version]) -> Pushed:
        answer = self._ask(op="push", versions=[to_json(version) for version in versions])
        return Pushed(invalid=_texts(answer))

    def pull(self, after: int, limit: int, *, erased: bool) -> Page:  # noqa: ARG002
        return Page(cursor=after)

    def withdraw(self, machine: str) -> int:  # noqa: ARG002
        return 0

    def close(self) -> None:
        if self._process.poll() is None:
            with suppress(Busy, StoreError):
                self._ask(op="end")
        self._stop()

    def _stop(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._process.terminate()
        self._process.wait()


def answer(replica: Replica, requests: IO[bytes], answers: IO[bytes]) -> None:
    """The other side of `SshTeam`: answer requests until the end."""
    while line := requests.readline(LONGEST):
        request = _object(line) or {}
        reply: dict[str, Any] = {}
        match request.get("op"):
            case "compare":
                ranges = replica.ranges().items()
                reply = {"texts": {name: range_digest(own.values()) for name, own in ranges}}
            case "prints":
                reply = {"texts": replica.ranges().get(str(request.get("range")), {})}
            case "fetch":
                rows = replica.versions(map(str, _list(request, "refs")))
                reply = {"versions": [to_json(version) for version in rows]}
            case "push":
                versions, invalid = from_list(_list(request, "versions"))
                replica.apply(versions)
                reply = {"texts": {**invalid, **replica.unread}}
            case "end":
                pass
            case _:
                reply = {"error": "an unknown request", "hint": "update kinen on both machines"}
        answers.write(encode(reply).encode() + b"\n")
        answers.flush()


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if type(value) is dict else None


def _texts(body: Mapping[str, Any]) -> dict[str, str]:
    texts = body.get("texts")
    rows: Iterable[tuple[Any, Any]] = texts.items() if type(texts) is dict else ()
    return {str(name): str(text) for name, text in rows}


def _list(body: Mapping[str, Any], name: str) -> list[Any]:
    value = body.get(name)
    return value if type(value) is list else []
