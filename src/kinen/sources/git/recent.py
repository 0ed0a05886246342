"""The latest commits of a working tree, and those that no remote has, read from git itself.

Reports work before anything is indexed, so they do not wait for the index to have a commit.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinen.errors import GitError
from kinen.model.tuples import NamedTuple
from kinen.privacy import entrance
from kinen.space import gitcommand
from kinen.space.repository import Git
from kinen.text import iso

READ = 300
"""The most commits that are read."""
TIMEOUT = 5.0
"""Seconds for one git command."""
EARLIEST = 100_000_000
"""git reads a smaller number as a date of another form, not as epoch seconds."""
_FORMAT = "--format=%H%x1f%ct%x1f%an%x1f%s"


class Subject(NamedTuple):
    """A commit and its subject."""

    sha: str
    at: str
    """ISO 8601, UTC."""
    author: str
    text: str


def latest_commits(git: Git, folder: str = "", since: float = 0) -> list[Subject]:
    """The commits of HEAD that touch a folder, newest first, without merges.

    Empty if there is no commit, or if git does not answer in time.
    """
    after = [f"--since={max(EARLIEST, round(since))}"] if since else []
    below = ["--", "."] if folder and folder != git.top else ["--"]
    return _subjects(git, folder, *after, "HEAD", *below)


def unpushed_commits(git: Git) -> list[Subject]:
    """The commits of HEAD that no remote-tracking branch has; empty without such a branch.

    The remote itself is not contacted.
    """
    remote = gitcommand.text(git, "rev-list", "--remotes", "--max-count=1", "--", timeout=TIMEOUT)
    if not remote.strip():
        return []
    return _subjects(git, "", "HEAD", "--not", "--remotes", "--")


def made_commits(
    git: Git, before: str, heads: Sequence[str], since: int
) -> list[tuple[str, str]] | None:
    """The commits that lead to some commits and not to `before`, each with its subject.

    Those that a branch, a tag or a worktree still has and that were made since a time in epoch
    milliseconds, oldest first, without merges. `before` is empty if there was no commit. None if
    git does not know these commits, or does not answer in time.
    """
    known = [head for head in (*heads, before) if head]
    if not all(len(head) in (40, 64) and head.isalnum() for head in known):
        return None
    limits = (f"--since={max(EARLIEST, since // 1000)}", "--no-merges", f"--max-count={READ}")
    without = ("--not", before) if before else ()
    tips = dict.fromkeys(head for head in heads if head)
    try:
        reached = gitcommand.output(
            git, "rev-list", *limits, *tips, *without, "--", timeout=TIMEOUT
        )
        rows = gitcommand.output(
            git, "log", "-z", *limits, _FORMAT, "--all", *without, "--", timeout=TIMEOUT
        )
    except GitError:
        return None
    ids = set(reached.decode().split())
    commits = [_subject(row) for row in rows.decode("utf-8", "replace").split("\0") if row]
    return [(commit.sha, commit.text) for commit in reversed(commits) if commit.sha in ids]


def _subjects(git: Git, folder: str, *arguments: str) -> list[Subject]:
    limit = f"--max-count={READ}"
    command = ("log", "-z", "--no-merges", limit, _FORMAT, *arguments)
    # Split at NUL, which no subject contains; it may contain any other line separator.
    rows = gitcommand.text(git, *command, folder=folder, timeout=TIMEOUT).split("\0")
    return [_subject(row) for row in rows if row]


def _subject(row: str) -> Subject:
    sha, seconds, author, text = row.split("\x1f", 3)
    return Subject(sha, iso(int(seconds)), entrance.name(author), entrance.name(text))
