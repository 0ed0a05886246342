"""A graph as numbers, and the places of its nodes: links pull, everything else pushes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kinen.model.tuples import NamedTuple

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

EXACT = 300
"""Nodes up to which every pair pushes; above, each node is pushed by a sample."""
STEPS = 150
"""Rounds of a small layout."""
ROUNDS = 120
"""Rounds of a large one, which starts from a coarse order and needs fewer."""
SAMPLE = 6
"""Other nodes that push a node in each round."""

BROKEN = 1
ORPHAN = 2
"""Marks of a record: it has a broken link, or no links at all."""

Pairs = tuple[tuple[int, int], ...]


class Graph(NamedTuple):
    """Records by number, and the links between them."""

    names: tuple[str, ...]
    """Refs, the centre first, then those with the most links."""
    pairs: Pairs
    marks: tuple[int, ...]
    """`BROKEN`, `ORPHAN` or 0 for each record."""
    centre: str = ""
    left_out: int = 0


@lru_cache(maxsize=32)
def layout(count: int, pairs: Pairs) -> Array:
    """Places of nodes as Float32 from 0 to 1, one row of x and y for each; always the same."""
    links = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    place = _exact(count, links) if count <= EXACT else _sampled(count, links)
    low = place.min(axis=0, initial=np.inf)
    size = np.maximum(place.max(axis=0, initial=-np.inf) - low, 1e-9)
    scaled: Array = (place - low) / size
    return scaled.astype(np.float32)


def _exact(count: int, links: Array) -> Array:
    """Fruchterman and Reingold's forces between all pairs."""
    place = np.random.default_rng(count).random((count, 2)) - 0.5
    ideal = 1 / np.sqrt(max(count, 1))
    for step in range(STEPS):
        apart = place[:, None] - place[None]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-4)
        move = (apart * (ideal**2 / distance**2)[..., None]).sum(axis=1)
        if len(links):
            move += _pull(place, links, ideal)
        move -= place * 0.4  # parts without links between them stay near
        place += _limited(move, 0.1 * (1 - step / STEPS))
    return place


def _sampled(count: int, links: Array) -> Array:
    """The same forces with a sample of the pushes: its time grows with nodes and links alone."""
    rng = np.random.default_rng(count)
    place = rng.random((count, 2)) - 0.5
    ideal = 1 / np.sqrt(count)
    degree = np.bincount(links.ravel(), minlength=count)
    calm = 1 / np.sqrt(np.maximum(degree, 1))[:, None]  # or hubs would swing
    for step in range(ROUNDS):
        move = np.zeros_like(place)
        for _ in range(SAMPLE):
            apart = place - place[rng.integers(0, count, count)]
            distance = np.maximum((apart * apart).sum(axis=1, keepdims=True), ideal**2 / 4)
            move += apart * (ideal**2 / distance)
        if len(links):
            move += _pull(place, links, ideal) * calm
        move -= place * 0.05
        place += _limited(move, 0.1 * (1 - step / ROUNDS) + 0.001)
    return place


def _pull(place: Array, links: Array, ideal: float) -> Array:
    """What the links of each node do to it."""
    count = len(place)
    along = place[links[:, 0]] - place[links[:, 1]]
    force = along * (np.linalg.norm(along, axis=1, keepdims=True) / ideal)
    columns = [
        np.bincount(links[:, 1], force[:, axis], count)
        - np.bincount(links[:, 0], force[:, axis], count)
        for axis in (0, 1)
    ]
    return np.stack(columns, axis=1)


def _limited(move: Array, most: float) -> Array:
    length = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-9)
    limited: Array = move / length * np.minimum(length, most)
    return limited
