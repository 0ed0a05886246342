"""Pairs of memories that a person should look at: those that say the same, or the opposite."""

from __future__ import annotations

from collections.abc import Sequence

from kinen.consolidation.claims import Claim, Claims, claim, opposed, revised, share
from kinen.model.journal import Learned
from kinen.model.tuples import NamedTuple

ALIKE = 0.6
"""Share of common terms from which two memories may be the same."""


class Rivals(NamedTuple):
    """Two memories, the older first."""

    older: Learned
    newer: Learned
    contradict: bool
    """Whether the newer contradicts the older; otherwise they say much the same."""


def rivals(memories: Sequence[Learned]) -> list[Rivals]:
    """Pairs among memories that hold, contradictions first."""
    holding = sorted(
        (memory for memory in memories if not memory.superseded_by and not memory.redacted),
        key=lambda memory: (memory.created_at, memory.id),
    )
    entries: dict[str, tuple[Learned, Claim]] = {}
    claims = Claims()
    pairs = []
    for newer in holding:
        mine = claim(newer.content)
        for key in claims.beside(mine):
            older, other = entries[key]
            if opposed(other, mine) or revised(other, mine):
                pairs.append(Rivals(older, newer, contradict=True))
            elif share(mine, other) >= ALIKE:
                pairs.append(Rivals(older, newer, contradict=False))
        entries[newer.id] = (newer, mine)
        claims.add(newer.id, mine)
    return sorted(pairs, key=lambda pair: not pair.contradict)
