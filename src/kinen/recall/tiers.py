"""Fit pins, then the summary, then the hits into a token budget.

Each item is estimated separately, so that the text never costs more than the sum of its items.
Headings and the line on omitted items count against the budget too.
"""

from __future__ import annotations

from itertools import groupby

from kinen.characters import visible, visible_line
from kinen.errors import QueryError
from kinen.ids import SHORT_SESSION, short_id
from kinen.journal.authors import Colleague, signature
from kinen.model.journal import Digest, Dropped, Item, Recall
from kinen.model.late import Any
from kinen.model.records import Hit, Record
from kinen.text import estimate, squeezed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Key = tuple[str, str]


HEADINGS = {
    "issue": "## Issue",
    "plan": "## Plan",
    "pins": "## Pinned",
    "summary": "## Summary",
    "hits": "## Related",
    "sessions": "## Sessions",
    "memories": "## Decided and learned",
    "checkpoints": "## Checkpoints",
    "commits": "## Commits",
    "files": "## Changes with it",
    "digest": "## Digest",
}
LATEST = "## Latest"
"""The heading of the hits without a question; it costs no more than theirs."""
_PLACES = {tier: place for place, tier in enumerate(HEADINGS)}
OVER = "over budget"
PINNED = "already pinned"
SHOWN = "shown already"
_STEP = 500
"""A proposed budget is a multiple of this."""


def item(
    tier: str,
    ref: str,
    text: str,
    *,
    score: float = 0.0,
    votes: tuple[Any, ...] = (),
    at: str = "",
    space: str = "",
    by: str = "",
    like: Hit | None = None,
) -> Item:
    """An item with its cost in tokens.

    Score, votes, time, space, author and session come from `like` if passed.
    """
    unpriced = Item(tier, ref, squeezed(visible(text)), 0, score, votes, at, space, by)
    if like is not None:
        unpriced = unpriced._replace(
            score=like.score,
            votes=like.votes,
            at=like.record.at,
            space=like.space,
            by=author_of(like.record),
            session=like.record.session,
        )
    return priced(unpriced)


def priced(entry: Item) -> Item:
    """The item with the cost in tokens of what is shown of it."""
    return entry._replace(tokens=estimate(_block(entry)))


def author_of(record: Record) -> str:
    """Who wrote a record: the author of a commit, a colleague; empty for one's own, and files.

    Of a memory that several edited at the same time, all of them.
    """
    metadata = record.metadata or {}
    if metadata.get("by") and not metadata.get("edited"):
        return Colleague.on(metadata["by"], metadata.get("machine", ""))
    return str(metadata.get("edited") or (record.kind == "commit" and metadata.get("author")) or "")


def cited(
    ref: str,
    at: str,
    space: str = "",
    by: str = "",
    session: str = "",
    later: str = "",
    copies: int = 0,
) -> str:
    """The citation of an item: its short ref, with the space if any, its day, author and session.

    `later` is the ref of an entry that says otherwise, `copies` how many others say the same.
    """
    name = short_id(ref)
    label = f"{space}: {name}" if space else name
    author = signature(by).strip()
    about = [f"[{label}]", at[:10], author, f"in {session[:SHORT_SESSION]}" if session else ""]
    link = f", later: [{short_id(later)}]" if later else ""
    return visible_line(" ".join(filter(None, about)) + link + also(copies))


def also(copies: int) -> str:
    """What is said behind an entry that others repeat."""
    return f" (also in {copies} more)" if copies else ""


def tiers(
    query: str,
    budget: int,
    first: Sequence[Item],
    hits: Sequence[Item],
    notes: Iterable[str] = (),
    omitted: Iterable[Item] = (),
) -> Recall:
    """The `first` items that fit, then the hits that fit, best first.

    Hits are chosen in the order of `hits` and listed by tier. The first occurrence of a ref
    decides; where an item is too large, smaller items after it may still fit.
    """
    if budget < 1:
        raise QueryError(f"{budget} tokens hold nothing", "use 1 or more", parameter="budget")
    reasons: dict[Key, str] = {}
    items, dropped = _once(first, reasons, budget)
    reasons |= {_key(hit): PINNED for hit in hits if any(_repeats(hit, entry) for entry in items)}
    fresh = [hit for key, hit in _by_ref(hits).items() if key not in reasons]
    chosen = _fitting(fresh, budget - _cost(items))
    for hit in sorted(hits, key=lambda entry: _PLACES[entry.tier]):
        if _key(hit) in reasons or _key(hit) not in chosen:
            dropped.append(_dropped(hit, reasons.get(_key(hit), OVER)))
        else:
            items.append(hit)
            reasons[_key(hit)] = SHOWN
    dropped += [_dropped(entry, OVER) for entry in omitted]
    spent = _cost(items)
    recall = Recall(query, tuple(items), tuple(dropped), budget, spent, tuple(notes))
    return recall._replace(tokens=spent + estimate(_remark(recall)))


