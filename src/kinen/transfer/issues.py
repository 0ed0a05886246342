"""Exports of other issue trackers as lines in the form of beads.

`gh issue list --json …` and `glab issue list --output json` print an array, other tools one object
a line. A file of beads is taken as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kinen.errors import StoreError
from kinen.privacy.entrance import masked_values

MOST_BYTES = 200 << 20
"""The largest export that is read."""
_FORMS = (
    ("title", ("title", "summary")),
    ("description", ("body", "description")),
    ("created_at", ("createdAt", "created_at", "created")),
    ("updated_at", ("updatedAt", "updated_at", "updated")),
    ("closed_at", ("closedAt", "closed_at")),
    ("url", ("url", "web_url", "html_url")),
    ("issue_type", ("issue_type", "issueType")),
)
_CLOSED = ("closed", "done", "resolved", "merged")


def lines(data: bytes, name: str) -> Iterator[str]:
    """Each issue of an export as a line of JSON, secrets masked.

    Raises StoreError where it is no export of issues.
    """
    for number, fields in enumerate(_objects(data, name), 1):
        if not isinstance(fields, dict):
            raise StoreError(f"{name}: entry {number} is not a JSON object", _HINT)
        safe, _ = masked_values(_converted(fields, name, number))
        yield json.dumps(safe, ensure_ascii=False, sort_keys=True)


_HINT = "`kinen help issues import` shows how to export issues of GitHub"


def _objects(data: bytes, name: str) -> Iterable[Any]:
    text = data.decode("utf-8-sig", "replace")
    try:
        whole = json.loads(text)
        return whole if isinstance(whole, list) else [whole]
    except (ValueError, RecursionError):
        pass
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError):
            raise StoreError(f"{name}: line {number} is not JSON", _HINT) from None
    return rows


def _converted(fields: Mapping[str, Any], name: str, number: int) -> dict[str, Any]:
    if isinstance(fields.get("id"), str) and "number" not in fields and "key" not in fields:
        return dict(fields)
    id_ = fields.get("number") or fields.get("iid") or fields.get("key")
    if not isinstance(id_, int | str) or not id_:
        raise StoreError(f"{name}: entry {number} has no number", _HINT)
    converted: dict[str, Any] = {
        "id": str(id_),
        "status": _status(fields),
        "source_system": "export",
    }
    for key, names in _FORMS:
        value = next((fields[form] for form in names if fields.get(form)), "")
        if isinstance(value, str) and value:
            converted[key] = value
    converted["labels"] = list(_names(fields.get("labels")))
    people = [*_names(fields.get("assignees")), *_names([fields.get("assignee")])]
    if people:
        converted["assignee"] = ", ".join(dict.fromkeys(people))
    converted["comments"] = [
        {
            "author": next(_names([comment.get("author")]), ""),
            "text": str(comment.get("body") or ""),
        }
        for comment in _rows(fields.get("comments"))
        if isinstance(comment, dict)
    ]
    return converted


def _status(fields: Mapping[str, Any]) -> str:
    state = fields.get("state") or fields.get("status") or "open"
    word = str(state.get("name") if isinstance(state, dict) else state).lower().replace(" ", "_")
    if word in _CLOSED:
        return "closed"
    return "open" if word in ("open", "opened", "todo", "to_do", "new") else word


def _names(rows: object) -> Iterator[str]:
    """The names of labels or people, which are texts or objects."""
    for row in _rows(rows):
        if isinstance(row, str) and row:
            yield row
        elif isinstance(row, dict):
            name = row.get("name") or row.get("login") or row.get("username")
            if isinstance(name, str) and name:
                yield name


def _rows(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
