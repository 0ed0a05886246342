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
from kinen.sources.files.globs import SPECIAL, Ends, Glob
from kinen.space.head import LONGEST_REF
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


class Ignore:
    """The ignore rules of a space, read when needed and cached."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._prefix = os.fspath(root) + os.sep
        self._read: dict[str, bytes] = {}
        file = os.fspath(_exclude_file(root))
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


def _exclude_file(root: Path) -> Path:
    """The file of this clone's own rules, also for worktrees and submodules."""
    git = root / ".git"
    try:
        if git.is_file():
            git = root / _pointer(git).removeprefix("gitdir:").strip()
            if (git / "commondir").is_file():
                git = git / _pointer(git / "commondir").strip()
    except ValueError:
        pass
    return git / "info" / "exclude"


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
