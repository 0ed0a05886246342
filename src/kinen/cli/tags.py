"""`kinen tags` and `kinen tag`: tags of files, from folders, commits and people."""

from __future__ import annotations

import click

from kinen.cli.command import FILE_NAME, Output, emit, json_option, memory_command
from kinen.memory import Memory


@click.command()
@click.option("--staged", is_flag=True, help="print the `tags:` line for the staged files")
@click.option(
    "--into",
    type=click.Path(dir_okay=False),
    help="with --staged: add the line to this commit message file",
)
@memory_command
def tags(memory: Memory, staged: bool, into: str | None) -> Output:
    """List the tags of the repository's files, or print the `tags:` line for the staged files.

    The line names the components of the staged files (git.components or varp.yaml), or else
    their folders. Exit 1 if there are no tags.

    \b
    Examples:
      kinen tags
      git commit -m "fix(auth): refresh tokens" -m "$(kinen tags --staged)"
      kinen hooks install --tags            # do that for every commit
    """
    if into and not staged:
        raise click.UsageError("--into needs --staged")
    if staged:
        return _staged(memory, into)
    counts = memory.git.tags()
    return Output(
        {"tags": [{"tag": tag, "count": count} for tag, count in counts]},
        "\n".join(f"{count:>6,}  {tag}" for tag, count in counts),
        found=bool(counts),
    )


def _staged(memory: Memory, into: str | None) -> Output:
    paths = memory.git.staged()
    line = memory.git.tags_line(paths)
    if into and line:
        memory.git.write_tags(into, line)
    names = line.removeprefix("tags: ").split(", ") if line else []
    return Output(
        {"tags": names, "paths": paths, "line": line}, "" if into else line, found=bool(line)
    )


# No one-letter options: `-security` removes a tag.
@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("path", type=FILE_NAME)
@click.argument("ops", nargs=-1, required=True, metavar="+TAG|-TAG...", type=click.UNPROCESSED)
@click.option(
    "--space",
    type=FILE_NAME,
    metavar="NAME",
    help="space to use (default: that of the current folder)",
)
@json_option
def tag(path: str, ops: tuple[str, ...], space: str | None, as_json: bool) -> int:
    """Add or remove tags of a file. They survive commits, renames and rebuilds.

    \b
    Examples:
      kinen tag src/auth/session.py +security -wip
    """
    with Memory.open(space=space) as memory:
        names = memory.git.tag(path, ops)
        name = memory.git.current_name(path)
    data = {"ref": f"file:{name}", "path": name, "tags": list(names)}
    return emit(Output(data, ", ".join(names) or "no tags"), as_json)
