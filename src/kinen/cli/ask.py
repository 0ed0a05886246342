"""`kinen ask`: an answer with citations."""

from __future__ import annotations

import sys

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, colours, note
from kinen.model.kinds import DISTILLERS


def command() -> click.Command:
    return ask


@click.command()
@click.argument("question", nargs=-1, required=True)
@click.option("--budget", type=int, default=0, help="most tokens; default: distill.budget")
@click.option(
    "--distiller",
    type=click.Choice(("auto", *DISTILLERS)),
    default=None,
    help="who answers; default: distill.order, which is extract unless you changed it",
)
@in_space
@for_scripts
def ask(
    question: tuple[str, ...], budget: int, distiller: str | None, space: str | None, as_json: bool
) -> int:
    """Answer a question from memory, with its sources.

    By default the lines that answer are quoted here, without a model (`extract`). A model
    (claude, gemini, ollama, openai) is asked only if you name it or configure it; then what was
    found is sent to it. Each statement has the number of its source; `kinen show` shows a source.
    Exit 1 if nothing is known.

    \b
    Examples:
      kinen ask why did we drop redis
      kinen ask --distiller claude 'how do tokens expire?'
      kinen ask 'what broke the deploy?' --json | jq -r '.citations[].ref'
    """
    from kinen.cli.daemon_answer import started
    from kinen.memory import Memory
    from kinen.memory.recall import UNKNOWN
    from kinen.render.answers import answer_json, sources_text

    streamed: list[str] = []

    def show(line: str) -> None:
        streamed.append(line)
        print(line, flush=True)

    live = sys.stdout.isatty() and not as_json
    with Memory.open(space=space) as memory, started(memory):
        answer = memory.answers.ask(
            " ".join(question),
            budget=budget,
            distiller=distiller or "configured",
            on_line=show if live else None,
        )
    if as_json:
        print(render.to_json(answer_json(answer)))
        return FOUND if answer.text else NOTHING
    for remark in answer.notes:
        note(remark)
    if not answer.text:
        note(f"{UNKNOWN}: `kinen search` shows what comes nearest")
        return NOTHING
    if "\n".join(streamed).strip() != answer.text.strip():
        print(answer.text)
    print(f"\n{sources_text(answer, colours())}")
    return FOUND
