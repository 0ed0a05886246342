"""`kinen tags` and `kinen tag`: tags of files, given by folders, commits and people."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import FILE_NAME, for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING


def command() -> click.Command:
    return tags


@click.command()
@click.option("--staged", is_flag=True, help="the line of tags for what is staged")
@click.option(
    "--into", type=click.Path(dir_okay=False), help="with --staged: put the line into this message"
)
@in_space
@for_scripts
def tags(staged: bool, into: str | None, space: str | None, as_json: bool) -> int:
    """List the tags of the repository's files, or print the `tags:` line for what is staged.

    The line names the components (git.components, or varp.yaml) that the staged files belong
    to, else their folders.

    \b
    Examples:
      kinen tags
      git commit -m "fix(auth): refresh tokens" -m "$(kinen tags --staged)"
      kinen hooks install --tags            do that for every commit
    """
    from kinen.memory import Memory

    if into and not staged:
        raise click.UsageError("--into needs --staged")
    with Memory.open(space=space) as memory:
        if staged:
            paths = memory.git.staged()
            line = memory.git.tags_line(paths)
            if into and line:
                memory.git.write_tags(into, line)
        else:
            counted = memory.git.tags()
    if staged:
        if as_json:
            listed = line.removeprefix("tags: ").split(", ") if line else []
            print(render.to_json({"tags": listed, "paths": paths, "line": line}))
        elif line and not into:
            print(line)
        return FOUND if line else NOTHING
    if as_json:
        print(render.to_json({"tags": [{"tag": tag, "count": count} for tag, count in counted]}))
    else:
        for name, count in counted:
            print(f"{count:>6,}  {name}")
    return FOUND if counted else NOTHING


# No option of one letter: `-security` is a tag that goes.
@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("path", type=FILE_NAME)
@click.argument("ops", nargs=-1, required=True, metavar="+TAG|-TAG...", type=click.UNPROCESSED)
@click.option("--space", type=FILE_NAME, help="another space than the one of this folder")
@for_scripts
def tag(path: str, ops: tuple[str, ...], space: str | None, as_json: bool) -> int:
    """Give a file a tag by hand, or take one away. It survives commits, renames and rebuilds.

    \b
    Examples:
      kinen tag src/auth/session.py +security -wip
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        found = memory.git.tag(path, ops)
        name = memory.git.current_name(path)
    if as_json:
        print(render.to_json({"ref": f"file:{name}", "path": name, "tags": list(found)}))
    else:
        print(", ".join(found) or "no tags")
    return FOUND
