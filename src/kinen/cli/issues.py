"""`kinen issues`: issues of the space's tracker, and what names them."""

from __future__ import annotations

import click

from kinen.cli.command import (
    FILE_NAME,
    Output,
    emit,
    group,
    json_option,
    limit_option,
    listing,
    memory_command,
    space_option,
    text_option,
)
from kinen.cli.run import FOUND, screen
from kinen.memory import Memory
from kinen.model.issues import Issue
from kinen.render.issues import age_note, details_json, details_text, issue_json, issues_text
from kinen.render.text import counted

EMPTY = (
    "no issues: kinen reads .beads/issues.jsonl of the repository, and `kinen issues import FILE`"
    " reads an export, such as of `gh issue list --json`"
)


@group(invoke_without_command=True)
@space_option
@json_option
@click.pass_context
def issues(ctx: click.Context, space: str | None, as_json: bool) -> int:
    """List the open issues of the space's tracker, the most urgent first. Exit 1 if none.

    Issues of beads are read from .beads, those of other trackers from an imported export. kinen
    changes neither: `bd`, `gh` and others do.

    \b
    Examples:
      kinen issues ready
      kinen issues show bd-a1b2
      kinen issues list --status closed --label auth
      kinen search --type issues 'login fails'
    """
    if ctx.invoked_subcommand:
        return FOUND
    with Memory.open(space=space) as memory:
        return emit(_listed(memory, _open(memory.issues.all()), 50), as_json)


@issues.command("list")
@text_option(
    "--status",
    "NAME",
    "only this status, such as closed; `all` for every one that is not deleted (tombstone)",
)
@text_option("--label", "NAME", "only issues with this label")
@text_option("--type -t", "NAME", "only this type, such as bug", "type_")
@limit_option(50, "issues")
@memory_command
def list_(memory: Memory, status: str, label: str, type_: str, limit: int) -> Output:
    """List issues, the most urgent first (default: those that are not closed)."""
    every = memory.issues.all(deleted=status == "tombstone")
    chosen = _open(every) if not status else every
    if status and status != "all":
        chosen = [issue for issue in every if issue.status == status.replace("-", "_")]
    chosen = [issue for issue in chosen if not label or label in issue.labels]
    chosen = [issue for issue in chosen if not type_ or issue.type == type_]
    return _listed(memory, chosen, limit)


@issues.command()
@limit_option(20, "issues")
@memory_command
def ready(memory: Memory, limit: int) -> Output:
    """List the issues that can be begun: open, and nothing open blocks them. Exit 1 if none."""
    return _listed(memory, memory.issues.ready(), limit)


@issues.command()
@click.argument("name", metavar="ID")
@memory_command
def show(memory: Memory, name: str) -> Output:
    """Show an issue: its text, what it depends on, and the commits and sessions that name it.

    \b
    Examples:
      kinen issues show bd-a1b2
      kinen issues show '#123'
    """
    details = memory.issues.show(name)
    return Output(details_json(details), details_text(details, screen()))


@issues.command()
@click.argument("name", metavar="ID")
@click.argument("ref")
@memory_command
def link(memory: Memory, name: str, ref: str) -> Output:
    """Record that a commit, session, file or other record concerns an issue.

    The link is stored in the journal; the tracker is not changed.

    \b
    Examples:
      kinen issues link bd-a1b2 commit:9f3c2ab
    """
    observation = memory.issues.link(name, ref)
    concerns = observation.provenance["concerns"]
    data = {"ref": observation.ref, "issue": f"issue:{name}", "concerns": concerns}
    return Output(data, f"{concerns} concerns {observation.provenance['issue']}")


@issues.command("import")
@click.argument("file", type=FILE_NAME)
@memory_command
def import_(memory: Memory, file: str) -> Output:
    """Import issues from a JSON or JSONL export; a later import of the same name replaces it.

    \b
    Examples:
      gh issue list --state all --limit 1000 \\
        --json number,title,body,state,labels,createdAt,closedAt > issues.json
      kinen issues import issues.json
    """
    count = memory.issues.import_export(file)
    return Output({"issues": count}, f"imported {counted(count, 'issues')}")


@issues.command()
@memory_command
def refresh(memory: Memory) -> Output:
    """Run `bd export` and index what it prints: the file in .beads may be behind."""
    count = memory.issues.refresh()
    return Output({"issues": count}, f"read {counted(count, 'issues')} from bd")


def _open(issues: list[Issue]) -> list[Issue]:
    return [issue for issue in issues if not issue.is_closed]


def _listed(memory: Memory, issues: list[Issue], limit: int) -> Output:
    listed = issues[:limit] if limit > 0 else issues
    data = {"issues": [issue_json(issue) for issue in listed], "total": len(issues)}
    closed = len(memory.issues.all()) if not issues else 0
    empty = f"none of the {counted(closed, 'issues')}: `kinen issues list --status all` lists them"
    output = listing(data, issues_text(listed, screen()), issues, empty if closed else EMPTY)
    notes = [*output.notes]
    if len(listed) < len(issues):
        notes.append(f"{len(issues) - len(listed)} more: `-n 0` lists all")
    age = age_note(memory.issues.age())
    return Output(data, output.text, output.found, [*notes, age] if age else notes)
