"""Checkpoints from the files of Goldfish, in the layouts of all its versions.

A day in one markdown file, a day in one file of JSON lines, a checkpoint in a file of JSON, and
`.memories/` with its `memory.yaml`. An entry without an id gets one from its time and text, so
that importing it twice adds nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from kinen.config import former
from kinen.errors import Unreadable, UnsafeFile
from kinen.extract.decode import decode
from kinen.model.journal import Checkpoint
from kinen.storage import inside, regular
from kinen.text import squeezed
from kinen.text.frontmatter import load_yaml
from kinen.worklog.checkpoints import checkpoint_id, items, moment, read_checkpoint, summary_of

LARGEST = 64 << 20
SECTIONS = {
    "decisions": ("decision", "decision"),
    "open_questions": ("learning", "open-question"),
    "deferred_work": ("learning", "deferred-work"),
    "gotchas": ("learning", "gotcha"),
}
"""The type and tag of the entries in each section of memory.yaml."""
KINDS = {
    "decision": "decision",
    "bug-fix": "incident",
    "insight": "learning",
    "observation": "learning",
    "feature": "checkpoint",
    "refactor": "checkpoint",
}
"""The checkpoint type for each type that lines of JSON have."""
_CHECKPOINT_FOLDERS = (".memories", ".goldfish/memories", "checkpoints")
_PLAN_FOLDERS = (
    *(".memories/plans", ".memories/briefs", ".goldfish/plans", ".goldfish/briefs"),
    *("plans", "briefs"),
)
_LAYOUTS = (*_CHECKPOINT_FOLDERS, *_PLAN_FOLDERS)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HEADING = re.compile(r"(?m)^# Checkpoints for (\d{4}-\d{2}-\d{2})")
_ENTRY = re.compile(r"(?m)^## (\d{2}:\d{2}) - ")
_COMMENT = re.compile(r"(?m)^<!--\n((?>(?:(?!-->$|<!--$).*\n)*))-->$")
_FIELD = re.compile(r"(?m)^- \*\*(Tags|Branch|Commit|Files)\*\*: (.+)$")
_COMMENTED = re.compile(r"(?m)^(timestamp|summary):\s*(.+)$")
_WORKSPACE = re.compile(r"[^a-z0-9]+")
_DATED_ENTRY = re.compile(r"(?s)\s*(\d{4}-\d{2}-\d{2})\s*\|\s*(.*)")


def is_goldfish(path: str) -> bool:
    """Whether a file or folder holds anything to import."""
    return any(
        next(older(place), None) is not None or next(plans(place), None) is not None
        for place in workspaces(path)
    )


def workspaces(path: str) -> list[str]:
    """The folders to import of a path: those below Goldfish's own folder, or the path itself."""
    if not os.path.isdir(path) or any(inside.is_folder(path, name) for name in _LAYOUTS):
        return [path]
    below = [name for name in inside.folders(path, ".") if not name.startswith(".")]
    holding = [
        os.path.join(path, name)
        for name in sorted(below)
        if any(inside.is_folder(path, f"{name}/{layout}") for layout in _LAYOUTS)
    ]
    return holding or [path]


def is_of(workspace: str, *roots: str) -> bool:
    """Whether a workspace has the name that Goldfish gives to the project in one of these folders.

    Goldfish keeps letters, digits and dashes of a folder's name.
    """
    name = os.path.basename(workspace)
    return any(
        name in (own, _WORKSPACE.sub("-", own.lower()).strip("-"))
        for own in map(os.path.basename, roots)
    )


def plans(path: str) -> Iterator[tuple[str, bytes]]:
    """The plans and briefs of a workspace: `plans/NAME.md` or `briefs/NAME.md`, and their bytes."""
    if not os.path.isdir(path):
        return
    for folder in _PLAN_FOLDERS:
        if not inside.is_folder(path, folder):
            continue
        for name in sorted(inside.files(path, folder)):
            if name.endswith(".md"):
                kind = folder.rpartition("/")[2]
                yield f"{kind}/{name}", inside.read(path, f"{folder}/{name}", LARGEST, cut=True)


def left_out(path: str) -> list[str]:
    """What a folder has that kinen does not import: settings, with the commands that set them."""
    notes = []
    for name in ("config.json", "config.yaml"):
        if os.path.isdir(path) and inside.is_file(path, name):
            commands = former.commands(inside.read(path, name, LARGEST, cut=True))
            file = os.path.join(path, name)
            hint = f": `{' && '.join(commands)}`" if commands else ": see `kinen config show`"
            notes.append(f"the settings of {file} are not imported{hint}")
    return notes


def older(path: str, warnings: list[str] | None = None) -> Iterator[Checkpoint]:
    """The checkpoints of a project, of one of Goldfish's folders, or of a file, oldest day first.

    What cannot be read is added to `warnings`.
    """
    remarks = warnings if warnings is not None else []
    is_file = os.path.isfile(path)
    for file in [path] if is_file else _files(path):
        try:
            if is_file:
                data = regular.read(file, LARGEST, cut=True)
            else:
                data = inside.read(path, os.path.relpath(file, path), LARGEST, cut=True)
            yield from _reader(file)(data, file, remarks)
        except UnsafeFile as error:
            remarks.append(error.message)
        except Unreadable as error:
            remarks.append(f"{file}: {error.message}")
        except OSError as error:
            remarks.append(f"{file}: {error.strerror}")


