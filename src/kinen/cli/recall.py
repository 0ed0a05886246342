"""`kinen recall`: what an agent should know, within a token budget."""

from __future__ import annotations

from kinen.model.kinds import DISTILLERS
from kinen.verbs.params import (
    AS_OF,
    HOW,
    JSON,
    PERIOD,
    SCOPE,
    SPACES,
    TAG,
    flag,
    mode_of,
    option,
    param,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import click

    from kinen.model.journal import Recall
    from kinen.model.records import Query

OPTIONS = {
    "search": option("--search", "TEXT", "the query, as an option", hidden=True),
    **HOW,
    **PERIOD,
    "as_of": AS_OF,
    "types": option("--type -t", "TYPE", "type: decision, lesson, files, commits, ...", many=True),
    "tags": TAG,
    "files": option(
        "--file -f",
        "PATH",
        "about this file: its path, or the end of it",
        many=True,
        path=True,
        separator="",
    ),
    "issue": option("--issue", "ID", "this issue, such as bd-a1b2 or '#12', and what names it"),
    "symbols": option("--symbol", "NAME", "memories that name this symbol", many=True, rare=True),
    **SCOPE,
    "limit": param("--limit -n", "maximum number of entries (0 = all)", 20, metavar="N"),
    "full": flag("--full", "show whole records, not only the relevant lines", rare=True),
    "budget": param("--budget", "token limit (default: recall.budget)", 0, metavar="N"),
    "distill": flag("--distill -d", "summarise the hits instead of listing them"),
    "distiller": param(
        "--distiller",
        "which engine writes the digest (default: distill.order); auto: the first available",
        choices=("auto", *DISTILLERS, "none"),
        rare=True,
    ),
    "min_similarity": param(
        "--min-similarity", "minimum similarity, 0 to 1 (default: 0)", 0.0, metavar="X", rare=True
    ),
    "spaces": SPACES,
    "as_json": JSON,
}
QUERY_OPTIONS = (
    "types tags files symbols issue session repo agent user since until as_of limit budget"
    " min_similarity mode".split()
)
"""Options that the query has under the same name."""
NOTHING = (
    "nothing to recall: `kinen install` records sessions of agents, `kinen save` saves what"
    " was done; a filter may leave everything out"
)
HELP = """Print the plan, pins, the latest summary and matching records as markdown, within a token
budget.

Without a query, print what happened last. The output ends with what did not fit. Exit 1 if there is
nothing. With --distill the hits are summarised, each line with its source; by default that happens
locally and without a model (see distill.order)."""
EPILOG = """Examples:
  kinen recall why did we drop redis
  kinen recall --days 2 --file auth.py --type decision
  kinen recall --distill how do tokens expire --budget 400
  kinen recall token refresh --json | jq '.items[].ref'
  kinen recall --issue bd-a1b2
  kinen recall --space all deploy"""


def recall(text: str, **options: Any) -> int:
    """Print what an agent should know. Exit 1 if there is nothing."""
    if options["days"]:
        from kinen.cli.run import begin

        options["since"] = begin(options)
    options["mode"] = mode_of(options)
    text = " ".join(filter(None, (text, options["search"])))
    code, output, remarks = _from_daemon(text, options) or _from_here(text, options)
    if code and not output and not remarks:
        remarks = [NOTHING]
    if remarks:
        from kinen.cli.run import note, with_options

        for remark in remarks:
            note(with_options(remark))
    if output:
        print(output)
    return code


def _from_daemon(text: str, options: dict[str, Any]) -> tuple[int, str, list[str]] | None:
    """The daemon's answer, ready to print; None if it cannot answer. It makes no digests."""
    if distiller_of(options):
        return None
    from kinen.cli.daemon_answer import ask_daemon

    words = {name: options[name] for name in QUERY_OPTIONS}
    words["query"] = text
    words["full"] = bool(options["full"])
    return ask_daemon("POST /v1/recall", words, options["spaces"], as_json=options["as_json"])


def _from_here(text: str, options: dict[str, Any]) -> tuple[int, str, list[str]]:
    """The answer of this process: exit code, text to print, remarks."""
    from kinen.cli.run import FOUND, NOTHING
    from kinen.render.journal import recall_json, recall_text
    from kinen.render.json import to_json

    answer = recall_of(text, options)
    code = FOUND if answer.items or answer.digest else NOTHING
    if options["as_json"]:
        return code, to_json(recall_json(answer)), []
    remarks = (*answer.notes, *(answer.digest.notes if answer.digest else ()))
    return code, recall_text(answer), [" ".join(remark.split()) for remark in remarks]


def recall_of(text: str, options: dict[str, Any]) -> Recall:
    """Recall from one space, or from several."""
    from kinen.cli.daemon_answer import daemon_started, show_work
    from kinen.errors import QueryError
    from kinen.memory import Memory

    spaces = options["spaces"]
    distiller = distiller_of(options)
    query = query_of(text, options)
    if len(spaces) > 1 or "all" in spaces:
        from kinen.memory.federation import recall_spaces

        if distiller:
            raise QueryError("--distill works on one space", "omit --distill, or name one space")
        return recall_spaces(spaces, query, full=options["full"])
    with Memory.open(space=spaces[0] if spaces else None) as memory, daemon_started(memory):
        show_work(memory)
        return memory.recall(query, full=options["full"], distiller=distiller)


def distiller_of(options: dict[str, Any]) -> str:
    """The engine of --distiller, `configured` for --distill alone, empty for no digest."""
    if options["distiller"]:
        return "" if options["distiller"] == "none" else str(options["distiller"])
    return "configured" if options["distill"] else ""


def query_of(text: str, options: dict[str, Any]) -> Query:
    from kinen.query import recall_query

    values = {name: options[name] for name in QUERY_OPTIONS}
    return recall_query(text, **values)


def command() -> click.Command:
    from kinen.cli.command import quick_command

    return quick_command(recall, {"param_decls": ["query"], "nargs": -1}, OPTIONS, HELP, EPILOG)
