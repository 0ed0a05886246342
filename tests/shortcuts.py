"""What lets the tests of one process share and skip, without a difference to what they test.

- One loaded copy of each shipped model, and of the certificates, for a process and what it forks:
  loading one takes most of the time of a short search or request. With one thread a model has no
  pool of threads that a fork would lose.
- Nothing waits for the disk: files outlive a killed process without it, and no test cuts the power.
- One child that reads source code, which takes longer to start than most files to be read.
"""

from __future__ import annotations

import atexit
import functools
import os
from typing import TYPE_CHECKING, Any

import httpx._transports.default as http

from kinen.embed import onnx, question, wordpiece
from kinen.embed.onnx import MODELS, Loaded, OnnxEmbedder
from kinen.extract.child import Reader
from kinen.storage.sqlite import sqlite3

if TYPE_CHECKING:
    import subprocess

opened = OnnxEmbedder._open
connect = sqlite3.connect
asked, closed = Reader._ask, Reader.close
ready: set[subprocess.Popen[bytes] | None] = set()
"""Children that have read source code and wait for the next file."""
resting: dict[tuple[int, int], subprocess.Popen[bytes] | None] = {}
"""Those that no reader uses, by the process that started them and the memory they may have."""


@functools.cache
def shipped(model: str) -> Loaded:
    return opened(OnnxEmbedder(model=model, threads=1))


class Unsynced(sqlite3.Connection):
    """A connection that never waits for the disk."""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        setting = "PRAGMA synchronous"
        return super().execute(f"{setting}=OFF" if sql.startswith(setting) else sql, *values)


def share() -> None:
    """Models and certificates are loaded for the first who needs them, and nothing waits for the
    disk.
    """
    http.create_ssl_context = functools.cache(http.create_ssl_context)
    names = {model.file: name for name, model in MODELS.items()}
    OnnxEmbedder._open = lambda self: (  # type: ignore[method-assign]
        shipped(names[self._shipped.file]) if self._shipped else opened(self)
    )
    onnx.WordPiece = functools.cache(wordpiece.WordPiece)  # type: ignore[attr-defined]
    question.QuestionModel = functools.cache(question.QuestionModel)  # type: ignore[assignment, misc]
    os.fsync = lambda fd: None  # type: ignore[assignment]
    sqlite3.connect = functools.partial(connect, factory=Unsynced)  # type: ignore[assignment]


def share_child() -> None:
    """Every reader of source code in this process uses one child, which ends with this process."""
    Reader._ask, Reader.close = ask, rest  # type: ignore[method-assign]
    atexit.register(end)


def ask(reader: Reader, form: str, option: str, data: bytes) -> tuple[list[dict[str, Any]], str]:
    child = reader._process or resting.pop((os.getpid(), reader._memory), None)
    reader._process = child
    ready.discard(child)
    messages, reason = asked(reader, form, option, data)
    if form == "code" and not reason:
        ready.add(reader._process)
    return messages, reason


def rest(reader: Reader) -> None:
    """Leave a child that waits for the next file to the next reader, and end any other."""
    key = os.getpid(), reader._memory
    if reader._process in ready and key not in resting:
        resting[key], reader._process = reader._process, None
    closed(reader)


def end() -> None:
    for child in resting.values():
        reader = Reader()
        reader._process = child
        closed(reader)
