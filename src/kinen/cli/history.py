"""`kinen files`, `kinen history`, `kinen cochange`: what git's history knows of files."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import FILE_NAME, for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, colours, note
from kinen.render import history as shown


def command() -> click.Command:
    return files


@click.command()
@click.option(
    "--tag", "-t", "tags", multiple=True, help="with this tag; again for each further one"
)
@click.option("--deleted", is_flag=True, help="also files that are gone")
@click.option("--ignored", is_flag=True, help="also tracked files that .gitignore names")
@click.option("--source-only", is_flag=True, help="only files below a folder called src")
@click.option("--limit", "-n", type=click.IntRange(0), default=0, help="at most this many")
@click.option("--offset", type=click.IntRange(0), default=0, help="leave out the first ones")
@in_space
@for_scripts
def files(
    tags: tuple[str, ...],
    deleted: bool,
    ignored: bool,
    source_only: bool,
    limit: int,
    offset: int,
    space: str | None,
    as_json: bool,
) -> int:
    """List the files of the repository at HEAD, each with all of its tags.

    \b
    Examples:
      kinen files --tag auth --tag session
      kinen files --deleted --json | jq -r '.files[] | select(.alive | not).path'
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        found, total = memory.git.files(
            tags=tags,
            deleted=deleted,
            ignored=ignored,
            source_only=source_only,
            limit=limit,
            offset=offset,
        )
    if as_json:
        listed = [shown.file_json(record) for record in found]
        print(render.to_json({"files": listed, "total": total, "offset": offset}))
    elif found:
        print(shown.files_text(found, colours()))
        if len(found) < total:
            note(f"{len(found):,} of {total:,}; --limit and --offset show the others")
    return FOUND if found else NOTHING


@click.command()
@click.argument("path", type=FILE_NAME)
@in_space
@for_scripts
def history(path: str, space: str | None, as_json: bool) -> int:
    """Show what commits did to a file, oldest first, through renames, with its tags.

    A name that the file had before will do as well.

    \b
    Examples:
      kinen history src/auth/session.py
      kinen history src/auth/session.py --json | jq -r '.revisions[].commit'
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        found = memory.git.history(path)
        by_hand = memory.git.tagged_by_hand(path)
    if as_json:
        revisions = [shown.revision_json(one) for one in found]
        print(render.to_json({"path": path, "revisions": revisions, "by_hand": by_hand}))
        return FOUND
    if found:
        print(shown.revisions_text(found, colours()))
    else:
        note("it came with a merge: no commit of its own is known")
    if by_hand:
        print(f"by hand: {' '.join(by_hand)}")
    return FOUND


@click.command()
@click.argument("paths", nargs=-1, type=FILE_NAME)
@click.option("--staged", is_flag=True, help="ask about what is staged for the next commit")
@click.option("--limit", "-n", type=click.IntRange(1), default=10, help="at most this many")
@in_space
@for_scripts
def cochange(
    paths: tuple[str, ...], staged: bool, limit: int, space: str | None, as_json: bool
) -> int:
    """What usually changes together with these files, and is not among them.

    A commit of n files counts 1/(n-1) for each pair in it, so large ones say little.

    \b
    Examples:
      kinen cochange src/auth/session.py
      kinen cochange --staged
    """
    from kinen.memory import Memory

    if bool(paths) == staged:
        raise click.UsageError("give paths, or --staged")
    with Memory.open(space=space) as memory:
        asked = memory.git.staged() if staged else list(paths)
        known = [path for path in asked if memory.git.tracks(path)] if staged else asked
        found = memory.git.cochanged(known, limit) if known else []
    if as_json:
        listed = [shown.companion_json(one) for one in found]
        print(render.to_json({"paths": asked, "files": listed}))
    elif found:
        print(shown.companions_text(found, colours()))
    elif staged and not asked:
        note("nothing is staged: `git add` what the next commit should have")
    elif not known:
        note("what is staged is new: no commit has it yet")
    return FOUND if found else NOTHING
