"""Text and JSON of answers to questions."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kinen.characters import visible_line
from kinen.recall.tiers import short_id
from kinen.render.style import PLAIN, Style

if TYPE_CHECKING:
    from kinen.recall.answer import Answer


def answer_json(answer: Answer) -> dict[str, Any]:
    return {
        "question": answer.question,
        "answer": answer.text,
        "citations": [
            {**asdict(citation), "id": short_id(citation.ref)} for citation in answer.citations
        ],
        "distiller": answer.distiller,
        "tokens": {"in": answer.tokens_in, "out": answer.tokens_out},
        "cached": answer.cached,
        "dropped": [asdict(omission) for omission in answer.dropped],
        "notes": list(answer.notes),
    }


def sources_text(answer: Answer, style: Style = PLAIN) -> str:
    """A line for each source: number, name for `kinen show`, date and title."""
    lines = []
    for citation in answer.citations:
        name = visible_line(short_id(citation.ref))
        about = "  ".join(filter(None, (citation.at[:10], citation.title)))
        lines.append(
            f"[{citation.number}] {style('path', name)}  {style('dim', visible_line(about))}"
        )
    return "\n".join(lines)
