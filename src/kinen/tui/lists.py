"""What the screens list and show, as plain text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kinen.characters import visible, visible_line
from kinen.errors import NotFound
from kinen.journal.timeline import SessionOverview
from kinen.memory import Memory
from kinen.model.journal import Learned
from kinen.model.records import Hit
from kinen.model.tuples import NamedTuple
from kinen.query import place as named_place
from kinen.query import recall_query, search_query
from kinen.recall.floor import close_only
from kinen.render.graph import links_text
from kinen.render.history import revisions_text
from kinen.render.issues import details_text
from kinen.render.journal import learned_text, origin_text, recall_text
from kinen.render.screen import Screen, when
from kinen.render.text import first_words, hit_title, place, record_text
from kinen.text import epoch, estimate, now

HITS = 60
"""Hits of a search."""
PAGE = 100
"""Entries of a list; more come when its end is near."""
ALL = 1 << 30
START = "start"
RECALL = "recall:"
"""What agents are told: at the start of a session, and by a recall of the text after it."""
ENTRIES = ("observation:", "capsule:", "summary:", "memory:")
"""Refs whose ids say nothing to a reader."""
BAR = 12
"""Characters of the longest bar of a vote."""


class Entry(NamedTuple):
    """A line of a list."""

    ref: str
    line: str
    """What the list shows."""
    path: str = ""
    """The file behind it, relative to the space; empty if there is none."""
    at_line: int = 0
    hit: Hit | None = None
    """What a search answered; its votes stand above its text."""

    @property
    def is_record(self) -> bool:
        """Whether it can be opened, copied and pinned; what agents are told cannot."""
        return self.ref != START and not self.ref.startswith(RECALL)


class View(NamedTuple):
    """A screen: its name, key, entries, and the text of an entry."""

    name: str
    key: str
    entries: Callable[[Memory, str, int], list[Entry]]
    """The entries for what is typed, at most a given number."""
    text: Callable[[Memory, Entry], str]
    hint: str = ""
    """What to do where there is nothing."""


def search(memory: Memory, typed: str, most: int) -> list[Entry]:
    """The hits for what is typed, those that are close if any is; else what happened last."""
    if not typed.strip():
        return [Entry(item.ref, first_words(item.text)) for item in memory.recall("").items][:most]
    limit = min(HITS, most)
    query = search_query(typed, memory.config.search, limit=limit, context=0, min_score=0)
    hits = memory.search(query)
    return [_hit(hit) for hit in close_only(hits) or hits]


def _hit(hit: Hit) -> Entry:
    where = f" · {place(hit)}" if hit.record.path else ""
    line = f"{hit.strength:>3} {visible_line(hit_title(hit) + where)}"
    return Entry(hit.chunk.id, line, hit.record.path, hit.line or hit.chunk.start_line, hit)


def _hit_text(hit: Hit) -> str:
    """Where a hit is, its votes and its passage."""
    where = f"{place(hit)}  {hit.record.kind}  {hit.record.at[:10]}".rstrip()
    head = "\n".join(map(visible_line, [where, *votes(hit)]))
    return f"{head}\n\n{visible(hit.display.text)}\n\nThe whole record:\n\n"


def votes(hit: Hit) -> list[str]:
    """The share of each retriever in the score of a hit, as bars that add up."""
    total = sum(vote.share for vote in hit.votes) or 1.0
    return [
        f"{vote.retriever:<10} {'█' * max(1, round(BAR * vote.share / total)):<{BAR}}"
        f" {vote.share / total:4.0%}  rank {vote.rank}"
        for vote in hit.votes
    ]


def sessions(memory: Memory, typed: str, most: int) -> list[Entry]:
    """Sessions, the newest first; those whose text has what is typed."""
    if typed.strip():
        chosen = memory.sessions.briefs(memory.sessions.matching(typed, min(HITS, most)))
    else:
        chosen = memory.sessions.overviews(most, counts=False)
    return [Entry(session.ref, _session_line(session)) for session in chosen]


def _session_line(session: SessionOverview) -> str:
    outcome = f" → {session.outcome}" if session.outcome else ""
    began = when(epoch(session.started) / 1000, now())
    return f"{began:<15} {first_words(f'{session.title}{outcome}')} · {session.agent or 'by hand'}"


def memories(memory: Memory, typed: str, most: int) -> list[Entry]:
    """Decisions, lessons, patterns and insights that have every typed word; newest first."""
    words = typed.lower().split()
    chosen = [
        learned
        for learned in memory.consolidation.memories()
        if not learned.superseded_by and all(word in learned.content.lower() for word in words)
    ]
    return [Entry(learned.ref, _memory_line(learned)) for learned in chosen[:most]]


def _memory_line(learned: Learned) -> str:
    return f"{learned.type:<8} {first_words(learned.content)}"


def plan(memory: Memory, typed: str, most: int) -> list[Entry]:
    """The steps of the active plan."""
    from kinen.worklog.plans import steps  # the markdown parser is slow to import

    active = memory.worklog.plan()
    if active is None:
        return []
    return [
        Entry(
            f"{active.ref}#{step.number}", first_words(f"[{'x' if step.done else ' '}] {step.text}")
        )
        for step in steps(active.text)
        if typed.lower() in step.text.lower()
    ][:most]


def issues(memory: Memory, typed: str, most: int) -> list[Entry]:
    """Issues that are not closed, the most urgent first."""
    return [
        Entry(
            issue.ref,
            first_words(f"{issue.id:<14} {issue.status.replace('_', ' '):<12} {issue.title}"),
        )
        for issue in memory.issues.all()
        if not issue.is_closed and typed.lower() in f"{issue.id} {issue.title}".lower()
    ][:most]


def outgoing(memory: Memory, typed: str, most: int) -> list[Entry]:
    """What an agent would be sent: at the start of a session, and by a recall of what is typed."""
    del most
    start = estimate(memory.journal.brief("", ""))
    recalled = memory.recall(recall_query(typed))
    question = f"recall {typed!r}" if typed.strip() else "recall without a question"
    return [
        Entry(START, f"{start:>5} tokens  session start"),
        Entry(f"{RECALL}{typed}", f"{recalled.tokens:>5} tokens  {visible_line(question)}"),
    ]


def record(memory: Memory, entry: Entry) -> str:
    """A record as a page, below the votes and the passage of a hit."""
    head = _hit_text(entry.hit) if entry.hit else ""
    return head + record_text(*memory.records.show(named_place(entry.ref)[0]))


def session_page(memory: Memory, entry: Entry) -> str:
    """A session with the command that resumes it."""
    from kinen.render.sessions import resume_command, timeline_text  # slow to import

    timeline = memory.sessions.timeline(entry.ref)
    resume = resume_command(timeline.overview)
    head = f"resume with: {resume}\n\n" if resume else ""
    return head + timeline_text(timeline)


def memory_page(memory: Memory, entry: Entry) -> str:
    learned = memory.consolidation.get(entry.ref)
    lines = [learned_text(learned, sources=True), origin_text(memory.consolidation.origin(learned))]
    return "\n".join(filter(None, lines))


def plan_page(memory: Memory, entry: Entry) -> str:
    del entry
    active = memory.worklog.plan()
    return visible(active.text) if active else ""


def issue_page(memory: Memory, entry: Entry) -> str:
    return details_text(memory.issues.show(entry.ref), Screen())


def outgoing_page(memory: Memory, entry: Entry) -> str:
    if entry.ref == START:
        return memory.journal.brief("", "") or "nothing: a session starts without a word of kinen"
    return recall_text(memory.recall(recall_query(entry.ref.removeprefix(RECALL))))


def links_page(memory: Memory, entry: Entry) -> str:
    """The links around a record."""
    name = memory.records.get(named_place(entry.ref)[0]).ref
    edges = memory.records.links(name)
    if not edges:
        return f"nothing is linked with {name}"
    ends = {end for edge in edges for end in (edge.source, edge.target) if end.startswith(ENTRIES)}
    names = {
        end: f"{end.partition(':')[0]}: {first_words(memory.records.whole_text(end, 0))[:80]}"
        for end in ends
    }
    return links_text(name, edges, places=names)


def history_page(memory: Memory, entry: Entry) -> str:
    """The commits of the file behind an entry."""
    path = _path(memory, entry)
    return revisions_text(memory.git.history(path)) if path else f"{entry.ref} has no file"


def why_page(memory: Memory, entry: Entry) -> str:
    """Why a file is as it is: the sessions, decisions and commits that concern it."""
    path = _path(memory, entry)
    if not path:
        return f"{entry.ref} has no file"
    answer = memory.context.around(file=path)
    return recall_text(answer) if answer.items else f"nothing recorded about {path} yet"


def _path(memory: Memory, entry: Entry) -> str:
    """The file behind an entry; empty if there is none."""
    if entry.path:
        return entry.path
    try:
        return memory.records.get(named_place(entry.ref)[0]).path
    except NotFound:
        return ""


VIEWS: Sequence[View] = (
    View("Search", "1", search, record, "nothing here yet: type what you look for"),
    View("Sessions", "2", sessions, session_page, "no sessions yet: `kinen install` records them"),
    View(
        "Memories", "3", memories, memory_page, "no memories yet: `kinen memories draw` draws them"
    ),
    View("Plan", "4", plan, plan_page, "no plan is active: `kinen plan save TITLE --activate`"),
    View("Issues", "5", issues, issue_page, "no open issues: kinen reads .beads of the repository"),
    View("Told", "6", outgoing, outgoing_page),
)
"""The screens, in order."""
