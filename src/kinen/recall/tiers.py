"""What an agent is given: pins, then the summary, then what was found, inside a token budget.

A piece costs what it is estimated at alone, so that the whole never costs more than its pieces:
headings and the line on what was left out are paid from the budget too.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from kinen.characters import visible, visible_line
from kinen.errors import QueryError
from kinen.model.journal import Dropped, Item, Recall
from kinen.text import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kinen.model.journal import Digest
    from kinen.model.records import Hit

    Key = tuple[str, str]

HEADINGS = {
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
_PLACES = {tier: place for place, tier in enumerate(HEADINGS)}
OVER = "over budget"
PINNED, SHOWN = "already pinned", "shown already"
SHORTENED = ("observation", "summary", "memory", "capsule")
"""Kinds whose ids are long and known by their beginning."""
SHORT_SHA = 10
SHORT_ID = 16
"""Characters that tell ids apart, even of events in one millisecond."""
_STEP = 500
"""A budget that is proposed is a multiple of this."""


def item(
    tier: str,
    ref: str,
    text: str,
    *,
    score: float = 0.0,
    votes: tuple[Any, ...] = (),
    at: str = "",
    space: str = "",
    like: Hit | None = None,
) -> Item:
    """A part of a recall, with what it costs as it is shown; `like` a hit in score and time."""
    if like is not None:
        score, votes, at, space = like.score, like.votes, like.record.at, like.space
    made = Item(tier, ref, visible(text), 0, score, votes, at, space)
    return made._replace(tokens=estimate(_block(made)))


def in_space(one: Item, space: str) -> Item:
    """The same item as of a space, where several were asked."""
    made = one._replace(space=space)
    return made._replace(tokens=estimate(_block(made)))


def short_id(ref: str) -> str:
    """A ref as it is cited: of a commit or an entry of the journal the beginning of its id.

    `kinen show` takes it. Ids without a time, as imported summaries have them, stay whole.
    """
    kind, _, id_ = ref.partition(":")
    if kind == "commit":
        return f"commit:{id_[:SHORT_SHA]}"
    if kind not in SHORTENED:
        return ref
    return id_ if id_.startswith("0" * 10) else id_[:SHORT_ID]


def cited(ref: str, at: str, space: str = "") -> str:
    """How an item says where it is from: entries of the journal by the beginning of their id."""
    name = short_id(ref)
    label = f"{space}: {name}" if space else name
    return f"[{visible_line(label)}] {visible_line(at[:10])}".rstrip()


def tiers(
    query: str,
    budget: int,
    first: Sequence[Item],
    hits: Sequence[Item],
    notes: Iterable[str] = (),
    omitted: Iterable[Item] = (),
) -> Recall:
    """What comes first as far as it fits, then the hits that fit, best first.

    Hits of several tiers are chosen in the order given and shown by tier. A ref is decided at its
    first occurrence; an item that is too large leaves room to smaller ones.
    """
    if budget < 1:
        raise QueryError(f"{budget} tokens hold nothing", "use 1 or more", parameter="budget")
    reasons: dict[Key, str] = {}
    kept, dropped = _once(first, reasons, budget)
    wanted = [hit for key, hit in _by_ref(hits).items() if key not in reasons]
    chosen = _fitting(wanted, budget - _cost(kept))
    for hit in sorted(hits, key=lambda one: _PLACES[one.tier]):
        if _key(hit) in reasons or _key(hit) not in chosen:
            dropped.append(_dropped(hit, reasons.get(_key(hit), OVER)))
        else:
            kept.append(hit)
            reasons[_key(hit)] = SHOWN
    dropped += [_dropped(one, OVER) for one in omitted]
    spent = _cost(kept)
    recall = Recall(query, tuple(kept), tuple(dropped), budget, spent, tuple(notes))
    return recall._replace(tokens=spent + estimate(_remark(recall)))


def shown(recall: Recall) -> str:
    """The text an agent reads: a heading and a list for each tier, and what was left out."""
    parts = [
        "\n".join([HEADINGS[tier], *map(_block, items)])
        for tier, items in groupby(recall.items, lambda one: one.tier)
    ]
    if recall.digest:
        parts.append(f"{HEADINGS['digest']}\n{recall.digest.text}")
    remark = _remark(recall)
    return "\n\n".join([*parts, remark] if remark else parts)


def with_digest(recall: Recall, digest: Digest) -> Recall:
    """A recall that ends in what its hits come to."""
    cost = estimate(HEADINGS["digest"]) + estimate(digest.text)
    return recall._replace(digest=digest, tokens=recall.tokens + cost)


# Choosing


def _once(
    items: Iterable[Item], reasons: dict[Key, str], budget: int
) -> tuple[list[Item], list[Dropped]]:
    """What comes first, each ref once; `reasons` learns why it is not to be shown again."""
    kept: list[Item] = []
    dropped: list[Dropped] = []
    for one in items:
        if _key(one) in reasons:
            dropped.append(_dropped(one, SHOWN if one.tier == "pins" else PINNED))
        elif _cost([*kept, one]) > budget:
            dropped.append(_dropped(one, OVER))
        else:
            kept.append(one)
            reasons[_key(one)] = PINNED
    return kept, dropped


def _key(one: Item | Dropped) -> Key:
    return one.space, one.ref


def _by_ref(items: Iterable[Item]) -> dict[Key, Item]:
    found: dict[Key, Item] = {}
    for one in items:
        found.setdefault(_key(one), one)
    return found


def _fitting(hits: Sequence[Item], room: int) -> set[Key]:
    """The refs of the hits that fit into the room, taken in order."""
    if _cost(hits) <= room:
        return {_key(hit) for hit in hits}
    # some stay out: then room is kept to say at least that
    room -= _headings({hit.tier for hit in hits}) + estimate(_left_out(len(hits)))
    chosen = set()
    for hit in hits:
        if hit.tokens <= room:
            chosen.add(_key(hit))
            room -= hit.tokens
    return chosen


def _dropped(one: Item, reason: str) -> Dropped:
    return Dropped(one.tier, one.ref, one.tokens, reason, one.space)


def _cost(items: Sequence[Item]) -> int:
    """What items cost with the headings of their tiers."""
    return sum(one.tokens for one in items) + _headings({one.tier for one in items})


def _headings(tiers: Iterable[str]) -> int:
    return sum(estimate(HEADINGS[tier]) for tier in tiers)


# Showing


def _block(one: Item) -> str:
    """An item as a list item: its lines are indented, so that no structure of theirs breaks out."""
    named = cited(one.ref, one.at, one.space)
    lines = one.text.lstrip("\r\n").rstrip().splitlines()
    if len(lines) < 2:
        return "- " + " ".join([*map(str.strip, lines), named])
    # a ref at the end of the first line would spoil a table or a fence
    return "\n".join([f"- {named}", *(f"  {line}".rstrip() for line in lines)])


def _remark(recall: Recall) -> str:
    """What to say of what was left out, as much of it as the budget allows."""
    spent, left = _cost(recall.items), _left(recall)
    needed = spent + sum(left.values())
    wanted = {one.tier for one in recall.dropped if one.reason == OVER}
    needed += _headings(wanted - {one.tier for one in recall.items})
    remedy = f"({-(-needed // _STEP) * _STEP} would do)"
    budget = f"the budget of {recall.budget:,}"
    if not left:
        return ""
    short = _left_out(len(left))
    long = f"{short[:-1]}: {needed - recall.budget:,} tokens over {budget} {remedy}_"
    return next((line for line in (long, short) if spent + estimate(line) <= recall.budget), "")


def _left(recall: Recall) -> dict[Key, int]:
    """What had no room: each ref once, with its tokens."""
    found: dict[Key, int] = {}
    for one in recall.dropped:
        if one.reason == OVER:
            found.setdefault(_key(one), one.tokens)
    return found


def _left_out(count: int) -> str:
    return f"_{count:,} more left out_"
