"""The list of a view and the text of its entry, read in a thread and kept up to date."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import on, work
from textual.app import App, ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Footer, Input, Static

from kinen.characters import visible
from kinen.errors import KinenError
from kinen.journal.mark import glance
from kinen.memory import Memory
from kinen.render.text import counted
from kinen.tui.lists import PAGE, VIEWS, Entry, View
from kinen.tui.rows import Rows
from kinen.tui.screens import KEYS

if TYPE_CHECKING:
    from textual.binding import BindingType

T = TypeVar("T")
HEAD_START = 0.04
"""Seconds for which a question has the processor to itself; nobody sees so short a pause."""
LIVE_SECONDS = 2.0
"""How often the files that agents and the daemon write are looked at."""
LAST = "last"
"""Stands for the last entry of a list, which no ref does."""


class Listing(App[str]):
    """A list, the text of its entry beside it, and a field whose text the list follows."""

    TITLE = "kinen"
    CSS = """
    #views { height: 1; background: $panel; link-style: none; link-color: $text; }
    #typed { height: 1; border: none; padding: 0 1; }
    #list { width: 45%; }
    #text { width: 55%; padding: 0 1; border-left: solid $panel; }
    #status { height: 1; color: $text-muted; }
    Choice, Help { align: center middle; }
    Choice OptionList, Help VerticalScroll { width: 76; height: 20; border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def __init__(self, space: str | None = None, typed: str = "") -> None:
        super().__init__()
        self._space = space
        self._typed = typed
        # Held here: a query would look on the screen that is uppermost.
        self._names = Static(id="views")
        self.field = Input(placeholder="type to search", id="typed", select_on_focus=False)
        self.rows = Rows("list")
        self._text = VerticalScroll(id="text", can_focus=True)
        self._page = Static(id="page")
        self._status = Static(id="status")
        self.view: View = VIEWS[0]
        self.entries: list[Entry] = []
        self._limit = PAGE
        self._turn = 0
        self._page_turn = 0
        self._page_ref = ""
        self._page_text = self.view.text
        self._memory: Memory | None = None
        self._seen = ""
        self._shown = ""
        self._remark = ""
        # One thread: a memory is used by one at a time, and typing never waits for it.
        self._pool = ThreadPoolExecutor(1, "memory")

    def compose(self) -> ComposeResult:
        yield self._names
        yield self.field
        with Horizontal():
            yield self.rows
            with self._text:
                yield self._page
        yield self._status
        yield Footer()

    def on_mount(self) -> None:
        self._show_views()
        self.field.value = self._typed  # here, since a text needs a program that runs
        self.field.focus()
        self.refill()
        # Not by the message, which comes after the field is drawn again.
        self.watch(self.field, "value", self.typing, init=False)
        self.set_interval(LIVE_SECONDS, self.look)

    async def on_unmount(self) -> None:
        await self.ask(lambda memory: memory.close())
        self._pool.shutdown(wait=False)

    def ask(self, question: Callable[[Memory], T], head_start: float = 0) -> Awaitable[T]:
        """The answer of the memory, which is opened when it is first needed.

        Work on it begins at once, not when the answer is awaited. For `head_start` seconds, or
        until it is done, nothing is drawn, which would take time from it.
        """

        def answer() -> T:
            if self._memory is None:
                self._memory = Memory.open(space=self._space)
            return question(self._memory)

        future = self._pool.submit(answer)
        wait([future], head_start)
        return asyncio.wrap_future(future)

    def refill(self, keep: str = "", *, live: bool = False) -> None:
        """Read the list of the view again; an older question that still waits is dropped.

        With `live` nobody asked for it, and a remark on the last line stays.
        """
        self._turn += 1
        turn = self._turn
        view = self.view
        typed = self.field.value
        limit = self._limit

        def entries(memory: Memory) -> list[Entry] | None:
            return view.entries(memory, typed, limit) if turn == self._turn else None

        self._fill(self.ask(entries, 0 if live else HEAD_START), keep, live)

    @work(exclusive=True, group="list")
    async def _fill(self, question: Awaitable[list[Entry] | None], keep: str, live: bool) -> None:
        """Show the entries once they are there, with the cursor where it was."""
        try:
            answer = await question
        except KinenError as error:
            self.say(str(error))
            return
        if answer is None:
            return
        if live and self.entry:
            keep = self.entry.ref  # the cursor may have moved while the list was read
        self.entries = answer
        place = len(answer) - 1 if keep == LAST else 0
        place = next((n for n, entry in enumerate(answer) if entry.ref == keep), place)
        self.rows.show([entry.line for entry in answer], place)
        if not answer:
            self.show_text("")
        if not (live and self._remark):
            self.say(self._count(answer))
            self._remark = ""

    def _count(self, entries: list[Entry]) -> str:
        """What the last line says of a list."""
        if not entries:
            return "nothing matches" if self.field.value else self.view.hint
        more = ", more below" if len(entries) == self._limit else ""
        return counted(len(entries), "entries") + more

    def say(self, message: str) -> None:
        """A remark on the last line."""
        self._remark = message
        self._status.update(Content(visible(message)), layout=False)

    def show_text(self, text: str) -> None:
        """Show a text beside the list; one that is there already stays where it was read."""
        if text != self._shown:
            self._shown = text
            self._page.update(Content(visible(text)))
            self._text.scroll_home(animate=False)

    @property
    def entry(self) -> Entry | None:
        place = self.rows.cursor
        return self.entries[place] if place < len(self.entries) else None

    @on(Rows.Moved)
    def moved(self) -> None:
        entry = self.entry
        near_end = self.rows.cursor + self.size.height >= len(self.entries)
        if entry and near_end and len(self.entries) == self._limit:
            self._limit += PAGE
            self.refill(entry.ref)
        if entry:
            if entry.ref != self._page_ref:
                self._page_ref = entry.ref
                self._page_text = self.view.text
            self.preview(self._page_text)  # after a live update, links stay links

    @work(exclusive=True, group="text")
    async def preview(self, text: Callable[[Memory, Entry], str]) -> None:
        """Show the text of the entry; an older question that still waits is dropped."""
        entry = self.entry
        self._page_turn += 1
        turn = self._page_turn

        def page(memory: Memory) -> str | None:
            return text(memory, entry) if entry and turn == self._page_turn else None

        try:
            answer = await self.ask(page)
        except KinenError as error:
            answer = str(error)
        if answer is not None and turn == self._page_turn:
            self.show_text(answer)

    def typing(self) -> None:
        self._limit = PAGE
        self.refill()

    async def look(self) -> None:
        """Read the list again when an agent has worked, or the daemon has indexed something."""

        def mark(memory: Memory) -> str:
            index = memory.core.index_file
            written = [_written(path) for path in (index, f"{index}-wal")]
            return f"{glance(os.path.join(memory.space.data, 'journal.db'))} {written}"

        seen = await self.ask(mark)
        if self._seen and seen != self._seen:
            self.refill(live=True)
        self._seen = seen

    def _show_views(self) -> None:
        names = []
        for view in VIEWS:
            name = f"{view.key} {view.name}"
            name = f"\\[{name}]" if view is self.view else f" {name} "
            names.append(f"[@click=app.view('{view.name}')]{name}[/]")
        self._names.update(Content.from_markup(" ".join(names)))


def _written(path: str) -> int:
    """When a file was written last; 0 if it is not there."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
