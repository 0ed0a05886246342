"""What can go wrong, as users see it.

KinenError                 base: a fact (the message) and what to do about it (the hint)
├── SpaceError             no space here, a folder that cannot be one, an unknown name
├── ConfigError            a key, value or file of the configuration is wrong
├── Unreadable             one file cannot be turned into text; indexing goes on without it
│   └── UnsafeFile         it leads out of the space, is no regular file, or is too large
├── GitError               git could not do it; the message is its own
├── EmbedError             the embedding provider failed or answered nonsense
├── StoreError             a database is from the future, corrupt, or the disk is full
│   ├── Busy               another process has it; it will be free again
│   └── Untrusted          a file of kinen's home is a link or a device (an OSError, too)
├── Excluded               it names a path that is never captured
├── QueryError             the question cannot be asked: bad mode, time, filter
└── NotFound               no record, path or chunk of that name
"""

from __future__ import annotations


class KinenError(Exception):
    """A failure that a user can cause and mend."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} · {self.hint}" if self.hint else self.message


class SpaceError(KinenError):
    """No space here, a folder that cannot be one, or an unknown name."""


class ConfigError(KinenError):
    """A key, value or file of the configuration is wrong."""


class Unreadable(KinenError):
    """One file cannot be turned into text."""


class UnsafeFile(Unreadable):
    """A file that leads out of the space, is no regular file, or is too large."""


class GitError(KinenError):
    """Git could not do it; the message is its own."""


class EmbedError(KinenError):
    """The embedding provider failed or answered nonsense."""


class StoreError(KinenError):
    """A database is from the future, corrupt, locked for too long, or the disk is full."""


class Busy(StoreError):
    """Another process has it; it will be free again."""


class Untrusted(StoreError, OSError):
    """A file of kinen's home is a link, a FIFO or a device: somebody may have planted it.

    An `OSError`, so that whoever can go on without the file does, as hooks can.
    """

    def __init__(self, path: str) -> None:
        fact = f"{path} is not a regular file"
        super().__init__(fact, "kinen follows no link here: remove it, then try again")
        self.errno = 40
        self.strerror = "it is not a regular file"
        self.filename = path


class Excluded(KinenError):
    """It names a path that is never captured."""


class QueryError(KinenError):
    """The question cannot be asked."""


class NotFound(KinenError):
    """No record, path or chunk of that name."""
