"""`kinen search`: search by word and by meaning."""

from __future__ import annotations

import os
import sys

from kinen.cli.output import coloured, file_name, print_rendered, terminal_width, write_raw
from kinen.verbs.params import (
    AGENT,
    AS_OF,
    HOW,
    JSON,
    PERIOD,
    PREFIX,
    REPO,
    SESSION,
    SPACES,
    TAG,
    flag,
    hit_limit,
    mode_of,
    option,
    param,
)

# A process that prints an answer of the daemon imports little more than this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import click

    from kinen.memory import Memory
    from kinen.model.records import Hits, Query

OPTIONS = {
    **HOW,
    "exact": flag("--exact", "match the words as one phrase, as if quoted"),
    "types": option(
        "--type -t",
        "TYPE",
        "type of record: files, commits, memories, notes, ... or all",
        many=True,
    ),
    "events": option(
        "--kind -k",
        "KIND",
        "kind of event: error, command, ...; with --type commits: fix, feat, ...",
        many=True,
        rare=True,
    ),
    "by": option("--by", "NAME", "only what this colleague wrote (see kinen team sync)", rare=True),
    "mine": flag("--mine", "without what colleagues wrote", rare=True),
    "meta": option(
        "--meta",
        "KEY=VALUE",
        "value in the frontmatter, such as draft=true",
        many=True,
        separator="",
        rare=True,
    ),
    "agent": AGENT,
    "author": option(
        "--author", "NAME", f"author of commits ({PREFIX})", aliases=("--user",), rare=True
    ),
    "near": option(
        "--near",
        "PATH",
        "rank commits that touched this file higher",
        many=True,
        path=True,
        separator="",
        rare=True,
    ),
    "repo": REPO,
    "session": SESSION,
    "tags": TAG,
    "paths": option(
        "--path -p", "PATH", "folder or glob of the files", many=True, path=True, separator=""
    ),
    **PERIOD,
    "as_of": AS_OF,
    "limit": param(
        "--limit -n",
        "maximum number of hits (0 = all, default: search.default_limit)",
        None,
        type=int,
        metavar="N",
    ),
    "context": param(
        "--context -C",
        "chunks to show before and after each hit (default: search.context_chunks)",
        -1,
        metavar="N",
        rare=True,
    ),
    "min_score": param(
        "--min-score",
        "minimum score, 0 to 1; 0 shows everything (default: what is close enough)",
        None,
        type=float,
        metavar="X",
        rare=True,
    ),
    "spaces": SPACES,
    "engine": option(
        "--engine",
        "URL",
        "search a PostgreSQL database: postgresql://…, or config for engine.url",
        rare=True,
    ),
    "verbose": flag("--verbose -v", "show the whole passage of each hit"),
    "explain": flag("--explain -e", "show the votes behind each score", rare=True),
    "files": flag("--files -l", "print the paths of files only, one per line"),
    "as_json": JSON,
    "null": flag(
        "--null -0", "with -l, end each path with a NUL character, for xargs -0", rare=True
    ),
    "as_lines": flag("--jsonl", "print one JSON object per hit and line", rare=True),
}
QUERY_OPTIONS = (
    "types agent author repo session tags meta paths since until as_of limit context"
    " min_score files".split()
)
"""Options that the query has under the same name."""
FILTERS = {
    "events": "--kind",
    "by": "--by",
    "mine": "--mine",
    "meta": "--meta",
    "agent": "--agent",
    "author": "--author",
    "repo": "--repo",
    "session": "--session",
    "tags": "--tag",
    "paths": "--path",
    "since": "--since",
    "until": "--until",
    "as_of": "--as-of",
}
"""Options that leave out records whatever their text is."""

EPILOG = """Examples:
  kinen search why did we drop redis
  kinen search --fulltext 'rate-limiter' --type rounds --since 2w
  kinen search --exact 'token refresh failed'
  kinen search -v token refresh
  kinen search --type commits 'token refresh' --near src/auth.py
  kinen search --type files 'where are cookies signed'
  kinen search --type commits --kind fix cookies
  kinen search --as-of 2026-03-01 where are sessions stored
  kinen search --meta draft=true billing docs/plans/
  kinen search deploy --space all -l0 | xargs -0 less"""


