"""`kinen export`: the journal as a file."""

from __future__ import annotations

import sys
from typing import Any

import click

from kinen.characters import visible_json
from kinen.cli.command import choice_option, options, space_option
from kinen.cli.options import PERIOD, SCOPE
from kinen.cli.output import raw
from kinen.cli.run import note
from kinen.memory import Memory
from kinen.render.text import counts_text
from kinen.times import milliseconds


@click.command()
@click.argument("file", default="-", type=click.Path(dir_okay=False))
@options(*SCOPE, *PERIOD)
@choice_option(
    "--format",
    ["json", "jsonl", "html"],
    "one JSON document, one JSON object per line, or a page",
    default="json",
    key="form",
)
@click.option("--html", is_flag=True, help="write a page that opens in a browser, without a server")
@click.option("--gzip", "compress", is_flag=True, help="compress FILE (also by a name in .gz)")
@space_option
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
