"""`meta.json`: figures of a space for people and scripts that do not open the database."""

from __future__ import annotations

import contextlib
import json
import os

from kinen.model.documents import Status
from kinen.storage import private
from kinen.text import iso, now


def write_about(path: str, state: Status) -> None:
    """Write the file; `created_at` keeps its first value."""
    created = iso(now())
    with contextlib.suppress(OSError, ValueError, KeyError):
        created = json.loads(private.read(path))["created_at"]
    about = {
        "space_origin": state.origin,
        "space_name": state.name,
        "space_root": state.root,
        "created_at": created,
        "last_updated": state.synced,
        "model": state.model or state.provider,
        "model_dimensions": state.dimensions,
        "documents_count": state.counts.documents,
        "chunks_count": state.counts.chunks,
        "edges_count": state.counts.edges,
    }
    private.write(path, json.dumps(about, indent=2, ensure_ascii=False) + "\n")


def size_of(folder: str) -> int:
    """The bytes of the files in a folder."""
    with os.scandir(folder) as entries:
        return sum(entry.stat().st_size for entry in entries if entry.is_file())


def subfolders(folder: str) -> list[str]:
    """The folders in a folder of kinen's own; none if it does not exist."""
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_dir()]
    except FileNotFoundError:
        return []
