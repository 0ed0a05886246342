"""The values of the journal: observations, capsules, summaries, pins, and a recall of them.

Apart from `model.records` because a plain search does not need them.
"""

from _collections_abc import Mapping

from kinen.model.late import Any
from kinen.model.tuples import NamedTuple


class Scope(NamedTuple):
    """Whose memory it is; an empty field matches anything."""

    session: str = ""
    repo: str = ""
    agent: str = ""
    user: str = ""
    task: str = ""


class Observation(NamedTuple):
    """An event: a message, a command, an edit, an error."""

    id: str
    kind: str
    content: str
    ts: int
    """Epoch milliseconds, like every time in the journal."""
    scope: Scope = Scope()
    capsule: str = ""
    """The id of the capsule that it is part of, if any."""
    provenance: Mapping[str, Any] = {}  # noqa: RUF012 - never changed
    branch: str = ""
    head: str = ""
    files: tuple[str, ...] = ()
    masked: Mapping[str, Any] = {}  # noqa: RUF012 - never changed
    """Evidence of masking, never the secret: `{"count": 2, "classes": ["github_token"]}`."""
    redacted: bool = False
    forgotten_at: int = 0
    by: str = ""
    """The colleague who wrote it, where that was looked up; empty for one's own."""

    @property
    def ref(self) -> str:
        return f"observation:{self.id}"


class Capsule(NamedTuple):
    """A bounded unit of work: a session, or a node of a workflow."""

    id: str
    type: str
    intent: str
    status: str
    """`open` or `closed`."""
    opened_at: int
    closed_at: int = 0
    reason: str = ""
    """`abandoned` if it was closed because of inactivity."""
    scope: Scope = Scope()
    forgotten_at: int = 0
    parent: str = ""
    """The id of the capsule that it is a part of."""
    by: str = ""
    """The colleague who wrote it, where that was looked up; empty for one's own."""

    @property
    def ref(self) -> str:
        return f"capsule:{self.id}"


class Summary(NamedTuple):
    """The summary of a capsule."""

    id: str
    capsule: str
    content: str
    created_at: int
    confidence: float = 1.0
    evidence: tuple[str, ...] = ()
    """Ids of the observations that it is based on."""
    written: bool = True
    """False if kinen wrote it when the capsule was closed."""
    redacted: bool = False
    forgotten_at: int = 0
    by: str = ""
    """The colleague who wrote it, where that was looked up; empty for one's own."""

    @property
    def ref(self) -> str:
        return f"summary:{self.id}"


class Pin(NamedTuple):
    """A record that every recall in its scope begins with."""

    id: str
    target: str
    """The ref of what is pinned."""
    note: str
    created_at: int
    expires_at: int = 0
    scope: Scope = Scope()
    by: str = ""
    """The colleague who wrote it, where that was looked up; empty for one's own."""

    @property
    def ref(self) -> str:
        return f"pin:{self.id}"


class Learned(NamedTuple):
    """A memory drawn from other records: a decision, pattern, insight or lesson, `memory:ID`."""

    id: str
    type: str
    content: str
    confidence: float
    created_at: int
    derived_from: tuple[str, ...] = ()
    """The refs that it was drawn from."""
    superseded_by: str = ""
    scope: Scope = Scope()
    redacted: bool = False
    forgotten_at: int = 0
    edits: str = ""
    """The id of the memory whose wording it replaced."""
    by: str = ""
    """The colleague who wrote it, where that was looked up; empty for one's own."""
    successor_by: str = ""
    """The colleague who wrote the memory that superseded it."""
    also: tuple[Any, ...] = ()
    """Other versions of it, which somebody wrote at the same time; where that was looked up."""
    question: str = ""
    """Who forgot it while it was edited."""

    @property
    def ref(self) -> str:
        return f"memory:{self.id}"


class Finding(NamedTuple):
    """A candidate for a memory: it becomes a memory, or a further source of one."""

    type: str
    """One of `MEMORY_TYPES`."""
    content: str
    """One line that can be understood without its source."""
    confidence: float
    sources: tuple[str, ...]
    """The refs of the records that say so."""
    at: str
    """When it was written: ISO 8601, UTC."""
    topic: str = ""
    """The question that it answers, if there was one."""


