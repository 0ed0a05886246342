"""Take early events into a space, as if they had been recorded there from the start.

Each goes to the spool of the space before its file is deleted, and keeps its id. So a process that
is killed loses nothing, and an event that is taken in twice is stored once.
"""

from __future__ import annotations

import json

from kinen import paths
from kinen.agents.tool_use import FOLDER_INPUTS, LABELS, is_private
from kinen.journal import spool
from kinen.journal.schema import COLUMNS
from kinen.space import early

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from kinen.journal.schema import Row

HEADS = ("File", *(label for _, label in LABELS))
"""What the lines about the inputs of a tool begin with, below its name."""
PATH_HEADS = ("File", "Path")


def early_row(row: Row, mentions: Sequence[str], folder: str) -> dict[str, Any]:
    """An observation as it waits for a space, with what decides whether it may be kept there.

    Its paths are absolute. `folder` is the one that relative words of a command are paths in.
    """
    from kinen.privacy import entrance

    return {"row": row, "mentions": entrance.names(mentions), "folder": folder}


def adopt(
    places: Iterable[str], spool_folder: str, repo: str, excluded: Sequence[str], *roots: str
) -> None:
    """Move the early events in some places to the spool of a space; excluded ones are deleted.

    `roots` are the root of the space and those of its other working trees.
    """
    for place in places:
        for path in early.events(place):
            try:
                row = _placed(early.read(path)[1], repo, excluded, roots)
            except OSError:
                continue  # another process took it in
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                early.set_aside(path)
                continue
            if row:
                spool.put(spool_folder, row)
            early.discard(path)


def _placed(
    event: dict[str, Any], repo: str, excluded: Sequence[str], roots: tuple[str, ...]
) -> Row:
    """An early event with its paths as the space has them; empty if it must not be kept."""
    if not spool.valid(event["row"]):
        raise ValueError("not an observation")
    values = dict(zip(COLUMNS, event["row"], strict=True))
    files = [paths.inside(path, *roots) for path in json.loads(values["files"])]
    if is_private(files, event["mentions"], excluded, event["folder"], roots):
        return ()
    provenance = json.loads(values["provenance"])
    for name in ("filePath", *FOLDER_INPUTS):
        if name in provenance:
            provenance[name] = paths.inside(provenance[name], *roots)
    lines = values["content"].split("\n")
    if lines[0].startswith("Tool: "):
        for number, line in enumerate(lines[1:], 1):
            head, _, path = line.partition(": ")
            if head not in HEADS:
                break
            if head in PATH_HEADS:
                lines[number] = f"{head}: {paths.inside(path, *roots)}"
    values.update(content="\n".join(lines), repo=repo)
    values["files"] = json.dumps(files, ensure_ascii=False)
    values["provenance"] = json.dumps(provenance, ensure_ascii=False, sort_keys=True)
    return tuple(values[name] for name in COLUMNS)
