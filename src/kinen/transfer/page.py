"""A bundle inside a page: compressed, as blocks of base64, with the scripts that show it.

The page opens from disk, without a server or network. Its policy allows the one script that it
has, by its hash, and no request. Decision: docs/decisions/0020-page-export.md.
"""

from __future__ import annotations

import base64
import hashlib
import os
import zlib
from collections.abc import Callable
from functools import cache

VERSION = 1
"""Of the way in which a page holds its bundle."""
LINE_BYTES = 48 << 10
"""Bytes on a line: a multiple of three, so that each line is base64 of its own."""
BLOCK_LINES = 16
START = b'<script type="application/x-kinen-bundle">'
END = b"</script>"
SCRIPTS = tuple(
    f"{name}.js"
    for name in (
        "text index bundle parts markdown search sessions records timeline views page".split()
    )
)
_FOLDER = os.path.join(os.path.dirname(__file__), "static")
_LOOK = os.path.join(os.path.dirname(_FOLDER), os.pardir, "render", "static", "pages.css")


class PageWriter:
    """Writes a page around a bundle, whose text is compressed as it comes."""

    def __init__(self, out: Callable[[str], object]) -> None:
        self._out = out
        self._packer = zlib.compressobj(6, wbits=31)
        self._bytes = bytearray()
        self._lines = 0
        out(_halves()[0])

    def write(self, text: str) -> None:
        self._add(self._packer.compress(text.encode("utf-8", "surrogatepass")))

    def close(self) -> None:
        """Write what is left, and the end of the page."""
        self._add(self._packer.flush())
        if self._bytes:
            self._write_line(bytes(self._bytes))
        if self._lines % BLOCK_LINES:
            self._out(f"{END.decode()}\n")
        self._out(_halves()[1])

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


@cache
def _halves() -> tuple[str, str]:
    """The page before its bundle and after it."""
    style = _read(_LOOK) + _read(os.path.join(_FOLDER, "page.css"))
    code = "".join(_read(os.path.join(_FOLDER, name)) for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{code}}})();\n'
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)};"
        " base-uri 'none'; form-action 'none';"
        " require-trusted-types-for 'script'; trusted-types 'none'"
    )
    head, tail = _read(os.path.join(_FOLDER, "page.html")).split("<!-- bundle -->\n")
    head = head.replace("{policy}", policy).replace("{style}", style)
    return head.replace("{version}", str(VERSION)), tail.replace("{script}", script)


def _read(path: str) -> str:
    with open(path, encoding="utf-8", newline="\n") as file:
        return file.read()


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
