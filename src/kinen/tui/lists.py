"""What the screens list and show: lines of text with signs, the pages of entries, previews."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta

from kinen.characters import visible, visible_line
from kinen.errors import GitError, NotFound
from kinen.journal.timeline import SessionOverview, SessionTimeline
from kinen.memory import Memory
from kinen.memory.today import Days, Outlook, days, outlook
from kinen.model.records import Hit
from kinen.model.tuples import NamedTuple
from kinen.query import place as named_place
from kinen.query import recall_query, search_query
from kinen.recall.floor import close_only
from kinen.recall.passages import first_words
from kinen.render.graph import links_text
from kinen.render.heat import Period
from kinen.render.history import revisions_text
from kinen.render.issues import details_text
from kinen.render.journal import learned_text, origin_text, recall_text
from kinen.render.lanes import failures, lanes, text_cells
from kinen.render.screen import SIGNS, Screen, Style, clock, columns, day, distinct, fit, when
from kinen.render.sessions import agent_name, duration, session_text
from kinen.render.text import counted, hit_title, place, record_text
from kinen.text import epoch, estimate, now

HITS = 60
"""Hits of a search."""
PAGE = 100
"""Entries of a list; more come when its end is near."""
ALL = 1 << 30
SPANS = (7, 14, 1)
"""Days of Today, in the order of their key."""
START = "start"
RECALL = "recall:"
SENT = "injection:"
"""What agents are told: at the start of a session, by a recall of the text after it, or once."""
MORE = "more:"
"""Stands for what a section of Today leaves out."""
NO_RECORDS = (START, RECALL, SENT, MORE)
ENTRIES = ("observation:", "capsule:", "summary:", "memory:")
"""Refs whose ids say nothing to a reader."""
BAR = 12
"""Characters of the longest bar."""
NAME = 9
"""Columns of the name of a lane."""
STYLE = Style(colour=True)
NOTHING = {
    "Decided": "not stated in these days",
    "Open": "the latest sessions name no next step",
    "Where the work went": "no file was edited by an agent in these days",
}
TEACH = """\
Nothing is recorded here yet.

  kinen install              your agents record what they do
  kinen import transcripts   brings in the sessions they already had
  kinen index                reads notes and history; / searches them

