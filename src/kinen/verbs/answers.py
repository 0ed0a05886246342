"""`ask` and `related`, and the results of `search`, `recall` and `why`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from kinen.characters import visible_line
from kinen.ids import short_id
from kinen.memory.index import EMPTY_SPACE
from kinen.model.kinds import DISTILLERS
from kinen.query import kinds_of
from kinen.recall.clip import compact
from kinen.recall.floor import UNKNOWN
from kinen.recall.tiers import author_of
from kinen.render.graph import related_text
from kinen.render.json import hit_json, hits_json, record_json
from kinen.text import estimate
from kinen.verbs.params import limit, param, words
from kinen.verbs.verb import Output, PartialResult, Result, View, verb

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.model.records import Chunk, Hits
    from kinen.model.records import Hit as FoundHit
    from kinen.model.records import Related as RelatedRecord

SHORT = 70
"""Tokens of a hit that does not fit the budget."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(PartialResult):
    ref: str
    path: str = ""
    type: str
    title: str = ""
    at: str = ""
    session: str = ""
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    space: str = ""
    """its name, where several were asked"""
    root: str = ""
    """folder of the space"""
    file: str = ""
    """absolute path"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage(Result):
    ref: str = ""
    n: int = 0
    """number of the chunk that matched: `ref#n`"""
    content: str
    """the passage around what matched"""
    start_line: int | None = None
    end_line: int | None = None
    line: int | None = None
    """the line that matches best"""
    page: int | None = None
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Neighbours(Result):
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class HitFields:
    chunk: Passage
    source: Source
    context: Neighbours = field(default_factory=Neighbours)
    score: float
    match_type: str
    votes: list[VoteRow] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(HitFields, Result):
    strength: int = 0
    """0 to 100: how close it is to the question"""


@dataclass(frozen=True, slots=True)
class SearchResults(Result):
    query: str
    mode: str
    results: list[Hit]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedHit(HitFields, Result):
    strength: int = 0
    """0 to 100: how close it is to the question"""
    tokens: int
    """of content and context"""
    more: int = 0
    """tokens left out to keep the budget"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedResults(Result):
    query: str
    mode: str
    results: list[SizedHit]
    notes: list[str] = field(default_factory=list)
    tokens: int


