"""The quick way to record an observation, for `kinen log`: it imports nothing heavy."""

from __future__ import annotations

import os

from kinen import paths
from kinen.journal import write
from kinen.space import route

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinen.journal.schema import Row


def observe(
    text: str,
    *,
    kind: str = "message",
    files: Iterable[str] = (),
    folder: str = "",
    session: str = "",
    agent: str = "",
    repo: str = "",
    user: str = "",
) -> tuple[Row, bool]:
    """Record what happened in a folder; returns the row, and whether it is in the journal yet.

    It is on disk either way: what cannot be written now is spooled.
    """
    space = route.find(paths.default_home(os.environ), folder or os.getcwd(), folder or None)
    row = write.observation_row(
        text,
        kind,
        git_folders=(space.git, space.common),
        files=[paths.inside(file, space.tree, space.root) for file in files],
        excluded=space.excluded,
        session=session,
        repo=repo or space.repo,
        agent=agent,
        user=user,
    )
    return row, write.keep(space.data, space.spool_folders, row)
