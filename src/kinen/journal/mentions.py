"""The files and symbols that a statement names."""

from __future__ import annotations

import re

MOST = 8
"""Names of each sort that a memory keeps."""
_SPAN = re.compile(r"`([^`\n]{2,200})`")
_PATH = re.compile(r"(?:[\w.@~-]{1,80}/){0,12}[\w.@-]{1,80}\.[A-Za-z]\w{0,7}(?::\d{1,7})?")
_BARE_PATH = re.compile(r"(?<![\w/`.])(?:[\w.@-]{1,80}/){1,12}[\w.@-]{1,80}\.[A-Za-z]\w{0,7}\b")
_SYMBOL = re.compile(
    r"[@:$]?[A-Za-z_][\w]{1,80}(?:(?:\.|::|#)[A-Za-z_]\w{0,80}){0,6}[?!]?(?:\(\)|/\d)?"
)
_EXTENSIONS = frozenset(
    """py js ts tsx jsx mjs cjs go rs rb ex exs erl java kt swift c h cc cpp hpp cs php sh bash zsh
    sql css scss html md mdx json jsonl yaml yml toml lock cfg ini env xml txt proto vue svelte lua
    zig nix tf gradle dockerfile heex eex lean hs ml scala clj dart""".split()
)


def files_in(text: str) -> tuple[str, ...]:
    """Paths and file names in a text, without line numbers, each once."""
    spans = (span for span in _SPAN.findall(text) if _PATH.fullmatch(span))
    names = (name.partition(":")[0] for name in (*spans, *_BARE_PATH.findall(text)))
    files = (name for name in names if name.rpartition(".")[2].lower() in _EXTENSIONS)
    return tuple(dict.fromkeys(files))[:MOST]


def symbols_in(text: str) -> tuple[str, ...]:
    """Names of code in a text: what stands in backticks and is an identifier, each once."""
    files = files_in(text)
    names = (
        span.removesuffix("()").partition("/")[0]
        for span in _SPAN.findall(text)
        if _SYMBOL.fullmatch(span)
    )
    return tuple(dict.fromkeys(name for name in names if name not in files))[:MOST]
