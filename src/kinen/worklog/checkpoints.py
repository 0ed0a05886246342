"""Checkpoints and plans as the files of `.memories/` have them, read and written.

Read as people and older versions really left them; written to the byte as Goldfish 7 does.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING, Any

from kinen.characters import storable
from kinen.errors import Unreadable
from kinen.extract import decode
from kinen.markdown.frontmatter import Frontmatter, read_frontmatter
from kinen.model.journal import Checkpoint, Plan
from kinen.text import digest, iso
from kinen.worklog.yamltext import dump

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPES = ("checkpoint", "decision", "incident", "learning")
STATUSES = ("active", "completed", "archived")
LISTS = ("tags", "alternatives", "evidence", "symbols", "unknowns")
TEXTS = ("context", "decision", "impact", "next")
SUMMARY = 150
"""Text is summed up from this length on, in so many characters at most."""
_LAST = 253_402_300_799
_RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")
"""What JavaScript's YAML lets stand and Python's refuses."""
_PLAN = ("id", "title", "status", "created", "updated", "tags")
_KEY = re.compile(r"[\"']?([\w.-]+)[\"']?\s*:(?:\s|\Z)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)


def read_checkpoint(data: bytes, name: str) -> Checkpoint:
    """A checkpoint from a file of this name; raises Unreadable where it is none."""
    values, text = _json(data) if name.lower().endswith(".json") else _markdown(data)
    id_, git = _text(values.get("id")).strip(), values.get("git")
    if not id_:
        raise Unreadable("no id")
    at = moment(values.get("timestamp"))
    if not at:
        said = _text(values.get("timestamp"))
        raise Unreadable(f"no such time: {said}" if said else "no timestamp")
    git = git if isinstance(git, dict) else {}
    listed = ("files", "files_changed", "filesChanged")
    files: Any = next((git[key] for key in listed if git.get(key) is not None), ())
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
        type=type_ if type_ in TYPES else "",
        confidence=confidence(values.get("confidence")),
        **fields,
    )


def _markdown(data: bytes) -> tuple[dict[str, Any], str]:
    front, body = split_front(decode(data))
    if not front.end:
        raise Unreadable("no frontmatter")
    return front.values, storable(body.strip())


def _json(data: bytes) -> tuple[dict[str, Any], str]:
    try:
        values = json.loads(decode(data))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"no JSON: {error}") from None
    if not isinstance(values, dict):
        raise Unreadable("no checkpoint: the JSON is no object")
    return values, _text(values.get("description")).replace("\r\n", "\n").strip()


def split_front(text: str) -> tuple[Frontmatter, str]:
    """The frontmatter of a file, and what follows it; raises Unreadable where it is broken."""
    lines = text.replace("\r\n", "\n").split("\n")
    front = read_frontmatter(lines)
    if front.problem:
        lines[: front.end] = [_RAW.sub("", line) for line in lines[: front.end]]
        front = read_frontmatter(lines)
    if front.problem:
        raise Unreadable(front.problem)
    return front, "\n".join(lines[front.end :])


def _text(value: Any) -> str:
    """A scalar as JavaScript spells it; nothing for what is none."""
    if value is None or isinstance(value, (dict, list)):
        return ""
    return str(value).lower() if isinstance(value, bool) else storable(str(value))


def items(value: Any, *, split: bool = False) -> tuple[str, ...]:
    """A list however it was stored: as one, as JSON in a string, or in one line with commas."""
    if isinstance(value, str):
        try:
            parsed = json.loads(value) if value.lstrip().startswith("[") else None
        except (ValueError, RecursionError):
            parsed = None
        value = parsed if isinstance(parsed, list) else value.split(",") if split else [value]
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(text for text in (_text(one).strip() for one in value) if text)


def confidence(value: Any) -> int:
    """1 to 5, said as a number or in words that begin with one; else 0."""
    number = re.match(r"\s*\d+(?:\.\d+)?", str(value))
    rounded = int(float(number[0][:20]) + 0.5) if number else 0
    return rounded if 1 <= rounded <= 5 and not isinstance(value, bool) else 0


def moment(value: Any) -> str:
    """A time as kinen writes it: from ISO 8601, seconds or milliseconds; else nothing."""
    from datetime import UTC, datetime

    if isinstance(value, bool) or value is None:
        return ""
    said = str(value).strip()
    try:
        if re.fullmatch(r"\d{1,20}(\.\d+)?", said):
            seconds = float(said) / (1000 if float(said) > 1e10 else 1)
        else:
            when = datetime.fromisoformat(said)
            seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return ""
    return iso(seconds) if 0 <= seconds < _LAST else ""


def checkpoint_id(at: str, text: str) -> str:
    """What a checkpoint is called, by when and what it was."""
    return f"checkpoint_{digest(f'{at}:{text}')[:8]}"


def summary_of(text: str) -> str:
    """The first sentence or line of a long text, without the signs of a heading."""
    if _length(text) < SUMMARY:
        return ""
    first = re.split(r"\.(?:\s|\Z)|\n", text, maxsplit=1)[0].strip()
    first = re.sub(r"^#+\s*", "", first)
    if _length(first) <= SUMMARY:
        return first
    return first.encode("utf-16-le")[: 2 * (SUMMARY - 3)].decode("utf-16-le", "ignore") + "..."


def _length(text: str) -> int:
    """The length as JavaScript counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def file_name(checkpoint: Checkpoint, n: int = 0) -> str:
    """Its path below `.memories/`; `n` tells apart what would be called the same."""
    short = checkpoint.id.removeprefix("checkpoint_")[:4]
    if not (short.isascii() and short.isalnum()):
        short = digest(checkpoint.id)[:4]
    day, clock = checkpoint.at[:10], checkpoint.at[11:19].replace(":", "")
    return f"{day}/{clock}_{short}{f'_{n}' if n else ''}.md"


