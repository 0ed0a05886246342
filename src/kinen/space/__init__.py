"""Which space a folder belongs to, and where its data is stored.

Here: the branch and commit that are checked out, read from git's files. Hooks import this, so it
needs nothing but `os`.
"""

from __future__ import annotations

import os

from kinen.storage import regular

LONGEST_REF = 65_536
"""Bytes of HEAD, of a ref, or of a file that only names a folder."""
PACKED_REFS = 64 << 20
"""Bytes of packed-refs; a million refs fit."""


def read_head(git: str, common: str) -> tuple[str, str]:
    """The branch and the commit; each is empty if it cannot be read.

    `git` is the repository's folder, `common` the one that it shares with its worktrees.
    """
    content = regular.text(os.path.join(git, "HEAD"), LONGEST_REF, "replace").strip() if git else ""
    if not content.startswith("ref: "):
        return "", _commit(content)
    ref = content[5:]
    # `.invalid` stands there if refs are stored in a table; other names must stay in the folder.
    if ref == "refs/heads/.invalid" or not ref.startswith("refs/") or ".." in ref or "\0" in ref:
        return "", ""
    commit = regular.text(os.path.join(common, ref), LONGEST_REF, "replace").strip()
    if not commit:
        packed = regular.text(os.path.join(common, "packed-refs"), PACKED_REFS, "replace")
        for line in packed.splitlines():
            if line.endswith(" " + ref):
                commit = line.split(" ", 1)[0]
    return ref.removeprefix("refs/heads/"), _commit(commit)


def _commit(text: str) -> str:
    """The text if it is the id of a commit: the file of a ref may contain anything."""
    hexadecimal = not text.strip("0123456789abcdef")
    return text if hexadecimal and len(text) in (40, 64) else ""
