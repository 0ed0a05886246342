"""Starts git. No other module does.

The repository may come from a stranger, and git runs programs that a repository's configuration
names: a file system monitor, filters, hooks, helpers for transport and credentials. Therefore

- the repository is named (`--git-dir`, `--work-tree`), never searched for by git. Otherwise a
  cloned folder that contains the files of a bare repository would be taken for one;
- settings that name programs are overridden on the command line;
- the environment has no `GIT_*` but what is set here;
- only the commands in `COMMANDS` are used, none of which reads files of the working tree. `git
  status` and `git diff` against the working tree run `filter.<name>.clean`, whose names are the
  repository's to choose: `sources/worktree.py` compares files without git.

See docs/decisions/0012-running-git.md. `subprocess` is imported late: a search that starts no git
does not pay for it.
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING

from kinen.errors import GitError
from kinen.paths import debug
from kinen.space.repository import Git

if TYPE_CHECKING:
    import subprocess


PIPE = -1
"""`subprocess.PIPE`, without an import of it."""
TIMEOUT = 120.0
"""Seconds that a command has whose whole output is awaited."""

_NO_DRIVERS = ("--no-ext-diff", "--no-textconv")
COMMANDS: dict[str, tuple[str, ...]] = {
    "blame": ("--no-textconv",),
    "cat-file": (),
    "config": (),
    "diff": ("--cached", *_NO_DRIVERS),
    "diff-tree": _NO_DRIVERS,
    "for-each-ref": (),
    "log": _NO_DRIVERS,
    "ls-files": (),
    "ls-tree": (),
    "notes": (),  # writes; only `kinen hooks trace` uses it
    "rev-list": (),
    "rev-parse": (),
    "symbolic-ref": (),
    # These write. Only `kinen demo` uses them, in a repository that it makes.
    "init": ("--template=",),
    "add": (),
    "commit": ("--no-verify", "--no-gpg-sign"),
}
"""The commands that may be run, with the options that each of them always has."""

OVERRIDES = (
    ("safe.bareRepository", "explicit"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("core.attributesFile", os.devnull),
    ("core.pager", "cat"),
    ("core.editor", ":"),
    ("sequence.editor", ":"),
    ("core.askPass", ""),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.alternateRefsCommand", ":"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.ssh.defaultKeyCommand", ""),
    ("interactive.diffFilter", ""),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    # The same history reads the same, whatever the user's own configuration says.
    ("log.showSignature", "false"),
    ("log.showRoot", "true"),
    # What a configuration names would be opened by git; kinen reads such a list itself.
    ("blame.ignoreRevsFile", ""),
)
"""Settings of every command. They have the last word over each configuration file."""

KEPT_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
"""Where a user's own configuration is. Nothing else that begins with GIT_ reaches git: inside a git
hook such variables name another repository, and they can name programs."""

_trusted: set[tuple[str, str]] = set()
"""Repositories of other users that git itself accepts."""


def run(
    git: Git,
    *arguments: str,
    folder: str = "",
    index: str = "",
    timeout: float = TIMEOUT,
) -> subprocess.CompletedProcess[bytes]:
    """Run a git command to its end; its exit status is for the caller to check.

    Paths are relative to `folder`, which is the top of the working tree if omitted. `index` names
    another index file. Raises GitError if git is not installed, takes longer than `timeout`, or if
    the repository belongs to another user.
    """
    require_trust(git)
    return _finish(command(git, *arguments, folder=folder), index, timeout)


def output(git: Git, *arguments: str, folder: str = "", timeout: float = TIMEOUT) -> bytes:
    """What a git command prints; raises GitError where it fails, and as `run` does."""
    result = run(git, *arguments, folder=folder, timeout=timeout)
    if result.returncode:
        raise GitError(complaint(result.stderr))
    return result.stdout


def text(git: Git, *arguments: str, folder: str = "", timeout: float = TIMEOUT) -> str:
    """The same as text; empty where it fails or takes too long."""
    try:
        return output(git, *arguments, folder=folder, timeout=timeout).decode("utf-8", "replace")
    except GitError:
        return ""


def start(
    git: Git,
    *arguments: str,
    folder: str = "",
    stdin: IO[bytes] | int | None = None,
    stderr: IO[bytes] | int | None = None,
) -> subprocess.Popen[bytes]:
    """Start a git command whose output is read while it runs; end it with `stop`.

    Standard input and error are nothing if omitted. Raises GitError as `run` does.
    """
    import subprocess

    require_trust(git)
    null = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            command(git, *arguments, folder=folder),
            stdin=null if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=null if stderr is None else stderr,
            env=environment(),
        )
    except OSError as error:
        raise _not_started(error) from error


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process that `start` started, and close its pipes."""
    from contextlib import suppress

    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()


