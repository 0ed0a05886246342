"""The latest commits of a working tree, and those that no remote has, read from git itself.

Reports are made before anything was indexed, so they do not wait for the index to know a commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kinen.errors import GitError
from kinen.privacy import entrance
from kinen.space import gitcommand
from kinen.text import iso

if TYPE_CHECKING:
    from kinen.space.repository import Git

READ = 300
"""Commits that are read at most."""
PATIENCE = 5.0
"""Seconds that git has."""
EARLIEST = 100_000_000
"""git takes a smaller number of seconds for a date of another form."""
_FORMAT = "--format=%H%x1f%ct%x1f%s"


class Subject(NamedTuple):
    """A commit by its subject."""

    sha: str
    at: str
    """ISO 8601, UTC."""
    text: str


def latest_commits(git: Git, folder: str = "", since: float = 0) -> list[Subject]:
    """The commits of HEAD that touch a folder, newest first, without merges.

    Empty where there is no commit, or where git does not answer in time.
    """
    after = [f"--since={max(EARLIEST, round(since))}"] if since else []
    below = ["--", "."] if folder and folder != git.top else ["--"]
    return _subjects(git, folder, *after, "HEAD", *below)


def unpushed_commits(git: Git) -> list[Subject]:
    """The commits of HEAD that no remote-tracking branch has; none where there is no such branch.

    Only what is on this machine is looked at: whether the remote has them by now is not asked.
    """
    try:
        known = gitcommand.run(
            git, "rev-list", "--remotes", "--max-count=1", "--", timeout=PATIENCE
        )
    except GitError:
        return []
    if known.returncode or not known.stdout.strip():
        return []
    return _subjects(git, "", "HEAD", "--not", "--remotes", "--")


def _subjects(git: Git, folder: str, *arguments: str) -> list[Subject]:
    limit = f"--max-count={READ}"
    command = ("log", "-z", "--no-merges", limit, _FORMAT, *arguments)
    try:
        result = gitcommand.run(git, *command, folder=folder, timeout=PATIENCE)
    except GitError:
        return []
    if result.returncode:
        return []
    # By NUL, which no subject has: it may have any other sign that ends a line.
    rows = result.stdout.decode("utf-8", "replace").split("\0")
    return [_subject(row) for row in rows if row]


def _subject(row: str) -> Subject:
    sha, seconds, text = row.split("\x1f", 2)
    return Subject(sha=sha, at=iso(int(seconds)), text=entrance.name(text))
