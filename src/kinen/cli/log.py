"""`kinen log`: record an event."""

from __future__ import annotations

import os
import sys

from kinen import paths
from kinen.journal import write
from kinen.space import route
from kinen.verbs.params import JSON, LOG, SPACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    import click

    from kinen.journal.schema import Row

OPTIONS = {**LOG, "space": SPACE, "as_json": JSON}
SCOPE = ("session", "agent", "repo", "user")

EPILOG = """Examples:
  kinen save --event 'we moved sessions to Postgres, Redis lost them on restart'
  pytest -q 2>&1 | tail -20 | kinen save --event - --kind command --session s1
  kinen save --event 'edited the limiter' --kind file_diff --file src/limiter.py --json

Secrets are masked before they are written, and <private>…</private> is never stored."""


def log(text: str, **options: Any) -> int:
    """Record an event and print its ref. It is on disk before the command returns.

    `-` reads the text from standard input.
    """
    if text == "-":
        # Longer than the largest text that is stored, so that an endless stream is refused.
        text = sys.stdin.buffer.read(64 << 20).decode("utf-8", "replace").rstrip()
    if options["space"] or options["capsule"] or options["as_json"]:
        return _log_with_memory(text, options)

    row, written = observe(
        text,
        kind=options["kind"],
        files=options["files"],
        **{name: options[name] for name in SCOPE},
    )
    print(f"observation:{row[0]}")
    if row[-1] != "{}":
        import json

        _note(_masked_text(json.loads(str(row[-1]))))
    if not written:
        _note("the journal is busy or read-only: the event is in the spool, on disk")
    return 0


def _note(text: str) -> None:
    from kinen.cli.output import note

    note(text)


def _masked_text(masked: Any) -> str:
    """Evidence of masking, such as `masked 2 secrets (github_token, jwt)`."""
    count = masked.get("count", 0)
    classes = ", ".join(masked.get("classes", ()))
    return f"masked {count} secret{'' if count == 1 else 's'} ({classes})"


def _log_with_memory(text: str, options: dict[str, Any]) -> int:
    """The same through `Memory`, for the options that the fast path does not support."""
    from kinen.memory import Memory

    scope = {name: options[name] for name in SCOPE}
    with Memory.open(space=options["space"] or None) as memory:
        observation = memory.observe(
            text,
            kind=options["kind"],
            scope=scope,
            files=[os.path.abspath(file) for file in options["files"]],
            capsule=options["capsule"],
        )
    if options["as_json"]:
        from kinen.render.journal import entry_json
        from kinen.render.json import to_json

        print(to_json(entry_json(observation)))
        return 0
    print(observation.ref)
    if observation.masked:
        _note(_masked_text(observation.masked))
    return 0


def command() -> click.Command:
    import click

    from kinen.cli.command import click_param

    words = click.Argument(["text"], metavar="TEXT|-")
    params = [words, *(click_param(*row) for row in OPTIONS.items())]
    return click.Command(
        "log", params=params, callback=log, help=log.__doc__, epilog="\b\n" + EPILOG
    )


def observe(
    text: str,
    *,
    kind: str = "message",
    files: Iterable[str] = (),
    folder: str = "",
    session: str = "",
    agent: str = "",
    repo: str = "",
    user: str = "",
) -> tuple[Row, bool]:
    """Record what happened in a folder; returns the row, and whether it is in the journal yet.

    It is on disk either way: what cannot be written now is spooled.
    """
    space = route.find(paths.default_home(os.environ), folder or os.getcwd(), folder or None)
    row = write.observation_row(
        text,
        kind,
        git_folders=(space.git, space.common),
        files=[paths.inside(file, space.tree, space.root) for file in files],
        excluded=space.excluded,
        session=session,
        repo=repo or space.repo,
        agent=agent,
        user=user,
    )
    return row, write.keep(space.data, space.spool_folders, row)
