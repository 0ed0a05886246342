"""What a path says about its file: kind, session, date, and whether kinen reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Self

from kinen.extract.decode import DOCUMENTS, suffix_of
from kinen.model.records import FILE_KINDS
from kinen.privacy.exclude import matching_glob

_SESSION = re.compile(r"(?:^|/)sessions/(\d{8}-\d{2}-[^/]+)/|^sessions/([^/]+)/")
"""The folder of a session; any name counts only at the root, as elsewhere it may be source code."""
_PARTS = {"rounds": "round", "artifacts": "artifact", "resources": "resource"}
_DATED = re.compile(r"^(\d{4})-?(\d{2})-?(\d{2})")
_MEMORIES = re.compile(r"^\.memories/(?:(\d{4}-\d{2}-\d{2})|plans|briefs)/[^/]+\.(?:md|json)$")
MANIFEST = "resources/.resources.yml"
DATA = re.compile(r"(?:^|/)resources/data/")

# In the folders of a session and in resources, all files are read except these.
_BINARY = frozenset(
    """.png .jpg .jpeg .gif .webp .svg .ico .bmp .tiff .heic .avif .mp3 .mp4 .wav .ogg .flac
    .mov .avi .mkv .webm .zip .gz .bz2 .xz .zst .7z .rar .tar .tgz .exe .dll .so .dylib .bin
    .dmg .iso .woff .woff2 .ttf .otf .eot .pyc .class .jar .o .a .wasm .onnx .safetensors
    .pt .npy .npz .doc .docx .xls .xlsx .ppt .pptx .odt .ods .odp .psd .ai .sketch .fig .db
    .sqlite .parquet .canvas .base""".split()
)


def session_of(path: str) -> str:
    """The name of the folder below `sessions/` that a file is in."""
    session = _SESSION.search(path)
    return session[1] or session[2] if session else ""


def kind_of(path: str) -> str:
    """The kind of record that a file becomes, by its path."""
    memories = _MEMORIES.match(path)
    if memories:
        return "checkpoint" if memories[1] else "plan"
    session = _SESSION.search(path)
    folder, inside, _ = path[session.end() if session else 0 :].partition("/")
    if not inside or (folder == "rounds" and not session):
        return "note"
    return _PARTS.get(folder, "note")


def is_read(path: str) -> bool:
    """Does kinen read this file?"""
    suffix = suffix_of(path)
    if path.startswith(".memories/"):
        return _MEMORIES.match(path) is not None
    if path.rsplit("/", 1)[-1].startswith("."):
        return False
    if suffix in DOCUMENTS or DATA.search(path):
        return True
    session = _SESSION.search(path)
    owned = kind_of(path) != "note" or (session is not None and session[1])
    return bool(owned) and suffix not in _BINARY


def is_markdown(path: str) -> bool:
    return suffix_of(path) in {".md", ".markdown", ".mdx"}


def is_data(path: str) -> bool:
    documents = (".md", ".markdown", ".txt", ".pdf")
    return DATA.search(path) is not None and suffix_of(path) not in documents


def date_in(path: str) -> str:
    """The date that the session folder or the file name begins with, as ISO; else empty."""
    for name in (session_of(path), path.rsplit("/", 1)[-1]):
        date = _DATED.match(name)
        if date and "01" <= date[2] <= "12" and "01" <= date[3] <= "31":
            return f"{date[1]}-{date[2]}-{date[3]}"
    return ""


class Hidden(frozenset[str]):
    """Refs that are not indexed; it also contains every ref of a file that globs exclude."""

    globs: tuple[str, ...]
    _names: re.Pattern[str]
    _rest: tuple[str, ...]

    def __new__(cls, refs: Iterable[str] = (), globs: Iterable[str] = ()) -> Self:
        hidden = super().__new__(cls, refs)
        hidden.globs = tuple(globs)
        # Each file of each sync is compared: globs of names become one expression.
        plain = [glob for glob in hidden.globs if not set("/?[") & set(glob)]
        names = "|".join(re.escape(glob).replace(r"\*", "[^/]*") for glob in plain)
        hidden._names = re.compile(f"(?:^|/)(?:{names})(?:/|$)" if names else "(?!)")
        hidden._rest = tuple(glob for glob in hidden.globs if glob not in plain)
        return hidden

    def __bool__(self) -> bool:
        return bool(self.globs) or len(self) > 0

    def __contains__(self, ref: object) -> bool:
        if super().__contains__(ref):
            return True
        kind, _, path = str(ref).partition(":")
        return kind in (*FILE_KINDS, "file") and self.excludes(path)

    def excludes(self, path: str) -> bool:
        """Whether a path, or a folder above it, matches a glob."""
        return bool(self._names.search(path) or matching_glob(path, self._rest))
