"""`kinen export` and `kinen import`: the journal as a file that travels."""

from __future__ import annotations

import sys
from typing import Any

import click

from kinen import render
from kinen.characters import visible_json
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.output import raw
from kinen.cli.progress import bar
from kinen.cli.run import note
from kinen.times import milliseconds


def command() -> click.Command:
    return export


def importing() -> click.Command:
    from kinen.cli.transcripts import transcripts

    import_.add_command(transcripts)
    return import_


class Import(click.Group):
    """`kinen import FILE`, which has a command of its own for what is no bundle."""

    allow_interspersed_args = True

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> click.Context:
        own = self.commands.get(args[0]) if args else None
        if own:
            return own.make_context(f"{info_name} {own.name}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command()
@click.argument("file", default="-", type=click.Path(dir_okay=False))
@click.option("--session", default="", help="only of this session")
@click.option("--repo", default="", help="only of this repository")
@click.option("--after", default="", help="not before: 2026-03-01, 2h, 3d, today")
@click.option("--before", default="", help="before, in the same words")
@click.option("--format", "form", type=click.Choice(["json", "jsonl"]), default="json")
@in_space
def export(
    file: str, session: str, repo: str, after: str, before: str, form: Any, space: str | None
) -> int:
    """Write the journal as one bundle, to a file or to standard output.

    The same journal gives the same bytes; SOURCE_DATE_EPOCH fixes the time of the export.

    \b
    Examples:
      kinen export backup.json
      kinen export --session s1 --format jsonl | gzip > s1.jsonl.gz
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        counts = memory.transfer.export(
            _standard_output() if file == "-" else file,
            session=session,
            repo=repo,
            after=milliseconds(after),
            before=milliseconds(before, end=True),
            form=form,
        )
    if file != "-":
        said = ", ".join(f"{count:,} {noun}" for noun, count in counts.items() if count)
        note(f"wrote {said or 'an empty journal'} to {file}")
    return 0


class _Escaped:
    """Standard output on a terminal: JSON whose control characters are escapes."""

    def write(self, text: str) -> int:
        return sys.stdout.write(visible_json(text))


def _standard_output() -> Any:
    """Where a bundle is printed: byte for byte into a pipe, safe on a terminal."""
    if sys.stdout.isatty():
        return _Escaped()
    stream: Any = raw(sys.stdout)
    stream.reconfigure(encoding="utf-8", errors="surrogatepass", newline="\n")
    return stream


@click.group("import", cls=Import, invoke_without_command=True, subcommand_metavar="")
@click.argument("file", type=click.Path())
@click.option(
    "--on-conflict",
    type=click.Choice(["skip", "overwrite", "error"]),
    default="skip",
    show_default=True,
    help="what to do with an id that is here already",
)
@click.option("--dry-run", is_flag=True, help="say what would be done, and do nothing")
@in_space
@for_scripts
def import_(file: str, on_conflict: Any, dry_run: bool, space: str | None, as_json: bool) -> int:
    """Take in a bundle of kinen or Kindling, or a Kindling database: all of it or nothing.

    Of a folder of Goldfish, of any age, checkpoints become files of .memories/, each once.

    \b
    Examples:
      kinen import backup.json --dry-run
      kinen import ~/.goldfish/my-project
      kinen import ~/.kindling/kindling.db
      gunzip -c s1.jsonl.gz | kinen import -
    """
    from kinen.memory import Memory

    source = sys.stdin.buffer if file == "-" else file
    with Memory.open(space=space) as memory, bar() as tell:
        loaded = memory.transfer.load(
            source,
            on_conflict=on_conflict,
            dry_run=dry_run,
            progress=lambda done: tell("import", done, 0),
        )
    return told(loaded, dry_run, as_json)


def told(loaded: Any, dry_run: bool, as_json: bool) -> int:
    """Print what an import did."""
    from kinen.render.journal import loaded_json, loaded_text

    if as_json:
        print(render.to_json(loaded_json(loaded, dry_run)))
        return 0
    print(loaded_text(loaded, dry_run))
    for remark in loaded.notes:
        note(remark)
    if loaded.masked:
        note(f"masked {loaded.masked:,} secrets")
    if loaded.ignored:
        note(
            "not known here: " + ", ".join(f"{name} ({n:,})" for name, n in loaded.ignored.items())
        )
    return 0
