"""What an agent is given: the plan, pins, the summary, and what was found or what it comes to."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple

from kinen.errors import Busy
from kinen.journal.brief import for_the_next, outcome_only
from kinen.model.records import Hits, Query
from kinen.paths import inside
from kinen.query import storable_query
from kinen.recall.clip import compact, cut, plan_text, said_once
from kinen.recall.floor import UNKNOWN, is_known, unknown_note
from kinen.text import iso, now, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kinen.memory.core import Core
    from kinen.memory.index import Index
    from kinen.memory.records import Records
    from kinen.memory.search import Searcher
    from kinen.model.journal import Digest, Item, Passage, Recall
    from kinen.model.records import Hit
    from kinen.recall.candidates import Candidate

__all__ = ["UNKNOWN", "Recaller", "compact", "cut", "whole_size"]

TOLD, ASIDE = 160, 40
"""Tokens of what was said and what stands around it, as a digest reads them."""
SHARE = 0.15
"""What the plan, all pins and the summary may each take of a budget: hits get the rest."""
FULL, READ = 2000, 300
"""Tokens of a hit in full, and as a digest reads it."""
BEFORE, AFTER = 2, 4
"""Observations of its segment around one that is cited."""
STALE = 7
"""Days without a checkpoint after which a plan is asked about and no longer shown."""
READS = 40
"""Hits that a recall or a digest is made of."""
SUMMARIES = 4
"""Summaries that are looked at where a question asks what sessions came to."""
LONGEST = 6_000
"""Characters of a record that are looked through for what answers."""
LEAST = 40
"""Tokens below which no digest is worth its heading."""
LATELY = ("summary", "checkpoint", "commit", "round", "memory")
"""Kinds that tell what happened, when nothing was asked."""
EDITED = ("note", "artifact", "resource")
"""Kinds of files that are shown then if they were edited since the last session."""
MOST_EDITED = 3


class Found(NamedTuple):
    """What a recall is made of, before it is cut to a budget."""

    always: list[Item]
    hits: Hits
    notes: tuple[str, ...]


class Recaller:
    """Recall, and the digests that it may end in."""

    def __init__(
        self,
        core: Core,
        index: Index,
        searcher: Searcher,
        records: Records,
    ) -> None:
        self._core = core
        self._index = index
        self._searcher = searcher
        self._records = records

    def recall(self, query: Query | str = "", *, full: bool = False, distiller: str = "") -> Recall:
        """What answers a question, inside a token budget, below the plan and the pins.

        Without a question, what happened last. With `full` whole records. With a distiller
        (`configured`, `auto`, `extract`, `claude`, ...) it ends in a digest in place of the hits.
        """
        from kinen.recall import tiers

        asked = storable_query(Query(query) if isinstance(query, str) else query)
        budget = asked.budget or self._core.config.recall.budget
        found = self.collect(asked, budget, READS if distiller else 0)
        notes = (*found.notes, *found.hits.notes)
        given = tiers.tiers(asked.text, budget, found.always, [], notes)
        room = budget - given.tokens
        if not distiller:
            items, omitted = self.items(asked, found.hits, room, full=full)
            if asked.text.strip() and not found.hits and UNKNOWN not in " ".join(notes):
                notes = (*notes, UNKNOWN)
            return tiers.tiers(asked.text, budget, found.always, items, notes, omitted)
        room = min(self._core.config.distill.budget, room - LEAST // 4)
        passages = self._passages(found.hits)
        if not passages:
            return given
        if room < LEAST:
            remark = f"{len(found.hits)} hits, and no room for a digest of them in {budget} tokens"
            return given._replace(notes=(*given.notes, remark))
        return tiers.with_digest(given, self.digest(asked.text, passages, room, distiller))

    def items(
        self, asked: Query, hits: Hits, room: int, *, full: bool
    ) -> tuple[list[Item], list[Item]]:
        """The hits as a recall shows them, whole or the lines that answer; and those left out."""
        from kinen.recall.excerpts import excerpts, left_out
        from kinen.recall.tiers import item

        if full:
            size = whole_size(room)
            texts = {
                hit.record.ref: cut(self._records.whole_text(hit.record.ref), size) for hit in hits
            }
            once = {hit.record.ref: hit for hit in reversed(list(hits))}
            some = [hit for hit in hits if once[hit.record.ref] is hit][: asked.limit]
            return [
                item("hits", hit.record.ref, texts[hit.record.ref], like=hit) for hit in some
            ], []
        candidates = self.candidates(asked, hits)
        items = excerpts(asked.text, candidates, room, asked.limit)
        return items, left_out(candidates[: asked.limit], items)

    def candidates(self, asked: Query, hits: Hits) -> list[Candidate]:
        """The records of the hits with their text, what explains first, nothing twice."""
        from kinen.memory.candidates import candidates_of

        return candidates_of(self._core.reader, asked, hits, self._readable)

    def _readable(self, hit: Hit) -> str:
        """What may be shown of a hit: the whole of an entry, of a file what stands around it."""
        if hit.record.kind == "summary":
            return outcome_only(self._records.whole_text(hit.record.ref)[:LONGEST])
        if hit.record.kind == "commit":
            from kinen.sources.git.messages import without_trailers

            return without_trailers(self._records.whole_text(hit.record.ref)[:LONGEST])
        if not hit.record.path:
            return self._records.whole_text(hit.record.ref)[:LONGEST]
        around = "\n".join(chunk.text for chunk in (*hit.before, hit.display, *hit.after))
        text = said_once(around)
        title = hit.chunk.heading or hit.record.title
        head = title if title and not text.startswith(("#", title)) else ""
        return "\n".join(filter(None, (head, text)))[:LONGEST]

    def collect(self, asked: Query, budget: int, least: int) -> Found:
        """The plan, pins and hits for a question; with `least` so many hits as a digest reads."""
        from kinen.recall.fuse import RECENCY_WEIGHT

        root = self._core.space.root
        paths = (inside(one, root) if os.path.isabs(one) else one for one in asked.files)
        wider = asked._replace(
            files=tuple(paths),
            recency=asked.recency or RECENCY_WEIGHT,
            limit=max(asked.limit, least, READS),
            context=max(asked.context, 1),
        )
        notes: list[str] = []
        if asked.text.strip():
            hits = self._found(wider)
        else:
            notes.extend(self._index.prepare())
            hits = self._lately(wider._replace(limit=2 * asked.limit))
        drawn = self._core.config.recall.memories or "memory" in asked.kinds or asked.events
        wanted = [hit for hit in hits if self._is_shown(hit, drawn=bool(drawn))]
        hits = Hits(tuple(wanted), wider, hits.mode, hits.notes)
        share = round(SHARE * budget) if asked.text.strip() else round(2 * SHARE * budget)
        plan, nudge = self.current_plan(share)
        notes += [nudge] if nudge else []
        return Found([*plan, *self._pins(asked, share)], hits, tuple(notes))

    def _found(self, query: Query) -> Hits:
        """What a search finds, with the summaries that it left out where an outcome is asked."""
        from kinen.recall.candidates import asks_outcome

        hits = self._above_floor(self._searcher.search(query))
        if query.kinds or not hits or not asks_outcome(query.text):
            return hits
        known = {hit.record.ref for hit in hits}
        summaries = self._searcher.search(query._replace(kinds=("summary",), limit=SUMMARIES))
        more = tuple(hit for hit in summaries if hit.record.ref not in known)
        return Hits((*hits, *more), query, hits.mode, hits.notes)

    def _above_floor(self, hits: Hits) -> Hits:
        """The hits, or none and a remark where they have nothing to do with the question."""
        if not hits or any(note.startswith("corrected") for note in hits.notes):
            return hits
        counts = self._core.reader.document_counts(terms(hits.query.text))
        if is_known(counts, hits, self._core.reader.chunk_count()):
            return hits
        return Hits((), hits.query, hits.mode, (*hits.notes, unknown_note(counts)))

    def _is_shown(self, hit: Hit, *, drawn: bool) -> bool:
        """Whether a hit may stand in a recall: pins have their own place."""
        kind = hit.record.kind
        return kind != "pin" and (drawn or kind != "memory")

    def _lately(self, query: Query) -> Hits:
        """What happened last: sessions by what they came to, checkpoints and commits.

        With a filter, or where there is none of these, whatever is newest.
        """
        narrowed = query._replace(limit=0, context=0, recency=0.0, budget=0)
        if narrowed == Query("", limit=0):
            hits = self.latest(query._replace(kinds=LATELY))
            if hits:
                return self._with_edited(hits, query)
        return self.latest(query)

    def _with_edited(self, hits: Hits, query: Query) -> Hits:
        """What happened last, and the files that were edited since the last session ended."""
        since = self._core.reader.last_session_end()
        if not since:
            return hits
        files = self.latest(query._replace(kinds=EDITED, since=since, limit=MOST_EDITED))
        both = sorted((*hits, *files), key=lambda hit: hit.record.at, reverse=True)
        return Hits(tuple(both[: query.limit]), query, hits.mode, hits.notes)

    def latest(self, query: Query) -> Hits:
        """What happened last, as its files are now."""
        from kinen.recall.search import recent

        hits = recent(self._core.reader, query)
        if self._searcher.stale(hits):
            with contextlib.suppress(Busy):
                self._index.sync(embed=False, wait=0.2)
                hits = recent(self._core.reader, query)
        return hits

    def digest(
        self,
        question: str,
        passages: Sequence[Passage],
        budget: int,
        distiller: str = "configured",
        *,
        without_model: Callable[[], Digest] | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> Digest:
        """What passages come to, told by the first distiller that answers.

        `without_model` is used in place of extract. `on_line` is given the lines of a model's
        answer while they arrive.
        """
        from kinen.distill.chain import distill
        from kinen.distill.extract import extract

        settings = self._core.config.distill
        return distill(
            question,
            passages,
            budget,
            order=self.distillers(distiller),
            settings=settings,
            env=os.environ,
            extract=without_model or (lambda: extract(question, passages, budget)),
            stored=self._core.cache.texts,
            now=now(),
            on_line=on_line,
        )

    def distillers(self, named: str) -> tuple[str, ...]:
        """Who is asked for a digest, in order: `auto`, `configured`, or whoever is named."""
        from kinen.model.kinds import DISTILLERS

        configured = self._core.config.distill.order
        return {"auto": DISTILLERS, "configured": configured}.get(named, (named,))

    def current_plan(self, tokens: int) -> tuple[list[Item], str]:
        """The plan that is being worked on, or a word on one that nobody has touched for long."""
        if not os.path.isdir(os.path.join(self._core.space.root, ".memories")):
            return [], ""
        from kinen.recall.tiers import item
        from kinen.worklog.folder import Memories

        memories = Memories(self._core.space.root)
        plan = memories.current()
        if plan is None:
            return [], ""
        days = memories.stale(plan, now())
        if days >= STALE:
            remedy = f"go on with it, or `kinen plan complete {plan.id}`"
            return [], f"the plan {plan.title!r} was not touched for {days} days: {remedy}"
        return [item("plan", plan.ref, plan_text(plan, tokens), at=plan.updated)], ""

    def _pins(self, query: Query, tokens: int) -> list[Item]:
        """The pins that hold, each cut to its share of the tokens."""
        if not self._core.store.exists:
            return []
        from kinen.journal import queries
        from kinen.model.journal import Scope
        from kinen.recall.tiers import item

        scope = Scope(query.session, query.repo, query.agent, query.user)
        pins = queries.pins_in(self._core.store.db, scope, round(now() * 1000))
        texts = {pin.target: (pin.note, self._pinned(pin.target)) for pin in pins}
        shown = {ref: "\n".join(filter(None, parts)) for ref, parts in texts.items() if any(parts)}
        each = max(LEAST // 2, tokens // max(1, len(shown)))
        return [item("pins", ref, cut(text, each)) for ref, text in shown.items()]

    def with_summary(self, query: Query | str) -> Recall:
        """A recall that also has the latest summary in scope, as Kindling gives it."""
        from kinen.journal import queries
        from kinen.model.journal import Scope
        from kinen.recall.tiers import item

        query = Query(query) if isinstance(query, str) else query
        budget = query.budget or self._core.config.recall.budget
        scope = Scope(query.session, query.repo, query.agent, query.user)
        latest = (
            queries.latest_summary(self._core.store.db, scope) if self._core.store.exists else None
        )
        if latest is None:
            return self.recall(query)
        text = cut(for_the_next(latest.content), round(SHARE * budget))
        summary = item("summary", latest.ref, text, at=iso(latest.created_at / 1000))
        rest = self.recall(query._replace(budget=max(1, budget - summary.tokens)))
        others = tuple(one for one in rest.items if one.ref != summary.ref)
        tokens = rest.tokens + summary.tokens
        return rest._replace(items=(*others, summary), budget=budget, tokens=tokens)

    def _pinned(self, ref: str) -> str:
        return "\n".join(chunk.text for chunk in self._core.reader.between(ref, 0, 8))

    def _passages(self, hits: Hits) -> list[Passage]:
        """What a digest reads: each hit with what stands around it, a place once."""
        from kinen.model.journal import Passage

        found: dict[str, Passage] = {}
        seen: set[str] = set()
        for hit in hits:
            chunks = [*hit.before, hit.display, *hit.after]
            texts = [one.text for one in chunks if one.id not in seen]
            seen.update(one.id for one in chunks)
            said = hit.record.kind == "observation"
            text = _segment(hit) if said and texts else cut("\n".join(texts), READ)
            ref = hit.record.ref
            if ref in found:
                text = "\n".join(filter(None, (found[ref].text, text)))
            if text:
                found[ref] = Passage(ref, text, hit.record.title, hit.record.at)
        return list(found.values())


def whole_size(room: int) -> int:
    """The tokens of a record that is shown whole: as many as leave room to say where it is."""
    return max(2 * LEAST, min(FULL, room - 3 * LEAST))


def _segment(hit: Hit) -> str:
    """An observation with those of its segment around it."""
    lines = [*(one.text for one in hit.before[-BEFORE:]), hit.chunk.text]
    lines += [one.text for one in hit.after[:AFTER]]
    told = [cut(line.strip(), TOLD if line == hit.chunk.text else ASIDE) for line in lines]
    return "\n".join(told)
