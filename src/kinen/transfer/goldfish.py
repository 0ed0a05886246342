"""What Goldfish left behind, in the layouts of all its versions, as checkpoints to take over.

A day in one markdown file, a day in one file of JSON lines, a checkpoint in a file of JSON, and
`.memories/` with its `memory.yaml`. What has no id gets the one that its time and text give, so
that taking it over twice adds nothing.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from kinen.errors import Unreadable, UnsafeFile
from kinen.extract.decode import decode
from kinen.markdown.frontmatter import load_yaml
from kinen.model.journal import Checkpoint
from kinen.storage import inside, regular
from kinen.worklog.checkpoints import checkpoint_id, items, moment, read_checkpoint, summary_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGEST = 64 << 20
SECTIONS = {
    "decisions": ("decision", "decision"),
    "open_questions": ("learning", "open-question"),
    "deferred_work": ("learning", "deferred-work"),
    "gotchas": ("learning", "gotcha"),
}
"""The type and tag of what stands in each section of memory.yaml."""
KINDS = {
    "decision": "decision",
    "bug-fix": "incident",
    "insight": "learning",
    "observation": "learning",
    "feature": "checkpoint",
    "refactor": "checkpoint",
}
"""The types that lines of JSON had, and those that they have become."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HEADING = re.compile(r"^# Checkpoints for (\d{4}-\d{2}-\d{2})", re.MULTILINE)
_ENTRY = re.compile(r"^## (\d{2}:\d{2}) - ", re.MULTILINE)
_COMMENT = re.compile(r"^<!--\n((?:(?!-->$|<!--$).*\n)*+)-->$", re.MULTILINE)
_FIELD = re.compile(r"^- \*\*(Tags|Branch|Commit|Files)\*\*: (.+)$", re.MULTILINE)
_NOTED = re.compile(r"^(timestamp|summary):\s*(.+)$", re.MULTILINE)
_DATED = re.compile(r"\s*(\d{4}-\d{2}-\d{2})\s*\|\s*(.*)", re.DOTALL)


def is_goldfish(path: str) -> bool:
    """Whether a file or folder holds anything to take over."""
    return next(older(path), None) is not None


def older(path: str, warnings: list[str] | None = None) -> Iterator[Checkpoint]:
    """The checkpoints of a project, of one of Goldfish's folders, or of a file, oldest day first.

    What cannot be read is told in `warnings`.
    """
    told = warnings if warnings is not None else []
    named = os.path.isfile(path)
    for file in [path] if named else _files(path):
        try:
            if named:
                data = regular.read(file, LARGEST, cut=True)
            else:
                data = inside.read(path, os.path.relpath(file, path), LARGEST, cut=True)
            yield from _reader(file)(data, file, told)
        except UnsafeFile as error:
            told.append(error.message)
        except Unreadable as error:
            told.append(f"{file}: {error.message}")
        except OSError as error:
            told.append(f"{file}: {error.strerror}")


def _files(path: str) -> Iterator[str]:
    """The files in a folder that may be checkpoints; nothing is followed out of the folder."""
    known = (".memories", ".goldfish/memories", "checkpoints")
    for folder in [name for name in known if inside.is_folder(path, name)] or ["."]:
        try:
            names = [*inside.files(path, folder), *inside.folders(path, folder)]
            days = {name for name in inside.folders(path, folder) if _DATE.fullmatch(name)}
        except OSError:
            continue
        for name in sorted(names):
            below = os.path.normpath(os.path.join(path, folder, name))
            if name in days:
                inner = inside.files(path, f"{folder}/{name}")
                yield from (os.path.join(below, file) for file in inner if _ours(file, dated=True))
            elif _ours(name):
                yield below


def _ours(name: str, *, dated: bool = False) -> bool:
    stem, suffix = os.path.splitext(name)
    dated = dated or bool(_DATE.fullmatch(stem))
    return suffix in (".json", ".jsonl") or name == "memory.yaml" or bool(suffix == ".md" and dated)


def _reader(file: str) -> Callable[[bytes, str, list[str]], Iterator[Checkpoint]]:
    name = os.path.basename(file)
    if name.endswith(".jsonl"):
        return _lines
    if name.endswith((".yaml", ".yml")):
        return _sections
    return _day if _DATE.fullmatch(name.removesuffix(".md")) else _single


def _single(data: bytes, file: str, _told: list[str]) -> Iterator[Checkpoint]:
    found = read_checkpoint(data, file)
    if not found.text:
        raise Unreadable("no text in it")
    yield found


def _made(at: str, text: str, **fields: Any) -> Checkpoint:
    fields["summary"] = fields.get("summary") or summary_of(text)
    return Checkpoint(checkpoint_id(at, text), at, text, **fields)


def _day(data: bytes, file: str, told: list[str]) -> Iterator[Checkpoint]:
    """`## 14:30 - what was done`, then a comment and a list of what else is known of it."""
    text = decode(data).replace("\r\n", "\n")
    day = _HEADING.search(text)
    if day is None:  # somebody's diary
        raise Unreadable("no checkpoints of Goldfish")
    _, *parts = _ENTRY.split(text)
    for clock, said in zip(parts[::2], parts[1::2], strict=True):
        noted = dict(_NOTED.findall("".join(_COMMENT.findall(said))))
        fields = dict(_FIELD.findall(_COMMENT.sub("", said)))
        body = _FIELD.sub("", _COMMENT.sub("", said)).strip()
        at = moment(noted.get("timestamp") or f"{day[1]}T{clock}:00.000Z")
        if not at or not body:
            told.append(f"{file}: {clock}: {'no text' if at else 'no such time'}")
            continue
        yield _made(
            at,
            body,
            summary=noted.get("summary", ""),
            tags=items(fields.get("Tags"), split=True),
            branch=fields.get("Branch", ""),
            commit=fields.get("Commit", ""),
            files=items(fields.get("Files"), split=True),
        )


def _lines(data: bytes, file: str, told: list[str]) -> Iterator[Checkpoint]:
    """One memory on a line; its type is kept as a tag too."""
    for n, line in enumerate(decode(data).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or row.get("type") not in KINDS:
            told.append(f"{file}:{n}: no memory of Goldfish")
            continue
        at, text = moment(row.get("timestamp")), str(row.get("content") or "").strip()
        if not at or not text:
            told.append(f"{file}:{n}: {'no text' if at else 'no such time'}")
            continue
        tags = dict.fromkeys((*items(row.get("tags"), split=True), str(row["type"])))
        yield _made(at, text, type=KINDS[row["type"]], tags=tuple(tags))


def _sections(data: bytes, _file: str, _told: list[str]) -> Iterator[Checkpoint]:
    """`date | text` under four headings; what has no date has that of the one before."""
    try:
        values = load_yaml(decode(data))
    except Unreadable:
        raise
    except Exception as error:  # PyYAML's constructors raise whatever they meet
        raise Unreadable(f"no YAML: {' '.join(str(error).split())}") from None
    day = "1970-01-01"
    for section, (type_, tag) in SECTIONS.items():
        for item in (values.get(section) or ()) if isinstance(values, dict) else ():
            if isinstance(item, dict):  # text with a colon that was not quoted
                item = ", ".join(f"{key}: {value}" for key, value in item.items())  # noqa: PLW2901
            dated = _DATED.fullmatch(str(item))
            if dated and moment(dated[1]):
                day = dated[1]
            text = (dated[2] if dated else str(item)).strip()
            if text:
                yield _made(f"{day}T00:00:00.000Z", text, type=type_, tags=(tag,))
