"""Globs of paths that are never captured.

Hooks import this module, so it imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def matching_glob(path: str, globs: Iterable[str]) -> str:
    """The first glob that a path, or a folder above it, matches; empty if none does.

    A glob without a slash matches a name at any depth, one with a slash a path from the root.
    """
    parts = path.strip("/").split("/")
    heads = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    for glob in globs:
        pattern = glob.removesuffix("/**").rstrip("/")
        names = heads if "/" in pattern else parts
        if any(_matches(name, pattern.removeprefix("**/").lstrip("/")) for name in names):
            return glob
        if pattern.startswith("**/") and any(_matches(name, "*/" + pattern[3:]) for name in heads):
            return glob
    return ""


def _matches(name: str, glob: str) -> bool:
    if "/**/" in glob:
        # It also stands for a single slash. With all slashes doubled, one star covers both.
        name = name.replace("/", "//")
        glob = "/*/".join(piece.replace("/", "//") for piece in glob.split("/**/"))
    if "?" in glob or "[" in glob:
        from fnmatch import fnmatchcase

        return fnmatchcase(name, glob)
    first, *rest = glob.split("*")
    if not rest:
        return name == glob
    if not name.startswith(first) or not name.endswith(rest[-1]):
        return False
    start = len(first)
    end = len(name) - len(rest[-1])
    for piece in rest[:-1]:
        position = name.find(piece, start, end)
        if position < 0:
            return False
        start = position + len(piece)
    return start <= end
