"""The daemon's log: private, bounded, without secrets."""

from __future__ import annotations

import logging
import os
import time
from logging.handlers import RotatingFileHandler
from typing import Any

from kinen.characters import visible, visible_line
from kinen.privacy import entrance
from kinen.storage import private

LOG_BYTES = 1 << 20
LOG_FILES = 3
log = logging.getLogger("kinen.daemon")


class PrivateLog(RotatingFileHandler):
    """A log that only its owner may read, and that follows no link."""

    def _open(self) -> Any:
        return open(self.baseFilename, self.mode, encoding="utf-8", opener=private.opener)


def write_to(path: str) -> None:
    os.close(private.opener(path, os.O_WRONLY | os.O_CREAT))  # a link is refused
    handler = PrivateLog(path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, delay=True)
    formatter = _Formatter("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.raiseExceptions = False  # a full disk is reported elsewhere
    log.handlers = [handler]
    log.propagate = False
    log.setLevel(_log_level(os.environ.get("KINEN_LOG_LEVEL", "")))


def _log_level(name: str) -> int:
    """The level of that name, such as debug or warning; info for an unknown one."""
    return logging.getLevelNamesMapping().get(name.strip().upper(), logging.INFO)


class _Formatter(logging.Formatter):
    """Masks secrets and escapes control characters.

    A message is on one line; a traceback keeps its lines.
    """

    def format(self, record: logging.LogRecord) -> str:
        return visible(entrance.name(super().format(record)))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return visible_line(super().formatMessage(record))
