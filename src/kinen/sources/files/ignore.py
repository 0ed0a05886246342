"""Which paths a space leaves out: gitignore rules, read and matched as git does.

An own matcher instead of pathspec: for 1,000 ordinary rules it takes 1/45 of the time, and no rule
takes exponential time (docs/decisions/0028). A property test compares its verdicts with git's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from kinen.errors import UnsafeFile
from kinen.model.tuples import NamedTuple
from kinen.space import LONGEST_REF
from kinen.storage import inside, regular

if TYPE_CHECKING:
    from pathlib import Path

STORES = frozenset((".git", ".hg", ".svn", ".jj", ".kinen"))
"""Folders of version control and of kinen: no rule includes them."""

TOOLS = frozenset(
    # Names that only tools use. `build`, `dist` and `target` are not among them: people keep
    # notes under such names, and where tools write there, .gitignore lists them.
    ".venv venv node_modules __pycache__ .tox .nox .mypy_cache .ruff_cache .pytest_cache"
    " .hypothesis .gradle .terraform .idea .vscode .obsidian .trash .Trash .DS_Store Thumbs.db"
    " desktop.ini".split()
)
"""Left out unless a .kinenignore includes them."""

OWN_FOLDERS = frozenset((".memories", "sessions", "resources", "artifacts"))
"""Folders at the root that are read even if a .gitignore lists them."""

LARGEST = 2 << 20
"""Bytes of a file of rules; a larger file is skipped. Reading a MiB takes a second and 90 MB."""
FEW = 64
"""Up to this many rules with wildcards, one expression for all is quickest."""
MAX_RULE = 4096
"""Characters of a rule: no path is longer, so longer lines are skipped."""

_TRAILING_SPACES = re.compile(r"(?s)((?:\\.|[^\\])*?) +")
_NONE = (-1, -1)
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t-\\r",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
SPECIAL = re.compile(r"[*?\[\\]")
_STAR = ("star", "")
_FOLDERS = ("jump", "(?:|.*?/)")
_NOTHING = ("nothing", "")


class Ignore:
    """The ignore rules of a space, read when needed and cached."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._prefix = os.fspath(root) + os.sep
        self._read: dict[str, bytes] = {}
        # The file of this clone's own rules, also for worktrees and submodules.
        folder = root / ".git"
        try:
            if folder.is_file():
                folder = root / _pointer(folder).removeprefix("gitdir:").strip()
                if (folder / "commondir").is_file():
                    folder = folder / _pointer(folder / "commondir").strip()
        except ValueError:
            pass
        file = os.fspath(folder / "info" / "exclude")
        exclude = self._rules(file, ".git/info/exclude", partial(regular.read, file, LARGEST))
        own, git = self._files("")
        self._levels = {"": _Level(False, own, git + ([(0, exclude)] if exclude else []))}

    def ignored(self, path: str, directory: bool) -> bool:
        """Is this POSIX path, relative to the root, or a folder above it left out?"""
        if not path:
            return False
        parent, _, name = path.rpartition("/")
        level = self._levels.get(parent) or self._level(parent)
        return level.ignored or self._hidden(path, name, directory, level)

    @property
    def digest(self) -> str:
        """A hash of every rule read so far; it changes when the rules do."""
        total = sha256("\n".join(sorted(STORES | TOOLS | OWN_FOLDERS)).encode())
        for name, data in sorted(self._read.items()):
            total.update(sha256(os.fsencode(name)).digest() + sha256(data).digest())
        return total.hexdigest()

    def _hidden(self, path: str, name: str, directory: bool, level: _Level) -> bool:
        if name in STORES:
            return True
        for base, rules in level.own:
            verdict = rules.verdict(path[base:], name, directory)
            if verdict is not None:
                return verdict
        if name in TOOLS:
            return True
        if level.git and path.partition("/")[0] not in OWN_FOLDERS:
            for base, rules in level.git:
                verdict = rules.verdict(path[base:], name, directory)
                if verdict is not None:
                    return verdict
        return False

    def _level(self, folder: str) -> _Level:
        """The rules for the entries of a folder; those of deeper files come first."""
        level = self._levels[""]
        at = 0
        while at <= len(folder):
            end = folder.find("/", at)
            at = (len(folder) if end < 0 else end) + 1
            path = folder[: at - 1]
            if path not in self._levels:
                self._levels[path] = self._below(level, path)
            level = self._levels[path]
        return level

    def _below(self, above: _Level, folder: str) -> _Level:
        name = folder.rpartition("/")[2]
        if above.ignored or self._hidden(folder, name, True, above):
            return _Level(True, [], [])
        own, git = self._files(folder)
        return _Level(False, own + above.own, git + above.git)

    def _files(self, folder: str) -> tuple[list[tuple[int, Patterns]], list[tuple[int, Patterns]]]:
        base = len(folder) + 1 if folder else 0
        path = folder + "/" if folder else ""
        own = self._rules_of(f"{path}.kinenignore")
        git = self._rules_of(f"{path}.gitignore")
        return [(base, own)] if own else [], [(base, git)] if git else []

    def _rules_of(self, path: str) -> Patterns | None:
        """The rules of a file of the space."""
        read = partial(inside.read, os.fspath(self._root), path, LARGEST)
        return self._rules(self._prefix + path, path, read)

    def _rules(self, file: str, name: str, read: Callable[[], bytes]) -> Patterns | None:
        # Nearly no folder has such a file, and this is the cheapest check.
        if not os.access(file, os.R_OK):
            return None
        try:
            data = read()
        except (OSError, UnsafeFile):
            return None
        self._read[name] = data
        rules = Patterns(data)
        return rules if rules.negated else None