class Conversation:
    """A git command that keeps running and answers what is written to it; started when needed."""

    def __init__(self, git: Git, *arguments: str, folder: str = "") -> None:
        self._git = git
        self._arguments = arguments
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, line: bytes) -> IO[bytes]:
        """Write a line to it; what it prints next. Raises OSError where it has ended."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = start(self._git, *self._arguments, folder=self._folder, stdin=PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()
        return self._process.stdout

    def close(self) -> None:
        if self._process is not None:
            stop(self._process)
            self._process = None


def setting(git: Git, name: str, kind: str = "") -> str:
    """The value of a setting as git reads it, includes and all; empty if there is none.

    `kind` is one of git's types, such as `path`. This is for values that kinen uses itself: what
    kinen overrides for its own commands is not overridden here, and `git config` runs nothing.
    """
    require_trust(git)
    typed = (f"--type={kind}",) if kind else ()
    line = command(git, "config", *typed, "--get", name, own_value_of=name)
    return os.fsdecode(_finish(line, "", TIMEOUT).stdout.removesuffix(b"\n"))


def command(git: Git, *arguments: str, folder: str = "", own_value_of: str = "") -> list[str]:
    """The command line of a git command; `own_value_of` names a setting not to override."""
    name, *rest = arguments
    if name not in COMMANDS:
        raise ValueError(f"kinen does not run git {name}")
    debug(f"git {' '.join(arguments)}")
    return [
        *_base(folder or git.top, own_value_of),
        f"--git-dir={git.folder}",
        f"--work-tree={git.top}",
        name,
        *COMMANDS[name],
        *rest,
    ]


def environment(index: str = "") -> dict[str, str]:
    """The variables that git is run with."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("GIT_") or name in KEPT_VARIABLES
    }
    env["GIT_NO_LAZY_FETCH"] = "1"
    # This one has the last word: a configuration file can allow a single protocol again.
    env["GIT_ALLOW_PROTOCOL"] = "none"
    env["GIT_TERMINAL_PROMPT"] = "0"
    env["GIT_OPTIONAL_LOCKS"] = "0"
    env["LC_ALL"] = "C"
    if index:
        env["GIT_INDEX_FILE"] = index
    return env


def require_trust(git: Git) -> None:
    """Raise GitError for a repository of another user that git itself would not work in.

    git makes this check only where it searches for the repository, so it is made here: files of
    the current user pass at once; for others git is asked, which knows `safe.directory`.
    """
    if not git.folder:
        raise GitError(f"no git repository in {git.top}", "its .git leads elsewhere")
    if _is_own(git) or (git.top, git.folder) in _trusted:
        return
    line = [*_base(git.top), "rev-parse", "--absolute-git-dir"]
    answer = os.fsdecode(_finish(line, "", TIMEOUT).stdout.removesuffix(b"\n"))
    if not answer or _normal(answer) != _normal(git.folder):
        raise GitError(
            f"the repository {git.top} belongs to another user",
            f"if you trust it: `git config --global --add safe.directory {git.top}`",
        )
    _trusted.add((git.top, git.folder))


def root_commit(git: Git | None) -> str:
    """The first commit of the history, of several the smallest; empty where git cannot tell."""
    if git is None or not git.deep:
        return ""
    roots = text(git, "rev-list", "--max-parents=0", "HEAD", "--", timeout=10)
    return min(roots.split(), default="")


def complaint(stderr: bytes) -> str:
    """What git complained of, on one line."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    fatal = [line.partition(": ")[2] for line in lines if line.startswith(("fatal: ", "error: "))]
    return "; ".join(fatal or lines[-1:] or ["git failed"])[:300]


def _base(folder: str, own_value_of: str = "") -> list[str]:
    settings: list[str] = []
    for name, value in OVERRIDES:
        if name.lower() != own_value_of.lower():
            settings += ["-c", f"{name}={value}"]
    return [_executable(), "--no-pager", "-C", folder, *settings]


def _finish(line: list[str], index: str, timeout: float) -> subprocess.CompletedProcess[bytes]:
    import subprocess

    try:
        return subprocess.run(
            line,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(index),
            timeout=timeout,
            check=False,
        )
    except OSError as error:
        raise _not_started(error) from error
    except subprocess.TimeoutExpired:
        fact = f"git gave no answer in {timeout:.0f} seconds"
        raise GitError(fact, "`git status` in that folder may say more") from None


def _executable() -> str:
    """The git that PATH names, absolute folders only: the current one may be a stranger's.

    `subprocess` would look there too: on Windows always, elsewhere where PATH has an empty part.
    """
    name = "git.exe" if os.name == "nt" else "git"
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder.strip('"'), name)
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise _not_started(FileNotFoundError(2, os.strerror(2)))


def _not_started(error: OSError) -> GitError:
    fact = f"git cannot be started: {error.strerror}"
    return GitError(fact, "install git, and see `git --version`")


def _is_own(git: Git) -> bool:
    """Whether the repository and its working tree are known to be of the current user."""
    if os.name == "nt":
        return False  # owners are not numbers there: git has to check
    user = os.geteuid()
    for path in (git.top, os.path.join(git.top, ".git"), git.folder, git.common):
        try:
            owner = os.lstat(path).st_uid
        except OSError:
            continue  # about to be made
        if owner != user:
            return False
    return True


def _normal(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))
