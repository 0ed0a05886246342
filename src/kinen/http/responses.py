"""What answers look like, for OpenAPI: each is told by an example of it. They are `--json`'s."""

from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model


class Told(BaseModel):
    """An answer: it has these fields and no others."""

    model_config = ConfigDict(extra="forbid")


class Maybe(NamedTuple):
    """What may be null, or not there at all."""

    example: Any
    missing: bool = False


Model = type[BaseModel]


def form(_name: str, *bases: Model, **examples: Any) -> Model:
    """The model of answers that look like this one."""
    fields: Any = {name: _field(example) for name, example in examples.items()}
    return create_model(_name, __base__=bases or (Told,), **fields)


def _field(example: Any) -> tuple[Any, Any]:
    if isinstance(example, Maybe):
        kind, about = _field(example.example)
        return kind | None, None if example.missing else about
    if isinstance(example, type):
        return example, ...
    if isinstance(example, list):
        inner = example[0] if isinstance(example[0], type) else type(example[0])
        return list[inner], Field(examples=[] if inner is example[0] else [example])  # type: ignore[valid-type]
    kinds: dict[type, Any] = {dict: dict[str, Any]}
    return kinds.get(type(example), type(example)), Field(examples=[example])


AT, ULID = "2026-03-01T09:30:00.000Z", "01JD8X9Z3M4N5P6Q7R8S9T0VWX"
NOTE, SAID = "note:docs/sessions.md", "Redis lost sessions on restart."
ASKED, DONE = "why did we drop redis", "the test raced with the cache; now it waits"
NOTES = ["there are no vectors yet, run `kinen index`"]

Fault = form(
    "Fault", code="not_found", message="no space called 'notes'", hint="`kinen space list`"
)
Failure = form("Failure", error=Fault)

# What was asked

Record = form(
    "Record", ref=NOTE, path="docs/sessions.md", type="note", title="Sessions", at=AT, session="",
    tags=["storage"], metadata={"status": "done"},
)  # fmt: skip
Place = {"heading": "Sessions > Storage", "start_line": 12, "end_line": 14, "page": 0}
Edge = form(
    "Edge", source=NOTE, target="note:docs/db.md", type="links", written="db", text="", line=3
)
Chunk = form("Chunk", ref=NOTE, n=0, text=SAID, **Place)
Whole = form("Whole", Record, chunks=[Chunk], edges=Maybe([Edge], missing=True))
Vote = form("Vote", retriever="fulltext", rank=1, score=0.8, share=0.71)
Passage = form(
    "Passage",
    content=SAID,
    start_line=Maybe(12),
    end_line=Maybe(14),
    line=Maybe(13),
    page=Maybe(1),
    heading="",
)
Around = form("Around", before=["Sessions were in Redis."], after=["They are in Postgres now."])
Hit = form(
    "Hit",
    chunk=Passage,
    source=Record,
    context=Around,
    score=0.71,
    match_type="hybrid",
    votes=[Vote],
)
Found = form("Found", query=ASKED, mode="hybrid", results=[Hit], notes=NOTES)
Item = form(
    "Item", tier="hits", ref=f"{NOTE}:12", text=SAID, tokens=9, score=0.71, votes=[Vote], at=AT,
    space="",
)  # fmt: skip
Dropped = form("Dropped", tier="hits", ref=NOTE, tokens=90, reason="over budget", space="")
Digest = form(
    "Digest", text=SAID, by="extract", sources=[NOTE], tokens_in=900, tokens_out=90, cached=False,
    notes=NOTES,
)  # fmt: skip
Tiers = form("Tiers", query=ASKED, budget=2000, tokens=214, dropped=[Dropped], notes=NOTES)
Recalled = form("Recalled", Tiers, over_budget=False, items=[Item], digest=Maybe(Digest))
Retrieved = form(
    "Retrieved", Tiers, plan=Maybe(Item), pins=[Item], summary=Maybe(Item), hits=[Item]
)
Brief = form("Brief", text="## Plan\n- Ship the retry queue", tokens=12)
Dropped = form("Dropped", ref=NOTE, reason="unrelated")
Related = form("Related", text="- Redis was dropped", tokens=6, entries=[NOTE], dropped=[Dropped])
Links = form("Links", ref=NOTE, edges=[Edge])
Revision = form(
    "Revision", ref="commit:a43f9c1", at=AT, author="Ada", subject="fix(auth): refresh tokens",
    status="M", path="src/auth.py", before=Maybe("auth.py"), tags=["auth"], commit="a43f9c1",
)  # fmt: skip
History = form("History", path="src/auth.py", revisions=[Revision], by_hand=["+security"])
Commit = form("Commit", ref="commit:a43f9c1", subject="fix(auth): refresh tokens")
Companion = form(
    "Companion", ref="file:src/session.py", path="src/session.py", count=7, jaccard=0.5, weight=1.5,
    score=0.4, commits=[Commit],
)  # fmt: skip
Companions = form("Companions", paths=["src/auth.py"], files=[Companion])

# The journal

Entry = form("Entry", ref=f"observation:{ULID}", id=ULID)
Scope = form("Scope", session="s1", repo="", agent="claude-code", user="", task="")
Observation = form(
    "Observation", Entry, Scope, kind="message", content=SAID, at=Maybe(AT), capsule="",
    provenance={"tool": "Bash"}, branch="main", head="a43f9c1", files=["src/auth.py"],
    masked={"count": 1, "classes": ["github_token"]}, redacted=False, forgotten_at=Maybe(AT),
)  # fmt: skip
Kept = form("Kept", Observation, deduplicated=False)
Capsule = form(
    "Capsule", Entry, Scope, type="session", intent="find the flaky test", status="open",
    opened_at=Maybe(AT), closed_at=Maybe(AT), reason="", forgotten_at=Maybe(AT),
)  # fmt: skip
Summary = form(
    "Summary", Entry, capsule=ULID, content=DONE, created_at=Maybe(AT), confidence=1.0,
    evidence=[ULID], written=True, redacted=False, forgotten_at=Maybe(AT),
)  # fmt: skip
Closed = form("Closed", Capsule, summary=Maybe(Summary))
Story = form("Story", Capsule, summaries=[Summary], observations=[Observation])
Pin = form(
    "Pin", Entry, Scope, target=NOTE, note="ask Ada first", created_at=Maybe(AT),
    expires_at=Maybe(AT),
)  # fmt: skip
Page = form("Page", next=Maybe("WzE3NDA4MjE0MDAwMDAsIjAxSkQiXQ"))
ObservationPage = form("ObservationPage", Page, observations=[Observation])
CapsulePage = form("CapsulePage", Page, capsules=[Capsule])
PinPage = form("PinPage", Page, pins=[Pin])
TagPage = form("TagPage", Page, tags=[form("Tag", tag="auth", count=12)])
Unpinned = form("Unpinned", unpinned=[NOTE])
Forgotten = form("Forgotten", forgotten=[ULID], refs=[ULID], also=[ULID], suppressed=False)
Loaded = form(
    "Loaded", dry_run=False, added={"observations": 12}, skipped={"pins": 1}, replaced={"pins": 0},
    forgotten=0, masked=0, ignored={"mood": 1}, notes=NOTES,
)  # fmt: skip

# The daemon

State = form("State", space=Maybe({"counts": {"documents": 12}}), daemon={"pid": 4711})
Health = form("Health", status="ok", version="1.0", daemon={"pid": 4711})
