"""Entries of the journal: `log`, `list`, `pin`, `unpin`, `forget`, `redact` and `capsule`."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kinen.errors import QueryError
from kinen.memory.erasing import LATER
from kinen.model import journal
from kinen.model.journal import Scope
from kinen.model.kinds import CAPSULE_TYPES, EVENTS
from kinen.privacy.injected import without_injected
from kinen.query import choice_hint
from kinen.render.journal import capsule_text, entries_table, entry_json
from kinen.text import plural as plural_of
from kinen.times import lifetime, milliseconds
from kinen.verbs.params import LOG, SCOPE, SINCE, UNTIL, flag, limit, option, param, words
from kinen.verbs.verb import Output, Shape, group, listing, page, verb

if TYPE_CHECKING:
    from kinen.memory import Memory

EMPTY = {
    "capsules": "no recorded sessions yet: `kinen install` records those of agents,"
    " `kinen session capsule open` opens one",
    "observations": "no events yet: `kinen install` records what agents do,"
    " `kinen log TEXT` records an event",
    "summaries": "no summaries yet: closing a session writes one",
    "pins": "no pins yet: `kinen pin REF` pins a record, `kinen pin 'TEXT'` a text of your own",
    "memories": "no memories yet: `kinen memories draw` draws them from sessions",
}
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
LEVELS = 32
"""Of the provenance of an observation."""
ID = r"^[0-9A-Za-z._-]+$"
NEW_ID = r"^[0-9A-Za-z._-]*$"
TASK = param("--task", "the task", only="endpoint")
WHOSE = {**SCOPE, "task": TASK}
REF = param("", "a ref or a path", required=True, path=True)
ENTRY = param(
    "", "an id, or the beginning of one", metavar="ID", required=True, pattern=ID, longest=128
)
CURSOR = param("--cursor", "`next` of the page before", longest=1000)
PAGE = param("--limit", "at most this many", 100, least=1, most=1000)


@verb(
    params={
        **LOG,
        "task": TASK,
        "id": param(
            "--id", "the same id is stored once", longest=128, pattern=NEW_ID, only="endpoint"
        ),
        "at": param("--at", "now if empty", time=True, only="endpoint"),
        "provenance": param("--provenance", "where it is from", {}, type=dict, only="endpoint"),
    },
    result=Shape("NewObservation", journal.Observation, {"deduplicated": bool}),
    route="observations",
    event="observation",
    tool="kinen_observe",
    title="Record an event",
    guide="Record an event: an error and its fix, a command's outcome, what the user said.",
    tool_fields=(
        *("ref", "kind", "at", "session", "agent", "capsule", "files", "branch"),
        "masked",
    ),
    journal_only=True,
    writes=True,
    idempotent=False,
)
def observe(
    memory: Memory,
    content: str = words("the event", longest=None, example="the test raced with the cache"),
    *,
    client: str,
    id_: str,
    at: str,
    files: list[str],
    capsule: str,
    kind: str,
    provenance: dict[str, Any],
    **scope: str,
) -> Output:
    """Store an event, secrets masked; when this answers, it is on disk."""
    duplicate = bool(id_) and memory.journal.observed(id_)
    level: list[Any] = [provenance]
    for _ in range(LEVELS):
        children = [node.values() if isinstance(node, dict) else node for node in level]
        level = [node for nodes in children for node in nodes if isinstance(node, dict | list)]
    if level:
        raise QueryError(f"provenance has more than {LEVELS} levels", "send what identifies it")
    try:
        json.dumps(provenance, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise QueryError(f"provenance: {error}", "send JSON") from error
    observation = memory.observe(
        without_injected(content),
        kind=kind,
        scope=Scope(**{**scope, "agent": scope["agent"] or client}),
        files=files,
        capsule=capsule,
        provenance=provenance,
        at=milliseconds(at),
        id=id_,
    )
    return Output({**entry_json(observation), "deduplicated": duplicate}, observation.ref)


@verb(several=True)
def list_(
    memory: Memory,
    plural: str = param("", "what to list", required=True, metavar=f"{{{'|'.join(EMPTY)}}}"),
    repo: str = SCOPE["repo"],
    agent: str = SCOPE["agent"],
    user: str = SCOPE["user"],
    session: str = SCOPE["session"],
    kind: str = option(
        "--kind -k", "KIND", "only this kind of event, or type of session or memory"
    ),
    since: str = SINCE,
    until: str = UNTIL,
    limit: int = limit(20, "entries"),
    audit: bool = flag("--audit", "include forgotten entries and expired pins"),
) -> Output:
    """List entries of the journal, newest first. Exit 1 if there are none.

    \b
    Examples:
      kinen list observations --kind error --since 2d
      kinen list capsules --session s1 --json | jq -r '.capsules[].ref'
      kinen list pins --audit
    """
    name = plural
    if name not in EMPTY and name not in ELSEWHERE:
        plural = plural_of(name)
    if plural in ELSEWHERE:
        raise QueryError(f"{plural} are not in the journal", f"run `kinen {ELSEWHERE[plural]}`")
    if plural not in EMPTY:
        raise QueryError(f"no entries called {name!r}", choice_hint(name, [*EMPTY]))
    if kind and plural in ("summaries", "pins"):
        raise QueryError(f"{plural} have no kind", "omit the kind")
    scope = {"repo": repo, "agent": agent, "user": user, "session": session}
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
        lambda view: entries_table(rows, view.screen, names),
        entries,
        f"no {plural} match: widen or omit a filter" if filtered else EMPTY[plural],
        count,
    )


Key = tuple[int, str]
"""A position in a list: after the entry with this time (or count) and this name."""


def encode_cursor(key: Key | None) -> str | None:
    """A position as opaque text; None at the end of the list."""
    if key is None:
        return None
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> Key | None:
    """The position that a cursor stands for; None for an empty one."""
    if not cursor:
        return None
    padded = cursor + "=" * (-len(cursor) % 4)
    try:
        number, name = json.loads(base64.b64decode(padded, b"-_", validate=True))
        number.to_bytes(8, "big", signed=True)
        name.encode("utf-8")
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise QueryError("invalid cursor", "send the `next` of a page, unchanged") from error
    return number, name


def _page(
    memory: Memory, plural: str, limit: int, cursor: str, scope: dict[str, str], **filters: Any
) -> Output:
    past = decode_cursor(cursor)
    rows, last = memory.journal.page(plural, limit, scope=Scope(**scope), past=past, **filters)
    return Output({plural: [entry_json(row) for row in rows], "next": encode_cursor(last)})


@verb(
    params=WHOSE,
    result=page("observations", journal.Observation),
    route="observations/list",
    methods=("POST",),
)
def list_observations(
    memory: Memory,
    kinds: list[str] = param(
        "--kind", "only these kinds", many=True, choices=EVENTS, example=["error"]
    ),
    capsule: str = param("--capsule", "only those of this capsule"),
    since: str = SINCE,
    until: str = UNTIL,
    limit: int = PAGE,
    cursor: str = CURSOR,
    include_redacted: bool = flag("--include-redacted", "also those whose text was erased"),
    **scope: str,
) -> Output:
    """Observations, newest first: from `since` on, and before `until`."""
    return _page(
        memory,
        "observations",
        limit,
        cursor,
        scope,
        kinds=tuple(kinds),
        capsule=capsule.removeprefix("capsule:"),
        after=milliseconds(since),
        before=max(1, milliseconds(until) - 1) if until else 0,
        redacted=include_redacted,
    )


@verb(params=WHOSE, result=page("capsules", journal.Capsule), route="capsules", methods=("GET",))
def list_capsules(
    memory: Memory,
    limit: int = PAGE,
    cursor: str = CURSOR,
    type_: str = param("--type", "only this type"),
    status: str = param("--status", "only open or closed ones", choices=("open", "closed")),
    **scope: str,
) -> Output:
    """Capsules, newest first."""
    return _page(memory, "capsules", limit, cursor, scope, kind=type_, status=status)


@verb(
    params=WHOSE, result=page("capsules", journal.Capsule), route="capsules/open", methods=("GET",)
)
def list_open_capsules(
    memory: Memory, limit: int = PAGE, cursor: str = CURSOR, **scope: str
) -> Output:
    """Open capsules, newest first."""
    return _page(memory, "capsules", limit, cursor, scope, status="open")


@verb(params=WHOSE, result=page("pins", journal.Pin), route="pins", methods=("GET",))
def list_pins(memory: Memory, limit: int = PAGE, cursor: str = CURSOR, **scope: str) -> Output:
    """Current pins, newest first."""
    return _page(memory, "pins", limit, cursor, scope)


def _target(values: Any) -> Any:
    """A request to pin, with a ref for Kindling's type and id, and seconds for milliseconds."""
    if not isinstance(values, dict):
        return values
    rest = dict(values)
    kind = rest.pop("targetType", "") or rest.pop("target_type", "")
    if kind:
        if {"ref", "target"} & rest.keys():
            raise ValueError("two targets: send ref, or targetType and targetId")
        rest["ref"] = f"{kind}:{rest.pop('targetId', '') or rest.pop('target_id', '')}"
    milliseconds = rest.pop("ttlMs", 0) or rest.pop("ttl_ms", 0)
    if milliseconds and not rest.get("ttl"):
        if isinstance(milliseconds, bool) or not isinstance(milliseconds, int):
            raise ValueError("ttl_ms is no whole number")
        rest["ttl"] = milliseconds / 1000
    return rest


