"""New observations: the checks that all of them pass, and the quick way to record one.

Hooks and `kinen log` use it: it imports nothing heavy.
"""

from __future__ import annotations

import os

from kinen import paths
from kinen.errors import Excluded, QueryError
from kinen.journal import write
from kinen.journal.schema import LATEST
from kinen.model.kinds import EVENTS
from kinen.privacy.entrance import plain
from kinen.privacy.exclude import matching_glob
from kinen.space import route
from kinen.space.head import read_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from kinen.journal.schema import Row


def observation_row(
    text: str,
    kind: str,
    at: int = 0,
    *,
    git_folders: tuple[str, str],
    files: Sequence[str] = (),
    excluded: Iterable[str] = (),
    **columns: Any,
) -> Row:
    """The row of a new observation: checked, masked, with the branch and commit of now.

    `at` is epoch milliseconds, 0 for now; `columns` are as in `write.row`. Raises QueryError for
    what cannot be an observation, and Excluded for a file that matches one of the globs.
    """
    text = plain(text)
    _check(text, kind, at)
    for file in files:
        glob = matching_glob(file, excluded)
        if glob:
            raise Excluded(f"{file} is never captured", f"privacy.exclude has {glob}")
    branch, head = read_head(*git_folders)
    return write.row(text, kind, at, files=files, branch=branch, head=head, **columns)


def _check(text: str, kind: str, at: int) -> None:
    if kind not in EVENTS:
        raise QueryError(f"invalid kind {kind!r}", "use one of " + ", ".join(EVENTS))
    if not text.strip():
        raise QueryError("the text is empty", "say what happened")
    if len(text) > write.LONGEST:
        most = f"at most {write.LONGEST >> 20} million are stored"
        raise QueryError(f"the text has {len(text):,} characters", most)
    if not 0 <= at < LATEST:
        raise QueryError(f"invalid time {at}", "use epoch milliseconds before the year 10000")


def observe(
    text: str,
    *,
    kind: str = "message",
    files: Iterable[str] = (),
    folder: str = "",
    session: str = "",
    agent: str = "",
) -> tuple[Row, bool]:
    """Record what happened in a folder; returns the row, and whether it is in the journal yet.

    It is on disk either way: what cannot be written now is spooled.
    """
    space = route.find(paths.default_home(os.environ), folder or os.getcwd(), folder or None)
    row = observation_row(
        text,
        kind,
        git_folders=(space.git, space.common),
        files=[paths.inside(file, space.tree, space.root) for file in files],
        excluded=space.excluded,
        session=session,
        repo=space.repo,
        agent=agent,
    )
    return row, write.keep(space.data, space.spool_folders, row)
