"""What somebody wrote down: `save`, also `checkpoint`, and plans for agents."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from kinen.errors import NotFound, QueryError
from kinen.model.kinds import CHECKPOINT_TYPES, LESSONS
from kinen.privacy.injected import without_injected
from kinen.render.journal import (
    checkpoint_json,
    checkpoint_text,
    checkpoints_text,
    learned_text,
    plan_json,
)
from kinen.text import estimate
from kinen.verbs.params import SINCE, TAG, UNTIL, limit, option, param, tags, words
from kinen.verbs.verb import Output, listing, moment, verb

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.model.journal import Plan

EMPTY = "nothing saved yet: `kinen save 'what was done and why'` saves a memory"
REMARK = "what was done and why; an empty text saves nothing"
HINT = "pass it: kinen save 'what was done and why', or pipe it: ... | kinen save -"
NAME = param("", "a saved memory", metavar="[ID]", path=True)
ACTIONS = ("save", "get", "list", "activate", "check", "update", "complete", "archive")
RARE = {"rare": True, "unlisted": True}
TEXTS = {"many": True, "separator": "", **RARE}
DETAILS = {
    "type": param(
        "--type -t",
        "type (default: checkpoint)",
        choices=tuple(dict.fromkeys((*CHECKPOINT_TYPES, *LESSONS))),
        metavar="[decision|lesson|incident|checkpoint]",
    ),
    "tags": tags("tag"),
    "context": option("--context", "TEXT", "what led to it", **RARE),
    "decision": option("--decision", "TEXT", "what was decided", unlisted=True),
    "alternatives": option("--alternative", "TEXT", "alternative that was considered", **TEXTS),
    "impact": option("--impact", "TEXT", "what it changes", **RARE),
    "evidence": option("--evidence", "TEXT", "evidence: a test, a figure, a commit", **TEXTS),
    "symbols": option("--symbol", "NAME", "function or class it concerns", **TEXTS),
    "next": option("--next", "TEXT", "next step", guide="next step"),
    "confidence": param(
        "--confidence",
        "confidence: 1 is a guess, 5 is certain",
        None,
        type=int,
        least=1,
        most=5,
        **RARE,
    ),
    "unknowns": option("--unknown", "TEXT", "open question", **TEXTS),
}


@verb(
    params=DETAILS,
    tool="kinen_checkpoint",
    title="Save finished work",
    guide="Save work that was finished, and why. Branch, commit and changed files are added.",
    tool_fields=(
        *("ref", "id", "at", "tags", "branch", "commit", "files", "summary"),
        "plan",
        "type",
    ),
    writes=True,
    idempotent=False,
)
def save(
    memory: Memory,
    description: str = words(
        "what was done and why", metavar="[TEXT|-]", editor=(REMARK, HINT), guide="markdown"
    ),
    *,
    client: str,
    **details: Any,
) -> Output:
    """Save what was done and why, with the branch, the commit and the changed files.

    It is a memory in a markdown file in .memories/, and can be found at once. Without TEXT, it is
    written in your editor; `-` reads it from standard input.

    \b
    Examples:
      kinen save 'Tokens now rotate; the refresh race is gone' --type lesson --tag auth
      kinen save 'Postgres for sessions' --type decision --decision 'move off Redis' \\
        --alternative 'Redis with AOF' --impact 'one store fewer' --confidence 4
      git log -1 --format=%B | kinen save -
      kinen save --list --since 1w
      kinen save --event 'the build is red again' --kind error
      kinen save --pin 'Never push to main: releases are cut from it'
    """
    # First: a client may have to repeat the call.
    drawn = memory.consolidation.of_client(client) if client else None
    details = {name: value for name, value in details.items() if value}
    saved = memory.worklog.checkpoint(description, **details)
    lines = [*map(learned_text, drawn.learned), *drawn.notes] if drawn else []
    return Output(checkpoint_json(saved), "\n".join([saved.ref, *lines]))


@verb()
def list_saved(
    memory: Memory,
    since: str = SINCE,
    until: str = UNTIL,
    tags: tuple[str, ...] = TAG,
    limit: int = limit(20, "memories"),
) -> Output:
    """List the memories that were saved, newest first. Exit 1 if there are none."""
    saved = memory.worklog.checkpoints(moment(since), moment(until, end=True))
    rows = list(islice((row for row in saved if set(tags) <= set(row.tags)), limit or None))
    return listing(
        {"checkpoints": [checkpoint_json(row) for row in rows]},
        lambda view: checkpoints_text(rows, view.screen),
        rows,
        "no saved memory matches" if since or until or tags else EMPTY,
    )


@verb()
def show_saved(memory: Memory, name: str = NAME) -> Output:
    """Show a saved memory (default: the newest). The beginning of its id is enough."""
    saved = memory.worklog.saved_checkpoint(name)
    return Output(checkpoint_json(saved), lambda view: checkpoint_text(saved, view.style))


PARTS = {"list": list_saved, "show": show_saved, "edit": "kinen.cli.editor:edit_saved"}
checkpoint = type("Checkpoint", (save,), {"parts": PARTS, "__doc__": save.__doc__, "tool": ""})
"""`save` with its parts as words, which its text cannot begin with."""


@verb(
    tool="kinen_plan",
    title="Save, read and update plans",
    guide="Keep the plan of a task of several steps; every recall shows it.",
    writes=True,
    idempotent=False,
)
def change_plan(
    memory: Memory,
    action: str = param("", "what to do", None, required=True, choices=ACTIONS),
    id_: str = param("--id", "a plan", unlisted=True),
    title: str = param("--title", "its title"),
    content: str = param("--content", "its text", guide="markdown, - [ ] steps", longest=200_000),
    tags: tuple[str, ...] = tags("tag", unlisted=True),
    status: str = param(
        "--status", "new status", choices=("active", "completed", "archived"), unlisted=True
    ),
    activate: bool = param("--activate", "make it the active plan", True, unlisted=True),
    step: int = param("--step", "a step", 0, guide="negative: uncheck"),
) -> Output:
    """Save, read, list, activate, check, update, complete or archive a plan."""
    worklog = memory.worklog
    if action == "list":
        plans = worklog.plans()
        lines = [f"{'*' if plan.current else '-'} {plan.id} {plan.title}" for plan in plans]
        rows = [_plan_json(plan, whole=False) for plan in plans]
        return Output({"plans": rows}, "\n".join(lines) or "no plans")
    content = without_injected(content)
    if action == "save":
        plan: Plan | None = worklog.save_plan(title, content, id=id_, tags=tags, activate=activate)
    else:
        plan = worklog.plan(id_)
    if plan is None:
        if action == "get":
            return Output({"plans": []}, "no plan is active: save one, or list them")
        raise NotFound("no plan is active", "give an id; the action list shows them")
    if action == "check":
        plan = worklog.check_plan(abs(step), plan.id, done=step > 0)
    elif action == "activate":
        plan = worklog.activate_plan(plan.id)
    elif action not in ("save", "get"):
        status = {"complete": "completed", "archive": "archived"}.get(action, status)
        fields = {"title": title, "text": content, "tags": tags, "status": status}
        changes: dict[str, Any] = {name: value for name, value in fields.items() if value}
        if not changes:
            raise QueryError("nothing to update", "give title, content, tags or status")
        plan = worklog.update_plan(plan.id, **changes)
    row = _plan_json(plan, whole=action == "get")
    return Output({"plans": [row]}, f"{plan.ref} {plan.status}\n{row['text']}".strip())


def _plan_json(plan: Plan, *, whole: bool) -> dict[str, Any]:
    """A plan with its text, or only with what that would cost."""
    text = plan.text if whole else ""
    return {**plan_json(plan), "text": text, "path": "", "tokens": estimate(plan.text)}
