"""Issues as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinen.characters import visible, visible_line
from kinen.model.issues import NO_PRIORITY, Issue, relation, state_words
from kinen.render.screen import Screen, distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.index.issues import Mention
    from kinen.memory.issues import Details, Work

MOST_MENTIONS = 15
"""Records that name an issue which `show` lists."""
OLD = 86_400
"""Seconds after which the tracker's file may be behind the tracker."""


def issue_json(issue: Issue) -> dict[str, Any]:
    """The fields of an issue that are not empty."""
    fields = {**issue._asdict(), "ref": issue.ref}
    fields["dependencies"] = [{"id": other, "type": type_} for other, type_ in issue.dependencies]
    if issue.priority == NO_PRIORITY:
        fields["priority"] = None
    return {key: value for key, value in fields.items() if value not in ("", (), [])}


def issues_text(issues: Sequence[Issue], screen: Screen) -> str:
    """A line for each issue: id, priority, status, type and title."""
    states = not screen.terminal or distinct(issue.status for issue in issues)
    types = not screen.terminal or distinct(issue.type for issue in issues)
    rows = [
        (
            issue.id,
            priority(issue),
            issue.status.replace("_", " ") if states else "",
            issue.type if types else "",
            issue.title,
        )
        for issue in issues
    ]
    return screen.rows(rows, ("path", "", "dim", "dim")) if rows else ""


def priority(issue: Issue) -> str:
    return "" if issue.priority == NO_PRIORITY else f"P{issue.priority}"


def details_json(details: Details) -> dict[str, Any]:
    return {
        **issue_json(details.issue),
        "text": details.text,
        "edges": [edge._asdict() for edge in details.edges],
        "mentions": [
            {
                "ref": mention.record.ref,
                "kind": mention.record.kind,
                "title": mention.record.title,
                "at": mention.record.at,
                "type": mention.type,
                "count": mention.places,
                "text": mention.text,
            }
            for mention in details.mentions
        ],
    }


def details_text(details: Details, screen: Screen) -> str:
    """An issue as a page: its state, its text, what it depends on, and what names it."""
    issue = details.issue
    head = f"{screen.style('path', issue.id)}  {screen.style('bold', visible_line(issue.title))}"
    lines = [head.rstrip(), screen.style("dim", visible_line(state_words(issue)))]
    facts = [
        f"{word} {screen.at(time)}"
        for word, time in (("created", issue.created), ("closed", issue.closed))
        if time
    ]
    if issue.assignee:
        facts.append(f"assigned to {issue.assignee}")
    if issue.external:
        facts.append(f"also {issue.external}")
    lines += [screen.style("dim", visible_line(" · ".join(facts)))] if facts else []
    if details.text and details.text != issue.title:
        lines += ["", visible(details.text)]
    related = [relation(issue, edge) for edge in details.edges]
    edges = [f"  {word} {visible_line(other.removeprefix('issue:'))}" for word, other in related]
    for title, rows in (
        ("Depends on and blocks", edges),
        ("Named by", [_mention_line(mention, screen) for mention in details.mentions]),
    ):
        if rows:
            visible_rows = rows[:MOST_MENTIONS]
            more = len(rows) - len(visible_rows)
            lines += ["", screen.style("bold", title), *visible_rows]
            lines += [f"  … and {more} more (--json has all)"] if more else []
    return "\n".join(lines)


def work_json(work: Work) -> dict[str, Any]:
    """What `kinen status` says of issues; the ready ones are only counted."""
    return {
        "in_progress": [issue_json(issue) for issue in work.in_progress],
        "ready": len(work.ready),
        "total": work.total,
    }


def work_line(work: Work) -> str:
    """The issue that is worked on, how many more are, and how many can be begun."""
    going = [f"{issue.id} {issue.title}" for issue in work.in_progress[:1]]
    more = len(work.in_progress) - 1
    facts = [*going, f"{more} more in progress" if more > 0 else "", f"{len(work.ready)} ready"]
    return visible_line(" · ".join(filter(None, facts)))


def age_note(seconds: float | None) -> str:
    """A remark on a file of beads that was not written for a day; empty if it is newer."""
    if seconds is None or seconds < OLD:
        return ""
    days = int(seconds // OLD)
    age = "1 day" if days == 1 else f"{days} days"
    return f".beads was exported {age} ago: `kinen issues refresh` asks bd for what is new"


def _mention_line(mention: Mention, screen: Screen) -> str:
    record = mention.record
    kind = "session" if record.kind == "capsule" else record.kind
    ref = record.ref[: len(record.kind) + 9] if screen.terminal else record.ref
    closes = "closes it, " if mention.type == "closes" else ""
    times = f" ×{mention.places}" if mention.places > 1 else ""
    title = visible_line(record.title or mention.text)[:90]
    at = f"{screen.at(record.at)} " if record.at else ""
    return f"  {at}{kind} {screen.style('path', visible_line(ref))}  {closes}{title}{times}"
