"""A bundle inside a page: compressed, as blocks of base64, for `kinen import`.

`render.export` writes the page around it. Decision: docs/decisions/0020-page-export.md.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable

VERSION = 1
"""Of the way in which a page holds its bundle."""
LINE_BYTES = 48 << 10
"""Bytes on a line: a multiple of three, so that each line is base64 of its own."""
BLOCK_LINES = 16
START = b'<script type="application/x-kinen-bundle">'
END = b"</script>"


class BundleWriter:
    """Writes a bundle into a page; its text is compressed as it comes."""

    def __init__(self, out: Callable[[str], object]) -> None:
        self._out = out
        self._packer = zlib.compressobj(6, wbits=31)
        self._bytes = bytearray()
        self._lines = 0

    def write(self, text: str) -> None:
        self._add(self._packer.compress(text.encode("utf-8", "surrogatepass")))

    def close(self) -> None:
        """Write what is left."""
        self._add(self._packer.flush())
        if self._bytes:
            self._write_line(bytes(self._bytes))
        if self._lines % BLOCK_LINES:
            self._out(f"{END.decode()}\n")

    def _add(self, data: bytes) -> None:
        self._bytes += data
        while len(self._bytes) >= LINE_BYTES:
            self._write_line(bytes(self._bytes[:LINE_BYTES]))
            del self._bytes[:LINE_BYTES]

    def _write_line(self, data: bytes) -> None:
        if self._lines % BLOCK_LINES == 0:
            self._out(f"{START.decode()}\n")
        self._out(f"{base64.b64encode(data).decode()}\n")
        self._lines += 1
        if self._lines % BLOCK_LINES == 0:
            self._out(f"{END.decode()}\n")
