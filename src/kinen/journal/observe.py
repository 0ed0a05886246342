"""Keeps one observation the quick way: a process per event, and nothing heavy is loaded.

What a hook does, and `kinen log` when the line is plain. `Memory.observe` writes the same.
"""

from __future__ import annotations

import os

from kinen import paths
from kinen.errors import Excluded, QueryError
from kinen.journal import write
from kinen.model.kinds import EVENTS
from kinen.privacy.entrance import plain
from kinen.privacy.exclude import matching_glob
from kinen.space import route
from kinen.space.head import read_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinen.journal.schema import Row


def jot(
    text: str,
    *,
    kind: str = "message",
    files: Iterable[str] = (),
    folder: str = "",
    session: str = "",
    agent: str = "",
) -> tuple[Row, bool]:
    """Keep what happened in a folder; the row, and whether it is in the journal yet.

    It is on disk either way: what cannot be written now is spooled.
    """
    text = plain(text)
    check(text, kind)
    here = route.find(paths.default_home(os.environ), folder or os.getcwd(), folder or None)
    named = [paths.inside(file, here.tree, here.root) for file in files]
    allowed(named, here.excluded)
    branch, head = read_head(here.git, here.common)
    row = write.row(
        text,
        kind,
        files=named,
        session=session,
        repo=here.repo,
        agent=agent,
        branch=branch,
        head=head,
    )
    return row, write.keep(here.data, here.spool_folders, row)


def check(text: str, kind: str) -> None:
    """Refuse what is no observation."""
    if kind not in EVENTS:
        raise QueryError(f"no kind {kind!r}", "use one of " + ", ".join(EVENTS))
    if not text.strip():
        raise QueryError("nothing to keep: the text is empty", "say what happened")
    if len(text) > write.LONGEST:
        most = f"keep at most {write.LONGEST >> 20} million"
        raise QueryError(f"the text has {len(text):,} characters", most)


def allowed(files: Iterable[str], globs: list[str]) -> None:
    """Refuse paths that are never captured."""
    for file in files:
        glob = matching_glob(file, globs)
        if glob:
            raise Excluded(f"{file} is never captured", f"privacy.exclude has {glob}")