class _Level(NamedTuple):
    """Is a folder left out? If not: the rules for its entries, with the length of their folder."""

    ignored: bool
    own: list[tuple[int, Patterns]]
    git: list[tuple[int, Patterns]]


class Patterns:
    """The rules of a file; the last one that matches decides.

    Most rules are a name, a suffix or a path and need only a lookup: each key leads to the last
    rule for files and the last rule for folders. Rules with other wildcards are tried in turn if
    they are few, else looked up by the text before their first wildcard and after their last.
    """

    __slots__ = ("_ends", "_joined", "globs", "names", "negated", "paths", "suffixes")

    def __init__(self, data: bytes) -> None:
        self.names: dict[str, tuple[int, int]] = {}
        self.suffixes: dict[str, tuple[int, int]] = {}
        self.paths: dict[str, tuple[int, int]] = {}
        self.globs: list[Glob] = []
        self._joined: tuple[re.Pattern[str], re.Pattern[str]] | None = None
        self._ends: tuple[Ends, Ends] | None = None
        self.negated: list[bool] = []
        for pattern in _patterns(data):
            self._add(pattern)
        self.globs.reverse()

    def verdict(self, path: str, name: str, directory: bool) -> bool | None:
        """True to leave the path out, False to include it, None if no rule matches."""
        best = self.names.get(name, _NONE)[directory]
        if self.suffixes:
            best = max(best, self.suffixes.get(name[name.rfind(".") :], _NONE)[directory])
        if self.paths:
            best = max(best, self.paths.get(path, _NONE)[directory])
        if self.globs:
            for glob in self._candidates(path, name):
                if glob.number < best:
                    break
                if (directory or not glob.folders) and glob.matches(name if glob.flat else path):
                    best = glob.number
                    break
        return None if best < 0 else not self.negated[best]

    def _candidates(self, path: str, name: str) -> list[Glob]:
        """Rules with wildcards that may match, the last rule first."""
        if len(self.globs) <= FEW:
            return self.globs if self._any(path, name) else []
        if self._ends is None:
            flat = Ends([glob for glob in self.globs if glob.flat])
            self._ends = (flat, Ends([glob for glob in self.globs if not glob.flat]))
        names, paths = self._ends
        return sorted([*names.fitting(name), *paths.fitting(path)], key=lambda glob: -glob.number)

    def _any(self, path: str, name: str) -> bool:
        """Does any rule with wildcards match? One test for the many paths that none matches."""
        if self._joined is None:
            flat = "|".join(f"(?:{glob.expression})" for glob in self.globs if glob.flat)
            deep = "|".join(f"(?:{glob.expression})" for glob in self.globs if not glob.flat)
            self._joined = (
                re.compile(flat or "(?!)", re.DOTALL),
                re.compile(deep or "(?!)", re.DOTALL),
            )
        names, paths = self._joined
        return bool(names.fullmatch(name) or paths.fullmatch(path))

    def _add(self, pattern: str) -> None:
        negated = pattern.startswith("!")
        pattern = pattern[1:] if negated else pattern
        folders = pattern.endswith("/")
        pattern = pattern[:-1] if folders else pattern
        flat = "/" not in pattern
        number = len(self.negated)
        self.negated.append(negated)
        if not SPECIAL.search(pattern):
            table = self.names if flat else self.paths
            key = pattern if flat else pattern.removeprefix("/")
        elif flat and pattern.startswith("*.") and not re.search(r"[*?\[\\.]", pattern[2:]):
            table = self.suffixes
            key = pattern[1:]
        else:
            self.globs.append(Glob(number, pattern, flat=flat, folders=folders))
            return
        before = table.get(key, _NONE)
        table[key] = (before[0] if folders else number, number)


