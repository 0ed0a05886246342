"""Reads and writes the files of `.memories/`: checkpoints and plans.

Reading accepts what people and older versions of Goldfish left there. Files are written in the
layout of Goldfish 7, which reads them.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from typing import Any

from kinen.characters import storable
from kinen.errors import Unreadable
from kinen.extract.decode import decode
from kinen.journal.schema import LATEST
from kinen.model.journal import Checkpoint, Plan
from kinen.model.kinds import CHECKPOINT_TYPES
from kinen.text import digest, iso
from kinen.text.frontmatter import Frontmatter, dump_yaml, read_frontmatter

STATUSES = ("active", "completed", "archived")
LISTS = ("tags", "alternatives", "evidence", "symbols", "unknowns")
TEXTS = ("context", "decision", "impact", "next")
SUMMARY = 150
"""A text of at least this length gets a summary of at most this length, in UTF-16 units."""
_YEAR_10000 = LATEST // 1000 - 1
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")
"""Characters that JavaScript's YAML library writes and Python's refuses."""
_CHANGED_FILES = ("files", "files_changed", "filesChanged")
"""The names that Goldfish has had for the list of changed files."""
_PLAN_KEYS = ("id", "title", "status", "created", "updated", "tags")
_KEY = re.compile(r"[\"']?([\w.-]+)[\"']?\s*:(?:\s|\Z)")
_HEADING = re.compile(r"(?m)^#{1,6}\s+(.+?)\s*#*$")


def read_checkpoint(data: bytes, name: str) -> Checkpoint:
    """The checkpoint in a file of this name; raises Unreadable if there is none."""
    values, text = _read_json(data) if name.lower().endswith(".json") else _read_markdown(data)
    id_ = _text(values.get("id")).strip()
    if not id_:
        raise Unreadable("no id")
    at = moment(values.get("timestamp"))
    if not at:
        stamp = _text(values.get("timestamp"))
        raise Unreadable(f"invalid timestamp: {stamp}" if stamp else "no timestamp")
    git = values.get("git")
    if not isinstance(git, dict):
        git = {}
    files = next((git[key] for key in _CHANGED_FILES if git.get(key) is not None), ())
    type_ = _text(values.get("type")).strip().lower()
    fields: dict[str, Any] = {key: _text(values.get(key)) for key in TEXTS}
    for key in LISTS:
        fields[key] = items(values.get(key), split=key in ("tags", "symbols"))
    return Checkpoint(
        id=id_,
        at=at,
        text=text,
        branch=_text(git.get("branch")),
        commit=_text(git.get("commit")),
        files=items(files),
        summary=_text(values.get("summary")),
        plan=_text(values.get("briefId")) or _text(values.get("planId")),
        type=type_ if type_ in CHECKPOINT_TYPES else "",
        confidence=confidence(values.get("confidence")),
        **fields,
    )


def _read_markdown(data: bytes) -> tuple[dict[str, Any], str]:
    front, body = split_front(decode(data))
    if not front.end:
        raise Unreadable("no frontmatter")
    return front.values, storable(body.strip())


def _read_json(data: bytes) -> tuple[dict[str, Any], str]:
    try:
        values = json.loads(decode(data))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"invalid JSON: {error}") from None
    if not isinstance(values, dict):
        raise Unreadable("not a checkpoint: the JSON is not an object")
    return values, _text(values.get("description")).replace("\r\n", "\n").strip()


def split_front(text: str) -> tuple[Frontmatter, str]:
    """The frontmatter of a file and the text after it; raises Unreadable if it is invalid."""
    lines = text.replace("\r\n", "\n").split("\n")
    front = read_frontmatter(lines)
    if front.problem:
        lines[: front.end] = [_CONTROL.sub("", line) for line in lines[: front.end]]
        front = read_frontmatter(lines)
    if front.problem:
        raise Unreadable(front.problem)
    return front, "\n".join(lines[front.end :])


def _text(value: Any) -> str:
    """A scalar as JavaScript prints it; an empty string for a list or mapping."""
    if value is None or isinstance(value, (dict, list)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return storable(str(value))


def items(value: Any, *, split: bool = False) -> tuple[str, ...]:
    """A list of texts from a list, from JSON in a string, or with `split` from `a, b`."""
    if isinstance(value, str):
        text = value
        value = text.split(",") if split else [text]
        if text.lstrip().startswith("["):
            with contextlib.suppress(ValueError, RecursionError):
                parsed = json.loads(text)
                value = parsed if isinstance(parsed, list) else value
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(text for text in (_text(item).strip() for item in value) if text)


def confidence(value: Any) -> int:
    """1 to 5, from a number or a text that begins with one, such as `4/5`; else 0."""
    number = re.match(r"\s*\d+(?:\.\d+)?", str(value))
    rounded = int(float(number[0][:20]) + 0.5) if number else 0
    return rounded if 1 <= rounded <= 5 and not isinstance(value, bool) else 0


def moment(value: Any) -> str:
    """A time as kinen writes it, from ISO 8601, epoch seconds or milliseconds; else empty."""
    from datetime import UTC, datetime

    if isinstance(value, bool) or value is None:
        return ""
    text = str(value).strip()
    try:
        if re.fullmatch(r"\d{1,20}(\.\d+)?", text):
            seconds = float(text) / (1000 if float(text) > 1e10 else 1)
        else:
            when = datetime.fromisoformat(text)
            seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return ""
    return iso(seconds) if 0 <= seconds < _YEAR_10000 else ""


def checkpoint_id(at: str, text: str) -> str:
    """The id of a checkpoint: the same time and text give the same id, as in Goldfish."""
    return f"checkpoint_{digest(f'{at}:{text}')[:8]}"


def summary_of(text: str) -> str:
    """The first sentence or line of a long text, without the marks of a heading."""
    if _utf16_length(text) < SUMMARY:
        return ""
    first = re.split(r"\.(?:\s|\Z)|\n", text, maxsplit=1)[0].strip()
    first = re.sub(r"^#+\s*", "", first)
    if _utf16_length(first) <= SUMMARY:
        return first
    return first.encode("utf-16-le")[: 2 * (SUMMARY - 3)].decode("utf-16-le", "ignore") + "..."


def _utf16_length(text: str) -> int:
    """The length as JavaScript counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def file_name(checkpoint: Checkpoint, n: int = 0) -> str:
    """The path of its file below `.memories/`; a number `n` avoids a name that is in use."""
    short = checkpoint.id.removeprefix("checkpoint_")[:4]
    if not (short.isascii() and short.isalnum()):
        short = digest(checkpoint.id)[:4]
    day = checkpoint.at[:10]
    clock = checkpoint.at[11:19].replace(":", "")
    suffix = f"_{n}" if n else ""
    return f"{day}/{clock}_{short}{suffix}.md"


