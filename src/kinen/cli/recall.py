"""`kinen recall`: what an agent should know, in a token budget."""

from __future__ import annotations

from kinen.cli.fastargs import Option
from kinen.model.kinds import DISTILLERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import click

    from kinen.model.journal import Recall
    from kinen.model.records import Query

OPTIONS = (
    Option(("--since",), "since", "not older than: 2h, 3d, 1w, today, 2026-03-01", str, ""),
    Option(("--days",), "days", "of the last so many days", int, 0),
    Option(("--from",), "from_", "not older than, as --since", str, ""),
    Option(("--to", "--until"), "until", "not newer than, in the same words", str, ""),
    Option(
        ("--type", "-t"), "types", "decision, learning, ... or rounds, checkpoints, ...", many=True
    ),
    Option(("--tag",), "tags", "with this tag; again for each further one", many=True),
    Option(
        ("--file", "-f"),
        "files",
        "about this file: its path, or the end of it",
        many=True,
        path=True,
    ),
    Option(("--symbol",), "symbols", "checkpoints that name this symbol", many=True),
    Option(("--session",), "session", "what holds for, and happened in, this session", str, ""),
    Option(("--limit", "-n"), "limit", "at most this many entries", int, 20),
    Option(("--full",), "full", "whole records, not the lines that matter", bool),
    Option(("--budget",), "budget", "most tokens; recall.budget if not given", int, 0),
    Option(("--distill", "-d"), "distill", "what the hits come to, in their place", bool),
    Option(
        ("--distiller",),
        "distiller",
        "by whom; auto: claude, gemini, ollama, openai, extract",
        str,
        "",
        choices=("auto", *DISTILLERS, "none"),
    ),
    Option(("--min-similarity",), "min_similarity", "only what is so near in meaning", float, 0.0),
    Option(
        ("--space", "-s"),
        "spaces",
        "in this space instead; again for more, or all",
        many=True,
        path=True,
    ),
    Option(("--json",), "as_json", "for scripts", bool),
)
PLAIN = (
    *("types", "tags", "files", "symbols", "session", "until", "limit", "budget"),
    "min_similarity",
)
"""Options that are the query's own."""
EPILOG = """Examples:
  kinen recall why did we drop redis
  kinen recall --days 2 --file auth.py --type decision
  kinen recall --distill how do tokens expire --budget 400
  kinen recall token refresh --json | jq '.items[].ref'
  kinen recall --space all deploy"""


def recall(text: str, **options: Any) -> int:
    """Print what an agent should know; 1 if there is nothing."""
    code, output, remarks = _asked(text, options) or _told(
        ask(text, options), as_json=options["as_json"]
    )
    if remarks:
        from kinen.cli.run import note

        for remark in remarks.split("\n"):
            note(remark)
    if output:
        print(output)
    return code


def _asked(text: str, options: dict[str, Any]) -> tuple[int, str, str] | None:
    """What the daemon recalls; a digest is made by this process."""
    if len(options["spaces"]) > 1 or "all" in options["spaces"] or distiller_of(options):
        return None
    from kinen.cli.daemon_answer import answered

    words = {name: options[name] for name in PLAIN} | {"query": text, "full": bool(options["full"])}
    words |= {"since": since_of(options)}
    space = options["spaces"][0] if options["spaces"] else ""
    found = answered("POST /v1/recall", words, space, as_json=options["as_json"])
    return (found[0], found[1], "\n".join(found[2])) if found else None


def _told(given: Recall, *, as_json: bool) -> tuple[int, str, str]:
    """The exit code, what is printed, and remarks beside it."""
    from kinen import render
    from kinen.cli.run import FOUND, NOTHING
    from kinen.render.journal import recall_json, recall_text

    code = FOUND if given.items or given.digest else NOTHING
    if as_json:
        return code, render.to_json(recall_json(given)), ""
    remarks = (*given.notes, *(given.digest.notes if given.digest else ()))
    lines = (" ".join(remark.split()) for remark in remarks)
    return code, recall_text(given), "\n".join(lines)


def ask(text: str, options: dict[str, Any]) -> Recall:
    """Recall from one space, or from several."""
    from kinen.cli.daemon_answer import started
    from kinen.errors import QueryError
    from kinen.memory import Memory
    from kinen.memory.federation import recall_spaces

    spaces = options["spaces"]
    distiller = distiller_of(options)
    query = query_of(text, options)
    if len(spaces) > 1 or "all" in spaces:
        if distiller:
            raise QueryError("a digest is of one space", "leave --distill, or name one space")
        return recall_spaces(spaces, query, full=options["full"])
    with Memory.open(space=spaces[0] if spaces else None) as memory, started(memory):
        return memory.recall(query, full=options["full"], distiller=distiller)


def distiller_of(options: dict[str, Any]) -> str:
    """Who is to distil: whoever was named, else as configured; nobody if nothing was said."""
    if options["distiller"]:
        return "" if options["distiller"] == "none" else str(options["distiller"])
    return "configured" if options["distill"] else ""


def query_of(text: str, options: dict[str, Any]) -> Query:
    from kinen.query import recall_query

    return recall_query(text, since=since_of(options), **{name: options[name] for name in PLAIN})


def since_of(options: dict[str, Any]) -> str:
    """The time from which on, said in one of three ways."""
    from kinen.errors import QueryError

    if options["days"] < 0:
        raise QueryError("--days cannot be negative", "use 1 or more")
    begins = [options["since"], options["from_"], f"{options['days']}d" if options["days"] else ""]
    if sum(map(bool, begins)) > 1:
        raise QueryError("--since, --days and --from say the same", "give one of them")
    return next(filter(None, begins), "")


def command() -> click.Command:
    import click

    from kinen.cli.fastargs import click_options

    def run(query: tuple[str, ...], **options: Any) -> int:
        return recall(" ".join(query), **options)

    return click.Command(
        "recall",
        params=[click.Argument(["query"], nargs=-1), *click_options(OPTIONS)],
        callback=run,
        help="""The plan, pins, the latest summary and what was found, as markdown that fits a
        token budget.

        Without a question, what happened last. What was left out is said. Exit 1 if there is
        nothing. With --distill the hits are summed up, each line with its source; by default that
        is done here, without a model (distill.order).""",
        epilog="\b\n" + EPILOG,
    )
