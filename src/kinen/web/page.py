"""What all pages share: the request, the page, and documents without a space."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import quote, urlencode

from kinen.errors import QueryError
from kinen.journal.timeline import SessionOverview
from kinen.memory import Memory
from kinen.memory.federation import ask_spaces
from kinen.model.tuples import NamedTuple
from kinen.privacy import entrance
from kinen.render.html import render
from kinen.text import now

if TYPE_CHECKING:
    from kinen.index.lock import Work
    from kinen.memory.past import Moment

    T = TypeVar("T")

ROOT = "/web"
ALL = "all"
"""The name that stands for every space."""
SECTIONS: tuple[tuple[str, str], ...] = (
    ("today", "Today"),
    ("sessions", "Sessions"),
    ("knowledge", "Knowledge"),
    ("code", "Code"),
    ("told", "Told"),
)
"""The pages of the navigation, by the last part of their address."""
TABS: dict[str, tuple[tuple[str, str], ...]] = {
    "today": (("today", "Days"), ("week", "Week"), ("errors", "Errors")),
    "knowledge": (("knowledge", "Memories"), ("compare", "Compare")),
    "code": (("code", "Files"), ("graph", "Graph")),
    "told": (("told", "Next session"), ("sent", "Sent so far")),
}
"""Pages that share a word of the navigation."""
PARENTS = {page: section for section, tabs in TABS.items() for page, _ in tabs}
PARENTS |= {"session": "sessions", "injection": "told", "memory": "knowledge"}
PARENTS |= dict.fromkeys(("file", "why", "record", "erase"), "code")
PARENTS |= dict.fromkeys(("capsule", "observation", "summary"), "sessions")
"""The word of the navigation for a page, and for a kind of records."""
MOVED = {
    "timeline": "today",
    "memories": "knowledge",
    "files": "code",
    "budget": "told",
    "ledger": "sent",
}
"""Where pages of earlier versions are now."""
AS_OF = "as_of"
"""The parameter that puts pages back to an earlier time, kept by the links between them."""
PAST_PAGES = ("search", "knowledge", "told", "record")
"""Pages that can show an earlier time."""
IN_ALL = ("search", "today", "sessions", "knowledge")
"""Pages that can show all spaces at once."""
BUSY = {"waiting": "changes wait", "syncing": "indexing", "embedding": "making vectors"}
"""States of a space that is being indexed, in words."""
LONGEST = 10_000
"""Characters of a field of a request."""


class Fields:
    """The parameters of a request, as text; those that are empty count as missing."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = [(name, value.strip()) for name, value in pairs if value.strip()]
        for name, value in self._pairs:
            if len(value) > LONGEST:
                raise QueryError("too long", f"use at most {LONGEST:,} characters", parameter=name)

    def get(self, name: str, default: str = "") -> str:
        return next((value for key, value in self._pairs if key == name), default)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self._pairs if key == name]

    def number(self, name: str, default: int, most: int) -> int:
        """A number from 0 to `most`."""
        value = self.get(name)
        if not value:
            return default
        if not (value.isascii() and value.isdigit()) or int(value[:12]) > most:
            raise QueryError(f"invalid value {value!r}", f"use 0 to {most:,}", parameter=name)
        return int(value)

    def pairs(self, *without: str) -> list[tuple[str, str]]:
        return [pair for pair in self._pairs if pair[0] not in without]


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page of a space."""

    space: str
    page: str
    fields: Fields
    spaces: tuple[str, ...] = ()
    """The names of all spaces."""
    token: str = ""
    """What forms that change something send back."""
    daemon: Mapping[str, Any] = field(default_factory=dict)
    """The state of the daemon."""
    can_restart: bool = False
    """Whether the daemon can be restarted from a page."""
    work: Work | None = None
    """What goes on in the space: an import, or an index that is made."""
    reader: str = ""
    """Who reads a page of a team's server, where nothing can be changed; empty on one's own."""
    relative: ClassVar[bool] = True
    """Whether times are told by how long ago they were."""

    def url(self, page: str = "", space: str = "", **query: object) -> str:
        """The address of a page, of this space unless another is given."""
        path = f"{ROOT}/s/{quote(space or self.space, safe='')}/{page or self.page}"
        if (page or self.page) in PAST_PAGES:
            query = {**query, AS_OF: query.get(AS_OF, self.fields.get(AS_OF))}
        pairs = [(name, value) for name, value in query.items() if value not in ("", None)]
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def here(self, **changes: object) -> str:
        """The address of this page with some parameters changed; empty ones are removed."""
        pairs = [*self.fields.pairs(*changes), *changes.items()]
        query = urlencode([(name, value) for name, value in pairs if value not in ("", None)])
        return f"{self.url(as_of='')}?{query}" if query else self.url(as_of="")

    def session(self, session: SessionOverview, space: str = "") -> str:
        """The address of a session."""
        name = session.session if session.kind == "folder" else session.ref.partition(":")[2]
        return self.url("session", space, id=name)

    def anchor(self, ref: str) -> str:
        """The id of a record's element in a page."""
        return ref.partition(":")[2]

    @property
    def is_all(self) -> bool:
        return self.space == ALL

    @property
    def section(self) -> str:
        """The page of the navigation that this one belongs to."""
        ref = self.fields.get("target") or self.fields.get("ref")
        kind = ref.partition(":")[0] if self.page in ("record", "why", "erase") else ""
        return PARENTS.get(kind) or PARENTS.get(self.page, self.page)

    @property
    def sections(self) -> list[tuple[str, str, bool]]:
        """The pages of the navigation: address, title, and whether this is one of them."""
        return [
            (self.url(name), title, name == self.section)
            for name, title in SECTIONS
            if name in IN_ALL or not (self.is_all or self.reader)
        ]

    @property
    def tabs(self) -> list[tuple[str, str, bool]]:
        """The pages beside this one, in the same way; none where it is alone."""
        if self.is_all or self.reader:
            return []
        tabs = TABS.get(self.section if self.page in PARENTS else "", ())
        return [(self.url(name), title, name == self.page) for name, title in tabs]

    @property
    def health(self) -> tuple[str, str]:
        """A word for the colour of the dot, and what goes on or went wrong in this space."""
        if self.work:
            return "busy", self.work.progress
        for space in self.daemon.get("spaces", ()):
            if space["name"] == self.space:
                if space.get("error"):
                    return "bad", str(space["error"])
                if space["state"] in BUSY:
                    return "busy", BUSY[space["state"]]
                return "good", "the index is up to date"
        return "good", "no error is known"

    @property
    def space_links(self) -> list[tuple[str, str]]:
        """The spaces and this page in each of them, as far as they have it."""
        page = self.page if self.page in (*dict(SECTIONS), "search") else "today"
        kept = dict(self.fields.pairs("open", "why", AS_OF)) if page == "search" else {}
        links = [(name, self.url(page, name, **kept)) for name in self.spaces]
        if len(links) > 1 and not self.reader:
            links.append(("all spaces", self.url(page if page in IN_ALL else "today", ALL, **kept)))
        return links

    def record(self, ref: str, line: int = 0, space: str = "") -> str:
        kind, _, key = ref.partition(":")
        if kind == "capsule":
            return self.url("session", space, id=key)
        if kind == "file":
            return self.url("file", space, path=key)
        return self.url("record", space, ref=ref) + (f"#L{line}" if line else "")