def format_checkpoint(checkpoint: Checkpoint) -> str:
    """The text of a checkpoint's file: its keys are those of Goldfish 7, in its order."""
    git = {key: getattr(checkpoint, key) for key in ("branch", "commit", "files")}
    values: dict[str, Any] = {
        "id": checkpoint.id,
        "timestamp": checkpoint.at,
        "tags": checkpoint.tags,
        "git": {key: value for key, value in git.items() if value},
        "summary": checkpoint.summary,
        "briefId": checkpoint.plan,
        "type": checkpoint.type,
        "context": checkpoint.context,
        "decision": checkpoint.decision,
        "alternatives": checkpoint.alternatives,
        "impact": checkpoint.impact,
        "evidence": checkpoint.evidence,
        "symbols": checkpoint.symbols,
        "next": checkpoint.next,
        "confidence": checkpoint.confidence,
        "unknowns": checkpoint.unknowns,
    }
    return _with_front({key: value for key, value in values.items() if value}, checkpoint.text)


def _with_front(values: Mapping[str, Any], text: str) -> str:
    return f"---\n{dump_yaml(values)}---\n\n{text}\n"


def read_plan(data: bytes, path: str) -> Plan:
    """A plan or brief; id and title come from the file name and heading if it has none."""
    front, body = split_front(decode(data))
    values = front.values
    name = path.rpartition("/")[2].removesuffix(".md")
    text = body.removeprefix("\n").removesuffix("\n")
    heading = _HEADING.search(text)
    return Plan(
        id=_text(values.get("id")).strip() or name,
        title=_text(values.get("title")) or (heading[1] if heading else name),
        text=text,
        status=_text(values.get("status")).strip().lower() or "active",
        created=moment(values.get("created")),
        updated=moment(values.get("updated")),
        tags=items(values.get("tags"), split=True),
        path=path,
    )


def format_plan(plan: Plan, before: str = "") -> str:
    """The text of a plan's file; of the file as it was `before`, only changed keys are rewritten.

    Comments and keys of the user stay. Where the frontmatter is not one key on each line, such as
    `{id: x}`, it is written anew.
    """
    values = {key: getattr(plan, key) for key in _PLAN_KEYS}
    if not before.strip():
        return _with_front(values, plan.text)
    front, _ = split_front(before)
    old = read_plan(before.encode("utf-8", "replace"), plan.path)
    changed = {key: value for key, value in values.items() if value != getattr(old, key)}
    others = {key: value for key, value in front.values.items() if key not in values}
    unchanged = {key: getattr(old, key) for key in values if key in front.values}
    entries = _entries(before)
    entries.update({key: dump_yaml({key: value}).rstrip("\n") for key, value in changed.items()})
    text = "\n".join(["---", *entries.values(), "---", "", plan.text, ""])
    if _reads_as(text, plan, others):
        return text
    return _with_front({**unchanged, **others, **changed}, plan.text)


def _reads_as(text: str, plan: Plan, others: Mapping[str, Any]) -> bool:
    """Does a file read as this plan, with these other keys of the user?"""
    try:
        values = split_front(text)[0].values
        again = read_plan(text.encode("utf-8", "replace"), plan.path)
    except Unreadable:
        return False
    return again == plan._replace(current=False) and others.items() <= values.items()


def _entries(text: str) -> dict[str, str]:
    """The lines of a frontmatter by the key they begin with; a comment is an entry of its own."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    entries: dict[str, str] = {}
    name = ""
    for n, line in enumerate(lines[1 : read_frontmatter(lines).end - 1]):
        key = _KEY.match(line)
        if key:
            name = key[1]
        elif line.startswith("#"):
            name = f"#{n}"
        entries[name] = f"{entries[name]}\n{line}" if name in entries else line
    return entries
