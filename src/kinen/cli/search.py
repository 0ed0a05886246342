"""`kinen search`: ask by word and by meaning."""

from __future__ import annotations

import os
import sys

from kinen.cli.fastargs import Option
from kinen.cli.output import coloured, print_rendered, write_raw
from kinen.model.kinds import MODES

# An answer of the daemon is printed by a process that loads little more than this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import click

    from kinen.memory import Memory
    from kinen.model.records import Hits, Query

OPTIONS = (
    Option(("--semantic",), "semantic", "by meaning only", bool),
    Option(("--fulltext",), "fulltext", "by word only", bool),
    Option(("--exact",), "exact", "only what has the words as one phrase, as if quoted", bool),
    Option(("--mode", "-m"), "mode", "how to retrieve and fuse", str, "", choices=MODES),
    Option(("--type", "-t"), "types", "rounds, notes, commits, files, ... or all", many=True),
    Option(("--kind",), "events", "kind of observation: error, command, message, ...", many=True),
    Option(("--agent",), "agent", "by this agent (part of its name will do)", str, ""),
    Option(("--author",), "author", "commits by this author (part of the name will do)", str, ""),
    Option(("--near",), "near", "commits that touched this path count more", many=True, path=True),
    Option(("--repo",), "repo", "in this repository (part of its name will do)", str, ""),
    Option(("--session",), "session", "in this session (part of its name will do)", str, ""),
    Option(("--tag",), "tags", "with this tag; again for each further one", many=True),
    Option(
        ("--path", "-p"), "paths", "below this folder, or matching this glob", many=True, path=True
    ),
    Option(
        ("--since",), "since", "not older than: 2026-03-01, 2h, 3d, 1w, today, yesterday", str, ""
    ),
    Option(("--until",), "until", "not newer than, in the same words", str, ""),
    Option(("--limit", "-n"), "limit", "at most this many hits", int, 0),
    Option(("--context", "-C"), "context", "chunks before and after each passage", int, -1),
    Option(("--min-score",), "min_score", "only hits that score at least this, 0 to 1", float, 0.0),
    Option(
        ("--space", "-s"),
        "spaces",
        "in this space instead; again for more, or all",
        many=True,
        path=True,
    ),
    Option(("--explain", "-e"), "explain", "show the votes behind each hit", bool),
    Option(("--files", "-l"), "files", "only the paths, one per line", bool),
    Option(("--json",), "as_json", "for scripts", bool),
)
PLAIN = (
    *("types", "agent", "author", "repo", "session", "tags", "paths", "since", "until"),
    *("limit", "context", "min_score"),
)
"""Options that are the query's own."""

EPILOG = """Examples:
  kinen search why did we drop redis
  kinen search --fulltext 'rate-limiter' --type rounds --since 2w
  kinen search --exact 'token refresh failed'
  kinen search --explain -C 1 token refresh
  kinen search --type commits 'token refresh' --near src/auth.py
  kinen search --type files 'where are cookies signed'
  kinen search deploy --space all -l | xargs less"""


def search(text: str, **options: Any) -> int:
    """Find things and print them: `path:line` first. Exit 0 found, 1 nothing, 2 error."""
    code, said, notes = asked(text, options) or _found(text, options)
    if notes and not options["as_json"]:
        from kinen.cli.run import note

        for remark in notes:
            note(remark)
    if said and options["files"] and not sys.stdout.isatty() and not options["as_json"]:
        write_raw(_on_disk(said) + "\n")  # for xargs: each name as the file has it
    elif said:
        (print if options["files"] else print_rendered)(said)
    return code


def _on_disk(names: str) -> str:
    """Paths of the index, one per line, with the bytes that the files' names have.

    Bytes that are no UTF-8 are spelled out in the index (`kinen.text.spelled`).
    """
    if "\\x" not in names:
        return names
    from kinen.space import route
    from kinen.text import unspelled

    here = route.here()
    root = here.root if here else os.curdir
    lines = []
    for name in names.split("\n"):
        byte_name = os.fsdecode(unspelled(name))
        spelled_out = not os.path.lexists(os.path.join(root, name))
        lines.append(
            byte_name if spelled_out and os.path.lexists(os.path.join(root, byte_name)) else name
        )
    return "\n".join(lines)


def asked(text: str, options: dict[str, Any]) -> tuple[int, str, list[str]] | None:
    """What the daemon finds, as it is to be printed; None where it is not there or not the one."""
    if len(options["spaces"]) > 1 or "all" in options["spaces"] or options["near"]:
        return None
    from kinen.cli.daemon_answer import answered

    words = {name: options[name] for name in PLAIN} | {"kinds": options["events"]}
    looks = {name: bool(options[name]) for name in ("files", "explain")} | {
        "colour": coloured(sys.stdout)
    }
    words |= {"query": text, "mode": mode_of(options), "exact": bool(options["exact"])}
    words |= {} if options["as_json"] else looks
    space = options["spaces"][0] if options["spaces"] else ""
    return answered("POST /v1/search", words, space, as_json=options["as_json"])


def _found(text: str, options: dict[str, Any]) -> tuple[int, str, list[str]]:
    """What this process finds by itself."""
    from kinen import render
    from kinen.cli.run import FOUND, NOTHING

    hits = ask(text, options)
    code = FOUND if hits else NOTHING
    if options["as_json"]:
        return code, render.to_json(render.hits_json(hits)), []
    looks = {"files": options["files"], "explain": options["explain"]}
    return code, render.search_text(hits, **looks, colour=coloured(sys.stdout)), [*hits.notes]


def ask(text: str, options: dict[str, Any]) -> Hits:
    from kinen.cli.daemon_answer import started

    spaces = options["spaces"]
    if len(spaces) > 1 or "all" in spaces:
        from kinen.memory.federation import search_spaces

        return search_spaces(spaces, lambda memory: query_of(text, options, memory))
    from kinen.memory import Memory

    with Memory.open(space=spaces[0] if spaces else None) as memory, started(memory):
        return memory.search(query_of(text, options, memory))


def query_of(text: str, options: dict[str, Any], memory: Memory) -> Query:
    """The command line's words as a query, with the space's defaults."""
    from kinen.query import search_query

    return search_query(
        text,
        memory.config.search,
        mode=mode_of(options),
        kinds=options["events"],
        near=[memory.git.current_name(path) for path in options["near"]],
        **{name: options[name] for name in PLAIN},
        exact=bool(options["exact"]),
    )


def mode_of(options: dict[str, Any]) -> str:
    """The mode that was named, by an option or by a flag of its own."""
    modes = [name for name in ("semantic", "fulltext") if options[name]]
    modes += [options["mode"]] if options["mode"] else []
    if len(modes) > 1:
        from kinen.errors import QueryError

        raise QueryError(f"{' and '.join(modes)} exclude each other", "give one mode")
    return modes[0] if modes else ""


def command() -> click.Command:
    import click

    from kinen.cli.fastargs import click_options

    def run(query: tuple[str, ...], **options: Any) -> int:
        return search(" ".join(query), **options)

    return click.Command(
        "search",
        params=[click.Argument(["query"], nargs=-1, required=True), *click_options(OPTIONS)],
        callback=run,
        help="Find things by word and by meaning, with the reason shown.",
        epilog="\b\n" + EPILOG,
    )