def search(text: str, arguments: Sequence[str] = (), **options: Any) -> int:
    """Search and print the hits. Exit 0 with hits, 1 without, 2 on an error.

    Arguments at the end that are paths with a slash select files: `kinen search deploy docs/`.
    """
    if options["days"]:
        from kinen.cli.run import begin

        options["since"] = begin(options)
    options["limit"] = hit_limit(options["limit"])
    options["meta"] = (*options["meta"], *_written_by(options))
    words = [*arguments]
    if not options["engine"]:  # whose files are not here
        while len(words) > 1 and "/" in words[-1] and os.path.lexists(words[-1]):
            options["paths"] = (*options["paths"], os.path.abspath(words.pop()))
    if len(words) < len(arguments):
        text = " ".join(words)
    if options["as_lines"] or (options["null"] and options["files"]):
        code, output, notes = _answer(text, {**options, "as_json": True})
        return _print_lines(output, code, files=options["files"])
    code, output, notes = _answer(text, options)
    if code and not any("nothing" in remark for remark in notes):
        notes = [*notes, _nothing(text, options)]
    if notes and not options["as_json"]:
        from kinen.cli.run import note, with_options

        for remark in notes:
            note(with_options(remark))
    if output and options["files"] and not sys.stdout.isatty() and not options["as_json"]:
        write_raw(_on_disk(output) + "\n")  # for xargs: each name as the file has it
    elif output and options["files"]:
        print(output)
    elif output:
        print_rendered(output)
    return code


def _print_lines(answer: str, code: int, *, files: bool) -> int:
    """Print an answer in JSON as a line for each hit, or with `files` as paths that end in NUL."""
    import json

    from kinen.characters import visible_json
    from kinen.cli.run import FOUND, NOTHING, note, with_options
    from kinen.paths import openable

    data = json.loads(answer)
    for remark in data["notes"]:
        note(with_options(remark))
    if not files:
        for hit in data["results"]:
            print(visible_json(json.dumps(hit, ensure_ascii=False)))
        return code
    sources = [hit["source"] for hit in data["results"]]
    present = [source for source in sources if source["metadata"].get("alive") is not False]
    folder = os.getcwd()
    names = dict.fromkeys(
        openable(source["root"], source["path"], folder) for source in present if source["path"]
    )
    write_raw("".join(f"{file_name(name)}\0" for name in names))
    return FOUND if names else NOTHING


def _written_by(options: dict[str, Any]) -> list[str]:
    """Whose entries are searched, as conditions on their metadata."""
    if options["by"] and options["mine"]:
        from kinen.errors import QueryError

        raise QueryError("--by and --mine cannot be combined", "use one of them")
    return [f"by={options['by']}"] * bool(options["by"]) + ["by=me"] * bool(options["mine"])


def _nothing(text: str, options: dict[str, Any]) -> str:
    """What was looked for and where, and what to do."""
    kinds = ", ".join(options["types"])
    where = f" among {kinds}" if kinds else ""
    if options["files"]:
        return f"no files for {text!r}{where}: without -l, other hits are shown"
    narrowing = [flag for name, flag in FILTERS.items() if options[name]]
    if narrowing:
        return f"nothing for {text!r}{where} with {', '.join(narrowing)}: widen or omit the filter"
    shown = "index more with `kinen index --engine …`"
    if not options["engine"]:
        shown = "see what is indexed with `kinen status`"
    hint = f"use other words, or {shown}"
    return f"nothing has the words of {text!r}{where}: {hint}"


def _answer(text: str, options: dict[str, Any]) -> tuple[int, str, list[str]]:
    """The exit code, the text to print, and remarks."""
    if options["engine"]:
        return _from_here(text, options)
    return _from_daemon(text, options) or _from_here(text, options)


