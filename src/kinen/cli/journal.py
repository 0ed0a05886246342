"""`kinen list`, `pin`, `unpin`, `redact`, `forget` and `capsule`: entries of the journal."""

from __future__ import annotations

from typing import Any

import click

from kinen.cli.command import (
    FILE_NAME,
    Output,
    choice_option,
    group,
    limit_option,
    listing,
    memory_command,
    options,
    spaces_command,
    text_option,
)
from kinen.cli.options import PERIOD, SCOPE
from kinen.cli.run import colours, note, screen
from kinen.memory import Memory
from kinen.memory.erasing import LATER
from kinen.model.kinds import CAPSULE_TYPES
from kinen.query import choice_hint
from kinen.render.journal import capsule_text, entries_table, entry_json
from kinen.text import plural as plural_of
from kinen.times import lifetime, milliseconds

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


@click.command()
@click.argument("words", metavar="REF|PATH|TEXT", nargs=-1, required=True, type=FILE_NAME)
@text_option("--note", "TEXT", "why it is pinned")
@text_option("--ttl", "DURATION", "for how long: 30s, 12h, 7d, 2w, or a date (default: forever)")
@text_option("--session", "ID", "only for recalls of this session (default: all)")
@memory_command
def pin(memory: Memory, words: tuple[str, ...], note: str, ttl: str, session: str) -> Output:
    """Include a record, a file or a text of your own in every recall.

    \b
    Examples:
      kinen save --pin observation:01JD8X9Z3M4N5P6Q7R8S9T0VWX --note 'decided with Ada'
      kinen save --pin docs/conventions.md --ttl 7d
      kinen save --pin 'Never push to main: releases are cut from it'
    """
    ref = " ".join(words)
    pin = memory.journal.pin(ref, note, ttl=lifetime(ttl), scope={"session": session})
    return Output(entry_json(pin), f"{pin.ref}  {pin.target}")


@click.command()
@click.argument("ref", type=FILE_NAME)
@memory_command
def unpin(memory: Memory, ref: str) -> Output:
    """Remove a pin. REF is that of the pin, or of the pinned record."""
    refs = memory.journal.unpin(ref)
    return Output({"unpinned": refs}, "\n".join(refs))


@click.command()
@click.argument("ref", type=FILE_NAME)
@memory_command
def redact(memory: Memory, ref: str) -> Output:
    """Erase the text of a journal entry; its id and relations stay.

    No reader shows it from then on. The text is also erased from the index, vectors, cache, logs
    and free pages; if another process indexes the space, as soon as that ends. For a session, all
    of its entries are erased. Files and commits are only hidden, never changed.
    """
    return _output(memory.journal.redact(ref), "redacted")


@click.command()
@click.argument("ref", type=FILE_NAME)
@click.option("--undo", is_flag=True, help="show a hidden file or commit again")
@memory_command
def forget(memory: Memory, ref: str, undo: bool) -> Output:
    """Erase a journal entry; `kinen list --audit` still shows that it existed.

    No reader shows it from then on, whatever is being indexed. Files and commits are only hidden,
    never changed; --undo shows them again.

    \b
    Examples:
      kinen forget observation:01JD8X9Z3M4N5P6Q7R8S9T0VWX
      kinen forget docs/old-plan.md
      kinen forget docs/old-plan.md --undo
    """
    if undo:
        restored = memory.journal.restore(ref, lambda who: note(f"{who}; waiting for it"))
        return Output({"restored": [restored]}, f"restored {restored}")
    return _output(memory.journal.forget(ref), "forgotten")


def _output(erased: Any, verb: str) -> Output:
    notes = []
    if erased.suppressed:
        notes.append(
            "files and commits are only hidden; `kinen forget --undo REF` shows them again"
        )
    if erased.waiting:
        notes.append(f"{erased.waiting}; {LATER}")
    if erased.also:
        notes.append(f"the same text is also in {', '.join(erased.also)}")
    return Output(
        {verb: erased.refs, **erased._asdict()},
        "\n".join(f"{'hidden' if erased.suppressed else verb} {ref}" for ref in erased.refs),
        notes=notes,
    )


@group()
def capsule() -> None:
    """Sessions and steps of a workflow that a program records: events with one summary."""


@capsule.command("open")
@click.option("--intent", required=True, metavar="TEXT", help="what it is for")
@choice_option(
    "--type -t", CAPSULE_TYPES, "session, or step of a workflow", default="session", key="type_"
)
@text_option("--session", "ID", "session whose events become part of it")
@text_option("--agent", "NAME", "agent that does the work")
@text_option("--repo", "NAME", "repository it is about (default: this one)")
@text_option("--user", "NAME", "who it is for")
@text_option("--parent", "ID", "session that it is a part of")
@click.option("--resume", is_flag=True, help="reuse the one that is open for that session, if any")
@memory_command
def open_(
    memory: Memory, intent: str, type_: str, parent: str, resume: bool, **scope: str
) -> Output:
    """Open a session and print its ref.

    One that is still open under the same id was left by a crash: it is summarised and closed as
    abandoned.

    \b
    Examples:
      kinen session capsule open --intent 'find the flaky test' --session s1
    """
    capsule = memory.journal.open_capsule(
        intent, type=type_, scope=scope, resume=resume, parent=parent
    )
    return Output(entry_json(capsule), capsule.ref)


@capsule.command()
@click.argument("name", metavar="ID")
@text_option("--summary", "TEXT", "its result (default: made from its events)")
@click.option(
    "--confidence",
    default=1.0,
    show_default=True,
    metavar="X",
    help="confidence in the summary, 0 to 1",
)
@memory_command
def close(memory: Memory, name: str, summary: str, confidence: float) -> Output:
    """Close a session and print its summary.

    \b
    Examples:
      kinen session capsule close 01JD8X9Z3M --summary 'the test raced with the cache; now it waits'
    """
    capsule, written = memory.journal.close_capsule(name, summary, confidence=confidence)
    data = {**entry_json(capsule), "summary": entry_json(written) if written else None}
    text = capsule.ref
    if written:
        text += f"\n{written.ref}\n\n{written.content}"
    return Output(data, text)


@capsule.command()
@click.argument("name", metavar="ID")
@memory_command
def show(memory: Memory, name: str) -> Output:
    """Show a session with its parts, summaries and events."""
    capsule, observations, summaries = memory.journal.capsule(name)
    parts = memory.journal.parts(name)
    data = {
        **entry_json(capsule),
        "parts": [entry_json(part) for part in parts],
        "summaries": [entry_json(summary) for summary in summaries],
        "observations": [entry_json(observation) for observation in observations],
    }
    return Output(data, capsule_text(capsule, parts, observations, summaries, colours()))
