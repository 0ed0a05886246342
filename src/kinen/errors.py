"""What can go wrong, as users see it.

KinenError                 base: a fact (the message) and what to do about it (the hint)
├── SpaceError             no space here, a folder that cannot be one, an unknown name
├── ConfigError            a key, value or file of the configuration is wrong
├── Unreadable             one file cannot be turned into text; indexing goes on without it
│   └── UnsafeFile         it leads out of the space, is no regular file, or is too large
├── GitError               git could not do it; the message is its own
├── EmbedError             the embedding provider failed or answered nonsense
├── StoreError             a database is from the future, corrupt, or cannot be written
│   ├── Busy               another process has it; it will be free again
│   ├── Denied             the user of a database lacks a right there
│   ├── Conflict           an entry to be imported is in the journal already
│   ├── DiskFull           there is no space left to write
│   ├── InvalidEntry       an entry of a team that no journal can hold
│   └── Untrusted          a file of kinen's home is a link or a device (an OSError, too)
├── Excluded               it names a path that is never captured
├── QueryError             the question cannot be asked: bad mode, time, filter
├── SignInError            a provider did not say who somebody is
├── MissingExtra           a command needs an optional dependency that is not installed
└── NotFound               no record, path or chunk of that name
    └── Ambiguous          a name, or the beginning of an id, that several have

No message names an option of the command line. An error about one input carries its name as
`parameter`, and each surface calls it as its users do: `--budget` or `budget`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class KinenError(Exception):
    """A failure that a user can cause and fix."""

    def __init__(self, message: str, hint: str = "", *, parameter: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.parameter = parameter
        """The input that is wrong, by its name in Python, MCP and HTTP: `min_similarity`."""

    def fact(self, name: Callable[[str], str] = str) -> str:
        """The message, led by the parameter as `name` calls it."""
        return f"{name(self.parameter)}: {self.message}" if self.parameter else self.message

    def line(self, name: Callable[[str], str] = str) -> str:
        """The fact and the hint on one line."""
        return f"{self.fact(name)} · {self.hint}" if self.hint else self.fact(name)

    def __str__(self) -> str:
        return self.line()


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
    """A database is from the future, corrupt, or cannot be written."""


class Busy(StoreError):
    """Another process has it; it will be free again."""


class Denied(StoreError):
    """The user of a database lacks a right there: waiting does not help."""


class Conflict(StoreError):
    """An entry to be imported is in the journal already."""


class DiskFull(StoreError):
    """There is no space left to write."""

    def __init__(self, path: str, message: str = "the disk is full") -> None:
        super().__init__(message, f"free some space where {path} lives, then run it again")


class InvalidEntry(StoreError):
    """An entry of a team that no journal can hold."""


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


class SignInError(KinenError):
    """A provider did not say who somebody is."""


class MissingExtra(KinenError):
    """A command needs an optional dependency that is not installed."""


class NotFound(KinenError):
    """No record, path or chunk of that name."""


class Ambiguous(NotFound):
    """A name, or the beginning of an id, that several have."""

    LISTED = 5

    def __init__(self, name: str, candidates: list[str], hint: str = "give more of the id") -> None:
        listed = ", ".join(candidates[: self.LISTED])
        more = ", …" if len(candidates) > self.LISTED else ""
        super().__init__(f"{name!r} is ambiguous: {listed}{more}", hint)