@verb(
    params={
        "session": option(
            "--session",
            "ID",
            "only for recalls of this session (default: all)",
            guide="only in this session",
            unlisted=True,
        ),
        **{name: param(f"--{name}", name, only="endpoint") for name in Scope._fields[1:]},
        "remove": flag("--remove", "remove the pin", only="tool"),
    },
    result=journal.Pin,
    accept=staticmethod(_target),
    route="pins",
    methods=("POST",),
    event="pin",
    tool="kinen_pin",
    title="Pin or unpin",
    guide="Pin a ref or a text so that every recall begins with it, or remove a pin.",
    tool_fields=("ref", "target", "note", "expires_at", "unpinned"),
    writes=True,
)
def pin(
    memory: Memory,
    ref: str = words(
        "a ref, a path or a text",
        metavar="REF|PATH|TEXT",
        path=True,
        ref=True,
        free=True,
        guide="ref, path or text",
        example="docs/conventions.md",
    ),
    note: str = option("--note", "TEXT", "why it is pinned", longest=20_000, guide="why"),
    ttl: str | float = option(
        "--ttl",
        "DURATION",
        "for how long: 30s, 12h, 7d, 2w, or a date (default: forever)",
        seconds=True,
        guide="12h, 7d, 2w, or a date",
    ),
    *,
    remove: bool,
    **scope: str,
) -> Output:
    """Include a record, a file or a text of your own in every recall.

    \b
    Examples:
      kinen save --pin observation:01JD8X9Z3M4N5P6Q7R8S9T0VWX --note 'decided with Ada'
      kinen save --pin docs/conventions.md --ttl 7d
      kinen save --pin 'Never push to main: releases are cut from it'
    """
    if remove:
        refs = memory.journal.unpin(ref)
        return Output({"unpinned": refs}, f"unpinned {', '.join(refs)}")
    seconds = lifetime(ttl) if isinstance(ttl, str) else ttl
    entry = memory.journal.pin(ref, note, ttl=seconds, scope=Scope(**scope))
    return Output(entry_json(entry), f"{entry.ref}  {entry.target}")


