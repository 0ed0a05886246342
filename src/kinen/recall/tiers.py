"""What an agent is given: pins, then the summary, then what was found, inside a token budget.

A piece costs what it is estimated at alone, so that the whole never costs more than its pieces:
headings and the line on what was left out are paid from the budget too.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from kinen.entries import Dropped, Item, Recall
from kinen.errors import QueryError
from kinen.text import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HEADINGS = {"pins": "## Pinned", "summary": "## Summary", "hits": "## Related"}
OVER = "over budget"
PINNED, SUMMED, SHOWN = "already pinned", "already the summary", "shown already"
_STEP = 500
"""A budget that is proposed is a multiple of this."""


def item(
    tier: str, ref: str, text: str, *, score: float = 0.0, votes: tuple[Any, ...] = (), at: str = ""
) -> Item:
    """A part of a recall, with what it costs as it is shown."""
    made = Item(tier, ref, text, 0, score, votes, at)
    return made._replace(tokens=estimate(_block(made)))


def tiers(
    query: str,
    budget: int,
    pins: Sequence[Item],
    summary: Item | None,
    hits: Sequence[Item],
    notes: Iterable[str] = (),
) -> Recall:
    """Pins and the summary whatever they cost, then the hits that fit, best first.

    A ref is decided at its first occurrence; a hit that is too large leaves room to smaller ones.
    """
    if budget < 1:
        raise QueryError(f"a budget of {budget} tokens holds nothing", "use --budget 1 or more")
    first = [*pins, *([summary] if summary else [])]
    reasons: dict[str, str] = {}
    kept, dropped = _once(first, reasons)
    wanted = [hit for ref, hit in _by_ref(hits).items() if ref not in reasons]
    chosen = _fitting(wanted, budget - _cost(kept))
    for hit in hits:
        if hit.ref in reasons or hit.ref not in chosen:
            dropped.append(_dropped(hit, reasons.get(hit.ref, OVER)))
        else:
            kept.append(hit)
            reasons[hit.ref] = SHOWN
    spent = _cost(kept)
    recall = Recall(query, tuple(kept), tuple(dropped), budget, spent, tuple(notes))
    return recall._replace(tokens=spent + estimate(_remark(recall)))


def shown(recall: Recall) -> str:
    """The text an agent reads: a heading and a list for each tier, and what was left out."""
    parts = [
        "\n".join([HEADINGS[tier], *map(_block, items)])
        for tier, items in groupby(recall.items, lambda one: one.tier)
    ]
    remark = _remark(recall)
    return "\n\n".join([*parts, remark] if remark else parts)


# Choosing


def _once(items: Iterable[Item], reasons: dict[str, str]) -> tuple[list[Item], list[Dropped]]:
    """What is never evicted, each ref once; `reasons` learns why it is not to be shown again."""
    kept: list[Item] = []
    dropped: list[Dropped] = []
    for one in items:
        if one.ref not in reasons:
            kept.append(one)
            reasons[one.ref] = PINNED if one.tier == "pins" else SUMMED
        else:
            dropped.append(_dropped(one, SHOWN if one.tier == "pins" else PINNED))
    return kept, dropped


def _by_ref(items: Iterable[Item]) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for one in items:
        found.setdefault(one.ref, one)
    return found


def _fitting(hits: Sequence[Item], room: int) -> set[str]:
    """The refs of the hits that fit into the room, taken in order."""
    if _cost(hits) <= room:
        return {hit.ref for hit in hits}
    # some stay out: then room is kept to say at least that
    room -= estimate(HEADINGS["hits"]) + estimate(_left_out(len(hits)))
    chosen = set()
    for hit in hits:
        if hit.tokens <= room:
            chosen.add(hit.ref)
            room -= hit.tokens
    return chosen


def _dropped(one: Item, reason: str) -> Dropped:
    return Dropped(one.tier, one.ref, one.tokens, reason)


def _cost(items: Sequence[Item]) -> int:
    """What items cost with the headings of their tiers."""
    headings = {one.tier: estimate(HEADINGS[one.tier]) for one in items}
    return sum(one.tokens for one in items) + sum(headings.values())


# Showing


def _block(one: Item) -> str:
    """An item as a list item: its lines are indented, so that no structure of theirs breaks out."""
    named = " ".join(f"[{one.ref}] {_minute(one.at)}".splitlines()).rstrip()
    lines = one.text.lstrip("\r\n").rstrip().splitlines()
    if len(lines) < 2:
        return "- " + " ".join([*map(str.strip, lines), named])
    # a ref at the end of the first line would spoil a table or a fence
    return "\n".join([f"- {named}", *(f"  {line}".rstrip() for line in lines)])


def _minute(at: str) -> str:
    """A moment without its seconds: they cost tokens and tell an agent nothing."""
    return f"{at[:16]}Z" if at.endswith("Z") and at[16:17] == ":" else at


def _remark(recall: Recall) -> str:
    """What to say of what was left out, as much of it as the budget allows."""
    spent, left = _cost(recall.items), _left(recall)
    needed = spent + sum(left.values())
    if left and not any(one.tier == "hits" for one in recall.items):
        needed += estimate(HEADINGS["hits"])
    remedy = f"(kinen recall --budget {-(-needed // _STEP) * _STEP})"
    budget = f"the budget of {recall.budget:,}"
    if spent > recall.budget:
        also = f"; {len(left):,} more left out" if left else ""
        return f"_what is always shown takes {spent:,} tokens, over {budget}{also} {remedy}_"
    if not left:
        return ""
    short = _left_out(len(left))
    long = f"{short[:-1]}: {needed - recall.budget:,} tokens over {budget} {remedy}_"
    return next((line for line in (long, short) if spent + estimate(line) <= recall.budget), "")


def _left(recall: Recall) -> dict[str, int]:
    """What had no room: each ref once, with its tokens."""
    found: dict[str, int] = {}
    for one in recall.dropped:
        if one.reason == OVER:
            found.setdefault(one.ref, one.tokens)
    return found


def _left_out(count: int) -> str:
    return f"_{count:,} more left out_"
