"""`kinen import` and `kinen export`: the journal as a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kinen.characters import visible_json
from kinen.cli.command import CommandGroup, dry_run_option, memory_command, options
from kinen.cli.output import note, raw
from kinen.cli.run import bar
from kinen.memory import Memory
from kinen.render.journal import loaded_json, loaded_notes, loaded_text
from kinen.render.text import counts_text
from kinen.times import milliseconds
from kinen.verbs.params import DRY_RUN, PERIOD, SCOPE, SPACE, flag, param
from kinen.verbs.verb import Output

if TYPE_CHECKING:
    from kinen.transfer.bundle import Loaded


@click.group("import", cls=CommandGroup)
@click.argument("file", type=click.Path(), default="")
@options(
    on_conflict=param(
        "--on-conflict",
        "what to do with an entry whose id exists already",
        "skip",
        choices=("skip", "overwrite", "error"),
    ),
    dry_run=DRY_RUN,
)
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

    Reads the stores of Claude Code, Codex, Gemini CLI, OpenCode, Copilot CLI, Qwen Code, pi,
    OpenClaw, Cursor, Cline, Roo Code, Aider, Zed, Goose, Hermes, Kimi, Grok, Antigravity, Amp,
    Droid, Continue and Crush. Without PATH, imports the sessions that ran in this space, from where
    each client stores them; with PATHs, all sessions in those files or folders. A session is
    imported once; if it continued since, only the new part is. Sessions recorded by hooks are not
    changed. A file that is as it was when it was imported is not read again, unless you name it.

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


@click.command()
@click.argument("file", default="-", type=click.Path(dir_okay=False))
@options(
    **SCOPE,
    **PERIOD,
    form=param(
        "--format",
        "one JSON document, one JSON object per line, or a page",
        "json",
        choices=("json", "jsonl", "html"),
    ),
    html=flag("--html", "write a page that opens in a browser, without a server"),
    compress=flag("--gzip", "compress FILE (also by a name in .gz)"),
    space=SPACE,
)
def export(
    file: str,
    since: str,
    until: str,
    form: Any,
    html: bool,
    compress: bool,
    space: str | None,
    **scope: str,
) -> int:
    """Write the journal as a bundle to FILE, or to standard output.

    With --html, FILE is one page with everything in it: sessions, events, memories, pins and plans,
    with search, filters and a timeline. It needs no network, and `kinen import` reads it. Redacted
    and forgotten entries are not in it; saved memories and plans are left out where only a session,
    repository, agent or user is exported.

    The same journal gives the same bytes. SOURCE_DATE_EPOCH fixes the time of the export.

    \b
    Examples:
      kinen export backup.json
      kinen export backup.json.gz
      kinen export --html memory.html --since 30d
      kinen export --session s1 --format jsonl | gzip > s1.jsonl.gz
    """
    if compress and file == "-":
        raise click.UsageError("--gzip needs a FILE · or pipe the output through gzip")
    form = "html" if html else form
    if form == "html" and file == "-" and sys.stdout.isatty():
        raise click.UsageError("a page needs a FILE · kinen export --html memory.html")
    with Memory.open(space=space) as memory:
        counts = memory.transfer.export(
            _standard_output() if file == "-" else file,
            after=milliseconds(since),
            before=milliseconds(until, end=True),
            form=form,
            compress=compress,
            **scope,
        )
    if file != "-":
        note(f"wrote {counts_text(counts) or 'an empty journal'} to {file}")
    return 0


class _Escaped:
    """Standard output on a terminal, with control characters of JSON escaped."""

    def write(self, text: str) -> int:
        return sys.stdout.write(visible_json(text))


def _standard_output() -> Any:
    """Where a bundle is printed: unchanged into a pipe, escaped on a terminal."""
    if sys.stdout.isatty():
        return _Escaped()
    stream: Any = raw(sys.stdout)
    stream.reconfigure(encoding="utf-8", errors="surrogatepass", newline="\n")
    return stream
