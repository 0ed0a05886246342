"""`meta.json`: figures of a space for people and scripts that do not open the database."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from kinen.model.documents import Counts
from kinen.space.registry import Space
from kinen.storage import private
from kinen.text import iso, now


def write_about(
    path: str, space: Space, counts: Counts, model: str, dimensions: int, synced: str
) -> None:
    """Write the file; `created_at` keeps its first value."""
    try:
        created = json.loads(private.read(path))["created_at"]
    except (OSError, ValueError, KeyError):
        created = iso(now())
    about = {
        "space_origin": space.origin,
        "space_name": space.name,
        "space_root": space.root,
        "created_at": created,
        "last_updated": synced,
        "model": model,
        "model_dimensions": dimensions,
        "documents_count": counts.documents,
        "chunks_count": counts.chunks,
        "edges_count": counts.edges,
    }
    private.write(path, json.dumps(about, indent=2, ensure_ascii=False) + "\n")


def size_of(folder: str) -> int:
    """The bytes of the files in a folder; one that another process took away meanwhile has none."""
    size = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                size += entry.stat().st_size if entry.is_file() else 0
    return size


def subfolders(folder: str) -> list[str]:
    """The folders in a folder of kinen's own; none if it does not exist."""
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_dir()]
    except FileNotFoundError:
        return []