def _pointer(file: Path) -> str:
    return regular.text(os.fspath(file), LONGEST_REF)


def _patterns(data: bytes) -> Iterator[str]:
    """The rules of a file; lines that cannot be rules are skipped."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # what `echo >` writes in PowerShell
        text = data.decode("utf-16", "ignore")
    else:
        # Python decodes file names that are not UTF-8 in the same way.
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    for line in text.split("\n"):
        if line.startswith("#") or "\0" in line or len(line) > MAX_RULE:
            continue
        rule = line.removesuffix("\r")
        if rule.endswith(" ") and (match := _TRAILING_SPACES.fullmatch(rule)):
            rule = match[1]
        if rule:
            yield rule


class Glob:
    """A rule with wildcards; its expression is compiled when first needed."""

    __slots__ = ("_compiled", "_expression", "_pattern", "flat", "folders", "number")

    def __init__(self, number: int, pattern: str, *, flat: bool, folders: bool) -> None:
        self.number = number
        self.flat = flat
        self.folders = folders
        self._pattern = pattern
        self._expression = ""
        self._compiled: re.Pattern[str] | None = None

    @property
    def expression(self) -> str:
        if not self._expression:
            self._expression = _expression(self._pattern, flat=self.flat)
        return self._expression

    @property
    def ends(self) -> tuple[str, str]:
        """What every matching text begins with, and ends with."""
        pattern = self._pattern if self.flat else self._pattern.removeprefix("/")
        special = SPECIAL.search(pattern)
        start = pattern[: special.start()] if special else pattern
        if "[" in pattern or "\\" in pattern:
            return start, ""
        # `**/b` also matches `b` itself.
        return start, re.split(r"[*?]", pattern)[-1].removeprefix("/")

    def matches(self, text: str) -> bool:
        if self._compiled is None:
            self._compiled = re.compile(self.expression, re.DOTALL)
        return self._compiled.fullmatch(text) is not None


class Ends:
    """Rules by the beginning and the end of the texts they match."""

    def __init__(self, globs: list[Glob]) -> None:
        self._by_start: dict[str, dict[str, list[Glob]]] = {}
        for glob in globs:
            start, end = glob.ends
            self._by_start.setdefault(start, {}).setdefault(end, []).append(glob)

    def fitting(self, text: str) -> list[Glob]:
        """The rules whose beginning and end fit a text."""
        fitting: list[Glob] = []
        for length in range(len(text) + 1):
            for end, globs in _endings(self._by_start.get(text[:length]), text):
                fitting += globs if text.endswith(end) else ()
        return fitting


def _endings(by_end: dict[str, list[Glob]] | None, text: str) -> Iterator[tuple[str, list[Glob]]]:
    """Groups of rules whose end may fit a text: all if they are few, else by lookup."""
    if not by_end:
        return
    if len(by_end) <= len(text):
        yield from by_end.items()
        return
    for at in range(len(text) + 1):
        if text[at:] in by_end:
            yield text[at:], by_end[text[at:]]


def _expression(pattern: str, *, flat: bool) -> str:
    """A gitignore pattern as a regular expression without exponential backtracking."""
    pattern = pattern if flat else pattern.removeprefix("/")
    special = SPECIAL.search(pattern)
    # Git compares the fixed part on its own, so `a**/b` is read as `a` and then `**/b`.
    fixed = special.start() if special and not flat else 0
    tokens = list(_tokens(pattern[fixed:], flat=flat))
    if _NOTHING in tokens:
        return "(?!)"
    jumps = [n for n, (kind, _) in enumerate(tokens) if kind == "jump"]
    out = re.escape(pattern[:fixed]) + _stretch(tokens[: jumps[0] if jumps else None])
    for start, end in zip(jumps, [*jumps[1:], None], strict=False):
        stretch = tokens[start][1] + _stretch(tokens[start + 1 : end])
        # With another `**` after it, the first place where a stretch fits is as good as any.
        out += stretch if end is None else f"(?>{stretch})"
    return out


def _tokens(pattern: str, *, flat: bool) -> Iterator[tuple[str, str]]:
    """The parts of a pattern: characters, stars within a name, jumps over folders."""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            start = at
            at = len(pattern) - len(pattern[at:].lstrip("*"))
            token = _STAR
            if not flat and at - start > 1 and (start == 0 or pattern[start - 1] == "/"):
                token = _jump(pattern[at:])
            at += token == _FOLDERS  # that token includes the slash
            yield token
        elif char == "[":
            expression, at = _brackets(pattern, at + 1)
            yield ("char", expression) if expression else _NOTHING
        elif char == "\\":
            literal = pattern[at + 1 : at + 2]
            yield ("char", re.escape(literal)) if literal else _NOTHING
            at += 2
        else:
            yield "char", "[^/]" if char == "?" else re.escape(char)
            at += 1


def _jump(rest: str) -> tuple[str, str]:
    """The token for `**` before this rest: special only as a whole component of a path."""
    if rest.startswith("/"):
        return _FOLDERS
    return ("jump", ".*?") if not rest or rest.startswith("\\/") else _STAR


def _stretch(tokens: list[tuple[str, str]]) -> str:
    """The expression for tokens without jumps; between two stars the first fit is enough."""
    out = chunk = star = ""
    for kind, expression in tokens:
        if kind == "star":
            out += f"(?>[^/]*?{chunk})" if star else chunk
            chunk = ""
            star = "[^/]*"
        elif expression == "/":
            out += f"{star}{chunk}/"
            chunk = star = ""
        else:
            chunk += expression
    return out + star + chunk


def _brackets(pattern: str, at: int) -> tuple[str, int]:
    """The expression for a bracket that opened just before `at`, empty if it matches nothing."""
    negated = pattern[at : at + 1] in ("!", "^")
    first = at = at + negated
    items = previous = ""
    while at < len(pattern) and (pattern[at] != "]" or at == first):
        item, previous, at = _item(pattern, at, previous)
        items += item
    if at >= len(pattern):
        return "", at
    return f"(?!/)[{'^' * negated}{items}]", at + 1


def _item(pattern: str, at: int, previous: str) -> tuple[str, str, int]:
    """An item in brackets, the character that a range can start from, and the next position."""
    if pattern[at] == "-" and previous and pattern[at + 1 : at + 2] not in ("", "]"):
        at += 1 + (pattern[at + 1] == "\\")
        last = pattern[at : at + 1]
        return f"{re.escape(previous)}-{re.escape(last)}" if previous <= last else "", "", at + 1
    end = pattern.find("]", at + 2)
    if pattern.startswith("[:", at) and (end < 0 or (end > at + 2 and pattern[end - 1] == ":")):
        characters = _CLASSES.get(pattern[at + 2 : end - 1], "") if end > 0 else ""
        return characters, "", end + 1 if characters else len(pattern)
    at += pattern[at] == "\\"
    char = pattern[at : at + 1]
    return re.escape(char), char, at + 1
