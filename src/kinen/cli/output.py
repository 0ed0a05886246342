"""Standard output and standard error that escape control characters, and quote tags of clients.

Agents read what commands print. Commands use `print`. Raw content, where a user asks for it,
bypasses this with `raw`.
"""

from __future__ import annotations

import os
import sys

from kinen.characters import STYLES, visible, visible_styled
from kinen.privacy.quote import open_end, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TextIO

FOUND = 0
NOTHING = 1
ERROR = 2
"""Exit codes."""
MARK = f"\ue000{os.urandom(8).hex()}["
"""Start of a colour code until it is written. It is random, so that content cannot forge one."""


class Visible:
    """A text stream that escapes control characters, except kinen's own colours."""

    def __init__(self, stream: TextIO) -> None:
        self.raw_stream = stream
        self._begun = ""
        """The beginning of a tag at the end of what was written, as in the line before."""

    def write(self, text: str) -> int:
        whole = self._begun + visible(text)
        output = quoted(whole)[len(self._begun) :]
        self._begun = open_end(whole)
        return self.raw_stream.write(output.replace(MARK, "\x1b["))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw_stream, name)


class visible_output:  # noqa: N801
    """Makes standard output and standard error `Visible` within a block."""

    def __enter__(self) -> None:
        self._stdout = sys.stdout
        self._stderr = sys.stderr
        sys.stdout = Visible(_usable(sys.stdout))
        sys.stderr = Visible(_usable(sys.stderr))

    def __exit__(self, *_: object) -> None:
        sys.stdout = self._stdout
        sys.stderr = self._stderr


def _usable(stream: TextIO | None) -> TextIO:
    """A stream that accepts any text: it escapes what its encoding lacks. None writes nowhere."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    return stream


def raw(stream: TextIO) -> TextIO:
    """The underlying stream, for raw content."""
    inner: TextIO = getattr(stream, "raw_stream", stream)
    return inner


def coloured(stream: TextIO) -> bool:
    """Whether to use colours: on a terminal, unless NO_COLOR is set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def terminal_width() -> int:
    """The columns of standard output, by COLUMNS or the terminal; 0 where it is not a terminal."""
    if not sys.stdout.isatty():
        return 0
    columns = os.environ.get("COLUMNS", "")
    try:
        return (
            int(columns) if columns.isdecimal() and int(columns) else os.get_terminal_size().columns
        )
    except OSError:
        return 80


def wrapped(message: str, stream: TextIO) -> str:
    """A message on one line, or on a terminal wrapped at its width between words."""
    line = " ".join(message.split())
    if not stream.isatty():
        return line
    import shutil
    import textwrap

    return textwrap.fill(
        line,
        max(20, shutil.get_terminal_size().columns),
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def note(text: str) -> None:
    """Print a remark on standard error."""
    message = wrapped(f"note: {text}", sys.stderr)
    if coloured(sys.stderr):
        message = f"{MARK}{STYLES['dim']}m{message}{MARK}0m"
    print(message, file=sys.stderr)


def print_rendered(text: str) -> None:
    """Print text that has colours already and whose content is escaped."""
    raw(sys.stdout).write(quoted(visible_styled(text)) + "\n")


def write_raw(text: str) -> None:
    """Print content unchanged, including bytes that are not UTF-8."""
    stream = raw(sys.stdout)
    if not hasattr(stream, "buffer"):
        stream.write(text)
        return
    stream.flush()
    from kinen.text import path_bytes

    stream.buffer.write(path_bytes(text))
    stream.buffer.flush()


def file_name(name: str) -> str:
    """A path of the index as the file system has it."""
    from kinen.text import unspelled

    raw_name = os.fsdecode(unspelled(name))
    return raw_name if not os.path.lexists(name) and os.path.lexists(raw_name) else name
