"""git hooks that index each commit in the background, beside whatever hooks are there already."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys

from kinen.errors import KinenError
from kinen.model.tuples import NamedTuple
from kinen.space import gitcommand
from kinen.space.repository import git_above
from kinen.storage import inside, regular

INDEXING = ("post-commit", "post-merge", "post-checkout", "post-rewrite")
TRACING = ("post-commit", "post-rewrite")
TAGGING = "prepare-commit-msg"
LARGEST = 64 << 20
"""Bytes of a hook, which may be a program."""
BEFORE = ".before-kinen"
"""What the name of a hook ends in that ours took the place of."""

_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
# Both stop where they could begin again, so that they never read a text twice.
_BLOCK = re.compile(
    rb"# >>> kinen >>>\r?\n(?>(?:[^#]++|#(?! (?:<<<|>>>) kinen))*)# <<< kinen <<<\r?\n"
)
_HANDS_ITSELF_ON = re.compile(rb"exec\b(?>(?:[^(`\n$e]++|e(?!xec\b)|\$(?!0|\{0\}))*)\$(?:0|\{0\})")

# In a subshell, with nothing of the outside open: `$?`, variables, options and standard input
# of what follows stay as they were, and a pipe that git writes to is not held.
_SHAPE = """# >>> kinen >>>
# Written by `kinen hooks install`; `kinen hooks uninstall` takes it away.
(
{when}  kinen={kinen}
  [ -x "$kinen" ] || kinen=kinen
{work}) </dev/null >/dev/null 2>&1 || :
# <<< kinen <<<
"""
_NOT_IN_REBASE = """  for state in rebase-merge rebase-apply; do
    [ -d "${GIT_DIR:-.git}/$state" ] && exit 0
  done
"""
_WHEN = {
    "post-commit": _NOT_IN_REBASE,
    "post-merge": _NOT_IN_REBASE,
    "post-checkout": '  [ "${3:-}" = 1 ] || exit 0\n' + _NOT_IN_REBASE,
    # Its other case, an amended commit, has its post-commit.
    "post-rewrite": '  [ "${1:-}" = rebase ] || exit 0\n',
    TAGGING: '  case "${2:-}" in merge | squash | commit) exit 0 ;; esac\n' + _NOT_IN_REBASE,
}
# A commit of some paths only has an index file of its own, which is gone when kinen gets to it.
_INDEX = """  unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX
  "$kinen" index --quiet --wait 0 &
"""
_TAGS = '  "$kinen" tags --staged --into "$1"\n'
_TRACES = """  unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX
  { "$kinen" index --quiet --wait 0; "$kinen" hooks trace; } &
"""
# The agent that runs `git commit` names its session in the environment; no program is asked.
_TRAILER = """  for line in "Claude-Session: ${CLAUDE_CODE_SESSION_ID:-}" \\
    "Codex-Session: ${CODEX_THREAD_ID:-}" "Gemini-Session: ${GEMINI_SESSION_ID:-}"; do
    case "${line#*: }" in "" | *[!0-9A-Za-z._-]*) continue ;; esac
    git interpret-trailers --in-place --if-exists addIfDifferent --trailer "$line" "$1"
  done