def _unpinned(memory: Memory, ref: str) -> Output:
    refs = memory.journal.unpin(ref)
    return Output({"unpinned": refs}, "\n".join(refs))


@verb(writes=True)
def unpin(memory: Memory, ref: str = REF) -> Output:
    """Remove a pin. REF is that of the pin, or of the pinned record."""
    return _unpinned(memory, ref)


@verb(
    result=Shape("Unpinned", None, {"unpinned": list[str]}),
    route="pins/{id}",
    methods=("DELETE",),
    event="pin",
    writes=True,
)
def remove_pin(memory: Memory, id_: str = ENTRY) -> Output:
    """Remove a pin."""
    return _unpinned(memory, f"pin:{id_}")


@verb(writes=True)
def redact(memory: Memory, ref: str = REF) -> Output:
    """Erase the text of a journal entry; its id and relations stay.

    No reader shows it from then on. The text is also erased from the index, vectors, cache, logs
    and free pages; if another process indexes the space, as soon as that ends. For a session, all
    of its entries are erased. Files and commits are only hidden, never changed.
    """
    return _erased(memory.journal.redact(ref), "redacted")


@verb(writes=True)
def forget(
    memory: Memory,
    ref: str = REF,
    undo: bool = flag("--undo", "show a hidden file or commit again"),
    *,
    on_wait: Callable[[str], None] | None,
) -> Output:
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
        restored = memory.journal.restore(ref, on_wait)
        return Output({"restored": [restored]}, f"restored {restored}")
    return _erased(memory.journal.forget(ref), "forgotten")


@verb(
    result=Shape(
        "Forgotten",
        None,
        {
            "forgotten": list[str],
            "refs": list[str],
            "also": list[str],
            "suppressed": bool,
            "waiting": str,
        },
    ),
    route="observations/{id}/forget",
    event="forgotten",
    writes=True,
)
def forget_observation(memory: Memory, id_: str = ENTRY) -> Output:
    """Erase an event from every file of kinen; only a tombstone stays."""
    return _erased(memory.journal.forget(f"observation:{id_}"), "forgotten")


