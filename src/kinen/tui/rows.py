"""A list of any length: only the lines that are on the screen are drawn."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kinen.render.screen import SIGNS

if TYPE_CHECKING:
    from textual.events import Click, Resize

    from kinen.tui.lists import Entry

TITLE = 62
"""Columns of a time, a sign and a title; what stands at their right has no more than the rest."""


def sign_colours() -> dict[str, tuple[str, str]]:
    """The colour of each sign on a light and on a dark ground, as pages.css has them."""
    text = (files("kinen.render") / "static/pages.css").read_text("utf-8")
    pairs = re.findall(r"--([a-z]+): light-dark\((#\w+), (#\w+)\)", text)
    colours = {name: (light, dark) for name, light, dark in pairs}
    return {name: colours["warn" if name == "open" else name] for name in SIGNS}


class Rows(ScrollView, can_focus=True):
    """Lines of text, one of which the cursor is on; it passes over those without a ref."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor"}
    DEFAULT_CSS = """
    Rows { overflow-x: hidden; }
    Rows > .rows--cursor { text-style: reverse; }
    Rows:focus > .rows--cursor { text-style: bold reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "first", show=False),
        Binding("enter,right", "choose", show=False),
    ]

    class Moved(Message):
        """The cursor is on another line, or on a line that changed."""

    class Chosen(Message):
        """Enter was pressed, or the line of the cursor was clicked."""

    def __init__(self, id: str) -> None:  # noqa: A002 (Textual's word)
        super().__init__(id=id)
        self.entries: Sequence[Entry] = ()
        self.cursor = 0
        self._stops: list[int] = []
        self._colours = sign_colours()

    def show(self, entries: Sequence[Entry], cursor: int = 0) -> None:
        self.entries = entries
        self._stops = [place for place, entry in enumerate(entries) if entry.ref]
        self.virtual_size = Size(self.size.width, len(entries))
        self.refresh()
        self.go(cursor)

    def go(self, place: int, step: int = 1) -> None:
        """Put the cursor on a line, or on the next one in a direction, and scroll to it."""
        stops = self._stops
        if not stops:
            self.cursor = 0
            self.scroll_to(y=0, animate=False, force=True)
            return
        number = bisect_left(stops, place) if step > 0 else bisect_right(stops, place) - 1
        before = self.cursor
        self.cursor = stops[min(max(0, number), len(stops) - 1)]
        for line in {before, self.cursor}:
            self.refresh_line(line - round(self.scroll_offset.y))
        top = round(self.scroll_offset.y)
        height = max(1, self.size.height)
        first = 0 if self.cursor == stops[0] else self.cursor  # what stands above the first
        if not (top <= first and self.cursor < top + height):
            target = first if first < top else self.cursor - height + 1
            self.scroll_to(y=target, animate=False, force=True)
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        place = y + round(self.scroll_offset.y)
        if place >= len(self.entries):
            return Strip.blank(width, self.rich_style)
        entry = self.entries[place]
        on_cursor = bool(entry.ref) and place == self.cursor
        base = self.get_component_rich_style("rows--cursor") if on_cursor else self.rich_style
        parts = [Segment(words, base + self._look(look)) for words, look in entry.parts]
        used = sum(part.cell_length for part in parts)
        room = width - min(used, TITLE) - 3
        side = entry.side
        while side and cell_len(side) > room:
            side = side.rpartition("  ")[0]
        left = width - (cell_len(side) + 2 if side else 0)
        if used > left:
            parts = [*Segment.adjust_line_length(parts, left - 1, pad=False), Segment("…", base)]
        else:
            parts.append(Segment(" " * (left - used), base))
        if side:
            parts.append(Segment(f" {side} ", base + self._look("quiet")))
        return Strip(Segment.adjust_line_length(parts, width, base), width)

    def _look(self, name: str) -> Style:
        """The style of a part: the colour of its sign on the present ground."""
        if name in self._colours:
            return Style(color=self._colours[name][self.app.current_theme.dark])
        return Style(dim=name == "quiet" or None, bold=name == "heading" or None)

    def action_move(self, steps: int) -> None:
        self.go(self.cursor + steps, steps)

    def action_page(self, pages: int) -> None:
        self.go(self.cursor + pages * max(1, self.size.height - 1), pages)

    def action_first(self) -> None:
        self.go(0)

    def action_choose(self) -> None:
        if self._stops:
            self.post_message(self.Chosen())

    def on_click(self, event: Click) -> None:
        place = event.y + round(self.scroll_offset.y)
        if place == self.cursor:
            self.action_choose()
        elif place < len(self.entries) and self.entries[place].ref:
            self.go(place)

    def on_resize(self, event: Resize) -> None:
        self.virtual_size = Size(event.size.width, len(self.entries))
