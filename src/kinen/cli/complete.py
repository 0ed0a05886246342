"""Values that a shell completes: spaces, types, keys, ids and files.

Completion reads what is there and never fails: an error completes nothing.
"""

from __future__ import annotations

import contextlib
from itertools import islice
from typing import TYPE_CHECKING

import click

from kinen.model.kinds import CAPSULE_TYPES, EVENTS, MEMORY_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from click.shell_completion import CompletionItem

    from kinen.memory import Memory

    Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
    Pairs = Iterable[tuple[str, str]]
    """Values, each with a description."""
ENTRIES = ("capsules", "observations", "summaries", "pins", "memories")
MOST = 50
"""Number of ids that are offered."""


class FileName(click.types.UnprocessedParamType):
    """A name of a file or record: it may have bytes that are not UTF-8; files are completed."""

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class Completed(click.types.UnprocessedParamType):
    """Any value; a function completes it."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return self._complete(ctx, param, incomplete)


def completer(values: Callable[[click.Context], Pairs]) -> Complete:
    """A function for click that offers the values with the beginning that was typed."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        items: list[CompletionItem] = []
        with contextlib.suppress(Exception):
            for value, about in values(ctx):
                if value.startswith(incomplete):
                    items.append(CompletionItem(value, help=about or None))
        return items

    return complete


def _completer_of_memory(read: Callable[[Memory], Pairs]) -> Complete:
    """Offers what a function reads from the memory of the space of a command line."""

    def values(ctx: click.Context) -> Pairs:
        from kinen.memory import Memory

        with Memory.open(space=ctx.params.get("space") or None) as memory:
            return list(read(memory))

    return completer(values)


def _entries(memory: Memory, plural: str) -> Pairs:
    entries = memory.journal.entries(plural, limit=MOST)[0]
    shorts = memory.journal.short_ids(entries)
    for entry in entries:
        yield shorts[entry.ref], getattr(entry, "intent", "") or getattr(entry, "content", "")


def _space_names(_: click.Context) -> Pairs:
    from kinen import paths
    from kinen.space import registry

    return [(space.name, space.root) for space in registry.registered(paths.default_home())]


def _config_keys(_: click.Context) -> Pairs:
    from kinen.config import keys

    return [(key, row.help) for key, row in keys.ROWS.items()]


def _types(_: click.Context) -> Pairs:
    from kinen.model.records import KINDS
    from kinen.text import plural

    return [(name, "") for name in (*map(plural, KINDS), "all")]


def _plans(memory: Memory) -> Pairs:
    return ((plan.id, plan.title) for plan in memory.worklog.plans())


def _checkpoints(memory: Memory) -> Pairs:
    checkpoints = islice(memory.worklog.checkpoints(), MOST)
    return ((item.id.removeprefix("checkpoint_"), item.text) for item in checkpoints)


def _sessions(memory: Memory) -> Pairs:
    sessions = memory.sessions.overviews(MOST, counts=False)
    return ((session.id, session.title) for session in sessions)


def _agents(memory: Memory) -> Pairs:
    return ((agent.agent, "") for agent in memory.journal.recent_activity().agents)


space_names = completer(_space_names)
kinds = completer(lambda _: [(kind, "") for kind in (*EVENTS, *CAPSULE_TYPES, *MEMORY_TYPES)])
session_ids = _completer_of_memory(_sessions)

OPTIONS = {
    "space": space_names,
    "spaces": space_names,
    "types": completer(_types),
    "events": kinds,
    "kind": kinds,
    "session": session_ids,
    "agent": _completer_of_memory(_agents),
}
"""Keys of shared options → what completes their values."""
ARGUMENTS = {
    ("", "plural"): completer(lambda _: [(name, "") for name in ENTRIES]),
    ("config", "key"): completer(_config_keys),
    ("plan", "id"): _completer_of_memory(_plans),
    ("checkpoint", "name"): _completer_of_memory(_checkpoints),
    ("session", "name"): session_ids,
    ("memories", "name"): _completer_of_memory(lambda memory: _entries(memory, "memories")),
    ("capsule", "id"): _completer_of_memory(lambda memory: _entries(memory, "capsules")),
    ("space", "name"): space_names,
}
"""Groups and the names of their arguments → what completes their values."""


def add_completion(command: click.Command, group: str = "") -> None:
    """Complete the values of a command and of its subcommands."""
    for param in command.params:
        complete = OPTIONS.get(param.name or "") if isinstance(param, click.Option) else None
        complete = complete or ARGUMENTS.get((group, param.name or ""))
        if complete and not isinstance(param.type, click.Choice):
            param.type = Completed(complete)
    for inner in getattr(command, "commands", {}).values():
        add_completion(inner, command.name or "")
