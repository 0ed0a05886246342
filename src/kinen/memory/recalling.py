"""What an agent is given: the plan, pins, the summary, and what was found or what it comes to."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple

from kinen import config as configuration
from kinen import space as spaces
from kinen.errors import Busy
from kinen.memory.tracing import Tracing
from kinen.model import Hits, Query
from kinen.question import storable_query
from kinen.route import inside
from kinen.text import estimate, excerpt, iso, now, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kinen.entries import Digest, Item, Passage, Plan, Recall
    from kinen.model import Hit

PINNED, SUMMARY, TOLD, ASIDE = 400, 600, 160, 40
"""Tokens of a pin, a summary, what was said and what stands around it, as a recall shows them."""
COMPACT, FULL, READ = 70, 2000, 300
"""Tokens of a hit: as it is shown, in full, and as a digest reads it."""
BEFORE, AFTER = 2, 4
"""Observations of its segment around one that is cited."""
PLAN = 250
STALE = 7
"""Days without a checkpoint after which a plan is asked about and no longer shown."""
SHORT = ("checkpoint", "plan", "commit", "summary", "capsule", "memory")
"""Kinds of records that are recalled once, whatever part of them was found."""
READS = 40
"""Hits that a digest is made of."""
ASKED = 16
"""Words of a prompt that are looked for: each costs time, and most come up again."""
TOLD_HITS, TOLD_LENGTH = 5, 220
"""How much of that an agent is told: so many things, of so many characters each."""
LEAST = 40
"""Tokens below which no digest is worth its heading."""


class Found(NamedTuple):
    """What a recall is made of, before it is cut to a budget."""

    always: list[Item]
    summary: Item | None
    hits: Hits
    notes: tuple[str, ...]


class Recalling(Tracing):
    """Recall, and the digests that it may end in."""

    def recall(self, query: Query | str = "", *, full: bool = False, distiller: str = "") -> Recall:
        """Plan, pins, summary and what was found, inside a token budget.

        Without a question, what happened last. With a distiller (`configured`, `auto`, `extract`,
        `claude`, ...) it ends in a digest in place of the hits.
        """
        from kinen.recall import tiers

        asked = storable_query(Query(query) if isinstance(query, str) else query)
        budget = asked.budget or self.config.recall.budget
        found = self._recalled(asked, READS if distiller else 0)
        notes = (*found.notes, *found.hits.notes)
        given = tiers.tiers(asked.text, budget, found.always, found.summary, [], notes)
        if not distiller:
            most = whole_size(budget - given.tokens) if full else 0
            hits = [self._told(hit, asked.text, most) for hit in found.hits]
            return tiers.tiers(asked.text, budget, found.always, found.summary, hits, notes)
        room = min(self.config.distill.budget, budget - given.tokens - LEAST // 4)
        passages = self._passages(found.hits)
        if not passages:
            return given
        if room < LEAST:
            remark = f"{len(found.hits)} hits, and no room for a digest of them in {budget} tokens"
            return given._replace(notes=(*given.notes, remark))
        return tiers.with_digest(given, self.digest(asked.text, passages, room, distiller))

    def related(self, prompt: str, session: str, budget: int) -> str:
        """What full text finds for a prompt in other sessions and in files, as an agent is told."""
        from kinen.brief import related

        asked = terms(prompt, ASKED)
        found = self.search(Query(" ".join(asked), limit=4 * TOLD_HITS, mode="fulltext"))
        hits = [
            (one.record.ref, excerpt(one.chunk.text, TOLD_LENGTH))
            for one in found
            if one.record.session != session
            and len({*asked} & {*terms(one.chunk.text, 1000)}) >= min(2, len(asked))
        ]
        return related(hits[:TOLD_HITS], budget)

    def _recalled(self, asked: Query, least: int) -> Found:
        from kinen.recall.fuse import RECENCY_WEIGHT

        asked = asked._replace(recency=asked.recency or RECENCY_WEIGHT)
        asked = asked._replace(limit=max(asked.limit, least), context=max(asked.context, least > 0))
        root = self.space.root
        paths = (inside(one, root) if os.path.isabs(one) else one for one in asked.files)
        asked = asked._replace(files=tuple(paths))
        more, notes = asked._replace(limit=2 * asked.limit), list[str]()
        if asked.text.strip():
            hits = self.search(more)
        else:
            notes.extend(self._first_sync())
            hits = self._latest(more)
        drawn = self.config.recall.memories or "memory" in asked.kinds or asked.events
        wanted = _once(hit for hit in hits if drawn or hit.record.kind != "memory")
        kept = wanted[: asked.limit] if asked.limit > 0 else ()
        hits = Hits(kept, asked, hits.mode, hits.notes)
        plan, nudge = self._current_plan()
        pins, summary = self._always(asked)
        notes += [nudge] if nudge else []
        return Found([*plan, *pins], summary, hits, tuple(notes))

    def _latest(self, query: Query) -> Hits:
        """What happened last, as its files are now."""
        from kinen.recall.search import recent

        hits = recent(self._reader, query)
        if self._stale(hits):
            with contextlib.suppress(Busy):
                self.sync(embed=False, wait=0.2)
                hits = recent(self._reader, query)
        return hits

    def digest(
        self, question: str, passages: Sequence[Passage], budget: int, distiller: str = "configured"
    ) -> Digest:
        """What passages come to, told by the first distiller that answers."""
        from kinen.recall.distill import distill
        from kinen.recall.extract import extract

        settings = self.config.distill
        return distill(
            question,
            passages,
            budget,
            order=self.distillers(distiller),
            settings=settings,
            env=os.environ,
            extract=lambda: extract(question, passages, budget),
            stored=self._cache.texts,
            now=now(),
        )

    def distillers(self, named: str) -> tuple[str, ...]:
        """Who is asked for a digest, in order: `auto`, `configured`, or whoever is named."""
        from kinen.recall.distill import AUTO

        return {"auto": AUTO, "configured": self.config.distill.order}.get(named, (named,))

    def _current_plan(self) -> tuple[list[Item], str]:
        """The plan that is being worked on, or a word on one that nobody has touched for long."""
        if not os.path.isdir(os.path.join(self.space.root, ".memories")):
            return [], ""
        from kinen.recall.tiers import item
        from kinen.sources.memories import Memories

        memories = Memories(self.space.root)
        plan = memories.current()
        if plan is None:
            return [], ""
        days = memories.stale(plan, now())
        if days >= STALE:
            remedy = f"go on with it, or `kinen plan complete {plan.id}`"
            return [], f"the plan {plan.title!r} was not touched for {days} days: {remedy}"
        return [item("plan", plan.ref, plan_text(plan, PLAN), at=plan.updated)], ""

    def _always(self, query: Query) -> tuple[list[Item], Item | None]:
        """The pins that hold, and the latest summary."""
        if not self._journal.exists:
            return [], None
        from kinen.entries import Scope
        from kinen.journal import reading
        from kinen.recall.tiers import item

        db = self._journal.db
        scope = Scope(query.session, query.repo, query.agent, query.user)
        pins = []
        for pin in reading.pins_in(db, scope, round(now() * 1000)):
            text = self._pinned(pin.target)
            if text or pin.note:
                said = "\n".join(filter(None, (pin.note, text)))
                pins.append(item("pins", pin.target, cut(said, PINNED)))
        latest = reading.latest_summary(db, scope)
        if latest is None:
            return pins, None
        at = iso(latest.created_at / 1000)
        return pins, item("summary", latest.ref, cut(latest.content, SUMMARY), at=at)

    def _pinned(self, ref: str) -> str:
        return "\n".join(chunk.text for chunk in self._reader.between(ref, 0, 8))

    def _told(self, hit: Hit, question: str, full: int) -> Item:
        """A hit as an agent reads it: an observation in its segment, a chunk under its heading.

        With `full`, the whole record, up to so many tokens.
        """
        from kinen.recall.tiers import item

        record, chunk = hit.record, hit.chunk
        if full:
            text = cut(self._whole(record.ref), full)
        elif record.kind == "observation":
            text = _segment(hit)
        else:
            title = chunk.heading or record.title
            head = title if title and not chunk.text.startswith(("#", title)) else ""
            text = "\n".join(filter(None, (head, compact(chunk.text, question, COMPACT))))
        whole = full > 0 or record.kind in SHORT
        line = f":{chunk.start_line}" if chunk.start_line and not whole else ""
        ref = f"{record.ref}{line}" if record.path else record.ref
        score, votes, at = hit.score, hit.votes, record.at
        return item("hits", ref, text, score=score, votes=votes, at=at, space=hit.space)

    def _whole(self, ref: str) -> str:
        return "\n".join(chunk.text for chunk in self._reader.between(ref, 0, 1 << 31))

    def _passages(self, hits: Hits) -> list[Passage]:
        """What a digest reads: each hit with what stands around it, a place once."""
        from kinen.entries import Passage

        found: dict[str, Passage] = {}
        seen: set[str] = set()
        for hit in hits:
            chunks = [*hit.before, hit.chunk, *hit.after]
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


def recall_spaces(
    names: Sequence[str],
    ask: Callable[[Recalling], Query],
    open_: Callable[..., Recalling],
    *,
    full: bool = False,
) -> Recall:
    """Recall from several spaces: the pins of each, and the best of what was found anywhere."""
    from kinen.recall import tiers

    always: list[Item] = []
    hits: list[Item] = []
    notes: list[str] = []
    query, budget = Query(""), 0
    for space in spaces.resolve_names(configuration.default_home(os.environ), names):
        with open_(space, configuration.load(space.home, space.root)) as memory:
            query = ask(memory)
            budget = max(budget, query.budget or memory.config.recall.budget)
            found = memory._recalled(query, 0)  # noqa: SLF001
            pins = (one for one in found.always if one.tier == "pins")
            always += [tiers.item("pins", one.ref, one.text, space=space.name) for one in pins]
            told = (hit._replace(space=space.name) for hit in found.hits)
            most = whole_size(budget) if full else 0
            hits += [memory._told(hit, query.text, most) for hit in told]  # noqa: SLF001
            notes += [f"{space.name}: {note}" for note in (*found.notes, *found.hits.notes)]
    hits.sort(key=lambda one: (-one.score, one.space, one.ref))
    return tiers.tiers(query.text, budget, always, None, hits[: query.limit], notes)


def whole_size(room: int) -> int:
    """The tokens of a record that is shown whole: as many as leave room to say where it is."""
    return max(COMPACT, min(FULL, room - 3 * LEAST))


def _once(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """The best hit of each record that is short enough to be known by one."""
    found: dict[str, Hit] = {}
    for hit in hits:
        short = hit.record.kind in SHORT
        found.setdefault(hit.record.ref if short else hit.chunk.id, hit)
    return tuple(found.values())


def plan_text(plan: Plan, tokens: int) -> str:
    """A plan's title and what of it is still to do; without a list of that, its beginning."""
    lines = [line for line in plan.text.splitlines() if line.strip()]
    open_ = [line for line in lines if line.lstrip()[:5] in ("- [ ]", "* [ ]")]
    done = sum(line.lstrip()[:5].lower() in ("- [x]", "* [x]") for line in lines)
    said = f"{plan.title} ({done} of {done + len(open_)} done)" if open_ else plan.title
    rest = [line for line in (open_ or lines) if line.strip("# ") != plan.title]
    return cut("\n".join([said, *rest]), tokens)