def _files(path: str) -> Iterator[str]:
    """The files in a folder that may be checkpoints; no link out of the folder is followed."""
    layouts = [name for name in _CHECKPOINT_FOLDERS if inside.is_folder(path, name)]
    for folder in layouts or ["."]:
        try:
            names = [*inside.files(path, folder), *inside.folders(path, folder)]
            days = {name for name in inside.folders(path, folder) if _DATE.fullmatch(name)}
        except OSError:
            continue
        for name in sorted(names):
            below = os.path.normpath(os.path.join(path, folder, name))
            if name in days:
                inner = inside.files(path, f"{folder}/{name}")
                yield from (
                    os.path.join(below, file) for file in inner if _is_candidate(file, dated=True)
                )
            elif _is_candidate(name):
                yield below


def _is_candidate(name: str, *, dated: bool = False) -> bool:
    stem, suffix = os.path.splitext(name)
    dated = dated or bool(_DATE.fullmatch(stem))
    return suffix in (".json", ".jsonl") or name == "memory.yaml" or bool(suffix == ".md" and dated)


def _reader(file: str) -> Callable[[bytes, str, list[str]], Iterator[Checkpoint]]:
    name = os.path.basename(file)
    if name.endswith(".jsonl"):
        return _json_lines
    if name.endswith((".yaml", ".yml")):
        return _yaml_sections
    return _markdown_day if _DATE.fullmatch(name.removesuffix(".md")) else _checkpoint


def _checkpoint(data: bytes, file: str, _remarks: list[str]) -> Iterator[Checkpoint]:
    checkpoint = read_checkpoint(data, file)
    if not checkpoint.text:
        raise Unreadable("no text in it")
    yield checkpoint


def _new_checkpoint(at: str, text: str, **fields: Any) -> Checkpoint:
    fields["summary"] = fields.get("summary") or summary_of(text)
    # The fields that are taken out of a text leave blank lines; its id is that of the whole text.
    return Checkpoint(checkpoint_id(at, text), at, squeezed(text), **fields)


def _markdown_day(data: bytes, file: str, remarks: list[str]) -> Iterator[Checkpoint]:
    """`## 14:30 - what was done`, then a comment and a list of fields."""
    text = decode(data).replace("\r\n", "\n")
    day = _HEADING.search(text)
    if day is None:  # somebody's diary
        raise Unreadable("no checkpoints of Goldfish")
    _, *parts = _ENTRY.split(text)
    for clock, entry in zip(parts[::2], parts[1::2], strict=True):
        comment = dict(_COMMENTED.findall("".join(_COMMENT.findall(entry))))
        listed = _COMMENT.sub("", entry)
        fields = dict(_FIELD.findall(listed))
        body = _FIELD.sub("", listed).strip()
        at = moment(comment.get("timestamp") or f"{day[1]}T{clock}:00.000Z")
        if not at or not body:
            remarks.append(f"{file}: {clock}: {'no text' if at else 'invalid time'}")
            continue
        yield _new_checkpoint(
            at,
            body,
            summary=comment.get("summary", ""),
            tags=items(fields.get("Tags"), split=True),
            branch=fields.get("Branch", ""),
            commit=fields.get("Commit", ""),
            files=items(fields.get("Files"), split=True),
        )


def _json_lines(data: bytes, file: str, remarks: list[str]) -> Iterator[Checkpoint]:
    """One memory on a line; its type becomes a tag too."""
    for number, line in enumerate(decode(data).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or row.get("type") not in KINDS:
            remarks.append(f"{file}:{number}: not a memory of Goldfish")
            continue
        at = moment(row.get("timestamp"))
        text = str(row.get("content") or "").strip()
        if not at or not text:
            remarks.append(f"{file}:{number}: {'no text' if at else 'invalid time'}")
            continue
        tags = dict.fromkeys((*items(row.get("tags"), split=True), str(row["type"])))
        yield _new_checkpoint(at, text, type=KINDS[row["type"]], tags=tuple(tags))


def _yaml_sections(data: bytes, _file: str, _remarks: list[str]) -> Iterator[Checkpoint]:
    """`date | text` under four headings; an entry without a date has that of the entry before."""
    try:
        values = load_yaml(decode(data))
    except Unreadable:
        raise
    except Exception as error:  # PyYAML's constructors raise all kinds of errors
        raise Unreadable(f"invalid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        return
    day = "1970-01-01"
    for section, (type_, tag) in SECTIONS.items():
        for entry in values.get(section) or ():
            text = str(entry)
            if isinstance(entry, dict):  # text with a colon that was not quoted
                text = ", ".join(f"{key}: {value}" for key, value in entry.items())
            dated = _DATED_ENTRY.fullmatch(text)
            if dated:
                text = dated[2]
                day = dated[1] if moment(dated[1]) else day
            if text.strip():
                at = f"{day}T00:00:00.000Z"
                yield _new_checkpoint(at, text.strip(), type=type_, tags=(tag,))