class Clock(NamedTuple):
    """How much is new since memories were last drawn."""

    epoch: int = 0
    accumulated: float = 0.0


class Checkpoint(NamedTuple):
    """A checkpoint of somebody's work, from a file in `.memories/`."""

    id: str
    at: str
    """ISO 8601, UTC, milliseconds, ending in Z."""
    text: str
    tags: tuple[str, ...] = ()
    branch: str = ""
    commit: str = ""
    files: tuple[str, ...] = ()
    """Files with uncommitted changes at the time."""
    summary: str = ""
    plan: str = ""
    """The id of the plan that was active."""
    type: str = ""
    context: str = ""
    decision: str = ""
    alternatives: tuple[str, ...] = ()
    impact: str = ""
    evidence: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    next: str = ""
    confidence: int = 0
    """1 to 5, 0 if not stated."""
    unknowns: tuple[str, ...] = ()
    path: str = ""
    """Its file, relative to the space."""

    @property
    def ref(self) -> str:
        return f"checkpoint:{self.path}"


class Plan(NamedTuple):
    """A plan of work; at most one of a project is active."""

    id: str
    title: str
    text: str
    status: str = "active"
    """`active`, `completed` or `archived`."""
    created: str = ""
    updated: str = ""
    tags: tuple[str, ...] = ()
    path: str = ""
    """Its file, relative to the space."""
    current: bool = False
    """Whether it is the active plan."""

    @property
    def ref(self) -> str:
        return f"plan:{self.path}"


class Passage(NamedTuple):
    """A piece of text that a digest is made from."""

    ref: str
    text: str
    title: str = ""
    at: str = ""
    output: bool = False
    """Whether a tool printed it; of such text a few lines are enough."""
    worth: float = 0.0
    """How much the record tells by itself, from 0 for a mere step to 1."""


class Digest(NamedTuple):
    """A distilled answer with its sources and what it cost."""

    text: str
    by: str
    """`extract`, `claude`, `gemini` or `ollama`."""
    sources: tuple[str, ...] = ()
    """The refs that it cites, in order."""
    tokens_in: int = 0
    """Tokens of the passages with their citations; of a model, those that it counted."""
    tokens_out: int = 0
    cached: bool = False
    notes: tuple[str, ...] = ()
    """Distillers that failed before, and why."""
    passages: int = 0
    """How many passages it sums up."""
    latency_ms: int = 0
    """Milliseconds that a model took; 0 for one from the cache, and without a model."""


class Item(NamedTuple):
    """An entry of a recall: the ref that it cites, and the text for the agent."""

    tier: str
    """`plan`, `pins`, `summary` or `hits`."""
    ref: str
    text: str
    tokens: int
    score: float = 0.0
    votes: tuple[Any, ...] = ()
    at: str = ""
    space: str = ""
    """Its space, if several were searched."""
    by: str = ""
    """Who wrote it: a colleague, or the author of a commit; empty for one's own and for files."""
    session: str = ""
    later: str = ""
    """The ref of a later entry that says the same with other values."""
    copies: int = 0
    """How many others say the same."""


class Dropped(NamedTuple):
    """An entry that a recall left out, and why."""

    tier: str
    ref: str
    tokens: int
    reason: str
    space: str = ""


class Recall(NamedTuple):
    """What an agent receives, in tiers, within a token budget."""

    query: str
    items: tuple[Item, ...]
    dropped: tuple[Dropped, ...]
    budget: int
    tokens: int
    """Tokens of the rendered items, headings included."""
    notes: tuple[str, ...] = ()
    digest: Digest | None = None
    """A digest of the hits, shown in their place."""
    search_method: str = ""
    """How the hits were found: a mode of search, or `recent` without a question."""

    @property
    def over(self) -> bool:
        """Whether the tiers that are never evicted alone exceed the budget."""
        return self.tokens > self.budget


class JournalState(NamedTuple):
    """The state of the journal."""

    exists: bool
    path: str
    observations: int = 0
    waiting: int = 0
    """Observations in the spool."""
    unreadable: tuple[str, ...] = ()
    """Spooled files that could not be read and were set aside."""
    problem: str = ""
    lost: str = ""
    """A message about observations that were lost, empty if none were."""
