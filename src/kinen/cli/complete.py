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


def memory_completer(read: Callable[[Memory], Pairs]) -> Complete:
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


@completer
def space_names(_: click.Context) -> Pairs:
    from kinen import paths
    from kinen.space import registry

    return [(space.name, space.root) for space in registry.registered(paths.default_home())]


@completer
def config_keys(_: click.Context) -> Pairs:
    from kinen.config import keys

    return [(key, row.help) for key, row in keys.ROWS.items()]


@completer
def types(_: click.Context) -> Pairs:
    from kinen.model.records import KINDS
    from kinen.text import plural

    return [(name, "") for name in (*map(plural, KINDS), "all")]


@memory_completer
def plans(memory: Memory) -> Pairs:
    return ((plan.id, plan.title) for plan in memory.worklog.plans())


@memory_completer
def checkpoints(memory: Memory) -> Pairs:
    latest = islice(memory.worklog.checkpoints(), MOST)
    return ((item.id.removeprefix("checkpoint_"), item.text) for item in latest)


@memory_completer
def session_ids(memory: Memory) -> Pairs:
    sessions = memory.sessions.overviews(MOST, counts=False)
    return ((session.id, session.title) for session in sessions)


@memory_completer
def agents(memory: Memory) -> Pairs:
    return ((agent.agent, "") for agent in memory.journal.recent_activity().agents)


kinds = completer(lambda _: [(kind, "") for kind in (*EVENTS, *CAPSULE_TYPES, *MEMORY_TYPES)])

OPTIONS = {
    "space": space_names,
    "spaces": space_names,
    "types": types,
    "events": kinds,
    "kind": kinds,
    "session": session_ids,
    "agent": agents,
}
"""Keys of shared options → what completes their values."""
ARGUMENTS = {
    ("", "plural"): completer(lambda _: [(name, "") for name in ENTRIES]),
    ("config", "key"): config_keys,
    ("plan", "id"): plans,
    ("checkpoint", "name"): checkpoints,
    ("session", "name"): session_ids,
    ("memories", "name"): memory_completer(lambda memory: _entries(memory, "memories")),
    ("capsule", "id"): memory_completer(lambda memory: _entries(memory, "capsules")),
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
