"""`ask` and `related`: an answer with its sources, and what belongs to a record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from kinen.characters import visible_line
from kinen.ids import short_id
from kinen.memory.index import EMPTY_SPACE
from kinen.model.kinds import DISTILLERS
from kinen.query import kinds_of
from kinen.recall.floor import UNKNOWN
from kinen.render.graph import related_text
from kinen.render.json import record_json
from kinen.verbs.params import limit, param, words
from kinen.verbs.verb import Result, Verb, View

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.model.records import Related as RelatedRecord


@dataclass(frozen=True, slots=True)
class Citation(Result):
    number: int
    ref: str
    title: str
    at: str
    id: str
    """for `kinen show`"""


@dataclass(frozen=True, slots=True)
class Omission(Result):
    ref: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer(Result):
    question: str
    answer: str
    """empty if nothing is known"""
    citations: list[Citation]
    distiller: str
    tokens: dict[str, int]
    """in and out"""
    cached: bool
    dropped: list[Omission]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class VoteRow(Result):
    retriever: str
    rank: int
    score: float
    share: float


@dataclass(frozen=True, slots=True)
class RecallItem(Result):
    tier: str
    ref: str
    text: str
    tokens: int
    score: float = 0.0
    votes: list[VoteRow] = field(default_factory=list)
    at: str = ""
    space: str = ""
    by: str = ""
    session: str = ""
    later: str = ""
    """a later entry that says the same with other values"""
    copies: int = 0
    """how many others say the same"""


@dataclass(frozen=True, slots=True)
class DroppedItem(Result):
    tier: str
    ref: str
    tokens: int
    reason: str
    space: str = ""


@dataclass(frozen=True, slots=True)
class DigestOfRecall(Result):
    text: str = ""
    by: str = ""
    sources: list[str] = field(default_factory=list)
    tokens_in: int = 0
    tokens_out: int = 0
    cached: bool = False
    notes: list[str] = field(default_factory=list)
    passages: int = 0
    """how many it sums up"""
    latency_ms: int = 0
    """time that a model took"""
    reduction: float = 0.0
    """share of their tokens that it saves"""


@dataclass(frozen=True, slots=True)
class Recalled(Result):
    query: str
    budget: int
    tokens: int
    over_budget: bool = False
    search_method: str = ""
    """a mode of search, or `recent`"""
    items: list[RecallItem] = field(default_factory=list)
    dropped: list[DroppedItem] = field(default_factory=list)
    digest: DigestOfRecall | None = None
    notes: list[str] = field(default_factory=list)


class Ask(Verb):
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

    result = Answer
    route = "ask"
    embeds = True
    slow = True

    question: str = words("what you want to know", longest=10_000, example="why did we drop redis")
    budget: int = param(
        "--budget",
        "token limit of the answer (default: distill.budget)",
        0,
        metavar="N",
        least=0,
        most=1_000_000,
    )
    distiller: str = param(
        "--distiller",
        "which engine answers (default: distill.order)",
        choices=("auto", *DISTILLERS),
    )
    streamed: str = ""

    def run(self, memory: Memory) -> Answer:
        lines: list[str] = []

        def pass_on(line: str) -> None:
            lines.append(line)
            if self.on_line:
                self.on_line(line)

        answer = memory.answers.ask(
            self.question,
            budget=self.budget,
            distiller=self.distiller or "configured",
            on_line=pass_on if self.on_line else None,
        )
        self.streamed = "\n".join(lines)
        return Answer(
            answer.question,
            answer.text,
            [Citation(**asdict(row), id=short_id(row.ref)) for row in answer.citations],
            answer.distiller,
            {"in": answer.tokens_in, "out": answer.tokens_out},
            answer.cached,
            [Omission(row.ref, row.reason) for row in answer.dropped],
            list(answer.notes),
        )

    def text(self, result: Answer, view: View) -> str:
        if not result.answer:
            return ""
        is_streamed = self.streamed.strip() == result.answer.strip()
        lines = []
        for citation in result.citations:
            about = "  ".join(filter(None, (citation.at[:10], citation.title)))
            place = view.style("path", visible_line(citation.id))
            lines.append(f"[{citation.number}] {place}  {view.style('dim', visible_line(about))}")
        return "\n".join([*([] if is_streamed else [result.answer]), "", *lines])

    def empty(self, result: Answer) -> bool:
        return not result.answer

    def notes(self, result: Answer) -> Iterable[str]:
        yield from result.notes
        if not result.answer and EMPTY_SPACE not in result.notes:
            yield f"{UNKNOWN}: `kinen search` shows the nearest hits"


@dataclass(frozen=True, slots=True)
class Relation(Result):
    ref: str
    path: str = ""
    type: str = ""
    title: str = ""
    at: str = ""
    session: str = ""
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    score: float = 0.0
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Relations(Result):
    ref: str
    related: list[Relation]
    notes: list[str]


class Related(Verb):
    """Show what is related to a file: by links, by meaning and by tags. Exit 1 if nothing is.

    \b
    Examples:
      kinen related docs/auth.md
      kinen related docs/auth.md --type checkpoints --type memories
    """

    result = Relations
    route = "related"
    lists_files = True

    ref: str = param(
        "",
        "a path or a ref",
        required=True,
        metavar="FILE",
        path=True,
        ref=True,
        example="note:docs/sessions.md",
    )
    limit: int = limit(10, "records", least=1)
    types: tuple[str, ...] = param(
        "--type -t", "only records of this type, as in `kinen search`", many=True, metavar="TYPE"
    )
    items: list[RelatedRecord]

    def run(self, memory: Memory) -> Relations:
        record, self.items, notes = memory.relations.related(
            self.ref, self.limit, kinds_of(self.types)
        )
        if not self.items:
            hint = "`kinen search` finds what is close to a question"
            notes = [*notes, f"nothing is related to {record.path or record.ref}: {hint}"]
        rows = [
            Relation(**record_json(item.record), score=item.score, reasons=list(item.reasons))
            for item in self.items
        ]
        return Relations(record.ref, rows, notes)

    def text(self, result: Relations, view: View) -> str:  # noqa: ARG002
        rows = [
            item._replace(record=item.record._replace(path=view.place(item.record.path)))
            if item.record.path
            else item
            for item in self.items
        ]
        return related_text(rows, view.style)

    def empty(self, result: Relations) -> bool:
        return not result.related

    def notes(self, result: Relations) -> Iterable[str]:
        return result.notes

    def files_in(self, result: Relations) -> Iterable[str]:
        return [row.path for row in result.related if row.path]
