"""`kinen tags` and `kinen tag`: tags of files, from folders, commits and people."""

from __future__ import annotations

import click

from kinen.cli.command import (
    FILE_NAME,
    Output,
    emit,
    json_option,
    listing,
    memory_command,
    openable_records,
    path_option,
)
from kinen.cli.options import SPACE_HELP
from kinen.cli.run import colours
from kinen.memory import Memory
from kinen.render.json import record_json, tag_json
from kinen.render.text import records_text


@click.command()
@click.argument("names", nargs=-1, metavar="[TAG]...")
@click.option("--notes", is_flag=True, help="only tags written in markdown files")
@click.option("--files", is_flag=True, help="only tags of the repository's files")
@click.option("--staged", is_flag=True, help="print the `tags:` line for the staged files")
@click.option(
    "--into",
    type=click.Path(dir_okay=False),
    help="with --staged: add the line to this commit message file",
)
@memory_command
def tags(
    memory: Memory, names: tuple[str, ...], notes: bool, files: bool, staged: bool, into: str | None
) -> Output:
    """List the tags of files, what has a tag, or the `tags:` line for a commit.

    With TAG, the files that have all of these tags are listed. With --staged, the line
    names the components of the staged files (git.components or varp.yaml), or else
    their folders. Exit 1 if there are no tags.

    \b
    Examples:
      kinen files tags
      kinen files tags --notes
      kinen files tags domain/auth                # the files with this tag
      git commit -m "fix(auth): refresh tokens" -m "$(kinen files tags --staged)"
      kinen index hooks install --tags      # do that for every commit
    """
    if into and not staged:
        raise click.UsageError("--into needs --staged")
    if staged:
        return _staged(memory, into)
    if names:
        return _tagged(memory, names, notes, files)
    counts = memory.records.tags()
    if notes != files:
        column = "notes" if notes else "files"
        counts = [row._replace(total=getattr(row, column)) for row in counts]
        counts = sorted((row for row in counts if row.total), key=lambda row: (-row.total, row.tag))
    return listing(
        {"tags": [tag_json(row) for row in counts]},
        "\n".join(f"{row.total:>6,}  {row.tag}" for row in counts),
        counts,
        "no tags: write #tag in a markdown file, or `tags:` in its frontmatter or a commit",
    )


def _tagged(memory: Memory, names: tuple[str, ...], notes: bool, files: bool) -> Output:
    records = memory.records.tagged(names)
    if notes != files:
        records = [record for record in records if (record.kind == "file") == files]
    return listing(
        {"records": [record_json(record) for record in records]},
        records_text(openable_records(memory, records), colours()),
        records,
        f"nothing has the tag {' and '.join(names)}",
    )


def _staged(memory: Memory, into: str | None) -> Output:
    paths = memory.git.staged()
    plan = memory.worklog.plan()
    line = memory.git.tags_line(paths, plan.tags if plan and paths else ())
    if into and line:
        memory.git.write_tags(into, line)
    names = line.removeprefix("tags: ").split(", ") if line else []
    nothing = "the staged files give no tags" if paths else "nothing is staged: `git add` first"
    return Output(
        {"tags": names, "paths": paths, "line": line},
        "" if into else line,
        found=bool(line),
        notes=[] if into or line else [nothing],
    )


# No one-letter options: `-security` removes a tag.
@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("path", type=FILE_NAME)
@click.argument("ops", nargs=-1, required=True, metavar="+TAG|-TAG...", type=click.UNPROCESSED)
@path_option("--space", "NAME", SPACE_HELP)
@json_option
def tag(path: str, ops: tuple[str, ...], space: str, as_json: bool) -> int:
    """Add or remove tags of a file. They survive commits, renames and rebuilds.

    \b
    Examples:
      kinen files tag src/auth/session.py +security -wip
    """
    with Memory.open(space=space or None) as memory:
        names = memory.git.tag(path, ops)
        name = memory.git.current_name(path)
    data = {"ref": f"file:{name}", "path": name, "tags": list(names)}
    return emit(Output(data, ", ".join(names) or "no tags"), as_json)
