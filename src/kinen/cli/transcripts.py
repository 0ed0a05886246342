"""`kinen import transcripts`: what agents did before kinen was there."""

from __future__ import annotations

import click

from kinen.cli.bundle import told
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.progress import bar


@click.command("transcripts")
@click.argument("path", default="", type=click.Path())
@click.option("--dry-run", is_flag=True, help="say what would be done, and do nothing")
@in_space
@for_scripts
def transcripts(path: str, dry_run: bool, space: str | None, as_json: bool) -> int:
    """Take in past sessions of Claude Code, Codex, Gemini CLI and OpenCode.

    Without a PATH, those that ran in this space, from where their clients leave them; with one, all
    that are in that file or folder. Each is taken once; one that went on since gets what is new.
    Sessions that were recorded as they happened stay as they are.

    \b
    Examples:
      kinen import transcripts --dry-run
      kinen import transcripts
      kinen import transcripts ~/.claude/projects/-home-me-old-name
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory, bar() as tell:
        loaded = memory.transfer.import_transcripts(
            path, dry_run=dry_run, progress=lambda done: tell("import", done, 0)
        )
    return told(loaded, dry_run, as_json)
