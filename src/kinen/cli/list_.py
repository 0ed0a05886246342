"""`kinen list`: entries of the journal."""

from __future__ import annotations

from typing import Any

import click

from kinen.cli.command import Output, limit_option, listing, options, spaces_command, text_option
from kinen.cli.options import PERIOD, SCOPE
from kinen.cli.run import screen
from kinen.memory import Memory
from kinen.query import choice_hint
from kinen.render.journal import entries_table, entry_json
from kinen.text import plural as plural_of
from kinen.times import milliseconds

EMPTY = {
    "capsules": "no capsules yet: `kinen install` records sessions as capsules,"
    " `kinen capsule open` opens one",
    "observations": "no observations yet: `kinen install` records what agents do,"
    " `kinen log TEXT` records an event",
    "summaries": "no summaries yet: closing a capsule writes one",
    "pins": "no pins yet: `kinen pin REF` pins a record, `kinen pin 'TEXT'` a text of your own",
    "memories": "no memories yet: `kinen consolidate` extracts them from sessions",
}
PLURALS = ("capsules", "observations", "summaries", "pins", "memories")
ELSEWHERE = {
    "checkpoints": "checkpoint list",
    "commits": "search --type commits WORDS",
    "files": "files",
    "issues": "issues",
    "notes": "search --type notes WORDS",
    "plans": "plan list",
    "resources": "resources list",
    "sessions": "session list",
    "snapshots": "snapshot list",
    "spaces": "space list",
    "tags": "tags",
}
"""Commands that list what is not in the journal."""


def _entries(_context: Any, _parameter: Any, name: str) -> str:
    """The entries to list, also by their singular; for other things the error has the command."""
    many = name if name in PLURALS or name in ELSEWHERE else plural_of(name)
    if many in PLURALS:
        return many
    if many in ELSEWHERE:
        raise click.UsageError(f"{many} are not in the journal · run `kinen {ELSEWHERE[many]}`")
    raise click.UsageError(f"no entries called {name!r} · {choice_hint(name, PLURALS)}")


def _complete(_context: Any, _parameter: Any, begin: str) -> list[str]:
    return [name for name in PLURALS if name.startswith(begin)]


@click.command("list")
@click.argument(
    "plural", metavar=f"{{{'|'.join(PLURALS)}}}", callback=_entries, shell_complete=_complete
)
@options(*SCOPE)
@text_option("--kind -k", "KIND", "only this kind, or type of capsule or memory")
@options(*PERIOD)
@limit_option(20)
@click.option("--audit", is_flag=True, help="include forgotten entries and expired pins")
@spaces_command
def list_(
    memory: Memory,
    plural: str,
    kind: str,
    since: str,
    until: str,
    limit: int,
    audit: bool,
    **scope: str,
) -> Output:
    """List entries of the journal, newest first. Exit 1 if there are none.

    \b
    Examples:
      kinen list observations --kind error --since 2d
      kinen list capsules --session s1 --json | jq -r '.capsules[].ref'
      kinen list pins --audit
    """
    if kind and plural in ("summaries", "pins"):
        raise click.UsageError(f"{plural} have no kind · omit --kind")
    entries, count = memory.journal.entries(
        plural,
        kind=kind,
        after=milliseconds(since),
        before=milliseconds(until, end=True),
        limit=limit,
        audit=audit,
        **scope,
    )
    names = memory.journal.short_ids(entries)
    rows = memory.journal.with_texts(entries) if plural == "pins" else entries
    filtered = kind or since or until or any(scope.values())
    return listing(
        lambda: {plural: [entry_json(entry) for entry in entries], "count": count},
        entries_table(rows, screen(), names),
        entries,
        f"no {plural} match: widen or omit a filter" if filtered else EMPTY[plural],
        count,
    )
