"""`kinen recall --around`, `kinen standup` and `kinen handoff`: reports about the current work."""

from __future__ import annotations

from collections.abc import Callable

import click

from kinen.characters import visible_line
from kinen.cli.command import (
    Output,
    json_command,
    number_option,
    options,
    path_option,
    spaces_command,
    spaces_option,
    text_option,
)
from kinen.cli.options import DAYS
from kinen.cli.options import since as since_option
from kinen.cli.run import note
from kinen.errors import QueryError
from kinen.memory import Memory
from kinen.memory.federation import ask_spaces
from kinen.memory.report_text import Report, handoff_text, report_json, standup_text
from kinen.render.journal import recall_json, recall_text
from kinen.space.find import is_several
from kinen.text import now, parse_time

SINCE = "1d"
"""Where a standup begins by default."""


@click.command()
@text_option("--session", "ID", "session, by its id")
@path_option("--file -f", "PATH", "file: its path, or the end of it")
@text_option("--issue", "ID", "issue: what names it, and the files of its commits")
@click.option("--plan", is_flag=True, help="the active plan: files that it names, and companions")
@number_option("--depth", "steps to follow from what was found", 1)
@number_option("--budget", "token limit (default: recall.budget)", 0)
@spaces_command
def context(
    memory: Memory, session: str, file: str, issue: str, plan: bool, depth: int, budget: int
) -> Output:
    """Show what is related to a file, session, issue or plan: sessions, memories, commits, files.

    Without --file, --session, --issue or --plan, the uncommitted changes are used. Exit 1 if
    there is nothing.

    \b
    Examples:
      kinen recall --around
      kinen recall --around --plan
      kinen recall --around --file src/auth.py --budget 800
      kinen recall --around --session s1 --depth 2
      kinen recall --around --issue bd-a1b2
    """
    if budget < 0:
        raise QueryError(f"invalid budget {budget}", "use --budget 1 or more")
    answer = memory.context.around(
        session=session, file=file, issue=issue, plan=plan, depth=depth, budget=budget
    )
    subject = file or session or issue or ("the plan" if plan else "the uncommitted changes")
    empty = (
        f"nothing recorded about {subject} yet: `kinen install` records sessions of agents,"
        " `kinen save` saves what was done"
    )
    return Output(
        recall_json(answer),
        recall_text(answer) if answer.items else "",
        found=bool(answer.items),
        notes=answer.notes or ([] if answer.items else [empty]),
    )


@click.command()
@options(since_option(SINCE), DAYS)
@spaces_option
@json_command
def standup(since: str, spaces: tuple[str, ...]) -> Output:
    """Report what was done, what was decided, what comes next and what is open.

    Shows sessions with intent, outcome and next steps; commits, and which of them are not pushed;
    decisions; unresolved errors. Exit 1 if there is nothing.

    \b
    Examples:
      kinen standup
      kinen standup --since 3d | pbcopy
      kinen standup --since 1w --space all
      kinen standup --json | jq '.not_pushed[].subject'
    """
    begin = parse_time(since or SINCE, now())
    longer = "`kinen standup --since 1w` looks further back"
    if begin <= parse_time("1w", now()):
        longer = "`kinen handoff` shows the latest sessions"
    empty = f"nothing since {begin[:10]}: {longer}"
    return _report(lambda memory: memory.reports.standup_report(begin), standup_text, spaces, empty)


@click.command()
@spaces_option
@json_command
def handoff(spaces: tuple[str, ...]) -> Output:
    """Report what the next person or agent needs to know: state, plan, sessions, open points.

    Exit 1 if there is nothing.

    \b
    Examples:
      kinen handoff > HANDOFF.md
      kinen handoff --space all
      kinen handoff --json | jq '.sessions[0].next'
    """
    empty = "nothing to hand off: `kinen import transcripts` imports past sessions"
    return _report(lambda memory: memory.reports.handoff_report(), handoff_text, spaces, empty)


def _report(
    make: Callable[[Memory], Report],
    write: Callable[[Report], str],
    spaces: tuple[str, ...],
    empty: str,
) -> Output:
    """The report of one space, or of several those that are not empty."""
    if is_several(spaces):
        reports = [report for report in ask_spaces(spaces, make, on_error=note) if not report.empty]
        texts = [write(report) for report in reports]
        objects = [report_json(*pair) for pair in zip(reports, texts, strict=True)]
        data: object = {"spaces": objects}
        sections = [
            f"# {visible_line(report.space)}\n\n{text}"
            for report, text in zip(reports, texts, strict=True)
        ]
        text = "\n\n".join(sections)
    else:
        with Memory.open(space=spaces[0] if spaces else None) as memory:
            report = make(memory)
        text = write(report)
        data = report_json(report, text)
    return Output(data, text, found=bool(text), notes=[] if text else [empty])