def sized(hits: Hits, budget: int, *, explain: bool) -> dict[str, Any]:
    """Hits as JSON with as much text as fits the budget, the best first."""
    least = min(SHORT, budget // max(1, len(hits)))
    results = []
    left = budget - least * len(hits)
    for hit in hits:
        fitted, tokens, more = _fit(hit, hits.query.text, left + least, least)
        left += least - tokens
        result = {**hit_json(fitted), "tokens": tokens, "more": more}
        if not explain:
            author = author_of(hit.record)
            short = {"metadata": {"by": author} if author else {}, "root": "", "file": ""}
            result.update(votes=[], source={**result["source"], **short})
        results.append(result)
    total = sum(result["tokens"] for result in results)
    return {**hits_json(hits), "results": results, "tokens": total}


def _fit(hit: FoundHit, question: str, room: int, least: int) -> tuple[FoundHit, int, int]:
    """A hit with its neighbours, alone or shortened; its tokens, and how many are left out."""
    whole = _cost(hit)
    if whole <= room:
        return hit, whole, 0
    fitted = hit._replace(before=(), after=())
    tokens = _cost(fitted)
    if tokens > room:
        text = compact(hit.display.text, question, least)
        fitted = fitted._replace(passage=hit.display._replace(text=text))
        tokens = _cost(fitted)
    return fitted, tokens, whole - tokens


def _cost(hit: FoundHit) -> int:
    chunks: tuple[Chunk, ...] = (*hit.before, hit.display, *hit.after)
    return sum(estimate(chunk.text) for chunk in chunks)


def sized_text(value: dict[str, Any]) -> str:
    """Hits for clients that read text only: place, heading and text of each."""
    texts = []
    for hit in value["results"]:
        chunk = hit["chunk"]
        source = hit["source"]
        where = f" page {chunk['page']}" if chunk["page"] else ""
        if chunk["line"]:
            where = f":{chunk['line']}"
        heading = chunk["heading"] or source["title"]
        place = f"{source['space']}: {source['ref']}" if source.get("space") else source["ref"]
        by = source["metadata"].get("by") or source["metadata"].get("author")
        author = f" by {by}" if by else ""
        head = f"[{place}{where}]{author} {heading} ({hit['strength']}, {hit['tokens']} tokens)"
        rest = f"… {hit['more']} more tokens" if hit["more"] else ""
        parts = [head, *hit["context"]["before"], chunk["content"], *hit["context"]["after"], rest]
        texts.append("\n".join(filter(None, parts)))
    return "\n\n".join(texts) or "no hits"


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


@dataclass(frozen=True, slots=True)
class SessionOfCommit(Result):
    ref: str
    session: str
    agent: str
    step: str
    """how it is known: trace, seen, content, lines or fits"""
    certain: bool
    lines: int
    """lines of the commit that it wrote"""
    total: int
    request: str
    """what the user asked for before the edit"""
    reply: str
    """what the agent said about it"""
    edit: str
    """ref of the edit"""
    at: str
    by: str = ""
    origin: str = ""
    """where the session was read from, if not recorded here"""
    changed_since: list[str] = field(default_factory=list)
    """files that it edited and later commits changed"""
    edited: int = 0
    """how many files it edited"""


@dataclass(frozen=True, slots=True)
class CommitOfLine(Result):
    ref: str
    at: str
    author: str
    subject: str
    message: str
    path: str
    """the file's path then"""
    lines: list[int]
    """lines that come from it, as they are numbered now"""
    text: str
    """the line after it, where it changed since"""
    sessions: list[SessionOfCommit] = field(default_factory=list)
    issues: list[str] = field(default_factory=list)
    reverted_by: str = ""
    moved: bool = False
    """whether it only moved or copied the lines here from another file"""


@dataclass(frozen=True, slots=True)
class Mentioned(Result):
    ref: str
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Undone(Result):
    ref: str
    subject: str
    by: str
    """ref of the commit that took it back"""


@dataclass(frozen=True, slots=True)
class ChangesWith(Result):
    path: str
    commits: int


@dataclass(frozen=True, slots=True)
class Sentence(Result):
    text: str
    refs: list[str]
    """what it rests on"""


@dataclass(frozen=True, slots=True)
class Reasons(Result):
    target: str
    reason: str
    """the shortest answer: what was asked for, else what the commit says; empty if unknown"""
    text: str
    """the lines, or the memory"""
    commits: list[CommitOfLine]
    """those that the lines come from, the latest first, then what these lines were before"""
    uncommitted: list[int]
    """lines that no commit has"""
    edited: SessionOfCommit | None
    """the session that last edited them, or that a memory was drawn from"""
    memories: list[Mentioned]
    """what names the file or symbol; of a memory its sources"""
    reverted: list[Undone]
    """commits of the file that were taken back"""
    changes_with: list[ChangesWith]
    beside: list[Mentioned] = field(default_factory=list)
    """other commits of the three lines before and after; of the file, if git cannot follow these"""
    paragraph: list[Sentence] = field(default_factory=list)
    """what a model wrote about it; empty without one"""
    notes: list[str] = field(default_factory=list)


@verb(result=Answer, route="ask", embeds=True, slow=True)
def ask(
    memory: Memory,
    question: str = words("what you want to know", longest=10_000, example="why did we drop redis"),
    budget: int = param(
        "--budget",
        "token limit of the answer (default: distill.budget)",
        0,
        metavar="N",
        least=0,
        most=1_000_000,
    ),
    distiller: str = param(
        "--distiller",
        "which engine answers (default: distill.order)",
        choices=("auto", *DISTILLERS),
    ),
    *,
    on_line: Callable[[str], None] | None,
) -> Output:
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

    def pass_on(line: str) -> None:
        streamed.append(line)
        if on_line:
            on_line(line)

    answer = memory.answers.ask(
        question,
        budget=budget,
        distiller=distiller or "configured",
        on_line=pass_on if on_line else None,
    )
    citations = [Citation(**asdict(row), id=short_id(row.ref)) for row in answer.citations]

    def text(view: View) -> str:
        if not answer.text:
            return ""
        lines = [] if "\n".join(streamed).strip() == answer.text.strip() else [answer.text]
        lines.append("")
        for citation in citations:
            about = "  ".join(filter(None, (citation.at[:10], citation.title)))
            place = view.style("path", visible_line(citation.id))
            lines.append(f"[{citation.number}] {place}  {view.style('dim', visible_line(about))}")
        return "\n".join(lines)

    notes = list(answer.notes)
    unknown = [f"{UNKNOWN}: `kinen search` shows the nearest hits"]
    return Output(
        Answer(
            answer.question,
            answer.text,
            citations,
            answer.distiller,
            {"in": answer.tokens_in, "out": answer.tokens_out},
            answer.cached,
            [Omission(row.ref, row.reason) for row in answer.dropped],
            notes,
        ),
        text,
        bool(answer.text),
        notes if answer.text or EMPTY_SPACE in notes else [*notes, *unknown],
    )


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

    @classmethod
    def of(cls, item: RelatedRecord) -> Relation:
        return cls(**record_json(item.record), score=item.score, reasons=list(item.reasons))


@dataclass(frozen=True, slots=True)
class Relations(Result):
    ref: str
    related: list[Relation]
    notes: list[str]


@verb(result=Relations, route="related", lists_files=True)
def related(
    memory: Memory,
    ref: str = param(
        "",
        "a path or a ref",
        required=True,
        metavar="FILE",
        path=True,
        ref=True,
        example="note:docs/sessions.md",
    ),
    limit: int = limit(10, "records", least=1),
    types: tuple[str, ...] = param(
        "--type -t", "only records of this type, as in `kinen search`", many=True, metavar="TYPE"
    ),
) -> Output:
    """Show what is related to a file: by links, by meaning and by tags. Exit 1 if nothing is.

    \b
    Examples:
      kinen related docs/auth.md
      kinen related docs/auth.md --type memories --type commits
    """
    record, items, notes = memory.relations.related(ref, limit, kinds_of(types))
    if not items:
        hint = "`kinen search` finds what is close to a question"
        notes = [*notes, f"nothing is related to {record.path or record.ref}: {hint}"]

    def text(view: View) -> str:
        rows = [
            item._replace(record=item.record._replace(path=view.place(item.record.path)))
            if item.record.path
            else item
            for item in items
        ]
        return related_text(rows, view.style)

    return Output(
        Relations(record.ref, list(map(Relation.of, items)), notes),
        text,
        bool(items),
        notes,
        [item.record.path for item in items if item.record.path],
    )
