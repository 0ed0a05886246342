"""`kinen recall`: what an agent should know, in a token budget."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, note


def command() -> click.Command:
    return recall


@click.command()
@click.argument("words", nargs=-1, metavar="[QUERY]")
@click.option("--budget", type=int, default=0, help="most tokens; recall.budget if not given")
@click.option("--session", default="", help="what holds for, and happened in, this session")
@click.option("--limit", "-n", default=20, show_default=True, help="most hits to choose from")
@in_space
@for_scripts
def recall(
    words: tuple[str, ...],
    budget: int,
    session: str,
    limit: int,
    space: str | None,
    as_json: bool,
) -> int:
    """Pins, the latest summary and what was found, as markdown that fits a token budget.

    Without a question, what happened last. What was left out is said. Exit 1 if there is nothing.

    \b
    Examples:
      kinen recall why did we drop redis
      kinen recall --budget 500 --session s1
      kinen recall token refresh --json | jq '.items[].ref'
    """
    from kinen.errors import QueryError
    from kinen.memory import Memory
    from kinen.model import Query
    from kinen.render.entries import recall_json, recall_text

    if budget < 0:
        raise QueryError(f"a budget of {budget} tokens holds nothing", "use --budget 1 or more")
    with Memory.open(space=space) as memory:
        given = memory.recall(Query(" ".join(words), limit=limit, session=session, budget=budget))
    if as_json:
        print(render.to_json(recall_json(given)))
    else:
        for remark in given.notes:
            note(remark)
        if given.items:
            print(recall_text(given))
    return FOUND if given.items else NOTHING
