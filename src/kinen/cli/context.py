"""`kinen context`, `kinen standup` and `kinen handoff`: what belongs to the work at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kinen import render
from kinen.characters import visible_line
from kinen.cli.flags import FILE_NAME, for_scripts, in_space, in_spaces
from kinen.cli.run import FOUND, NOTHING, note
from kinen.memory.report import handoff_text, report_json, standup_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from kinen.memory import Memory
    from kinen.memory.report import Report


@click.command()
@click.option("--session", default="", help="around this session: its name, or a capsule's id")
@click.option(
    "--file", type=FILE_NAME, default="", help="around this file: its path, or the end of it"
)
@click.option("--depth", default=1, show_default=True, help="also around what was found")
@click.option("--budget", type=int, default=0, help="most tokens; recall.budget if not given")
@in_space
@for_scripts
def context(
    session: str, file: str, depth: int, budget: int, space: str | None, as_json: bool
) -> int:
    """Sessions, memories, checkpoints, commits and the open plan around a file or a session.

    Without either, around what is changed and not committed. Exit 1 if there is nothing.

    \b
    Examples:
      kinen context
      kinen context --file src/auth.py --budget 800
      kinen context --session s1 --depth 2
    """
    from kinen.errors import QueryError
    from kinen.memory import Memory
    from kinen.render.journal import recall_json, recall_text

    if budget < 0:
        raise QueryError(f"a budget of {budget} tokens holds nothing", "use --budget 1 or more")
    with Memory.open(space=space) as memory:
        found = memory.context.around(session=session, file=file, depth=depth, budget=budget)
    if as_json:
        print(render.to_json(recall_json(found)))
    else:
        for remark in found.notes:
            note(remark)
        if found.items:
            print(recall_text(found))
    return FOUND if found.items else NOTHING


@click.command()
@click.option("--since", default="1d", show_default=True, help="1d, 3d, 1w, today, 2026-03-01")
@in_spaces
@for_scripts
def standup(since: str, spaces: tuple[str, ...], as_json: bool) -> int:
    """What was done since then, what was decided, what comes next and what is open.

    Sessions as intent, outcome and next; commits, and which of them are not pushed; decisions of
    checkpoints and memories; errors that are still unresolved. Exit 1 if there is nothing to say.

    \b
    Examples:
      kinen standup
      kinen standup --since 3d | pbcopy
      kinen standup --since 1w --space all
      kinen standup --json | jq '.not_pushed[].subject'
    """
    from kinen.text import now, parse_time

    moment = parse_time(since, now())
    empty = f"nothing since {moment[:10]}: `kinen standup --since 1w` looks further back"
    return _report(
        lambda memory: memory.reports.standup_report(moment), standup_text, spaces, as_json, empty
    )


@click.command()
@in_spaces
@for_scripts
def handoff(spaces: tuple[str, ...], as_json: bool) -> int:
    """What the next person or agent needs to know: state, plan, last sessions, what is open.

    Exit 1 if there is nothing to say.

    \b
    Examples:
      kinen handoff > HANDOFF.md
      kinen handoff --space all
      kinen handoff --json | jq '.sessions[0].next'
    """
    empty = "nothing to hand off: `kinen import transcripts` takes in past sessions"
    return _report(
        lambda memory: memory.reports.handoff_report(), handoff_text, spaces, as_json, empty
    )


def _report(
    make: Callable[[Memory], Report],
    write: Callable[[Report], str],
    spaces: tuple[str, ...],
    as_json: bool,
    empty: str,
) -> int:
    """Print the report of one space, or those of several that have something to say."""
    from kinen.memory import Memory
    from kinen.memory.federation import ask_spaces

    several = len(spaces) > 1 or "all" in spaces
    if not several:
        with Memory.open(space=spaces[0] if spaces else None) as memory:
            reports = [make(memory)]
    else:
        reports = ask_spaces(spaces, make, on_error=note)
    told = [(report, write(report)) for report in reports]
    told = [(report, text) for report, text in told if not several or not report.empty]
    if as_json:
        shown = [report_json(report, text) for report, text in told]
        print(render.to_json({"spaces": shown} if several else shown[0]))
    else:
        texts = [
            f"# {visible_line(one.space)}\n\n{text}" if several else text for one, text in told
        ]
        print("\n\n".join(texts)) if any(texts) else note(empty)
    return FOUND if any(text for _, text in told) else NOTHING
