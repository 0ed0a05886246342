"""`kinen issues`: issues of the space's tracker, and what names them."""

from __future__ import annotations

from kinen.memory import Memory
from kinen.model.issues import Issue
from kinen.render.issues import age_note, details_json, details_text, issue_json, issues_text
from kinen.render.text import counted
from kinen.verbs.params import limit, option, param
from kinen.verbs.verb import Output, listing, verb

NAME = param("", "an issue", required=True, metavar="ID")
EMPTY = (
    "no issues: kinen reads .beads/issues.jsonl of the repository, and `kinen issues import FILE`"
    " reads an export, such as of `gh issue list --json`"
)


@verb()
def list_(
    memory: Memory,
    status: str = option(
        "--status",
        "NAME",
        "only this status, such as closed; `all` for every one that is not deleted (tombstone)",
    ),
    label: str = option("--label", "NAME", "only issues with this label"),
    type_: str = option("--type -t", "NAME", "only this type, such as bug"),
    limit: int = limit(50, "issues"),
) -> Output:
    """List issues, the most urgent first (default: those that are not closed)."""
    every = memory.issues.all(deleted=status == "tombstone")
    chosen = _open(every) if not status else every
    if status and status != "all":
        chosen = [issue for issue in every if issue.status == status.replace("-", "_")]
    chosen = [issue for issue in chosen if not label or label in issue.labels]
    chosen = [issue for issue in chosen if not type_ or issue.type == type_]
    return _listed(memory, chosen, limit)


@verb()
def ready(memory: Memory, limit: int = limit(20, "issues")) -> Output:
    """List the issues that can be begun: open, and nothing open blocks them. Exit 1 if none."""
    return _listed(memory, memory.issues.ready(), limit)


@verb()
def show(memory: Memory, name: str = NAME) -> Output:
    """Show an issue: its text, what it depends on, and the commits and sessions that name it.

    \b
    Examples:
      kinen issues show bd-a1b2
      kinen issues show '#123'
    """
    details = memory.issues.show(name)
    return Output(details_json(details), lambda view: details_text(details, view.screen))


@verb()
def link(memory: Memory, name: str = NAME, ref: str = param("", "a ref", required=True)) -> Output:
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


@verb()
def import_(memory: Memory, file: str = param("", "a file", required=True, path=True)) -> Output:
    """Import issues from a JSON or JSONL export; a later import of the same name replaces it.

    \b
    Examples:
      gh issue list --state all --limit 1000 \\
        --json number,title,body,state,labels,createdAt,closedAt > issues.json
      kinen issues import issues.json
    """
    count = memory.issues.import_export(file)
    return Output({"issues": count}, f"imported {counted(count, 'issues')}")


@verb()
def refresh(memory: Memory) -> Output:
    """Run `bd export` and index what it prints: the file in .beads may be behind."""
    count = memory.issues.refresh()
    return Output({"issues": count}, f"read {counted(count, 'issues')} from bd")


def _open(issues: list[Issue]) -> list[Issue]:
    return [issue for issue in issues if not issue.is_closed]


def _listed(memory: Memory, issues: list[Issue], limit: int) -> Output:
    listed = issues[: limit or None]
    closed = len(memory.issues.all()) if not issues else 0
    empty = f"none of the {counted(closed, 'issues')}: `kinen issues list --status all` lists them"
    output = listing(
        {"issues": [issue_json(issue) for issue in listed], "total": len(issues)},
        lambda view: issues_text(listed, view.screen),
        issues,
        empty if closed else EMPTY,
    )
    more = (
        f"{len(issues) - len(listed)} more: `-n 0` lists all" if len(listed) < len(issues) else ""
    )
    notes = [*output.notes, more, age_note(memory.issues.age())]
    return output._replace(notes=[*filter(None, notes)])


@verb(
    parts={
        "list": list_,
        "ready": ready,
        "show": show,
        "link": link,
        "import": import_,
        "refresh": refresh,
    }
)
def issues(memory: Memory) -> Output:
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
    return _listed(memory, _open(memory.issues.all()), 50)