def compact(text: str, question: str, tokens: int) -> str:
    """A text of at most so many tokens, around the line that the question is most about."""
    if estimate(text) <= tokens:
        return text
    lines = text.splitlines()
    asked = set(terms(question))
    scores = [len(asked & set(terms(line))) for line in lines]
    best = scores.index(max(scores)) if lines else 0
    before = lines[best - 1 : best] if best and scores[best - 1] else []
    sign = ["…"] if best - len(before) > 0 else []
    return cut("\n".join([*sign, *before, *lines[best:]]), tokens)


def cut(text: str, tokens: int) -> str:
    """A text of at most so many tokens, whole lines first; what is cut off is shown by a sign."""
    if estimate(text) <= tokens:
        return text
    kept: list[str] = []
    for line in text.splitlines():
        if estimate("\n".join([*kept, line, "…"])) > tokens:
            break
        kept.append(line)
    if any(line.strip("… ") for line in kept):
        return "\n".join([*kept, "…"])
    size = 3 * tokens
    while size > 1 and estimate(excerpt(text, size)) > tokens:  # a sign may be a token or more
        size = size * 3 // 4
    return excerpt(text, size)


def _segment(hit: Hit) -> str:
    """An observation with those of its segment around it."""
    lines = [*(one.text for one in hit.before[-BEFORE:]), hit.chunk.text]
    lines += [one.text for one in hit.after[:AFTER]]
    told = [cut(line.strip(), TOLD if line == hit.chunk.text else ASIDE) for line in lines]
    return "\n".join(told)