def _erased(erased: Any, word: str) -> Output:
    notes = []
    if erased.suppressed:
        notes.append(
            "files and commits are only hidden; `kinen forget --undo REF` shows them again"
        )
    if erased.waiting:
        notes.append(f"{erased.waiting}; {LATER}")
    if erased.also:
        notes.append(f"the same text is also in {', '.join(erased.also)}")
    lines = [f"{'hidden' if erased.suppressed else word} {ref}" for ref in erased.refs]
    return Output({word: erased.refs, **erased._asdict()}, "\n".join(lines), notes=notes)


@verb(
    result=journal.Capsule,
    route="capsules",
    methods=("POST",),
    event="capsule",
    journal_only=True,
    writes=True,
)
def open_capsule(
    memory: Memory,
    intent: str = option(
        "--intent",
        "TEXT",
        "what it is for",
        required=True,
        least=0,
        longest=20_000,
        example="find the flaky test",
    ),
    type_: str = param(
        "--type -t", "session, or step of a workflow", "session", choices=CAPSULE_TYPES
    ),
    session: str = option("--session", "ID", "session whose events become part of it"),
    agent: str = option("--agent", "NAME", "agent that does the work"),
    repo: str = option("--repo", "NAME", "repository it is about (default: this one)"),
    user: str = option("--user", "NAME", "who it is for"),
    task: str = TASK,
    parent: str = option(
        "--parent", "ID", "session that it is a part of", pattern=NEW_ID, longest=128
    ),
    resume: bool = flag("--resume", "reuse the one that is open for that session, if any"),
    id_: str = param(
        "--id", "the same id is opened once", pattern=NEW_ID, longest=128, only="endpoint"
    ),
) -> Output:
    """Open a session and print its ref.

    One that is still open under the same id was left by a crash: it is summarised and closed as
    abandoned.

    \b
    Examples:
      kinen session capsule open --intent 'find the flaky test' --session s1
    """
    capsule = memory.journal.open_capsule(
        intent,
        type=type_,
        scope=Scope(session, repo, agent, user, task),
        resume=resume,
        id=id_,
        parent=parent,
    )
    return Output(entry_json(capsule), capsule.ref)


@verb(
    result=Shape("ClosedCapsule", journal.Capsule, {"summary": journal.Summary | None}),
    route="capsules/{id}/close",
    methods=("PATCH",),
    event="capsule",
    writes=True,
)
def close_capsule(
    memory: Memory,
    id_: str = ENTRY,
    summary: str = option(
        "--summary",
        "TEXT",
        "its result (default: made from its events)",
        longest=20_000,
        example="The test no longer races with the cache.",
    ),
    confidence: float = param(
        "--confidence", "confidence in the summary, 0 to 1", 1.0, metavar="X", least=0, most=1
    ),
    generate_summary: bool = param(
        "--generate-summary",
        "accepted for Kindling; a missing summary is always written",
        True,
        only="endpoint",
    ),
) -> Output:
    """Close a session and print its summary.

    \b
    Examples:
      kinen session capsule close 01JD8X9Z3M --summary 'the test raced with the cache; now it waits'
    """
    del generate_summary
    capsule, written = memory.journal.close_capsule(
        id_, without_injected(summary), confidence=confidence
    )
    value = {**entry_json(capsule), "summary": entry_json(written) if written else None}
    return Output(value, capsule.ref + (f"\n{written.ref}\n\n{written.content}" if written else ""))


@verb(
    result=Shape(
        "CapsuleDetails",
        journal.Capsule,
        {
            "parts": [journal.Capsule],
            "summaries": [journal.Summary],
            "observations": [journal.Observation],
        },
    ),
    route="capsules/{id}",
    methods=("GET",),
)
def show_capsule(memory: Memory, id_: str = ENTRY) -> Output:
    """Show a session with its parts, summaries and events."""
    capsule, observations, summaries = memory.journal.capsule(id_)
    parts = memory.journal.parts(id_)
    rows: dict[str, Any] = {"parts": parts, "summaries": summaries, "observations": observations}
    lists = {name: [entry_json(row) for row in entries] for name, entries in rows.items()}
    return Output(
        {**entry_json(capsule), **lists},
        lambda view: capsule_text(capsule, parts, observations, summaries, view.style),
    )


capsule = group(
    "Sessions and steps of a workflow that a program records: events with one summary.",
    open=open_capsule,
    close=close_capsule,
    show=show_capsule,
)
