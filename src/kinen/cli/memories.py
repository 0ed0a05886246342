"""Corrections of `kinen memories`, and `kinen consolidate`."""

from __future__ import annotations

from kinen.cli.editor import rewrite
from kinen.cli.run import piped
from kinen.memory import Memory
from kinen.model.kinds import DISTILLERS
from kinen.render.journal import consolidated_json, consolidated_text
from kinen.verbs.params import DRY_RUN, SINCE, option, param
from kinen.verbs.verb import Output, moment, verb

EDIT_REMARK = "Save and close the editor to store the wording; an empty text changes nothing."
EDIT_HINT = "`kinen memories edit ID TEXT` gives the new wording"
NAME = param("", "a memory", required=True, metavar="ID")


@verb()
def forget(memory: Memory, name: str = NAME) -> Output:
    """Hide a memory and do not extract it again.

    `kinen memories restore` shows it again.
    """
    record = memory.consolidation.hide(name)
    return Output({"ref": record.ref}, f"{record.ref}  forgotten")


@verb()
def restore(memory: Memory, name: str = NAME) -> Output:
    """Show a hidden memory again."""
    record = memory.consolidation.restore(name)
    return Output({"ref": record.ref}, f"{record.ref}  restored")


@verb()
def edit(
    memory: Memory, name: str = NAME, text: str = param("", "new wording", metavar="[TEXT|-]")
) -> Output:
    """Put a memory into other words. Without TEXT, in your editor; `-` reads standard input.

    The former wording is hidden, and is not extracted again.

    \b
    Examples:
      kinen memories edit 01KX8JJZ 'Sessions are in Postgres, not in Redis'
      kinen memories undo
    """
    old = memory.consolidation.get(name)
    if text == "-":
        text = piped()
    new = memory.consolidation.edit(old.ref, text or rewrite(old.content, EDIT_REMARK, EDIT_HINT))
    word = "unchanged" if new.id == old.id else f"replaces {old.ref}"
    return Output({"ref": new.ref, "replaced": old.ref}, f"{new.ref}  {word}")


@verb()
def merge(
    memory: Memory, name: str = NAME, into: str = param("", "another", metavar="[INTO]")
) -> Output:
    """Merge a memory into another one, which gets its sources. The first is hidden.

    Without INTO, what colleagues edited at the same time is merged into the latest version.
    """
    merged = memory.consolidation.get(name)
    other = memory.consolidation.merge(merged.ref, into)
    text = f"{merged.ref}  merged into {other.ref}" if into else f"{other.ref}  these words stay"
    return Output({"ref": other.ref, "merged": merged.ref}, text)


@verb()
def supersede(
    memory: Memory, name: str = NAME, by: str = param("", "a newer one", metavar="[NEWER]")
) -> Output:
    """Mark a memory as superseded by a newer one; without NEWER, as valid again."""
    record = memory.consolidation.supersede(name, by)
    newer = f"memory:{record.superseded_by}" if record.superseded_by else ""
    text = f"superseded by {newer}" if newer else "valid again"
    return Output({"ref": record.ref, "superseded_by": newer or None}, f"{record.ref}  {text}")


@verb()
def undo(memory: Memory) -> Output:
    """Undo the last edit, merge, supersede, forget or restore; up to 20, one at a time."""
    action, record = memory.consolidation.undo()
    return Output({"undone": action, "ref": record.ref}, f"{record.ref}  {action} undone")


@verb(working="reading sessions, files and commits")
def consolidate(
    memory: Memory,
    session: str = option("--session", "NAME", "only this session, by the name of its folder"),
    capsule: str = option("--capsule", "ID", "only this recorded session, by its ref"),
    since: str = SINCE,
    dry_run: bool = DRY_RUN,
    distiller: str = param(
        "--distiller",
        "which engine reads sessions (default: consolidation.order)",
        choices=("configured", "auto", *DISTILLERS),
    ),
) -> Output:
    """Draw memories from files, saved memories, commits and sessions.

    By default it reads what is new since the last run, by rules and locally; a model is used only
    if you name it here or in consolidation.order. The sources stay searchable. Exit 1 if there was
    nothing new.

    \b
    Examples:
      kinen memories draw --dry-run
      kinen memories draw --session 20251206-01
      kinen memories draw --distiller ollama
    """
    result = memory.consolidation.consolidate(
        session=session,
        capsule=capsule,
        since=moment(since),
        dry_run=dry_run,
        distiller=distiller or "configured",
    )
    return Output(
        consolidated_json(result),
        lambda view: consolidated_text(result, view.style),
        found=bool(result.learned),
    )
