"""Files as a map of rectangles: the more agents edited one, the larger it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kinen.journal.queries import FileEdits
from kinen.model.tuples import NamedTuple
from kinen.render.text import counted

WIDTH = 1200
HEIGHT = 260
LETTER = 8.0
"""About how wide a letter is."""
LINE = 16
LEAST = 5
"""Letters below which the begin of a name that is too long is not shown."""
_PARTS = re.compile(r"[^-_. ]+?(?=[A-Z][a-z])|[^-_. ]*[-_. ]?")
"""Parts of a name that a line may end after: `Remediate`, `Tab.`, `tsx`."""


class Tile(NamedTuple):
    x: float
    y: float
    width: float
    height: float
    path: str
    label: tuple[str, ...]
    """The lines of its name, none if it does not fit."""
    title: str
    level: int
    """From 0 to 2: how much it was edited, beside the others."""


def treemap(files: Sequence[FileEdits]) -> tuple[Tile, ...]:
    """A tile for each file, the most edited first."""
    most = max((file.edits for file in files), default=1)
    boxes = squares([file.edits for file in files], (0.0, 0.0, WIDTH, HEIGHT))
    tiles = []
    for file, (x, y, width, height) in zip(files, boxes, strict=True):
        name = file.path.rpartition("/")[2]
        label = wrapped(name, int((width - 8) / LETTER), int((height - 4) / LINE))
        sessions = counted(file.sessions, "sessions")
        title = f"{file.path}: {counted(file.edits, 'edits')} in {sessions}"
        level = min(2, int(3 * file.edits / (most + 1)))
        tiles.append(Tile(x, y, width, height, file.path, label, title, level))
    return tuple(tiles)


def wrapped(name: str, letters: int, most: int) -> tuple[str, ...]:
    """A name in lines of a length, which end between its parts; of one that is too long the begin,
    if no word of that is cut.
    """
    lines = [""]
    for part in _PARTS.findall(name):
        if len(lines[-1]) + len(part) > letters:
            lines.append("")
        lines[-1] += part
    label = lines[:most]
    whole = len(label) == len(lines)
    if label and not whole:
        label[-1] = label[-1].rstrip("-_. ") + "…"
    readable = whole or len("".join(label)) > LEAST
    return tuple(label) if readable and all(len(line) <= letters for line in label) else ()


Box = tuple[float, float, float, float]
"""Left, top, width and height."""


def squares(sizes: Sequence[float], box: Box) -> list[Box]:
    """Boxes of these sizes, the largest first, that fill a box and are nearly square."""
    boxes: list[Box] = []
    rest = list(sizes)
    x, y, width, height = box
    while rest:
        scale = width * height / (sum(rest) or 1)
        side = min(width, height) or 1
        count = 1
        while count < len(rest) and _worst(rest[: count + 1], side, scale) <= _worst(
            rest[:count], side, scale
        ):
            count += 1
        row = rest[:count]
        rest = rest[count:]
        depth = sum(row) * scale / side
        along = 0.0
        for size in row:
            length = size * scale / (depth or 1)
            boxes.append(
                (x, y + along, depth, length) if width > height else (x + along, y, length, depth)
            )
            along += length
        if width > height:
            x += depth
            width -= depth
        else:
            y += depth
            height -= depth
    return boxes


def _worst(row: Iterable[float], side: float, scale: float) -> float:
    """How far from a square the worst box of a row is."""
    areas = [size * scale for size in row]
    depth = sum(areas) / side or 1
    return max(max(depth * depth / area, area / (depth * depth)) for area in areas if area)
