"""`kinen import` and `kinen import transcripts`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kinen.cli.command import CommandGroup, Output, choice_option, dry_run_option, memory_command
from kinen.cli.progress import bar
from kinen.render.journal import loaded_json, loaded_notes, loaded_text

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.transfer.bundle import Loaded


@click.group("import", cls=CommandGroup)
@click.argument("file", type=click.Path(), default="")
@choice_option(
    "--on-conflict",
    ["skip", "overwrite", "error"],
    "what to do with an entry whose id exists already",
    default="skip",
)
@dry_run_option
@memory_command
def import_(memory: Memory, file: str, on_conflict: Any, dry_run: bool) -> Output:
    """Import a bundle of kinen or Kindling, or a Kindling database: all of it or nothing.

    A bundle may be compressed, or in a page of `kinen export --html`; its saved memories and plans
    become files of .memories/, where those that exist stay as they are. What this kinen did not
    export itself is masked. From a Goldfish folder, each checkpoint is imported once, as a file of
    .memories/; of a folder with several workspaces, only that with the name of this project.
    Transcripts of coding agents are recognised, too: see `kinen import transcripts`. Without FILE,
    or with `-`, a bundle is read from standard input.

    \b
    Examples:
      kinen import backup.json --dry-run
      kinen import memory.html
      kinen import ~/.goldfish/my-project
      kinen import ~/.kindling/kindling.db
      kinen import < backup.json
      gunzip -c s1.jsonl.gz | kinen import
    """
    if not file and sys.stdin.isatty():
        raise click.UsageError("no file · pass one, or pipe a bundle: kinen import < backup.json")
    source = sys.stdin.buffer if file in ("", "-") else file
    with bar() as update:
        loaded = memory.transfer.load(
            source,
            on_conflict=on_conflict,
            dry_run=dry_run,
            progress=lambda done: update("import", done, 0),
        )
    return _output(loaded, dry_run)


@import_.command()
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH]...")
@dry_run_option
@memory_command
def transcripts(memory: Memory, paths: tuple[str, ...], dry_run: bool) -> Output:
    """Import past sessions of coding agents.

    Reads the stores of Claude Code, Codex, Gemini CLI, OpenCode, Copilot CLI, Qwen Code, Cursor,
    Cline, Roo Code, Aider and Zed. Without PATH, imports the sessions that ran in this space, from
    where each client stores them; with PATHs, all sessions in those files or folders. A session is
    imported once; if it continued since, only the new part is. Sessions recorded by hooks are not
    changed.

    \b
    Examples:
      kinen import transcripts --dry-run
      kinen import transcripts
      kinen import transcripts ~/.claude/projects/-home-me-old-name
      kinen import transcripts .aider.chat.history.md
    """
    with bar() as update:
        loaded = memory.transfer.import_transcripts(
            *paths, dry_run=dry_run, progress=lambda done: update("import", done, 0)
        )
    return _output(loaded, dry_run)


def _output(loaded: Loaded, dry_run: bool) -> Output:
    return Output(
        loaded_json(loaded, dry_run), loaded_text(loaded, dry_run), notes=loaded_notes(loaded)
    )
