"""`kinen search --jsonl` and `-l0`: hits for programs, one after the other."""

from __future__ import annotations

import json
import os

from kinen.characters import visible_json
from kinen.cli.output import file_name, write_raw
from kinen.cli.run import FOUND, NOTHING, note, with_options
from kinen.paths import openable


def print_lines(answer: str, code: int, *, files: bool) -> int:
    """Print an answer in JSON as a line for each hit, or with `files` as paths that end in NUL."""
    data = json.loads(answer)
    for remark in data["notes"]:
        note(with_options(remark))
    if not files:
        for hit in data["results"]:
            print(visible_json(json.dumps(hit, ensure_ascii=False)))
        return code
    sources = [hit["source"] for hit in data["results"]]
    present = [source for source in sources if source["metadata"].get("alive") is not False]
    folder = os.getcwd()
    names = dict.fromkeys(
        openable(source["root"], source["path"], folder) for source in present if source["path"]
    )
    write_raw("".join(f"{file_name(name)}\0" for name in names))
    return FOUND if names else NOTHING