def _on_disk(names: str) -> str:
    """Paths of the index, one per line, with the bytes that the files' names have.

    The index escapes bytes that are not UTF-8 (`kinen.text.spelled`).
    """
    if "\\x" not in names:
        return names
    return "\n".join(map(file_name, names.split("\n")))


def _from_daemon(text: str, options: dict[str, Any]) -> tuple[int, str, list[str]] | None:
    """The daemon's answer, ready to print; None if it cannot answer this search."""
    if options["near"]:
        return None
    from kinen.cli.daemon_answer import ask_daemon

    words = {name: options[name] for name in QUERY_OPTIONS}
    words["kinds"] = options["events"]
    words["query"] = text
    words["mode"] = mode_of(options)
    words["exact"] = bool(options["exact"])
    if not options["as_json"]:
        words["explain"] = bool(options["explain"])
        words["verbose"] = bool(options["verbose"])
        words["colour"] = coloured(sys.stdout)
        words["width"] = terminal_width()
        words["folder"] = os.getcwd()
    return ask_daemon("POST /v1/search", words, options["spaces"], as_json=options["as_json"])


def _from_here(text: str, options: dict[str, Any]) -> tuple[int, str, list[str]]:
    """The answer of this process, ready to print."""
    from kinen.index.match import begun, depth
    from kinen.text import terms

    with begun(_index_here(options), terms(text), depth(options["limit"])):
        from kinen.cli.run import FOUND, NOTHING
        from kinen.render.screen import Screen
        from kinen.render.style import Style
        from kinen.render.text import search_text
        from kinen.text import now

        hits = hits_of(text, options)
    if options["as_json"]:
        from kinen.render.json import hits_json, to_json

        return FOUND if hits else NOTHING, to_json(hits_json(hits)), []
    output = search_text(
        hits,
        files=options["files"],
        explain=options["explain"],
        verbose=options["verbose"],
        folder=os.getcwd(),
        screen=Screen(Style(colour=coloured(sys.stdout)), terminal_width(), now()),
    )
    return FOUND if output else NOTHING, output, [*hits.notes]


def hits_of(text: str, options: dict[str, Any]) -> Hits:
    if options["engine"]:
        from kinen.cli.engine import engine_hits

        return engine_hits(text, options, QUERY_OPTIONS)
    from kinen.cli.daemon_answer import daemon_started, show_work

    spaces = options["spaces"]
    if len(spaces) > 1 or "all" in spaces:  # a search of one space does not load this
        from kinen.memory.federation import search_spaces

        return search_spaces(spaces, lambda memory: query_of(text, options, memory))
    from kinen.memory.memory import Memory

    with Memory.open(space=spaces[0] if spaces else None) as memory, daemon_started(memory):
        show_work(memory)
        return memory.search(query_of(text, options, memory))


def _index_here(options: dict[str, Any]) -> str:
    """The index that a search without filters will ask; empty for other searches."""
    if any(options[name] for name in ("engine", "spaces", "types", "files", "semantic", *FILTERS)):
        return ""
    from kinen.space import route

    here = route.here()
    return os.path.join(here.index, "index.db") if here else ""


def query_of(text: str, options: dict[str, Any], memory: Memory) -> Query:
    """The query of a command line, with the defaults of the space."""
    from kinen.query import search_query

    return search_query(
        text,
        memory.config.search,
        mode=mode_of(options),
        kinds=options["events"],
        near=[memory.git.current_name(path) for path in options["near"]],
        **{name: options[name] for name in QUERY_OPTIONS},
        exact=bool(options["exact"]),
    )


def command() -> click.Command:
    from kinen.cli.command import quick_command

    summary = "Search by word and by meaning. Exit 0 with hits, 1 without, 2 on an error."
    words = {
        "param_decls": ["query"],
        "nargs": -1,
        "required": True,
        "metavar": "QUERY... [PATH/]...",
    }
    return quick_command(search, words, OPTIONS, summary, EPILOG)
