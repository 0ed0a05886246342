"""Compiled expressions, kept in a file for the processes that come after.

A recall needs forty of them. To compile these, and to import `re` with all that it needs, takes as
many instructions as a bare interpreter twice. What `re` makes of an expression is a list of numbers
for `_sre`, which checks them once more: they are valid for one version of Python. The file can be
deleted at any time.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import marshal
import sys

from kinen import __version__
from kinen.model.late import contextlib
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    Code = tuple[int, bytes, int, dict[str, int], tuple[str | None, ...]]
    """Flags, the numbers, how many groups there are, and their names in both directions."""

NAME = "expressions"
"""The file below kinen's home."""
_VERSION = f"{__version__} {sys.version}"


class Expressions:
    """The expressions that this process has compiled, or an earlier one."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, int], Code] = {}
        self._new = False

    def load(self, home: str) -> None:
        """Take over what earlier processes have compiled."""
        try:
            version, codes = marshal.loads(private.read(f"{home}/{NAME}"))  # noqa: S302
        except (OSError, EOFError, TypeError, ValueError):
            return  # none yet, or damaged: it is written anew
        if version == _VERSION:
            self._codes = codes | self._codes

    def save(self, home: str) -> None:
        """Keep what is new for later processes; where that fails they compile it again."""
        if self._new:
            self._new = False
            with contextlib.suppress(OSError):
                private.write(f"{home}/{NAME}", marshal.dumps((_VERSION, self._codes)))

    def compiled(self, pattern: str, flags: int) -> re.Pattern[str]:
        """As `re.compile`."""
        key = (pattern, int(flags))
        try:
            if key not in self._codes:
                self._codes[key] = _code(*key)
                self._new = True
            used, numbers, *rest = self._codes[key]
            expression: re.Pattern[str] = _sre.compile(
                pattern, used, memoryview(numbers).cast("I").tolist(), *rest
            )
        except (AttributeError, ImportError, RuntimeError, TypeError, ValueError):
            import re  # in this Python it is done otherwise, or the file is damaged

            return re.compile(pattern, flags)
        return expression


def _code(pattern: str, flags: int) -> Code:
    """What `re.compile` gives to `_sre`."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    parsed = _parser.parse(pattern, flags)
    state = parsed.state
    names: list[str | None] = [None] * state.groups
    for name, group in state.groupdict.items():
        names[group] = name
    numbers = (n.to_bytes(4, sys.byteorder) for n in _compiler._code(parsed, flags))  # noqa: SLF001
    return flags | state.flags, b"".join(numbers), state.groups - 1, state.groupdict, tuple(names)


EXPRESSIONS = Expressions()