"""
_LINE = "( {kinen} index --quiet --wait 0 </dev/null >/dev/null 2>&1 & )"

_HEAD = b"#!/bin/sh\n# kinen made this file.\n"
# By its own name and not by $0: other tools rename hooks and call them from theirs.
_CHAIN = """before="${{0%/*}}/{name}"
if [ -f "$before" ] && [ -x "$before" ]; then exec "$before" "$@"; fi
"""


class Hook(NamedTuple):
    """One hook as it stands, and what was just done to it."""

    name: str
    path: str
    state: str
    others: bool
    """Whether something else is in the file, or called by it."""
    done: str = ""


class _File(NamedTuple):
    """What is at the place of a hook now."""

    name: str
    path: str
    plain: bool
    """A file of its own, not a link to one."""
    mode: int
    text: bytes
    block: bytes

    @property
    def live(self) -> bool:
        """Whether git runs it."""
        return os.access(self.path, os.X_OK)

    @property
    def options(self) -> frozenset[str]:
        """What its block does beyond indexing."""
        marks = {"tags": _TAGS, "traces": _TRAILER if self.name == TAGGING else _TRACES}
        return frozenset(name for name, mark in marks.items() if mark.encode() in self.block)

    @property
    def rest(self) -> bytes:
        return self.text.replace(self.block, b"", 1)

    @property
    def ours(self) -> bool:
        """Whether there is nothing, or nothing but what kinen wrote."""
        return self.rest == _own(self.name) if self.plain else not os.path.lexists(self.path)


class _Plan(NamedTuple):
    """What to write at the place of a hook."""

    text: bytes
    done: str
    mode: int = 0
    """That of a new executable file, if not given."""
    aside: bool = False
    """Whether what is there is kept under another name."""


def install(
    here: str, *, tags: bool = False, traces: bool = False, kinen: str = "", dry_run: bool = False
) -> list[Hook]:
    """Put kinen into the hooks of the repository around a folder, and keep what is in them."""
    kinen = kinen or _command()
    files = _look(_folder(here, kinen))
    wanted = frozenset(name for name, on in (("tags", tags), ("traces", traces)) if on)
    selected = [file for file in files if file.name in INDEXING or wanted or file.block]
    plans = [
        (file, _plan(file, _block(file.name, kinen, wanted | file.options))) for file in selected
    ]
    for file, plan in plans:
        if plan.done != "unchanged" and not dry_run:
            _put(file, plan)
    return [_seen(file.path, kinen, plan.done) for file, plan in plans]


def uninstall(here: str) -> list[Hook]:
    """Bring every hook back to the bytes that it had before kinen came."""
    kinen = _command()
    done = [(file.path, _take_away(file)) for file in _look(_folder(here, kinen))]
    return [_seen(path, kinen, what) for path, what in done]


def status(here: str, *, kinen: str = "") -> list[Hook]:
    """Which hooks call kinen, and whether they are as this kinen would write them."""
    return [_seen(file.path, kinen or _command()) for file in _look(_folder(here))]


def _command() -> str:
    """The path of the kinen that runs now, or of another one that is installed."""
    invoked = sys.argv[0] if os.path.basename(sys.argv[0]) in ("kinen", "kinen.exe") else ""
    beside = os.path.join(os.path.dirname(sys.executable), "kinen")
    program = next(filter(None, map(shutil.which, (invoked, beside, "kinen"))), "")
    return os.path.abspath(program).replace(os.sep, "/") if program else "kinen"


def _folder(here: str, kinen: str = "") -> str:
    """Where git looks for hooks; with a `kinen` to write there, only if it is this repository's."""
    git = git_above(os.path.realpath(here))
    if git is None or not git.folder:
        raise KinenError("no git repository here", "change into one, or run `git init` first")
    configured = gitcommand.setting(git, "core.hooksPath", "path")
    folder = os.path.join(git.top, configured) if configured else os.path.join(git.common, "hooks")
    folder = os.path.normpath(folder)
    homes = (folder, git.top, git.main, git.common)
    inner, *outer = (os.path.join(os.path.realpath(path), "") for path in homes)
    if kinen and not inner.startswith(tuple(outer)):
        line = _LINE.format(kinen=shlex.quote(kinen))
        fact = f"{folder} is outside of this repository, and its hooks may serve others too"
        raise KinenError(fact, f"add this line to its post-commit by hand: {line}")
    return folder


def _block(name: str, kinen: str, options: frozenset[str]) -> bytes:
    if name == TAGGING:
        work = _TAGS * ("tags" in options) + _TRAILER * ("traces" in options)
    else:
        work = _TRACES if "traces" in options and name in TRACING else _INDEX
    return os.fsencode(_SHAPE.format(when=_WHEN[name], kinen=shlex.quote(kinen), work=work))