def shown(recall: Recall) -> str:
    """The text for the agent: a heading and a list per tier, and a line on omitted items."""
    parts = [
        "\n".join([_heading(tier, recall), *map(_block, items)])
        for tier, items in groupby(recall.items, lambda entry: entry.tier)
    ]
    if recall.digest:
        parts.append(f"{HEADINGS['digest']}\n{recall.digest.text}")
    remark = _remark(recall)
    return "\n\n".join([*parts, remark] if remark else parts)


def _heading(tier: str, recall: Recall) -> str:
    """The heading of a tier; without a question the hits are the latest records."""
    return LATEST if tier == "hits" and not recall.query.strip() else HEADINGS[tier]


def with_digest(recall: Recall, digest: Digest) -> Recall:
    """The recall with a digest of its hits appended."""
    cost = estimate(HEADINGS["digest"]) + estimate(digest.text)
    return recall._replace(digest=digest, tokens=recall.tokens + cost)


def _once(
    items: Iterable[Item], reasons: dict[Key, str], budget: int
) -> tuple[list[Item], list[Dropped]]:
    """The first items that fit, each ref once; adds the chosen refs to `reasons`."""
    chosen: list[Item] = []
    dropped: list[Dropped] = []
    for entry in items:
        if _key(entry) in reasons:
            dropped.append(_dropped(entry, SHOWN if entry.tier == "pins" else PINNED))
        elif _cost([*chosen, entry]) > budget:
            dropped.append(_dropped(entry, OVER))
        else:
            chosen.append(entry)
            reasons[_key(entry)] = PINNED
    return chosen, dropped


def _repeats(hit: Item, entry: Item) -> bool:
    """Whether a part of a file says nothing but what an item with the whole file says.

    The part may begin with a title that the whole does not repeat.
    """
    if hit.space != entry.space or not hit.ref.startswith(f"{entry.ref}:"):
        return False
    lines = [line.strip(" …\t") for line in hit.text.splitlines()]
    new = [line for line in lines if line not in entry.text]
    return len(new) <= (len(lines) > 1)


def _key(entry: Item | Dropped) -> Key:
    return entry.space, entry.ref


def _by_ref(items: Iterable[Item]) -> dict[Key, Item]:
    by_ref: dict[Key, Item] = {}
    for entry in items:
        by_ref.setdefault(_key(entry), entry)
    return by_ref


def _fitting(hits: Sequence[Item], room: int) -> set[Key]:
    """The refs of the hits that fit into the room, chosen in order."""
    if _cost(hits) <= room:
        return {_key(hit) for hit in hits}
    # some are omitted: reserve room for the line that says so
    room -= _headings({hit.tier for hit in hits}) + estimate(_left_out(len(hits)))
    chosen = set()
    for hit in hits:
        if hit.tokens <= room:
            chosen.add(_key(hit))
            room -= hit.tokens
    return chosen


def _dropped(entry: Item, reason: str) -> Dropped:
    return Dropped(entry.tier, entry.ref, entry.tokens, reason, entry.space)


def _cost(items: Sequence[Item]) -> int:
    """Tokens of the items and of the headings of their tiers."""
    return sum(entry.tokens for entry in items) + _headings({entry.tier for entry in items})


def _headings(tiers: Iterable[str]) -> int:
    return sum(estimate(HEADINGS[tier]) for tier in tiers)


def _block(entry: Item) -> str:
    """An item as a Markdown list item; indented lines keep its markup inside the list."""
    citation = cited(
        entry.ref, entry.at, entry.space, entry.by, entry.session, entry.later, entry.copies
    )
    lines = entry.text.lstrip("\r\n").rstrip().splitlines()
    if len(lines) < 2:
        return "- " + " ".join([*map(str.strip, lines), citation])
    # a ref at the end of the first line would break a table or a fence
    return "\n".join([f"- {citation}", *(f"  {line}".rstrip() for line in lines)])


def _remark(recall: Recall) -> str:
    """The line on omitted items, in the longest form that fits the budget."""
    spent = _cost(recall.items)
    # Tokens of each item dropped for the budget, each ref once.
    left: dict[Key, int] = {}
    for entry in recall.dropped:
        if entry.reason == OVER:
            left.setdefault(_key(entry), entry.tokens)
    needed = spent + sum(left.values())
    tiers_over = {entry.tier for entry in recall.dropped if entry.reason == OVER}
    needed += _headings(tiers_over - {entry.tier for entry in recall.items})
    remedy = f"({-(-needed // _STEP) * _STEP} would do)"
    budget = f"the budget of {recall.budget:,}"
    if not left:
        return ""
    short = _left_out(len(left))
    long = f"{short[:-1]}: {needed - recall.budget:,} tokens over {budget} {remedy}_"
    forms = (long, short) if needed > recall.budget else (short,)
    return next((line for line in forms if spent + estimate(line) <= recall.budget), "")


def _left_out(count: int) -> str:
    return f"_{count:,} more left out_"
