"""Recall for an agent: the plan, pins, the summary, an issue, and the hits or a digest of them."""

from __future__ import annotations

import os
from itertools import zip_longest

from kinen.errors import Busy
from kinen.journal.authors import colleague, signature
from kinen.memory.core import Core
from kinen.model.journal import Digest, Item, Passage, Recall, Scope
from kinen.model.kinds import DISTILLERS
from kinen.model.late import contextlib
from kinen.model.records import Hit, Hits, Query
from kinen.model.tuples import NamedTuple
from kinen.paths import inside
from kinen.query import storable_query
from kinen.recall import candidates, tiers
from kinen.recall.candidates import (
    ENTRY,
    SHARE_OF_WORK,
    WORKED,
    Candidate,
    asks_outcome,
    by_bot,
    may_answer,
    prose,
    with_work,
    without_routine,
)
from kinen.recall.clip import cut, cut_output, plan_text, readable_output, said_once
from kinen.recall.excerpts import acceptance, asks, excerpts, left_out, turns
from kinen.recall.floor import (
    CLOSE,
    UNKNOWN,
    by_language,
    is_known,
    is_scripted,
    unknown_note,
    without_weak,
)
from kinen.recall.fuse import RECENCY_WEIGHT
from kinen.recall.order import shared_words
from kinen.recall.passages import BARE_LABELS, shown_text
from kinen.recall.search import recent
from kinen.recall.tiers import item
from kinen.recall.wording import answers, informative, subject
from kinen.text import iso, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kinen.index.reader import Reader
    from kinen.memory.index import Index
    from kinen.memory.issues import Issues
    from kinen.memory.past import Moment, Past
    from kinen.memory.records import Records
    from kinen.memory.search import Searcher
    from kinen.recall.excerpts import Turn

SHARE = 0.15
"""Maximum share of the budget for each of the plan, all pins and the summary."""
FULL = 2000
"""Maximum tokens of a hit in full."""
RESULTS = 3
"""Uses of tools that are shown with the message that announced them."""
RESULT = 40
"""Maximum tokens of each."""
STALE = 7
"""Days without a checkpoint after which a plan is stale and only a note mentions it."""
PINNED = 8
"""Chunks of a pinned record that are looked at."""
READS = 40
"""Minimum number of hits that a recall or a digest searches for."""
MESSAGES = 30
"""Messages to search for besides, where there are sessions."""
SUMMARIES = 4
"""Extra summaries to search for when a question asks for an outcome."""
LONGEST = 6_000
"""Maximum characters of a record that are searched for an excerpt."""
LEAST = 40
"""Minimum tokens of a digest."""
LATELY = ("summary", "checkpoint", "commit", "round", "memory")
"""Kinds that a recall without a question shows."""
EDITED = ("note", "artifact", "resource")
"""Kinds of files that it also shows if they were edited since the last session."""
MOST_EDITED = 3
OWN = ("fulltext", "phrase")
"""Votes for the cited observation of a segment; others are for all of it."""

PROPOSALS = 3
"""Messages in a row that end in a question, until the reply to the last of them is looked at."""

BESIDE = 4
"""Hits whose segments are looked at for further messages."""
TIERS = {
    "capsule": "sessions",
    "summary": "sessions",
    "commit": "commits",
    "checkpoint": "checkpoints",
    "memory": "memories",
}
"""The tiers of records that concern an issue; every other kind is a hit."""


class Found(NamedTuple):
    """The content of a recall, before it is cut to a budget."""

    always: list[Item]
    hits: Hits
    notes: tuple[str, ...]


