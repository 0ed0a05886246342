"""`kinen memories` and `kinen consolidate`: memories extracted from sessions and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kinen.cli.command import (
    Output,
    choice_option,
    dry_run_option,
    group,
    memory_command,
    moment,
    options,
    spaces_command,
    text_option,
)
from kinen.cli.options import AS_OF, BEGIN
from kinen.cli.run import colours
from kinen.model.kinds import DISTILLERS, MEMORY_TYPES
from kinen.render.journal import (
    consolidated_json,
    consolidated_text,
    learned_text,
    memory_json,
    origin_text,
)

if TYPE_CHECKING:
    from kinen.memory import Memory


@group()
def memories() -> None:
    """Decisions, lessons, patterns and insights, each with its sources."""


@memories.command("list")
@choice_option("--type -t", MEMORY_TYPES, "only this type (default: all)", key="type_")
@text_option("--session", "NAME", "only those drawn from this session (a part is enough)")
@click.option("--forgotten", is_flag=True, help="list hidden memories instead")
@options(AS_OF)
@spaces_command
def list_(memory: Memory, type_: str | None, session: str, forgotten: bool, as_of: str) -> Output:
    """List memories, newest first. Exit 1 if there are none.

    With --as-of, those that held then: memories that were hidden or superseded later come back.
    """
    records = memory.consolidation.memories(
        type_ or "", hidden=forgotten, session=session, as_of=as_of
    )
    origins = [memory.consolidation.origin(record) for record in records]
    style = colours()
    notes = []
    if not (records or type_ or forgotten or as_of):
        notes.append("no memories yet: `kinen consolidate` extracts them from sessions")
    return Output(
        {"memories": [memory_json(*pair) for pair in zip(records, origins, strict=True)]},
        "\n".join(learned_text(record, style) for record in records),
        found=bool(records),
        notes=notes,
    )


@memories.command()
@click.argument("name", metavar="ID")
@memory_command
def show(memory: Memory, name: str) -> Output:
    """Show a memory with all its sources."""
    record = memory.consolidation.get(name)
    origin = memory.consolidation.origin(record)
    lines = [learned_text(record, colours(), sources=True), origin_text(origin)]
    return Output(memory_json(record, origin), "\n".join(filter(None, lines)))


@memories.command()
@click.argument("name", metavar="ID")
@memory_command
def forget(memory: Memory, name: str) -> Output:
    """Hide a memory and do not extract it again.

    `kinen memories restore` shows it again.
    """
    record = memory.consolidation.hide(name)
    return Output({"ref": record.ref}, f"{record.ref}  forgotten")


@memories.command()
@click.argument("name", metavar="ID")
@memory_command
def restore(memory: Memory, name: str) -> Output:
    """Show a hidden memory again."""
    record = memory.consolidation.restore(name)
    return Output({"ref": record.ref}, f"{record.ref}  restored")


@click.command()
@text_option("--session", "NAME", "only this session folder")
@text_option("--capsule", "ID", "only this capsule")
@options(*BEGIN)
@dry_run_option
@click.option(
    "--distiller",
    type=click.Choice(("configured", "auto", *DISTILLERS)),
    default="configured",
    help="which engine reads sessions (default: consolidation.order)",
)
@memory_command
def consolidate(
    memory: Memory, session: str, capsule: str, since: str, dry_run: bool, distiller: str
) -> Output:
    """Extract memories from decision records, rounds, checkpoints, commits and sessions.

    By default it reads what is new since the last run, by rules and locally; a model is used only
    if you name it here or in consolidation.order. The sources stay searchable. Exit 1 if there was
    nothing new.

    \b
    Examples:
      kinen consolidate --dry-run
      kinen consolidate --session 20251206-01
      kinen consolidate --distiller ollama
    """
    result = memory.consolidation.consolidate(
        session=session,
        capsule=capsule,
        since=moment(since),
        dry_run=dry_run,
        distiller=distiller,
    )
    return Output(
        consolidated_json(result),
        consolidated_text(result, colours()),
        found=bool(result.learned),
    )