@dataclass(frozen=True, slots=True)
class Page:
    """What a page shows: a template, and the values that it needs."""

    title: str
    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    scripts: tuple[str, ...] = ()
    """Modules of `static/` besides the one that all pages have."""
    live: bool = False
    """Whether it is shown anew when something is recorded or indexed."""
    status: int = 200


def frame(page: Page, visit: Visit) -> str:
    """The whole document of a page."""
    return render(page.template, page=page, visit=visit, **page.values)


def error_page(status: int, message: str, hint: str = "") -> bytes:
    """A page about a request that failed; it shows nothing of any space."""
    texts = {"message": entrance.name(message), "hint": entrance.name(hint)}
    return render("error.html", status=status, **texts).encode(errors="replace")


def sign_in_page(action: str, target: str, problem: str = "", **provider: str) -> bytes:
    """A page that asks for a token, and then goes to the page that was asked for.

    With a `provider` it leads there (`at_provider`) or, after signing out, to its `sign_out`.
    """
    text = render("sign_in.html", action=action, target=target, problem=problem, **provider)
    return text.encode(errors="replace")


def open_page(place: str) -> str:
    """A document that leads on to a page."""
    return render("open.html", place=place)


class Slider(NamedTuple):
    """The days of a space, and the one that is shown."""

    first: str
    days: int
    place: int


def past_moment(memory: Memory, visit: Visit) -> Moment | None:
    """The time that a page is put back to; None for now."""
    words = visit.fields.get(AS_OF)
    return memory.past.moment(words) if words else None


def past_remark(memory: Memory, at: Moment | None) -> str:
    """Says which earlier time a page shows; empty for now."""
    return memory.past.remark(at) if at else ""


def past_slider(memory: Memory, visit: Visit) -> Slider | None:
    """The days from the first of a space to today; None if it is of today."""
    first = memory.past.beginning()
    today = datetime.fromtimestamp(now(), UTC).date()
    start = datetime.fromtimestamp(first, UTC).date() if first else today
    days = (today - start).days
    if days < 1:
        return None
    at = past_moment(memory, visit)
    shown = datetime.fromisoformat(at.at).date() if at else today
    return Slider(start.isoformat(), days, max(0, min(days, (shown - start).days)))


def of_all_spaces(
    read: Callable[[Memory], Iterable[T]], at: Callable[[T], Any]
) -> tuple[list[tuple[str, T]], list[str]]:
    """What is read from all spaces, each with the name of its space, newest first; and remarks."""
    remarks: list[str] = []
    answers = ask_spaces(
        [ALL], lambda memory: [(memory.space.name, each) for each in read(memory)], remarks.append
    )
    pairs = [pair for answer in answers for pair in answer]
    return sorted(pairs, key=lambda pair: at(pair[1]), reverse=True), remarks