class Recaller:
    """Recalls, and the digests of their hits."""

    def __init__(
        self,
        core: Core,
        index: Index,
        records: Records,
        searcher: Searcher,
        past: Callable[[], Past],
        issues: Callable[[], Issues],
    ) -> None:
        self._core = core
        self._index = index
        self._records = records
        self._searcher = searcher
        self._past = past
        self._issues = issues

    def recall(self, query: Query | str = "", *, full: bool = False, distiller: str = "") -> Recall:
        """The plan, the pins and the hits for a question, inside a token budget.

        Without a question, the latest records. With `full`, whole records. With a distiller
        (`configured`, `auto`, `extract`, `claude`, ...), a digest replaces the hits.
        """
        request = storable_query(Query(query) if isinstance(query, str) else query)
        budget = request.budget or self._core.config.recall.budget
        material = self.collect(request, budget, READS if distiller else 0)
        answer = self._answer(request, material, budget, full=full, distiller=distiller)
        return answer._replace(search_method=_method(request, material.hits))

    def _answer(
        self, request: Query, material: Found, budget: int, *, full: bool, distiller: str
    ) -> Recall:
        notes = (*material.notes, *material.hits.notes)
        frame = tiers.tiers(request.text, budget, material.always, [], notes)
        room = budget - frame.tokens
        if not distiller:
            items, omitted = self.items(request, material.hits, room, full=full)
            if request.text.strip() and not material.hits and UNKNOWN not in " ".join(notes):
                notes = (*notes, UNKNOWN)
            return tiers.tiers(request.text, budget, material.always, items, notes, omitted)

        room = min(self._core.config.distill.budget, room - LEAST // 4)
        passages = passages_of(material.hits)
        if not passages:
            return frame
        if room < LEAST:
            remark = (
                f"{len(material.hits)} hits, and no room for a digest of them in {budget} tokens"
            )
            return frame._replace(notes=(*frame.notes, remark))
        return tiers.with_digest(
            frame, digest_of(self._core, request.text, passages, room, distiller)
        )

    def items(
        self, query: Query, hits: Hits, room: int, *, full: bool
    ) -> tuple[list[Item], list[Item]]:
        """The hits as items, whole or as excerpts, and the items that did not fit."""
        if full:
            size = whole_size(room)
            texts = {
                hit.record.ref: cut(self._records.whole_text(hit.record.ref), size) for hit in hits
            }
            once = {hit.record.ref: hit for hit in reversed(list(hits))}
            some = [hit for hit in hits if once[hit.record.ref] is hit][: query.limit]
            return [
                item("hits", hit.record.ref, texts[hit.record.ref], like=hit) for hit in some
            ], []
        candidates = self.candidates(query, hits)
        items = excerpts(query.text, candidates, room, query.limit)
        omitted = left_out(candidates[: query.limit], items)
        if query.issue and not query.text.strip():
            items = [entry._replace(tier=tier_of(entry.ref)) for entry in items]
        return items, omitted

    def candidates(self, query: Query, hits: Hits) -> list[Candidate]:
        """The records of the hits with their text, explanations first, without duplicates."""
        return candidates_of(self._core.reader, query, hits, self._readable)

    def _readable(self, hit: Hit) -> str:
        """The text to show of a hit: a whole entry, or of a file the chunks around the hit."""
        if hit.record.kind == "summary":
            from kinen.text.shorten import outcome_only

            return outcome_only(self._records.whole_text(hit.record.ref)[:LONGEST])
        if hit.record.kind == "commit":
            from kinen.sources.git.messages import readable_message

            return readable_message(self._records.whole_text(hit.record.ref)[:LONGEST])
        if not hit.record.path:
            text = readable_output(self._records.whole_text(hit.record.ref)[:LONGEST])
            return "\n".join((text, *_results_of_step(hit)))
        heading = hit.chunk.heading
        before = (chunk for chunk in hit.before if chunk.heading == heading)
        after = (chunk for chunk in hit.after if chunk.heading == heading)
        chunks = (*before, hit.display, *after)
        around = "\n".join(filter(None, (shown_text(chunk, hit.record.title) for chunk in chunks)))
        title = hit.chunk.heading or hit.record.title
        head = title if title and not around.startswith(("#", title)) else ""
        return said_once("\n".join(filter(None, (head, around))))[:LONGEST]

    def _code_kinds(self) -> tuple[str, ...]:
        """The kinds of source code; a reader would create an index where there is none yet."""
        if not os.path.exists(self._core.index_file):
            return ("symbol",)
        return self._core.reader.code_kinds()

    def collect(self, query: Query, budget: int, least: int) -> Found:
        """The plan, pins and hits for a question; searches for at least `least` hits."""
        root = self._core.space.root
        paths = (inside(path, root) if os.path.isabs(path) else path for path in query.files)
        wider = query._replace(
            files=tuple(paths),
            recency=query.recency or RECENCY_WEIGHT,
            limit=max(query.limit, least, READS),
            context=max(query.context, 1),
            omitted=() if query.kinds else self._code_kinds(),
        )
        notes: list[str] = []
        past = self._past().moment(query.as_of) if query.as_of else None
        issue = self._issues().show(query.issue) if query.issue else None
        if issue:
            from kinen.memory import issues

            records = issues.concerning(self._core.reader, issue)
            wider = issues.narrowed(self._core.reader, wider, records)
        if query.text.strip():
            hits = without_weak(self._search(wider), lambda hit: may_answer(query.text, hit))
        else:
            notes.extend(self._index.prepare())
            if past:
                notes.append(self._past().remark(past))
                until = min(query.until or past.at, past.at)
                wider = wider._replace(as_of="", until=until, kinds=query.kinds or LATELY)
            hits = self._lately(wider._replace(limit=2 * query.limit), budget)
            hits = in_turns(hits) if issue else hits
        drawn = self._core.config.recall.memories or "memory" in query.kinds or query.events
        hidden = ("pin",) if drawn else ("pin", "memory")  # pins have a tier of their own
        visible = [hit for hit in hits if hit.record.kind not in hidden]
        hits = Hits(tuple(visible), wider, hits.mode, hits.notes)
        share = round(SHARE * budget) if query.text.strip() else round(2 * SHARE * budget)
        plan, nudge = self._past_plan(past, share) if past else self.current_plan(share)
        notes += [nudge] if nudge else []
        at = round(now() * 1000)
        if past:
            from kinen.times import milliseconds

            at = milliseconds(past.at)
        always = [*plan, *self._pins(query, share, at)]
        if issue:
            tokens = round(2 * SHARE * budget)
            entry = issues.issue_item(self._core.reader, issue, tokens)
            always = [*filter(None, [entry]), *always]
        return Found(always, hits, tuple(notes))

    def _search(self, query: Query) -> Hits:
        """The hits of a search, more messages, and summaries if the question asks for an outcome.

        Output of tools has most of the text of a session, and messages say what it means.
        """
        hits = self._above_floor(self._searcher.search(query))
        if query.kinds or query.events or query.as_of or not hits:
            return hits
        query = query._replace(mode=hits.mode)  # words, if they have answered
        more: list[Hit] = []
        if any(hit.record.kind == "observation" for hit in hits):
            messages = query._replace(kinds=("observation",), events=("message",), limit=MESSAGES)
            more += self._searcher.search_again(messages)
        if asks_outcome(query.text):
            summaries = query._replace(kinds=("summary",), limit=SUMMARIES)
            more += self._searcher.search_again(summaries)
        refs = {hit.record.ref for hit in hits}
        others = {hit.record.ref: hit for hit in reversed(more) if hit.record.ref not in refs}
        return Hits((*hits, *reversed(others.values())), query, hits.mode, hits.notes)

    def _above_floor(self, hits: Hits) -> Hits:
        """The hits, or none and a note if they are unrelated to the question."""
        if not hits or any(note.startswith("corrected") for note in hits.notes):
            return hits
        counts = self._core.reader.document_counts(informative(hits.query.text))
        if is_scripted(hits.query.text) or by_language(hits.notes):
            known = any(hit.strength >= CLOSE for hit in hits)
        else:
            known = is_known(counts, hits, self._core.reader.chunk_count())
        if known:
            return hits
        return Hits((), hits.query, hits.mode, (*hits.notes, unknown_note(counts)))

    def _lately(self, query: Query, budget: int) -> Hits:
        """The latest summaries, checkpoints, commits, rounds and memories.

        With a filter, or if there are none, the newest records of any kind.
        """
        narrowed = query._replace(limit=0, context=0, recency=0.0, budget=0, omitted=())
        if narrowed == Query("", limit=0):
            # most of them may be merges, or commits of bots
            hits = self.latest(query._replace(kinds=LATELY, limit=READS + query.limit))
            if hits:
                worked = self.latest(query._replace(kinds=WORKED))
                # the query asks for twice as many
                count = max(SHARE_OF_WORK, min(query.limit // 2, budget // ENTRY))
                files = min(MOST_EDITED, count // SHARE_OF_WORK)
                chosen = with_work(without_routine(hits), worked, count - files)
                bots = {hit.record.at for hit in hits if by_bot(hit.record)}
                return self._with_edited(chosen, query, files, bots)
        return self.latest(query)

    def _with_edited(self, hits: Hits, query: Query, count: int, bots: set[str]) -> Hits:
        """The hits, and some files that were edited since the last session ended.

        A file has the time of its last commit; one with a time in `bots` was changed by a bot.
        """
        since = self._core.reader.last_session_end()
        if not since:
            return hits
        edited = self.latest(query._replace(kinds=EDITED, since=since))
        files = [hit for hit in edited if hit.record.at not in bots][:count]
        both = sorted((*hits, *files), key=lambda hit: hit.record.at, reverse=True)
        return Hits(tuple(both[: query.limit]), query, hits.mode, hits.notes)

    def latest(self, query: Query) -> Hits:
        """The latest records; stale files are indexed first."""
        hits = recent(self._core.reader, query)
        if self._searcher.stale(hits):
            with contextlib.suppress(Busy):
                self._index.sync(embed=False, wait=0.2)
                hits = recent(self._core.reader, query)
        return hits

    def current_plan(self, tokens: int) -> tuple[list[Item], str]:
        """The current plan as an item, or a note if it is stale."""
        if not os.path.isdir(os.path.join(self._core.space.root, ".memories")):
            return [], ""
        from kinen.worklog.folder import Memories

        memories = Memories(self._core.space.root)
        plan = memories.current()
        if plan is None or plan.ref in self._index.sources.hidden():
            return [], ""
        days = memories.stale(plan, now())
        if days >= STALE:
            remedy = f"go on with it, or `kinen plan complete {plan.id}`"
            return [], f"the plan {plan.title!r} was not touched for {days} days: {remedy}"
        return [item("plan", plan.ref, plan_text(plan, tokens), at=plan.updated)], ""

    def _past_plan(self, moment: Moment, tokens: int) -> tuple[list[Item], str]:
        """The plan of an earlier time as an item, and a note if its text may have changed since."""
        past = self._past().plan(moment)
        if past is None:
            return [], ""
        plan = past.plan
        note = "" if past.exact else f"the plan {plan.title!r} is shown as it is today"
        return [item("plan", plan.ref, plan_text(plan, tokens), at=plan.updated)], note

    def _pins(self, query: Query, tokens: int, at: int) -> list[Item]:
        """The pins that hold at a time, each cut to its share of the tokens."""
        if not self._core.has_journal():
            return []
        from kinen.journal import queries

        scope = Scope(query.session, query.repo, query.agent, query.user)
        pins = queries.pins_in(self._core.store.db, scope, at)
        if query.as_of:
            pins = [pin for pin in pins if pin.created_at <= at]
        db = self._core.store.db
        texts = {
            pin.target: (
                pin.note + signature(colleague(db, pin.ref)) if pin.note else "",
                self._records.whole_text(pin.target, PINNED),
            )
            for pin in pins
        }
        bodies = {ref: "\n".join(filter(None, parts)) for ref, parts in texts.items() if any(parts)}
        each = max(LEAST // 2, tokens // max(1, len(bodies)))
        return [
            item("pins", ref, cut(text, each), by=colleague(db, ref))
            for ref, text in bodies.items()
        ]

    def with_summary(self, query: Query | str) -> Recall:
        """A recall with the latest summary in scope, as in Kindling."""
        from kinen.journal import queries
        from kinen.text.shorten import for_the_next

        query = Query(query) if isinstance(query, str) else query
        budget = query.budget or self._core.config.recall.budget
        scope = Scope(query.session, query.repo, query.agent, query.user)
        latest = (
            queries.latest_summary(self._core.store.db, scope) if self._core.store.exists else None
        )
        if latest is None:
            return self.recall(query)
        text = cut(for_the_next(latest.content), round(SHARE * budget))
        author = colleague(self._core.store.db, latest.ref)
        summary = item("summary", latest.ref, text, at=iso(latest.created_at / 1000), by=author)
        rest = self.recall(query._replace(budget=max(1, budget - summary.tokens)))
        others = tuple(entry for entry in rest.items if entry.ref != summary.ref)
        tokens = rest.tokens + summary.tokens
        return rest._replace(items=(*others, summary), budget=budget, tokens=tokens)


def _method(query: Query, hits: Hits) -> str:
    """How hits were found: by the mode of the query, if all that it needs was there."""
    if not query.text.strip():
        return "recent"
    retrievers = {vote.retriever for hit in hits for vote in hit.votes}
    return hits.mode if not retrievers or "semantic" in retrievers else "fulltext"


def whole_size(room: int) -> int:
    """Maximum tokens of a whole record, with room left for its ref."""
    return max(2 * LEAST, min(FULL, room - 3 * LEAST))


def _results_of_step(hit: Hit) -> list[str]:
    """What followed a message that only announces a step: the tools that were used, and output."""
    if not candidates.is_only_step(hit):
        return []
    following = [chunk.text for chunk in hit.after if chunk.ref != hit.record.ref]
    return [cut_output(text, RESULT) for text in following[:RESULTS]]


def candidates_of(
    reader: Reader, query: Query, hits: Hits, readable: Callable[[Hit], str]
) -> list[Candidate]:
    """The records of the hits with their text, what explains first, nothing twice.

    A summary that a later one of its session follows is left out.
    """
    outdated = reader.outdated_summaries()
    texts: dict[str, Candidate] = {}
    replies = _Replies(reader, query, readable)
    every = (*hits, *_beside(reader, query, hits))
    for hit in candidates.in_order(every, query.text):
        record = hit.record
        if record.ref in outdated or record.ref in texts:
            continue
        text = readable(hit)
        if record.path and not query.text.strip():
            text = prose(text)
        if record.kind == "summary" and query.text.strip():
            from kinen.text.shorten import without_cut

            text = without_cut(text)
        if text.strip():
            texts[record.ref] = replies.of(hit, text)
    if not query.text.strip():
        return candidates.folded(candidates.without_updates(texts.values()))
    # A memory repeats its source; where it is asked for, it stands for it and not the reverse.
    about = subject(query.text)
    first = [entry for ref, entry in texts.items() if answers(about, ref, entry.text)]
    return [*first, *candidates.folded(entry for entry in texts.values() if entry not in first)]


class _Replies:
    """What hits are shown with; the messages of each session are read once."""

    def __init__(self, reader: Reader, query: Query, readable: Callable[[Hit], str]) -> None:
        self._reader = reader
        self._query = query
        self._readable = readable
        self._turns: dict[str, dict[str, Turn]] = {}

    def of(self, hit: Hit, text: str) -> Candidate:
        """A hit as a candidate; of a message with what it accepts, and what came of it."""
        candidate = candidates.Candidate(hit, text)
        about = hit.record.metadata or {}
        parent = str(about.get("parent", ""))
        if about.get("event") != "message" or not self._query.text.strip() or self._query.as_of:
            return candidate
        if parent not in self._turns:
            self._turns[parent] = turns(self._reader.messages(parent))
        every = self._turns[parent]
        turn = every.get(hit.record.ref)
        if turn is None:
            return candidate
        if about.get("role") == "user":
            asked = self._message(hit, turn.asked)
            decision = acceptance(asked.text, text) if asked else ""
            answer = self._message(hit, turn.final)
            reply = self._settled(hit, answer, every, PROPOSALS) if answer else None
            return candidate._replace(text=decision or text, reply=reply)
        final = hit.record.ref == turn.final
        return self._settled(hit, candidate, every, PROPOSALS) if final else candidate

    def _settled(self, hit: Hit, final: Candidate, every: dict[str, Turn], depth: int) -> Candidate:
        """The last message of a turn; one that asks with the user's reply and what came of that.

        A proposal may be refused: what it says holds only with the reply to it.
        """
        following = every[final.hit.record.ref].following
        reply = self._message(hit, following) if depth else None
        decision = acceptance(final.text, reply.text) if reply else ""
        if reply is None or not (decision or asks(final.text)):
            return final
        then = self._message(hit, every[following].final)
        settled = self._settled(hit, then, every, depth - 1) if then else None
        return final._replace(reply=reply._replace(text=decision or reply.text, reply=settled))

    def _message(self, hit: Hit, ref: str) -> Candidate | None:
        """Another message of a hit's session as a candidate, if it is not too late."""
        record = self._reader.record(ref) if ref else None
        chunks = self._reader.between(ref, 0, 0)
        if record is None or not chunks or record.at > (self._query.until or record.at):
            return None
        votes = tuple(vote for vote in hit.votes if vote.retriever not in OWN)
        message = hit._replace(record=record, chunk=chunks[0], votes=votes, before=(), after=())
        text = self._readable(message)
        return candidates.Candidate(message, text) if text.strip() else None


def _beside(reader: Reader, query: Query, hits: Hits) -> Iterator[Hit]:
    """Messages in the segments of the best hits that have as many of the question's words.

    A search cites one observation of a segment: a prompt may have more words of the question than
    its answer, and of two answers the other one may be right.
    """
    if not query.text.strip() or query.kinds or query.events or query.as_of:
        return
    refs = {hit.record.ref for hit in hits}
    for hit in hits[:BESIDE]:
        segment = (*hit.before, hit.chunk, *hit.after) if hit.record.kind == "observation" else ()
        others = ((n, reader.record(c.ref)) for n, c in enumerate(segment) if c.ref not in refs)
        messages = [(n, r) for n, r in others if r and (r.metadata or {}).get("event") == "message"]
        # Words are read last: output beside a hit may be long.
        enough = max(1, len(shared_words(query.text, hit.chunk.text))) if messages else 0
        votes = tuple(vote for vote in hit.votes if vote.retriever not in OWN)
        for n, record in messages:
            in_time = (query.since or "") <= record.at <= (query.until or record.at)
            if in_time and len(shared_words(query.text, segment[n].text)) >= enough:
                yield hit._replace(
                    record=record,
                    chunk=segment[n],
                    score=sum(vote.share for vote in votes),
                    votes=votes,
                    before=segment[:n],
                    after=segment[n + 1 :],
                )


def in_turns(hits: Hits) -> Hits:
    """Sessions, commits, checkpoints and others in turns, so that a small budget shows each kind.

    A session that has a summary among the hits is shown by it alone.
    """
    told = {str((hit.record.metadata or {}).get("parent", "")) for hit in hits}
    groups: dict[str, list[Hit]] = {tier: [] for tier in (*TIERS.values(), "hits")}
    for hit in hits:
        if not (hit.record.kind == "capsule" and hit.record.ref in told):
            groups[tier_of(hit.record.ref)].append(hit)
    turns = [hit for row in zip_longest(*groups.values()) for hit in row if hit is not None]
    return Hits(tuple(turns), hits.query, hits.mode, hits.notes)


def tier_of(ref: str) -> str:
    return TIERS.get(ref.partition(":")[0], "hits")


CITED = 160
"""Maximum tokens of a cited observation in a digest's input."""
ASIDE = 40
"""Maximum tokens of each observation around it."""
READ = 300
"""Maximum tokens of a hit in a digest's input."""
BEFORE = 2
"""Observations of the segment before a cited one."""
AFTER = 4
"""Observations of the segment after a cited one."""


def digest_of(
    core: Core,
    question: str,
    passages: Sequence[Passage],
    budget: int,
    distiller: str = "configured",
    *,
    without_model: Callable[[], Digest] | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Digest:
    """A digest of passages by the first distiller that answers.

    `without_model` replaces extract. `on_line` receives the lines of a model's answer as they
    arrive.
    """
    from kinen.distill.chain import distill
    from kinen.distill.extract import extract, listed_size

    budget = max(1, min(budget, listed_size(passages)))
    settings = core.config.distill
    before = core.erasures.last()
    named = {"auto": DISTILLERS, "configured": settings.order}
    order = named.get(distiller, (distiller,))
    result = distill(
        question,
        passages,
        budget,
        order=order,
        settings=settings,
        env=os.environ,
        extract=without_model or (lambda: extract(question, passages, budget)),
        stored=core.cache.texts_while(lambda: core.erasures.last() == before),
        now=now(),
        on_line=on_line,
    )
    return result._replace(passages=len(passages))


def passages_of(hits: Hits) -> list[Passage]:
    """The input of a digest: each hit with its context, each chunk once."""
    passages: dict[str, Passage] = {}
    seen: set[str] = set()
    for hit in hits:
        chunks = [*hit.before, hit.display, *hit.after]
        title = hit.record.title
        texts = [shown_text(chunk, title, BARE_LABELS) for chunk in chunks if chunk.id not in seen]
        seen.update(chunk.id for chunk in chunks)
        spoken = hit.record.kind == "observation"
        text = _segment(hit) if spoken and texts else cut("\n".join(texts), READ)
        ref = hit.record.ref
        if ref in passages:
            text = "\n".join(filter(None, (passages[ref].text, text)))
        if text:
            passages[ref] = Passage(ref, text, hit.record.title, hit.record.at)
    return list(passages.values())


def _segment(hit: Hit) -> str:
    """An observation with its neighbours in the segment."""
    lines = [*(chunk.text for chunk in hit.before[-BEFORE:]), hit.chunk.text]
    lines += [chunk.text for chunk in hit.after[:AFTER]]
    excerpts = [cut(line.strip(), CITED if line == hit.chunk.text else ASIDE) for line in lines]
    return "\n".join(excerpts)
