"""`kinen ask`: an answer with citations."""

from __future__ import annotations

import sys

import click

from kinen.cli.command import Output, choice_option, emit, json_option, number_option, space_option
from kinen.cli.daemon_answer import daemon_started
from kinen.cli.run import FOUND, NOTHING, colours, note
from kinen.memory import Memory
from kinen.memory.index import EMPTY_SPACE
from kinen.model.kinds import DISTILLERS
from kinen.recall.floor import UNKNOWN
from kinen.render.answers import answer_json, sources_text


@click.command()
@click.argument("question", nargs=-1, required=True)
@number_option("--budget", "token limit of the answer (default: distill.budget)", 0)
@choice_option(
    "--distiller", ("auto", *DISTILLERS), "which engine answers (default: distill.order)"
)
@space_option
@json_option
def ask(
    question: tuple[str, ...], budget: int, distiller: str | None, space: str | None, as_json: bool
) -> int:
    """Answer a question from memory, with sources.

    By default the relevant lines are quoted, locally and without a model (`extract`). A model
    (claude, gemini, ollama, openai) is used only if you name it here or in distill.order; it is
    sent what was found. Each statement has the number of its source; `kinen show` shows a source.
    Exit 1 if there is no answer.

    \b
    Examples:
      kinen ask why did we drop redis
      kinen ask --distiller claude 'how do tokens expire?'
      kinen ask 'what broke the deploy?' --json | jq -r '.citations[].ref'
    """
    streamed: list[str] = []

    def show(line: str) -> None:
        streamed.append(line)
        print(line, flush=True)

    live = sys.stdout.isatty() and not as_json
    with Memory.open(space=space) as memory, daemon_started(memory):
        answer = memory.answers.ask(
            " ".join(question),
            budget=budget,
            distiller=distiller or "configured",
            on_line=show if live else None,
        )
    if as_json:
        return emit(Output(answer_json(answer), found=bool(answer.text)), as_json)
    for remark in answer.notes:
        note(remark)
    if not answer.text:
        if EMPTY_SPACE not in answer.notes:
            note(f"{UNKNOWN}: `kinen search` shows the nearest hits")
        return NOTHING
    if "\n".join(streamed).strip() != answer.text.strip():
        print(answer.text)
    print(f"\n{sources_text(answer, colours())}")
    return FOUND
