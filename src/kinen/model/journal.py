"""What the journal keeps, as values: observations, capsules, summaries, pins, and a recall of them.

Apart from `model` because a plain search needs none of them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Scope(NamedTuple):
    """Whose memory it is; an empty field matches anything."""

    session: str = ""
    repo: str = ""
    agent: str = ""
    user: str = ""
    task: str = ""


class Observation(NamedTuple):
    """One thing that happened."""

    id: str
    kind: str
    content: str
    ts: int
    """Epoch milliseconds, as every time of the journal."""
    scope: Scope = Scope()
    capsule: str = ""
    """The id of the capsule it is part of, or nothing."""
    provenance: Mapping[str, Any] = {}
    branch: str = ""
    head: str = ""
    files: tuple[str, ...] = ()
    masked: Mapping[str, Any] = {}
    """Evidence of masking, never the secret: `{"count": 2, "classes": ["github_token"]}`."""
    redacted: bool = False
    forgotten_at: int = 0

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
    """Why it was closed, when nobody closed it: `abandoned`."""
    scope: Scope = Scope()
    forgotten_at: int = 0

    @property
    def ref(self) -> str:
        return f"capsule:{self.id}"


class Summary(NamedTuple):
    """What a capsule came to."""

    id: str
    capsule: str
    content: str
    created_at: int
    confidence: float = 1.0
    evidence: tuple[str, ...] = ()
    """Ids of the observations that it was made of."""
    written: bool = True
    """False when kinen made it by itself at close."""
    redacted: bool = False
    forgotten_at: int = 0

    @property
    def ref(self) -> str:
        return f"summary:{self.id}"


class Pin(NamedTuple):
    """Something that every recall in its scope begins with."""

    id: str
    target: str
    """The ref of what is pinned."""
    note: str
    created_at: int
    expires_at: int = 0
    scope: Scope = Scope()

    @property
    def ref(self) -> str:
        return f"pin:{self.id}"


class Learned(NamedTuple):
    """What was drawn from other records: a decision, pattern, insight or lesson, `memory:ID`."""

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

    @property
    def ref(self) -> str:
        return f"memory:{self.id}"


class Finding(NamedTuple):
    """What can be drawn from a record: it becomes a memory, or is one more source of one."""

    type: str
    """One of `MEMORY_TYPES`."""
    content: str
    """Says it all by itself, on one line."""
    confidence: float
    sources: tuple[str, ...]
    """The refs of the records that say so."""
    at: str
    """When it was said: ISO 8601, UTC."""
    topic: str = ""
    """The question that it answers, where one was asked."""


class Clock(NamedTuple):
    """How much was met that is not known yet, since memories were last drawn."""

    epoch: int = 0
    accumulated: float = 0.0


class Checkpoint(NamedTuple):
    """What somebody kept of their work, as a file of `.memories/` has it."""

    id: str
    at: str
    """ISO 8601, UTC, milliseconds, ending in Z."""
    text: str
    tags: tuple[str, ...] = ()
    branch: str = ""
    commit: str = ""
    files: tuple[str, ...] = ()
    """What was changed and not committed then."""
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
    """1 to 5, 0 where nothing was said."""
    unknowns: tuple[str, ...] = ()
    path: str = ""
    """Its file, relative to the space."""

    @property
    def ref(self) -> str:
        return f"checkpoint:{self.path}"


class Plan(NamedTuple):
    """What is being worked towards; of a project's plans one is active."""

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
    """Whether it is the one that is being worked on."""

    @property
    def ref(self) -> str:
        return f"plan:{self.path}"


class Passage(NamedTuple):
    """A piece of text that a digest is made of, best first."""

    ref: str
    text: str
    title: str = ""
    at: str = ""


class Digest(NamedTuple):
    """A distilled answer with its sources and what it cost."""

    text: str
    by: str
    """`extract`, `claude`, `gemini` or `ollama`."""
    sources: tuple[str, ...] = ()
    """The refs that it cites, in order."""
    tokens_in: int = 0
    """What was read."""
    tokens_out: int = 0
    cached: bool = False
    notes: tuple[str, ...] = ()
    """Who was asked before in vain, and why."""


class Item(NamedTuple):
    """One thing in a recall: what it cites, and the text an agent reads."""

    tier: str
    """`plan`, `pins`, `summary` or `hits`."""
    ref: str
    text: str
    tokens: int
    score: float = 0.0
    votes: tuple[Any, ...] = ()
    at: str = ""
    space: str = ""
    """The space that it is of, where several were asked."""


class Dropped(NamedTuple):
    """What a recall left out, and why."""

    tier: str
    ref: str
    tokens: int
    reason: str
    space: str = ""


class Recall(NamedTuple):
    """What an agent is given, in tiers, inside a token budget."""

    query: str
    items: tuple[Item, ...]
    dropped: tuple[Dropped, ...]
    budget: int
    tokens: int
    """What the items cost as they are shown, headings included."""
    notes: tuple[str, ...] = ()
    digest: Digest | None = None
    """What the hits come to, in their place."""

    @property
    def over(self) -> bool:
        """Whether the tiers that are never evicted alone exceed the budget."""
        return self.tokens > self.budget


class JournalState(NamedTuple):
    """How the journal itself is."""

    exists: bool
    path: str
    observations: int = 0
    waiting: int = 0
    """Observations in the spool that could not be written yet."""
    unreadable: tuple[str, ...] = ()
    """Spooled files that were set aside."""
    problem: str = ""
    lost: str = ""
    """What to say if observations are gone that were there before."""
