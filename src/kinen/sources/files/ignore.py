"""Which paths a space leaves out: gitignore rules, read and matched as git does.

The rules are matched by hand and not by pathspec, whose import alone takes longer than asking
about every file of a large tree; a property test compares each verdict with git's own.
"""

from __future__ import annotations

import os
import re
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kinen.errors import UnsafeFile
from kinen.sources.files.globs import SPECIAL, Ends, Glob
from kinen.space.head import LONGEST_REF
from kinen.storage import inside, regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

STORES = frozenset((".git", ".hg", ".svn", ".jj", ".kinen"))
"""Inner works of version control and of kinen: no rule brings them back."""

TOOLS = frozenset(
    # Names that only tools give. `build`, `dist` and `target` are not among them: people keep
    # notes under such names, and where tools write there, .gitignore says so.
    ".venv venv node_modules __pycache__ .tox .nox .mypy_cache .ruff_cache .pytest_cache"
    " .hypothesis .gradle .terraform .idea .vscode .obsidian .trash .Trash .DS_Store Thumbs.db"
    " desktop.ini".split()
)
"""Left out unless a .kinenignore says otherwise."""

KEPT = frozenset((".memories", "sessions", "resources", "artifacts"))
"""Folders at the root that are memory even where they are kept out of git."""

LARGEST = 16 << 20
"""Bytes of a file of rules; a larger one is left out."""
FEW = 64
"""Rules with wildcards up to which one expression for all is the quickest way."""
MAX_RULE = 4096
"""No path is longer, so no line that is longer is a rule."""

_TRAILING_SPACES = re.compile(r"((?:\\.|[^\\])*?) +", re.DOTALL)
_NONE = (-1, -1)


class Ignore:
    """The ignore rules of one space, read as they are needed and then remembered."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._prefix = os.fspath(root) + os.sep
        self._read: dict[str, bytes] = {}
        file = os.fspath(_exclude_file(root))
        exclude = self._rules(file, ".git/info/exclude", partial(regular.read, file, LARGEST))
        own, git = self._files("")
        self._levels = {"": _Level(False, own, git + ([(0, exclude)] if exclude else []))}

    def ignored(self, path: str, directory: bool) -> bool:
        """Whether this POSIX path relative to the root is left out, or a folder that holds it."""
        if not path:
            return False
        parent, _, name = path.rpartition("/")
        level = self._levels.get(parent) or self._level(parent)
        return level.ignored or self._hidden(path, name, directory, level)

    @property
    def digest(self) -> str:
        """A hash of every rule read so far; it changes when the rules do."""
        total = sha256("\n".join(sorted(STORES | TOOLS | KEPT)).encode())
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
        if level.git and path.partition("/")[0] not in KEPT:
            for base, rules in level.git:
                verdict = rules.verdict(path[base:], name, directory)
                if verdict is not None:
                    return verdict
        return False

    def _level(self, folder: str) -> _Level:
        """What holds for the entries of a folder; deeper rule files come first."""
        level, at = self._levels[""], 0
        while at <= len(folder):
            end = folder.find("/", at)
            at = (len(folder) if end < 0 else end) + 1
            path = folder[: at - 1]
            known = self._levels.get(path)
            if known is None:
                known = self._levels[path] = self._below(level, path)
            level = known
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
        # Nearly every folder has no such file, and this is the cheapest way to learn that.
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
    """Whether a folder is left out, else the rules for what is in it, with their path's length."""

    ignored: bool
    own: list[tuple[int, Patterns]]
    git: list[tuple[int, Patterns]]


class Patterns:
    """The rules of one file; the last one that matches decides.

    Most rules are a name, a suffix or a path, and are found by looking them up: each key leads
    to the last rule for files and the last one for folders. Of the others, a few are tried in turn;
    many are looked up by the text before their first wildcard and after their last.
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
        """True to leave the path out, False to keep it, None where no rule speaks of it."""
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
        """Rules with wildcards that may match, the last one first."""
        if len(self.globs) <= FEW:
            return self.globs if self._any(path, name) else []
        if self._ends is None:
            flat = Ends([glob for glob in self.globs if glob.flat])
            self._ends = (flat, Ends([glob for glob in self.globs if not glob.flat]))
        names, paths = self._ends
        return sorted([*names.fitting(name), *paths.fitting(path)], key=lambda glob: -glob.number)

    def _any(self, path: str, name: str) -> bool:
        """Whether any wildcard fits at all: one question for the many paths that none does."""
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
            table, key = (self.names, pattern) if flat else (self.paths, pattern.removeprefix("/"))
        elif flat and pattern.startswith("*.") and not re.search(r"[*?\[\\.]", pattern[2:]):
            table, key = self.suffixes, pattern[1:]
        else:
            self.globs.append(Glob(number, pattern, flat=flat, folders=folders))
            return
        before = table.get(key, _NONE)
        table[key] = (before[0] if folders else number, number)


def _exclude_file(root: Path) -> Path:
    """Where git keeps the rules of this clone, also for worktrees and submodules."""
    git = root / ".git"
    try:
        if git.is_file():
            git = root / _named_folder(git).removeprefix("gitdir:").strip()
            if (git / "commondir").is_file():
                git = git / _named_folder(git / "commondir").strip()
    except ValueError:
        pass
    return git / "info" / "exclude"


def _named_folder(file: Path) -> str:
    return regular.text(os.fspath(file), LONGEST_REF, "surrogateescape")


def _patterns(data: bytes) -> Iterator[str]:
    """The rules of a file; what cannot be one is passed over."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # what `echo >` writes in PowerShell
        text = data.decode("utf-16", "ignore")
    else:
        # File names that are no UTF-8 are decoded by Python in the same way.
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    for line in text.split("\n"):
        if line.startswith("#") or "\0" in line or len(line) > MAX_RULE:
            continue
        rule = line.removesuffix("\r")
        if rule.endswith(" ") and (match := _TRAILING_SPACES.fullmatch(rule)):
            rule = match[1]
        if rule:
            yield rule