This screen fills itself while agents work."""

Part = tuple[str, str]
"""Words, and their look: a sign of `SIGNS`, `quiet`, `heading` or none."""


class Entry(NamedTuple):
    """A line of a list; without a ref the cursor passes over it."""

    ref: str
    parts: tuple[Part, ...]
    side: str = ""
    """What stands at the right, if there is room."""
    path: str = ""
    """The file behind it, relative to the space; empty if there is none."""
    at_line: int = 0
    hit: Hit | None = None
    """What a search answered; its votes stand above its text."""

    @property
    def line(self) -> str:
        return "".join(words for words, _ in self.parts)

    @property
    def title(self) -> str:
        """The line without its sign and what is beside it."""
        return "".join(words for words, look in self.parts if not look).strip()

    @property
    def is_record(self) -> bool:
        """Whether it can be copied and pinned; what agents are told cannot."""
        return not self.ref.startswith(NO_RECORDS)


class Request(NamedTuple):
    """What a list is asked for."""

    typed: str = ""
    most: int = PAGE
    width: int = 80
    points: int = 3
    """Lines of each section of Today."""
    span: int = SPANS[0]
    until: str = ""
    """The last day of Today; empty for that of the latest work."""


class View(NamedTuple):
    """A screen: its name, key and entries, and what to do where it has none."""

    name: str
    key: str
    entries: Callable[[Memory, Request], list[Entry]]
    hint: str = ""


def _text(words: str, look: str = "") -> Entry:
    return Entry("", ((words, look),))


def _signed(kind: str, ref: str, text: str, side: str = "") -> Entry:
    return Entry(ref, ((f"{SIGNS[kind]} ", kind), (first_words(text), "")), side)


def _age(at: float) -> str:
    return when(at, now())


# Today


def today(memory: Memory, request: Request) -> list[Entry]:
    """What happened, what was decided, what is open, where the work went, what comes next."""
    newest = memory.sessions.overviews(1, counts=False)
    built = memory.index.built
    next_ = outlook(memory)
    left = list(_open(memory, next_))
    if not (newest or left):
        return [
            _text(line, "" if line.startswith(" ") else "heading") for line in TEACH.split("\n")
        ]
    period = _period(memory, request)
    happened = days(memory, period, commits=built)
    decided = memory.reports.decisions(period.start, period.end)
    edits = memory.journal.edited_files(epoch(period.start), epoch(period.end))[: request.most]
    entries = _picture(period, happened, [(point.at, point.text) for point in decided], request)
    sections = {
        "Decided": [
            _signed("decision", point.ref, point.text, _age(epoch(point.at) / 1000))
            for point in decided
        ],
        "Open": left,
        "Where the work went": _file_lines((file.path, file.edits, file.last) for file in edits),
        **(_next(memory, next_, request.points) if built else {}),
    }
    for name, section in sections.items():
        chosen = [entry for entry in section if _has(entry.line, request.typed)]
        first = chosen[: request.points + (len(chosen) == request.points + 1)]
        if chosen or not request.typed:
            nothing = "" if chosen else f": {NOTHING[name]}"
            entries += [Entry("", ((name, "heading"), (nothing, "quiet"))), *first]
        if len(chosen) > len(first):
            more = f"  {len(chosen) - len(first):,} more"
            entries.append(Entry(f"{MORE}{name}", ((more, "quiet"),)))
    chosen_sessions = [
        session for session, _ in happened.sessions if _has(session.title, request.typed)
    ]
    return entries + _by_day(chosen_sessions)


def _period(memory: Memory, request: Request) -> Period:
    """The days of a request; without a last one, those until the latest work."""
    newest = [] if request.until else memory.sessions.overviews(1, counts=False)
    latest = newest[0].ended or newest[0].started if newest else ""
    return Period.until(request.until or latest, request.span)


def moved(memory: Memory, request: Request, days_: int) -> str:
    """The last of the days that are some days later or earlier than those of a request."""
    period = _period(memory, request)
    return min(period.today, period.last + timedelta(days=days_)).isoformat()


def _has(text: str, typed: str) -> bool:
    """Whether a text has all words that are typed."""
    return all(word in text.lower() for word in typed.lower().split())


def _picture(
    period: Period, happened: Days, decided: Sequence[tuple[str, str]], request: Request
) -> list[Entry]:
    """The figures of some days, and their sessions as bars below each other by agent."""
    sessions = [session for session, _ in happened.sessions]
    facts = [period.title, counted(len(sessions), "sessions")]
    seconds = sum(session.seconds for session in sessions)
    facts += [duration(seconds)] if seconds else []
    sums = {
        noun: sum(getattr(session, noun) for session in sessions) for noun in ("edits", "errors")
    }
    sums["commits"] = len(happened.commits)
    facts += [counted(count, noun) for noun, count in sums.items() if count]
    lines = [_text(" · ".join(facts), "heading")]
    if not (sessions or happened.commits or decided):
        return [*lines, _text("No session in these days: [ goes to earlier ones.", "quiet")]
    picture = lanes(
        period,
        [(session, "") for session in sessions],
        [(epoch(record.at) / 1000, record.title, "") for record, _ in happened.commits],
        [(epoch(at) / 1000, text, "") for at, text in decided],
    )
    room = max(period.days, request.width - NAME - 3)
    names = ""
    for number in range(period.days):
        date = period.first + timedelta(days=number)
        start = room * number // period.days
        name = f"{date:%a %-d}" if room // period.days > 6 else f"{date:%-d}"
        if len(names) <= start and start + len(name) <= room:
            names = f"{names:<{start}}{name}"
    lines.append(_text(f"{'':<{NAME + 1}}{names}", "quiet"))
    failed = failures(picture)
    for lane in (*picture.lanes, *([failed] if failed.bars else [])):
        name = fit(visible_line(lane.name).partition("-")[0], NAME)
        pad = " " * (NAME - columns(name) + 1)
        lines.append(
            Entry("", ((name + pad, "quiet"), (text_cells(picture, lane, room), lane.kind)))
        )
    return lines


def _open(memory: Memory, next_: Outlook) -> Iterator[Entry]:
    """Steps of the active plan, issues, and what sessions left to do."""
    from kinen.worklog.plans import steps  # the markdown parser is slow to import

    active = memory.worklog.plan()
    for step in steps(active.text) if active else ():
        if active and not step.done:
            yield _signed("open", f"{active.ref}#{step.number}", step.text, "plan")
    for issue in memory.issues.all() if memory.index.built else ():
        if not issue.is_closed:
            side = f"{issue.id} {issue.status.replace('_', ' ')}"
            yield _signed("open", issue.ref, issue.title, visible_line(side))
    for entry in next_.open:
        kind = "error" if entry.kind == "failed" else "open"
        side = f"{visible_line(entry.who)} {_age(entry.at / 1000)}".lstrip()
        yield _signed(kind, entry.ref, entry.text, side)


def _file_lines(files: Iterable[tuple[str, int, int]]) -> list[Entry]:
    """Files that agents edited: a bar of how often, the path, and when last."""
    listed = list(files)
    most = max((edits for _, edits, _ in listed), default=1)
    return [
        Entry(
            f"file:{path}",
            (
                (f"{edits:>4} ", "quiet"),
                (f"{'█' * max(1, round(BAR * edits / most)):<{BAR}} ", "session"),
                (visible_line(path), ""),
            ),
            _age(last / 1000),
            path,
        )
        for path, edits, last in listed
    ]


def _next(memory: Memory, next_: Outlook, points: int) -> dict[str, list[Entry]]:
    """What the next agent is told, and what does not fit."""
    every = len(next_.fitting) + len(next_.left_out)
    size = (
        f"{estimate(next_.text):,} of {next_.budget:,} tokens, {len(next_.fitting)} of {every} fit"
    )
    start = Entry(START, (("✓ ", "commit"), ("What it is told", "")), size)
    if not every:
        start = Entry(START, (("- ", "quiet"), ("Nothing yet", "quiet")))
    missing = [_left_out(memory, ref) for ref in [*next_.left_out][: points + 1]]
    return {"The next agent": [start, *missing]}


def _left_out(memory: Memory, ref: str) -> Entry:
    title = first_words(memory.records.title(ref))
    return Entry(ref, (("- ", "open"), (title, "")), "left out")


# Sessions


def sessions(memory: Memory, request: Request) -> list[Entry]:
    """Sessions by day, the newest first; of what is typed, those about it, the best first."""
    if request.typed.strip():
        refs = memory.sessions.matching(request.typed, min(HITS, request.most))
        return [
            _session_line(session, _age(epoch(session.started) / 1000))
            for session in memory.sessions.briefs(refs)
        ]
    return _by_day(memory.sessions.overviews(request.most))


def _by_day(chosen: Sequence[SessionOverview]) -> list[Entry]:
    """Sessions below the days on which they began."""
    entries: list[Entry] = []
    agents = distinct(session.agent for session in chosen)
    heading = ""
    for session in chosen:
        began = epoch(session.started) / 1000
        name = day(began, now())
        if name != heading:
            entries.append(_text(name, "heading"))
            heading = name
        agent = agent_name(session) if agents else ""
        entries.append(_session_line(session, clock(began, now()), agent))
    return entries


def _session_line(session: SessionOverview, at: str, agent: str = "") -> Entry:
    facts = [f"✗ {session.errors}"] if session.errors else []
    facts += [f"✎ {session.edits}"] if session.edits else []
    facts += [duration(session.seconds)] if session.seconds else []
    facts += [agent, "open" if session.status in ("open", "in-progress") else ""]
    outcome = ((f" → {first_words(session.outcome)}", "quiet"),) if session.outcome else ()
    title = first_words(session.title) or "(no prompt)"
    parts = ((f"{at:>6} ", "quiet"), (f"{SIGNS['session']} ", "session"), (title, ""), *outcome)
    return Entry(session.ref, parts, visible_line("  ".join(filter(None, facts))))


# Knowledge, Code and Told


def knowledge(memory: Memory, request: Request) -> list[Entry]:
    """Decisions, lessons, patterns and insights that have every typed word; newest first."""
    chosen = [
        learned
        for learned in memory.consolidation.memories()
        if not learned.superseded_by and _has(learned.content, request.typed)
    ]
    entries = []
    for learned in chosen[: request.most]:
        sign = SIGNS["decision"] if learned.type == "decision" else " "
        parts = (
            (f"{sign} ", "decision"),
            (f"{learned.type:<8} ", "quiet"),
            (first_words(learned.content), ""),
        )
        sure = f"{learned.confidence:.0%} sure  " if learned.confidence < 0.7 else ""
        entries.append(Entry(learned.ref, parts, sure + _age(learned.created_at / 1000)))
    return entries


def code(memory: Memory, request: Request) -> list[Entry]:
    """Files that agents edited, the most edited first; then all others of the repository."""
    edited = memory.journal.edited_files(0, round(1000 * now()))[: request.most]
    listed = {file.path for file in edited}
    entries = _file_lines((file.path, file.edits, file.last) for file in edited)
    try:
        records = memory.git.files(limit=0)[0]
    except GitError:
        records = []
    others = [record.path for record in records if record.path not in listed]
    entries += [Entry(f"file:{path}", ((visible_line(path), ""),), "", path) for path in others]
    return [entry for entry in entries if _has(entry.path, request.typed)][: request.most]


def outgoing(memory: Memory, request: Request) -> list[Entry]:
    """What an agent would be told: at its start, and of what is typed; and all that was sent."""
    next_ = outlook(memory)
    recall = memory.recall(recall_query(request.typed))
    question = (
        f"Recall of {request.typed!r}" if request.typed.strip() else "Recall without a question"
    )
    size = f"{estimate(next_.text):,} of {next_.budget:,} tokens"
    entries = [
        _text("What an agent would be told now", "heading"),
        Entry(START, (("✓ ", "commit"), ("Start of a session", "")), size),
        Entry(
            f"{RECALL}{request.typed}",
            (("✓ ", "commit"), (visible_line(question), "")),
            f"{recall.tokens:,} tokens",
        ),
    ]
    left = [*next_.left_out][: request.most]
    if left:
        every = len(next_.fitting) + len(next_.left_out)
        entries.append(
            _text(f"Does not fit at the start: {len(next_.left_out):,} of {every:,}", "heading")
        )
        entries += [_left_out(memory, ref) for ref in left]
    sent, count = memory.ledger.injections(limit=request.most)
    entries += [_text(f"Sent so far: {counted(count, 'texts')}", "heading")] if sent else []
    for injection in sent:
        words = f"{injection.occasion.replace('_', ' ')}: {first_words(injection.first_line)}"
        parts = ((f"{_age(injection.at / 1000)} ", "quiet"), (visible_line(words), ""))
        entries.append(Entry(f"{SENT}{injection.id}", parts, f"{injection.tokens:,} tokens"))
    return entries


def search(memory: Memory, request: Request) -> list[Entry]:
    """The hits for what is typed, those that are close if any is; else what happened last."""
    if not request.typed.strip():
        items = memory.recall("").items[: request.most]
        return [Entry(item.ref, ((first_words(item.text), ""),)) for item in items]
    limit = min(HITS, request.most)
    query = search_query(request.typed, memory.config.search, limit=limit, context=0, min_score=0)
    hits = memory.search(query)
    groups: dict[str, list[Hit]] = {}
    for hit in close_only(hits) or hits:
        groups.setdefault(_parent(hit) or hit.record.path or hit.record.ref, []).append(hit)
    entries = [_text(visible_line(note), "quiet") for note in hits.notes]
    for name, group in groups.items():
        grouped = len(group) > 1 or bool(_parent(group[0]))
        if grouped:
            title = first_words(memory.records.title(name)) if ":" in name else visible_line(name)
            sign = SIGNS["session"] if name.startswith("capsule:") else " "
            entries.append(_text(f"{sign} {title.removeprefix('session: ')}", "session"))
        entries += [_hit_line(hit, grouped=grouped) for hit in group]
    return entries


def _parent(hit: Hit) -> str:
    """The session of a hit, if it is a part of one."""
    return str((hit.record.metadata or {}).get("parent") or "")


def _hit_line(hit: Hit, *, grouped: bool) -> Entry:
    kinds = {"memory": "decision", "commit": "commit", "capsule": "session"}
    kind = kinds.get(hit.record.kind, "")
    sign = ("  ", "") if grouped else (f"{SIGNS.get(kind, ' ')} ", kind)
    side = f"{hit.strength:>3}"
    if hit.record.path and not grouped:
        side = f"{place(hit)} {side}"
    parts = (sign, (visible_line(hit_title(hit)), ""))
    line = hit.line or hit.chunk.start_line
    return Entry(hit.chunk.id, parts, visible_line(side), hit.record.path, line, hit)


# The text of an entry


def page(memory: Memory, entry: Entry) -> str:
    """An entry with everything that is known of it."""
    if entry.hit:  # where it is, its votes and its passage come first
        hit = entry.hit
        where = f"{place(hit)}  {hit.record.kind}  {hit.record.at[:10]}".rstrip()
        parts = ["\n".join(map(visible_line, [where, *votes(hit)])), visible(hit.display.text)]
        return "\n\n".join([*parts, "The whole record:", _record_page(memory, entry)])
    readers: dict[str, Callable[[Memory, Entry], str]] = {
        START: lambda memory, _entry: (
            visible(outlook(memory).text) or "Nothing: a session starts without a word of kinen."
        ),
        "recall": lambda memory, entry: recall_text(
            memory.recall(recall_query(entry.ref.removeprefix(RECALL)))
        ),
        "injection": lambda memory, entry: (
            memory.ledger.injection(entry.ref.removeprefix(SENT)).text
        ),
        "capsule": session_page,
        "session": session_page,
        "memory": _memory_page,
        "file": lambda memory, entry: (
            f"{why_page(memory, entry)}\n\n## History\n\n{history_page(memory, entry)}"
        ),
        "issue": lambda memory, entry: details_text(memory.issues.show(entry.ref), Screen(STYLE)),
        "more": lambda _memory, _entry: "Enter shows all of them.",
    }
    return readers.get(entry.ref.partition(":")[0], _record_page)(memory, entry)


def _record_page(memory: Memory, entry: Entry) -> str:
    return record_text(*memory.records.show(named_place(entry.ref)[0]), STYLE)


def votes(hit: Hit) -> list[str]:
    """The share of each retriever in the score of a hit, as bars that add up."""
    total = sum(vote.share for vote in hit.votes) or 1.0
    return [
        f"{vote.retriever:<10} {'█' * max(1, round(BAR * vote.share / total)):<{BAR}}"
        f" {vote.share / total:4.0%}  rank {vote.rank}"
        for vote in hit.votes
    ]


def session_of(memory: Memory, entry: Entry) -> str:
    """The session that an entry is, or is a part of; empty if it is of none."""
    if entry.ref.startswith(("capsule:", "session:")):
        return entry.ref
    if entry.hit:
        return _parent(entry.hit)
    if entry.ref.startswith("memory:"):
        return memory.consolidation.origin(memory.consolidation.get(entry.ref)).capsule
    try:
        record = memory.records.get(named_place(entry.ref)[0])
    except NotFound:
        return ""
    return str((record.metadata or {}).get("parent") or "")


def timeline_of(memory: Memory, entry: Entry) -> SessionTimeline | None:
    """The session of an entry; None if it is of none."""
    name = session_of(memory, entry)
    return memory.sessions.timeline(name) if name else None


def session_page(memory: Memory, entry: Entry) -> str:
    """The session of an entry: its outcome first, then its steps."""
    timeline = timeline_of(memory, entry)
    return session_text(timeline, STYLE) if timeline else "It is of no session."


def _memory_page(memory: Memory, entry: Entry) -> str:
    learned = memory.consolidation.get(entry.ref)
    origin = origin_text(memory.consolidation.origin(learned))
    return "\n".join(filter(None, [learned_text(learned, STYLE, sources=True), origin]))


def links_page(memory: Memory, entry: Entry) -> str:
    """The links around a record."""
    name = memory.records.get(named_place(entry.ref)[0]).ref
    edges = memory.records.links(name)
    if not edges:
        return f"Nothing is linked with {name}."
    ends = {end for edge in edges for end in (edge.source, edge.target) if end.startswith(ENTRIES)}
    names = {end: f"{end.partition(':')[0]}: {memory.records.title(end)[:80]}" for end in ends}
    return links_text(name, edges, places=names)


def history_page(memory: Memory, entry: Entry) -> str:
    """The commits of the file behind an entry."""
    path = _path(memory, entry)
    try:
        return revisions_text(memory.git.history(path)) if path else f"{entry.ref} has no file."
    except (GitError, NotFound) as error:
        return str(error)


def why_page(memory: Memory, entry: Entry) -> str:
    """Why a file is as it is: the sessions, decisions and commits that concern it."""
    path = _path(memory, entry)
    if not path:
        return f"{entry.ref} has no file."
    answer = memory.context.around(file=path)
    return recall_text(answer) if answer.items else f"Nothing is recorded about {path} yet."


def _path(memory: Memory, entry: Entry) -> str:
    """The file behind an entry; empty if there is none."""
    if entry.path:
        return entry.path
    try:
        return memory.records.get(named_place(entry.ref)[0]).path
    except NotFound:
        return ""


def erasure(memory: Memory, entry: Entry) -> str:
    """What would be erased with an entry, before it is."""
    erased = memory.journal.erasable(named_place(entry.ref)[0])
    name = memory.records.title(erased.refs[0])
    if erased.suppressed:
        return (
            f"Hide {name}?\n\nkinen never changes files and commits: it is hidden from searches,"
            f" pages and agents.\n`kinen forget --undo {erased.refs[0]}` shows it again."
        )
    kinds = Counter(ref.partition(":")[0] for ref in erased.refs)
    plurals = {"capsule": "sessions", "summary": "summaries", "memory": "memories"}
    counts = [counted(count, plurals.get(kind, f"{kind}s")) for kind, count in kinds.items()]
    also = (
        f"\n\nThe same text is also in {', '.join(erased.also)}: that stays." if erased.also else ""
    )
    return (
        f"Erase {name}?\n\nThis goes for good, from the journal, index, vectors, caches and"
        f" ledger: {', '.join(counts)}. It cannot be undone.{also}"
    )


SEARCH = View("Search", "/", search, "nothing here yet: type what you look for")
VIEWS: Sequence[View] = (
    View("Today", "1", today),
    View("Sessions", "2", sessions, "no sessions yet: `kinen install` records them"),
    View("Knowledge", "3", knowledge, "no memories yet: `kinen memories draw` draws them"),
    View("Code", "4", code, "no files: neither did agents edit any, nor is this a git repository"),
    View("Told", "5", outgoing),
)
"""The screens, in order: the words of the pages."""
