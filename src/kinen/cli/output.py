"""Where everything that a command prints goes through: no control character reaches a terminal.

Commands use `print`. Only what was asked for as raw content bypasses this, by `raw`.
"""

from __future__ import annotations

import os
import sys

from kinen.characters import visible, visible_styled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TextIO


MARK = f"\ue000{os.urandom(8).hex()}["
"""What a colour begins with until it is written: content cannot know it, so it cannot forge one."""


class Visible:
    """A text stream that spells out control characters, except kinen's own colours."""

    def __init__(self, stream: TextIO) -> None:
        self.raw_stream = stream

    def write(self, text: str) -> int:
        return self.raw_stream.write(visible(text).replace(MARK, "\x1b["))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw_stream, name)


class visible_output:  # noqa: N801
    """Within it, standard output and standard error are `Visible`."""

    def __enter__(self) -> None:
        self._before = sys.stdout, sys.stderr
        sys.stdout = Visible(_usable(sys.stdout))
        sys.stderr = Visible(_usable(sys.stderr))

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr = self._before


def _usable(stream: TextIO | None) -> TextIO:
    """A stream that can take any text: escapes for what its encoding lacks, silence if closed."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    return stream


def raw(stream: TextIO) -> TextIO:
    """The stream itself, for content that was asked for as it is."""
    inner: TextIO = getattr(stream, "raw_stream", stream)
    return inner


def coloured(stream: TextIO) -> bool:
    """Colour on a terminal only, and not against NO_COLOR."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def print_rendered(text: str) -> None:
    """Print text that is coloured already, and whose content was made visible before that."""
    raw(sys.stdout).write(visible_styled(text) + "\n")


def write_raw(text: str) -> None:
    """Print content as it is; bytes that were no UTF-8 come out as they went in."""
    stream = raw(sys.stdout)
    if not hasattr(stream, "buffer"):
        stream.write(text)
        return
    stream.flush()
    from kinen.text import path_bytes

    stream.buffer.write(path_bytes(text))
    stream.buffer.flush()
