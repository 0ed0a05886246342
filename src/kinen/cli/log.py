"""`kinen log`: keep something that happened."""

from __future__ import annotations

import os
import sys

from kinen.cli.fastargs import Option
from kinen.model.kinds import EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import click

OPTIONS = (
    Option(("--kind", "-k"), "kind", "what it is", str, "message", choices=EVENTS),
    Option(("--session",), "session", "the session it belongs to", str, ""),
    Option(("--agent",), "agent", "who did it", str, ""),
    Option(("--capsule",), "capsule", "the capsule it is part of", str, ""),
    Option(("--file",), "files", "a file that it is about; again for more", many=True, path=True),
    Option(
        ("--space", "-s"), "space", "another space than the one of this folder", str, "", path=True
    ),
    Option(("--json",), "as_json", "for scripts", bool),
)

EPILOG = """Examples:
  kinen log 'we moved sessions to Postgres, Redis lost them on restart'
  pytest -q 2>&1 | tail -20 | kinen log - --kind command --session s1
  kinen log 'edited the limiter' --kind file_diff --file src/limiter.py --json

What looks like a secret is masked before it is written, and <private>…</private> never is."""


def log(text: str, **options: Any) -> int:
    """Keep something; when this returns, it is on disk. Its ref is printed."""
    if text == "-":
        # More than is ever kept, so that a stream without an end is refused and not read.
        text = sys.stdin.buffer.read(64 << 20).decode("utf-8", "replace").rstrip()
    if options["space"] or options["capsule"] or options["as_json"]:
        return _whole(text, options)
    from kinen.journal.observe import observe

    row, written = observe(
        text,
        kind=options["kind"],
        files=options["files"],
        session=options["session"],
        agent=options["agent"],
    )
    print(f"observation:{row[0]}")
    if row[-1] != "{}":
        _note(f"masked: {row[-1]}")
    if not written:
        _note("the journal is busy or cannot be written: it waits in the spool, on disk")
    return 0


def _note(text: str) -> None:
    from kinen.cli.run import note

    note(text)


def _whole(text: str, options: dict[str, Any]) -> int:
    """The same through the façade, for all that the quick way leaves out."""
    from kinen import render
    from kinen.memory import Memory
    from kinen.render.journal import entry_json

    scope = {"session": options["session"], "agent": options["agent"]}
    with Memory.open(space=options["space"] or None) as memory:
        kept = memory.observe(
            text,
            kind=options["kind"],
            scope=scope,
            files=[os.path.abspath(file) for file in options["files"]],
            capsule=options["capsule"],
        )
    print(render.to_json(entry_json(kept)) if options["as_json"] else kept.ref)
    if kept.masked and not options["as_json"]:
        _note(f"masked: {render.to_json(dict(kept.masked))}")
    return 0


def command() -> click.Command:
    import click

    from kinen.cli.fastargs import click_options

    def run(text: str, **options: Any) -> int:
        options["kind"] = options["kind"] or "message"
        return log(text, **options)

    return click.Command(
        "log",
        callback=run,
        params=[click.Argument(["text"], metavar="TEXT|-"), *click_options(OPTIONS)],
        help=log.__doc__,
        epilog="\b\n" + EPILOG,
    )
