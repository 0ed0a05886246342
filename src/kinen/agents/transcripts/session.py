"""A session of the past while its transcript is read, and the names of what happened in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kinen.agents import tool_use as rules
from kinen.agents.tool_use import Draft, Sieve, ToolUse
from kinen.agents.transcripts.values import text
from kinen.ids import timed_id
from kinen.model.tuples import NamedTuple
from kinen.privacy.entrance import masked, name
from kinen.text import excerpt

Line = dict[str, Any]
"""An object of JSON: a line of a transcript, a document, or a part of one."""
INTENT = 120
"""Characters of what a session was for."""
_TIME = 10
"""Characters of an id that tell its time."""


class Unsupported(Exception):
    """A store in a version that no reader knows."""

    def __init__(self, client: str, version: object) -> None:
        shown = text(str(version))[:40]
        super().__init__(f"{client} wrote version {shown}, which this kinen cannot read: update it")


class Event(NamedTuple):
    """One thing that happened."""

    kind: str
    content: str
    provenance: Mapping[str, Any]
    files: tuple[str, ...] = ()
    """Paths as `Past.place` gives them."""
    masked: Mapping[str, int] = {}
    """Secrets that were masked in it, by class."""
    mentions: tuple[str, ...] = ()
    """Words that may be paths: if one of them is private, the event is not stored."""
    id: str = ""
    ts: int = 0
    branch: str = ""


class Ready(NamedTuple):
    """A summary that the client itself had made."""

    id: str
    ts: int
    content: str


class Past:
    """A session; what it came to is known once its events were read."""

    def __init__(
        self,
        agent: str,
        id_: str,
        path: str,
        read: Callable[[Past], Iterator[Event]],
        *,
        cwd: str = "",
        project: str = "",
        origin: str = "",
    ) -> None:
        self.agent = agent
        self.path = path
        self.cwd = cwd
        fits = 0 < len(id_) <= 200 and id_.isprintable()
        self.id = name(id_) if fits else timed_id(0, 0, id_)
        self.project = project
        """The digest of its folder, where the client tells no more."""
        self.origin = origin
        """The remote of its repository, where the client tells it."""
        self.intent = ""
        self.first = 0
        self.last = 0
        self.summaries: list[Ready] = []
        self.place: Callable[[str], str] = self._below_cwd
        """Gives a path as the space knows it; whoever knows the space sets it before reading."""
        self.subagents: dict[str, str] = {}
        """The types of subagents by id, where the client tells both."""
        self.diff = rules.DIFF
        """Characters kept of what an edit changed; more where it is compared and not stored."""
        self.taken = False
        self._read = read
        self._moment = -1
        self._keys = dict[str, int]()

    def events(self) -> Iterator[Event]:
        """What happened, as it is read; to be called once."""
        self.taken = True
        asked = False
        for event in self._read(self):
            self.first = min(self.first or event.ts, event.ts)
            self.last = max(self.last, event.ts)
            prompt = not asked and event.provenance.get("role") == "user"
            if prompt or not self.intent:
                # Masked first, since half a secret is not known as one.
                self.intent = excerpt(masked(rules.intent(event.content))[0], INTENT)
            asked = asked or prompt
            yield event

    def message(self, role: str, text: str) -> Event | None:
        """What somebody said; None if a machine said it in their name."""
        sieve = Sieve(self.place)
        return event(rules.message(role, text, sieve), sieve)

    def report(self, agent_type: str, text: str) -> Event | None:
        """What a subagent came back with."""
        sieve = Sieve(self.place)
        return event(rules.report(agent_type, text, sieve), sieve)

    def tool_use(self, use: ToolUse) -> Event | None:
        sieve = Sieve(self.place, self.diff)
        return event(rules.observe(use, sieve), sieve)

    def _below_cwd(self, path: str) -> str:
        """A path from the session's folder on, where it lies in there."""
        top = self.cwd.rstrip("/\\")
        inside = top and path.startswith((f"{top}/", f"{top}\\"))
        return path[len(top) + 1 :] if inside else path

    def event_id(self, ms: int, key: str) -> str:
        """The id of what a key names: the same at every import, in the order of a millisecond."""
        if ms != self._moment:
            self._moment = ms
            self._keys = {}
        order = self._keys.setdefault(key, len(self._keys))
        return timed_id(ms, order, self.agent, key)

    @property
    def capsule(self) -> str:
        """The id of its capsule, once the first event is known."""
        return timed_id(self.first, 0, self.agent, "capsule", self.id)

    def made(self, capsule: str) -> bool:
        """Whether a capsule was made of this session by an import."""
        return capsule[_TIME:] == self.capsule[_TIME:]


def event(draft: Draft | None, sieve: Sieve) -> Event | None:
    """What is kept, as an event of a transcript; its id and time are set by the reader."""
    if draft is None:
        return None
    return Event(
        kind=draft.kind,
        content=draft.text,
        provenance=draft.provenance,
        files=tuple(draft.files),
        masked=sieve.masked,
        mentions=tuple(draft.mentions),
    )
