"""`kinen files`, `kinen history`, `kinen cochange`: files in the git history."""

from __future__ import annotations

import click

from kinen.cli.command import (
    FILE_NAME,
    Output,
    files_command,
    limit_option,
    memory_command,
    number_option,
    openable_records,
    opener,
    options,
)
from kinen.cli.options import tags
from kinen.cli.run import colours, screen
from kinen.memory import Memory
from kinen.render.history import (
    companion_json,
    companions_text,
    file_json,
    files_text,
    revision_json,
    revision_lines,
)


@click.command()
@options(tags("tag that files must have", "-t"))
@click.option("--deleted", is_flag=True, help="include deleted files")
@click.option("--ignored", is_flag=True, help="include tracked files that match .gitignore")
@click.option("--source-only", is_flag=True, help="only files below a folder named src")
@number_option("--limit -n", "maximum number of files (default: 0 = all)", 0, least=0)
@number_option("--offset", "skip the first N files (default: 0)", 0, least=0)
@files_command
def files(
    memory: Memory,
    tags: tuple[str, ...],
    deleted: bool,
    ignored: bool,
    source_only: bool,
    limit: int,
    offset: int,
) -> Output:
    """List the files of the repository at HEAD with their tags. Exit 1 if there are none.

    \b
    Examples:
      kinen files --tag auth --tag session
      kinen files -l0 --tag auth | xargs -0 wc -l
      kinen files --deleted --json | jq -r '.files[] | select(.alive | not).path'
    """
    records, total = memory.git.files(
        tags=tags,
        deleted=deleted,
        ignored=ignored,
        source_only=source_only,
        limit=limit,
        offset=offset,
    )
    notes = []
    rows = openable_records(memory, records)
    if not records:
        notes.append("no file matches")
    elif len(records) < total:
        notes.append(f"{len(records):,} of {total:,}; use --limit and --offset to see the others")
    return Output(
        {"files": [file_json(record) for record in records], "total": total, "offset": offset},
        files_text(rows, colours()),
        found=bool(records),
        notes=notes,
        paths=[record.path for record in rows],
    )


@click.command()
@click.argument("path", type=FILE_NAME)
@limit_option(0, "commits")
@click.option("--patch", "-p", is_flag=True, help="show what each commit changed in the file")
@memory_command
def history(memory: Memory, path: str, limit: int, patch: bool) -> Output:
    """Show the commits of a file, newest first, across renames, with its tags.

    PATH may be an earlier name of the file. In JSON the commits are oldest first.

    \b
    Examples:
      kinen history src/auth/session.py
      kinen history -n 3 -p src/auth/session.py
      kinen history src/auth/session.py --json | jq -r '.revisions[].commit'
    """
    revisions = memory.git.history(path)
    by_hand = memory.git.tagged_by_hand(path)
    style = colours()
    lines = revision_lines(revisions, style, screen().width)[-max(0, limit) :]
    revisions = revisions[-max(0, limit) :]
    listed = [revision_json(revision) for revision in revisions]
    if patch:
        patches = [memory.git.patch(revision) for revision in revisions]
        lines = [f"{line}\n{text}" for line, text in zip(lines, patches, strict=True)]
        listed = [{**row, "patch": text} for row, text in zip(listed, patches, strict=True)]
    lines.reverse()
    if by_hand:
        lines.append(f"by hand: {' '.join(by_hand)}")
    return Output(
        {"path": path, "revisions": listed, "by_hand": by_hand},
        "\n".join(lines),
        notes=[] if revisions else ["no commit of this file: it was added by a merge"],
    )


@click.command()
@click.argument("paths", nargs=-1, type=FILE_NAME)
@click.option("--staged", is_flag=True, help="use the staged files")
@number_option("--limit -n", "maximum number of files", 10, least=1)
@files_command
def cochange(memory: Memory, paths: tuple[str, ...], staged: bool, limit: int) -> Output:
    """List the files that usually change together with PATHS. Exit 1 if there are none.

    A commit of n files counts 1/(n-1) for each pair in it, so large commits count little.

    \b
    Examples:
      kinen cochange src/auth/session.py
      kinen cochange --staged
      kinen cochange -l src/auth/session.py | xargs less
    """
    if bool(paths) == staged:
        raise click.UsageError("pass either paths or --staged")
    queried = memory.git.staged() if staged else list(paths)
    tracked = [path for path in queried if memory.git.tracks(path)] if staged else queried
    companions = memory.git.cochanged(tracked, limit) if tracked else []
    openable = opener(memory)
    rows = [companion._replace(path=openable(companion.path)) for companion in companions]
    notes = []
    if staged and not queried:
        notes.append("nothing is staged: run `git add` first")
    elif not tracked:
        notes.append("the staged files are new: no commit contains them yet")
    return Output(
        {"paths": queried, "files": [companion_json(companion) for companion in companions]},
        companions_text(rows, colours(), screen().width),
        found=bool(companions),
        notes=notes,
        paths=[companion.path for companion in rows],
    )