def written(checkpoint: Checkpoint) -> str:
    """The file that Goldfish 7 would write."""
    git = {key: getattr(checkpoint, key) for key in ("branch", "commit", "files")}
    values: dict[str, Any] = {
        "id": checkpoint.id,
        "timestamp": checkpoint.at,
        "tags": checkpoint.tags,
        "git": {key: value for key, value in git.items() if value},
        "summary": checkpoint.summary,
        "briefId": checkpoint.plan,
    }
    fields = ("type", "context", "decision", "alternatives", "impact", "evidence", "symbols")
    for key in (*fields, "next", "confidence", "unknowns"):
        values[key] = getattr(checkpoint, key)
    return _filed({key: value for key, value in values.items() if value}, checkpoint.text)


def _filed(values: Mapping[str, Any], text: str) -> str:
    return f"---\n{dump(values).strip()}\n---\n\n{text}\n"


def read_plan(data: bytes, path: str) -> Plan:
    """A plan or brief; what it does not say of itself, its file's name and heading tell."""
    front, body = split_front(decode(data))
    values, name = front.values, path.rpartition("/")[2].removesuffix(".md")
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


def written_plan(plan: Plan, before: str = "") -> str:
    """The file that Goldfish 7 would write; of the one before, only what changed is new."""
    own = {key: getattr(plan, key) for key in _PLAN}
    if not before.strip():
        return _filed(own, plan.text)
    front, _ = split_front(before)
    old = read_plan(before.encode("utf-8", "replace"), plan.path)
    changed = {key: value for key, value in own.items() if value != getattr(old, key)}
    more = {key: value for key, value in front.values.items() if key not in own}
    kept = {**{key: getattr(old, key) for key in own if key in front.values}, **more}
    plainly = {key: f"{json.dumps(key)}: {json.dumps(value)}" for key, value in kept.items()}
    made = ""
    for parts in (_entries(before), plainly):  # the second where the lines are no simple ones
        parts.update({key: dump({key: value}) for key, value in changed.items()})
        made = "\n".join(["---", *parts.values(), "---", "", plan.text, ""])
        with contextlib.suppress(Unreadable):
            values = split_front(made)[0].values
            again = read_plan(made.encode("utf-8", "replace"), plan.path)
            if again == plan._replace(current=False) and more.items() <= values.items():
                break
    return made


def _entries(text: str) -> dict[str, str]:
    """The lines of a frontmatter by the key that they begin with; comments stand for themselves."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    found: dict[str, str] = {}
    name = ""
    for n, line in enumerate(lines[1 : read_frontmatter(lines).end - 1]):
        key = _KEY.match(line)
        name = key[1] if key else f"#{n}" if line.startswith("#") else name
        found[name] = f"{found[name]}\n{line}" if name in found else line
    return found