def _own(name: str, block: bytes = b"") -> bytes:
    """A file of kinen's own, which calls the hook that it took the place of."""
    return _HEAD + block + _CHAIN.format(name=name + BEFORE).encode()


def _look(folder: str) -> list[_File]:
    return [_file(os.path.join(folder, name)) for name in (*INDEXING, TAGGING)]


def _file(path: str) -> _File:
    plain = os.path.isfile(path) and not os.path.islink(path)
    text = b""
    mode = 0
    if plain:
        mode = os.stat(path).st_mode & 0o7777
        text = regular.read(path, LARGEST)
    block = _BLOCK.search(text)
    return _File(os.path.basename(path), path, plain, mode, text, block[0] if block else b"")


def _seen(path: str, kinen: str, done: str = "") -> Hook:
    file = _file(path)
    state = "not installed"
    if file.block and file.live:
        state = "installed" if file.block == _block(file.name, kinen, file.options) else "outdated"
    others = not file.ours or os.path.lexists(path + BEFORE)
    return Hook(file.name, path, state, others, done)


def _plan(file: _File, block: bytes) -> _Plan:
    """What to write at the place of a hook; a file that cannot take shell lines goes aside."""
    done = "updated" if file.block else "installed"
    if file.live and file.block:
        text = file.text.replace(file.block, block, 1)
        return _Plan(text, "unchanged" if text == file.text else done, file.mode)
    own = _own(file.name, block)
    if file.ours:
        return _Plan(own, done)
    if file.live and file.plain and _is_shell(file.text):
        top = file.text.find(b"\n") + 1 if file.text.startswith(b"#!") else 0
        return _Plan(file.text[:top] + block + file.text[top:], done, file.mode)
    if os.path.lexists(file.path + BEFORE):
        hint = "move it away, or put it back in its place, then run it again"
        raise KinenError(f"{file.path}{BEFORE} is there already", hint)
    return _Plan(own, done, aside=True)


def _is_shell(text: bytes) -> bool:
    """Whether lines of shell can stand at the top of a hook."""
    first, newline, _ = text.partition(b"\n")
    if b"\0" in text or _HANDS_ITSELF_ON.search(text):
        return False  # a program, or a script in two languages at once
    if not first.startswith(b"#!"):
        return True  # git has sh run it
    words = [os.path.basename(word) for word in first[2:].decode("latin-1").split()]
    if words[:1] == ["env"]:
        words = [word for word in words[1:] if word[0] != "-" and "=" not in word]
    return bool(newline and words) and words[0] in _SHELLS


def _put(file: _File, plan: _Plan) -> None:
    """Write a hook as a whole, executable from its first moment on."""
    folder, name = os.path.split(file.path)
    draft = f"{file.path}.kinen-draft"
    try:
        os.makedirs(folder, exist_ok=True)
        inside.remove(folder, f"{name}.kinen-draft")
        inside.create(folder, f"{name}.kinen-draft", plan.text)
        new = os.stat(draft).st_mode
        os.chmod(draft, plan.mode or new | (new & 0o444) >> 2)
        if plan.aside:
            os.rename(file.path, file.path + BEFORE)
        os.replace(draft, file.path)
    except OSError as error:
        fact = f"cannot write {file.path}: {error.strerror}"
        raise KinenError(fact, "check the permissions of its folder") from None


def _take_away(file: _File) -> str:
    """Undo an install of one hook, and say what that was."""
    if file.ours and os.path.lexists(file.path + BEFORE):
        os.replace(file.path + BEFORE, file.path)
        _take_away(_file(file.path))  # it may have a block too, if it was switched off after one
        return "restored"
    if file.ours and file.plain:
        os.unlink(file.path)
    elif file.block:
        _put(file, _Plan(file.rest, "removed", file.mode))
    else:
        return "not installed"
    return "removed"
