"""A list of any length: only the lines that are on the screen are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

if TYPE_CHECKING:
    from textual.events import Click, Resize


class Rows(ScrollView, can_focus=True):
    """Lines of text, one of which the cursor is on."""

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
        Binding("enter", "choose", show=False),
    ]

    class Moved(Message):
        """The cursor is on another line, or on a line that changed."""

    class Chosen(Message):
        """Enter was pressed, or the line of the cursor was clicked."""

    def __init__(self, id: str) -> None:  # noqa: A002 (Textual's word)
        super().__init__(id=id)
        self.lines: Sequence[str] = ()
        self.cursor = 0

    def show(self, lines: Sequence[str], cursor: int = 0) -> None:
        self.lines = lines
        self.virtual_size = Size(self.size.width, len(lines))
        self.refresh()
        self.go(cursor)

    def go(self, place: int) -> None:
        """Put the cursor on a line, and scroll so that it is visible."""
        if not self.lines:
            return
        before = self.cursor
        self.cursor = min(max(0, place), len(self.lines) - 1)
        for line in {before, self.cursor}:
            self.refresh_line(line)
        top = round(self.scroll_offset.y)
        height = max(1, self.size.height)
        if not top <= self.cursor < top + height:
            target = self.cursor if self.cursor < top else self.cursor - height + 1
            self.scroll_to(y=target, animate=False, force=True)
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        place = y + round(self.scroll_offset.y)
        if place >= len(self.lines):
            return Strip.blank(width, self.rich_style)
        on_cursor = place == self.cursor
        style = self.get_component_rich_style("rows--cursor") if on_cursor else self.rich_style
        return Strip([Segment(_fitted(self.lines[place], width), style)], width)

    def action_move(self, steps: int) -> None:
        self.go(self.cursor + steps)

    def action_page(self, pages: int) -> None:
        self.go(self.cursor + pages * max(1, self.size.height - 1))

    def action_first(self) -> None:
        self.go(0)

    def action_choose(self) -> None:
        if self.lines:
            self.post_message(self.Chosen())

    def on_click(self, event: Click) -> None:
        place = event.y + round(self.scroll_offset.y)
        if place == self.cursor:
            self.action_choose()
        elif place < len(self.lines):
            self.go(place)

    def on_resize(self, event: Resize) -> None:
        self.virtual_size = Size(event.size.width, len(self.lines))


def _fitted(line: str, width: int) -> str:
    """A line that takes exactly `width` cells; what does not fit is cut."""
    if cell_len(line) > width > 0:
        return set_cell_size(line, width - 1) + "…"
    return set_cell_size(line, width)
