"""The terminal program: a list, the text of its entry, and what keys do with them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from kinen.characters import visible, visible_styled
from kinen.cli.editor import compose, edit
from kinen.errors import KinenError
from kinen.journal.mark import glance
from kinen.memory import Memory
from kinen.memory.erasing import LATER
from kinen.paths import openable
from kinen.render.sessions import hand_over, resume_command
from kinen.render.text import counted
from kinen.space.find import resolve_names
from kinen.text import unspelled
from kinen.tui import changes, lists
from kinen.tui.changes import Change
from kinen.tui.lists import ALL, MORE, PAGE, SEARCH, SPANS, VIEWS, Entry, Request, View
from kinen.tui.rows import Rows

if TYPE_CHECKING:
    from textual.events import Resize

T = TypeVar("T")
HEAD_START = 0.04
"""Seconds for which a question has the processor to itself; nobody sees so short a pause."""
LIVE_SECONDS = 2.0
"""How often the files that agents and the daemon write are looked at."""
WIDE = 110
"""Columns from which on the text stands beside the list."""
SHARE = 0.55
"""The part of these that the list has."""
NARROW = 72
"""Columns below which only the name of the open screen is told."""
HIGH = 36
"""Lines from which on each section of Today has more entries."""
LAST = "last"
"""Stands for the last entry of a list, which no ref does."""
PAGES = {
    "": lists.page,
    "links": lists.links_page,
    "history": lists.history_page,
    "why": lists.why_page,
    "session": lists.session_page,
}
HELP = """\
1 … 5    Today, Sessions, Knowledge, Code, Told
/        search everything; enter or ↓ goes to the hits, escape back
f        of this list, only what has some words
j k ↓ ↑  move; g and G go to the first and the last entry
enter    read the entry; escape, ← or tab goes back
t w h l  its session; why its file is so; history of it; links around it
o O      copy the command that resumes its session; copy a hand-over
y Y      copy its ref; copy a markdown citation
e        open its file in the editor, or the wording of a memory
p        pin: every recall begins with it
x        hide a memory; u or `kinen memories restore` brings it back
X        erase it for good, after a question; a file or commit is hidden
m        mark a memory; on another one, M merges it into the marked
         one, S says that the marked one supersedes it
space    check a step of the plan, in Today
[ ] d    earlier and later days of Today; 7, 14 or 1 of them
u r      undo the last change; read the list again
s        another space
: q      all commands, also ctrl+p; quit

◆ decision  ▬ session  ○ commit  ✗ error  ☐ open; ▂▄▆█ 1 to 4 at a time
In a session: > prompt  ✎ edit  ✓ worked  ✗ failed  ? not known  · other
"""
COMMANDS = (
    ("slash", "type(True)", "search", "Search everything"),
    ("question_mark", "help", "help", "All keys"),
    ("q", "quit", "quit", "Quit"),
    ("f", "type(False)", "filter", "Filter this list"),
    ("t", "page('session')", "session", "The session of an entry"),
    ("w", "page('why')", "why", "Why its file is so"),
    ("h", "page('history')", "", "History of its file"),
    ("l", "page('links')", "", "Links around a record"),
    ("o", "copy_session(True)", "resume", "Copy the command that resumes a session"),
    ("O", "copy_session(False)", "", "Copy a hand-over of a session"),
    ("y", "copy_ref", "", "Copy its ref"),
    ("Y", "copy_citation", "", "Copy a markdown citation"),
    ("e", "edit", "", "Edit its file, or the wording of a memory"),
    ("p", "change('pin')", "pin", "Pin"),
    ("x", "change('hide')", "", "Hide a memory"),
    ("X", "erase", "", "Erase for good"),
    ("m", "mark", "", "Mark a memory"),
    ("M", "join('merge')", "", "Merge a memory into the marked one"),
    ("S", "join('supersede')", "", "Supersede a memory by the marked one"),
    ("space", "change('tick')", "", "Check a step of the plan"),
    ("left_square_bracket", "days(-1)", "", "Earlier days"),
    ("right_square_bracket", "days(1)", "", "Later days"),
    ("d", "days(0)", "", "More or fewer days"),
    ("u", "undo", "", "Undo the last change"),
    ("s", "space", "", "Another space"),
    ("r", "refresh_list", "", "Read the list again"),
)
"""What keys do: the key, the action, its word in the last line, its title in the palette."""


class Reader(VerticalScroll, can_focus=True):
    """The text of an entry, with the keys of the list to move in it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
        Binding("tab,left,backspace", "app.leave", show=False),
    ]


class Choice(ModalScreen[str]):
    """A question, if there is one, and a list to choose from; escape chooses none."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss('')", "cancel")]

    def __init__(self, names: list[str], question: str = "") -> None:
        super().__init__()
        self._names = names
        self._question = question

    def compose(self) -> ComposeResult:
        options = [Option(Content(visible(name))) for name in self._names]
        with VerticalScroll():
            if self._question:
                yield Static(Content(visible(self._question) + "\n"))
            yield OptionList(*options)

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    @on(OptionList.OptionSelected)
    def choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._names[event.option_index])


class Help(ModalScreen[None]):
    """The keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q", "dismiss", "close")]

    def compose(self) -> ComposeResult:
        yield VerticalScroll(Static(Content(HELP)))


class Browser(App[str]):
    """Browses a memory; with `pick`, enter ends the program with the chosen entry."""

    TITLE = "kinen"
    CSS = """
    #views, #status { height: 1; }
    #views { background: $panel; link-style: none; link-color: $text; }
    #typed { height: 1; border: none; padding: 0 1; }
    #list { width: 55%; }
    #text { width: 45%; padding: 0 1; border-left: solid $panel; }
    #status { color: $text-muted; }
    .narrow #list, .reading #text { width: 100%; border: none; }
    .narrow #text, .narrow.reading #list { display: none; }
    .narrow.reading #text { display: block; }
    Choice, Help { align: center middle; }
    Choice > VerticalScroll { width: 76; max-width: 100%; height: auto; max-height: 20; }
    Help > VerticalScroll { width: 76; max-width: 100%; height: 100%; max-height: 28; }
    Choice > VerticalScroll, Help > VerticalScroll { border: round $primary; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority: the next key goes where these lead to already, however fast it comes.
        *(
            Binding(view.key, f"view('{view.name}')", view.name, show=False, priority=True)
            for view in VIEWS
        ),
        Binding("down,enter", "leave_field", "list", priority=True),
        Binding("escape", "leave", "back", priority=True),
        Binding("G,end", "last", show=False),
        *(
            Binding(key, action, word, show=bool(word), priority=action.startswith("type"))
            for key, action, word, _ in COMMANDS
        ),
        Binding("colon", "command_palette", show=False),
    ]

    def __init__(self, space: str | None = None, typed: str = "", *, pick: bool = False) -> None:
        super().__init__()
        self._space = space
        self._typed = typed
        self._pick = pick
        self.marked = ""
        self._undo: list[Change] = []
        # Held here: a query would look on the screen that is uppermost.
        self._names = Static(id="views")
        self.field = Input(id="typed", select_on_focus=False)
        self.rows = Rows("list")
        self._page = Static(id="page")
        self.text = Reader(self._page, id="text")
        self._body = Horizontal(self.rows, self.text)
        self._status = Static(id="status")
        self.view: View = SEARCH if typed or pick else VIEWS[0]
        self._before: View = VIEWS[0]
        self.request = Request()
        self.entries: list[Entry] = []
        self._turn = 0
        self._page_turn = 0
        self._page_ref = ""
        self._page_text = PAGES[""]
        self._memory: Memory | None = None
        self._indexing = ""
        self._seen = ""
        self.shown_text = ""
        self._remark = ""
        # One thread: a memory is used by one at a time, and typing never waits for it.
        self._pool = ThreadPoolExecutor(1, "memory")

    def compose(self) -> ComposeResult:
        yield self._names
        yield self.field
        yield self._body
        yield self._status
        yield Footer()

    async def on_mount(self) -> None:
        self.field.display = self.view is SEARCH
        self.field.value = self._typed  # here, since a text needs a program that runs
        (self.field if self.field.display else self.rows).focus()
        # Not by the message, which comes after the field is drawn again.
        self.watch(self.field, "value", self.typing, init=False)
        self.set_interval(LIVE_SECONDS, self.look)
        self.say("reading…")
        self.index()

    async def on_unmount(self) -> None:
        await self.ask(lambda memory: memory.close())
        self._pool.shutdown(wait=False)

    def on_resize(self, event: Resize) -> None:
        wide = event.size.width >= WIDE
        self._body.set_class(not wide, "narrow")
        width = int(event.size.width * SHARE) if wide else event.size.width
        points = 6 if event.size.height >= HIGH else 3
        self.request = self.request._replace(width=width, points=points)
        self._show_views()
        self.refill(self.entry.ref if self.entry else "")

    # Reading from the memory

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

    @work(group="index")
    async def index(self) -> None:
        """Index a space that never was, beside the lists that need no index."""

        def progress(_: str, done: int, total: int) -> None:
            self._indexing = f"indexing {100 * done // total} %" if total else f"indexing {done:,}"
            self.call_later(self._show_views)

        def sync() -> None:
            with contextlib.suppress(KinenError), Memory.open(space=self._space) as memory:
                memory.sync(embed=False, progress=progress, wait=0.2)

        if not await self.ask(lambda memory: memory.index.built):
            self._indexing = "indexing"
            await asyncio.to_thread(sync)
            self._indexing = ""
            self.refill(live=True)

    def refill(self, keep: str = "", *, live: bool = False) -> None:
        """Read the list of the view again; an older question that still waits is dropped.

        With `live` nobody asked for it, and a remark on the last line stays.
        """
        self._turn += 1
        turn = self._turn
        view = self.view
        request = self.request._replace(typed=self.field.value)

        def entries(memory: Memory) -> list[Entry] | None:
            return view.entries(memory, request) if turn == self._turn else None

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
        self._show_views()  # the space is known now
        place = len(answer) - 1 if keep == LAST else 0
        place = next((n for n, entry in enumerate(answer) if keep and entry.ref == keep), place)
        self.rows.show(answer, place)
        if not self.entry:
            self.show_text("")
        if not (live and self._remark):
            self.say(self._count(answer))
            self._remark = ""

    def _count(self, entries: list[Entry]) -> str:
        """What the last line says of a list."""
        count = sum(bool(entry.ref) for entry in entries)
        if not count:
            return "nothing matches" if self.field.value else self.view.hint
        more = ", more below" if count >= self.request.most else ""
        return counted(count, "entries") + more

    def say(self, message: str) -> None:
        """A remark on the last line."""
        self._remark = message
        self._status.update(Content(visible(message)), layout=False)

    def show_text(self, text: str) -> None:
        """Show a text beside the list; one that is there already stays where it was read."""
        if text != self.shown_text:
            self.shown_text = text
            self._page.update(Text.from_ansi(visible_styled(text)))
            self.text.scroll_home(animate=False)

    @property
    def entry(self) -> Entry | None:
        place = self.rows.cursor
        entry = self.entries[place] if place < len(self.entries) else None
        return entry if entry and entry.ref else None

    @on(Rows.Moved)
    def moved(self) -> None:
        entry = self.entry
        near_end = self.rows.cursor + self.size.height >= len(self.entries)
        if entry and near_end and self._status_has_more():
            self.request = self.request._replace(most=self.request.most + PAGE)
            self.refill(entry.ref)
        if entry:
            if entry.ref != self._page_ref:
                self._page_ref = entry.ref
                self._page_text = PAGES[""]
            if self.text.display and self.text.region.width:
                self.preview()  # after a live update, links stay links

    def _status_has_more(self) -> bool:
        """Whether a list ends where it was asked to."""
        return sum(bool(entry.ref) for entry in self.entries) >= self.request.most

    @work(exclusive=True, group="text")
    async def preview(self) -> None:
        """Show the text of the entry; an older question that still waits is dropped."""
        entry = self.entry
        text = self._page_text
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
        self.request = self.request._replace(most=PAGE)
        self.refill()

    async def look(self) -> None:
        """Read the list again when an agent has worked, or the daemon has indexed something."""

        def mark(memory: Memory) -> str:
            index = memory.core.index_file
            written = [_written(path) for path in (index, f"{index}-wal")]
            return f"{glance(os.path.join(memory.space.data, 'journal.db'))} {written}"

        seen = await self.ask(mark)
        if self._seen and seen != self._seen and not self._indexing:
            self.refill(live=True)
            self._seen = seen
        self._seen = self._seen or seen

    def _show_views(self) -> None:
        """The first line: the screens, the space, and whether it is being indexed."""
        names = []
        for view in VIEWS:
            name = f"{view.key} {view.name}"
            if view is self.view:
                name = f"\\[{name}]"
            elif self.size.width < NARROW:
                name = f" {view.key} "
            else:
                name = f" {name} "
            names.append(f"[@click=app.view('{view.name}')]{name}[/]")
        space = self._memory.space.name if self._memory else ""
        side = self._indexing or visible(space)
        self._names.update(Content.from_markup("".join(names) + "  [dim]$side[/]", side=side))

    # Moving

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        if action in ("leave_field", "view", "type", "leave") and len(self.screen_stack) > 1:
            return False  # a question or the help is above the list
        if action in ("leave_field", "view", "type"):
            return (self.focused is self.field) == (action == "leave_field")
        if action == "leave":
            return self.field.display or self.focused is self.text
        return True

    def action_leave_field(self) -> None:
        """From what is typed, go to the list."""
        self.screen.set_focus(self.rows)

    def action_leave(self) -> None:
        """From a text to its list; from a search or a filter to what was there before."""
        reading = self.focused is self.text
        self._body.remove_class("reading")
        self.screen.set_focus(self.rows)
        if not reading:
            self._open(self._before if self.view is SEARCH else self.view)

    def action_view(self, name: str) -> None:
        self._open(next(view for view in VIEWS if view.name == name))

    def _open(self, view: View, *, typing: bool = False) -> None:
        """Go to a screen; with `typing`, to its field."""
        if self.view is not SEARCH:
            self._before = self.view
        same = view is self.view and typing
        self.view = view
        self._page_ref = ""
        self._body.remove_class("reading")
        self.field.display = typing
        self.field.placeholder = "search everything" if view is SEARCH else "words of an entry"
        self.screen.set_focus(self.field if typing else self.rows)
        self._show_views()
        if not same:
            high = self.size.height >= HIGH
            self.request = self.request._replace(most=PAGE, points=6 if high else 3)
            if self.field.value:
                self.field.value = ""  # the list follows
            else:
                self.refill()

    def action_type(self, everywhere: bool) -> None:
        self._open(SEARCH if everywhere else self.view, typing=True)

    def action_last(self) -> None:
        """Go to the last entry, and read those that are not there yet."""
        if self._status_has_more():
            self.request = self.request._replace(most=ALL)
            self.refill(LAST)
        else:
            self.rows.go(len(self.entries) - 1, -1)

    def action_days(self, steps: int) -> None:
        """Other days of Today: earlier, later, or more of them."""
        if self.view is not VIEWS[0]:
            self.say("days belong to Today: press 1")
            return
        span = self.request.span
        if not steps:
            span = SPANS[(SPANS.index(span) + 1) % len(SPANS)]
        self.request = self.request._replace(span=span)
        self._move_days(steps * span)

    @work
    async def _move_days(self, days: int) -> None:
        until = await self.ask(lambda memory: lists.moved(memory, self.request, days))
        self.request = self.request._replace(until=until)
        self.refill()

    @on(Rows.Chosen)
    def read(self) -> None:
        entry = self.entry
        if entry and self._pick:
            root = self._memory.space.root if self._memory else ""
            line = f":{entry.at_line}" if entry.at_line else ""
            path = openable(root, entry.path, os.getcwd())
            self.exit(f"{path}{line}" if entry.path else entry.ref)
        elif entry and entry.ref.startswith(MORE):
            self.request = self.request._replace(points=ALL - 1)
            self.refill()
        elif entry:
            self._read_page()

    def _read_page(self) -> None:
        if self._body.has_class("narrow"):
            self._body.add_class("reading")
        self.text.focus()
        self.preview()

    def action_refresh_list(self) -> None:
        self.refill(self.entry.ref if self.entry else "")

    # What is done with an entry

    def record_entry(self) -> Entry | None:
        """The entry that the list stands on; a remark and None if it is not a record."""
        entry = self.entry
        if entry is None or entry.is_record:
            return entry
        self.say("no record: this is what an agent would be sent")
        return None

    def action_page(self, name: str) -> None:
        if self.record_entry():
            self._page_text = PAGES[name]
            self._read_page()

    def _copy(self, text: str, what: str = "") -> None:
        self.copy_to_clipboard(text)
        self.say(f"copied {what or text}")

    def action_copy_ref(self) -> None:
        entry = self.record_entry()
        if entry:
            self._copy(entry.ref)

    def action_copy_citation(self) -> None:
        entry = self.record_entry()
        if entry:
            line = f"#L{entry.at_line}" if entry.at_line else ""
            target = f"{entry.path}{line}" if entry.path else entry.ref
            self._copy(f"[{entry.title[:80]}]({target})", f"a citation of {target}")

    @work
    async def action_copy_session(self, resume: bool) -> None:
        """Copy the command that takes up the session of an entry, or a hand-over of it."""
        entry = self.record_entry()
        if entry is None:
            return
        timeline = await self.ask(lambda memory: lists.timeline_of(memory, entry))
        command = resume_command(timeline.overview) if timeline else ""
        if timeline is None:
            self.say("it is of no session: press 2 for the sessions")
        elif not resume:
            self._copy(hand_over(timeline), "a hand-over of the session")
        elif command:
            self._copy(command)
        else:
            self.say("its agent has no command that resumes it")

    @work
    async def action_edit(self) -> None:
        """Open the file of an entry; of a memory, its wording."""
        entry = self.record_entry()
        if entry is None:
            return
        if entry.ref.startswith("memory:"):
            learned = await self.ask(lambda memory: memory.consolidation.get(entry.ref))
            with self.suspend():
                content = compose("the memory; an empty text cancels", learned.content)
            if content.strip() and content.strip() != learned.content:
                await self._change(lambda memory: changes.edit(memory, entry.ref, content.strip()))
        elif entry.path:
            root = await self.ask(lambda memory: memory.space.root)
            with self.suspend():
                edit(os.path.join(root, os.fsdecode(unspelled(entry.path))), entry.at_line)
            self.action_refresh_list()
        else:
            self.say(f"{entry.ref} has no file")

    @work
    async def action_change(self, name: str) -> None:
        entry = self.record_entry()
        if entry:
            await self._change(lambda memory: getattr(changes, name)(memory, entry.ref))

    @work
    async def action_erase(self) -> None:
        """Erase an entry for good, after a question that says what goes."""
        entry = self.record_entry()
        if entry is None:
            return
        try:
            question = await self.ask(lambda memory: lists.erasure(memory, entry))
            erase = f"{question.partition(' ')[0]} it"
            if await self.push_screen_wait(Choice(["Cancel", erase], question)) == erase:
                erased = await self.ask(lambda memory: memory.journal.forget(entry.ref))
                self.refill()
                done = f"erased {counted(len(erased.refs), 'entries')}"
                if erased.waiting:
                    self.notify(f"{done}: {erased.waiting}; {LATER}", timeout=20)
                else:
                    self.notify(done, timeout=4)
        except KinenError as error:
            self.say(str(error))

    def action_mark(self) -> None:
        if self.entry and not self.entry.ref.startswith("memory:"):
            self.say("only memories are merged: press 3 for the memories")
        elif self.entry:
            self.marked = self.entry.ref
            self.say("marked: M merges another one into it, S has it supersede another one")

    @work
    async def action_join(self, name: str) -> None:
        entry = self.entry
        if not self.marked:
            self.say("mark the other memory with m first")
        elif entry:
            marked = self.marked
            await self._change(lambda memory: getattr(changes, name)(memory, entry.ref, marked))

    async def _change(self, change: Callable[[Memory], Change]) -> None:
        try:
            done = await self.ask(change)
        except KinenError as error:
            self.say(str(error))
            return
        self._undo.append(done)
        self.refill(self.entry.ref if self.entry else "")
        self.notify(f"{done.message} · u undoes it", timeout=4, markup=False)

    @work
    async def action_undo(self) -> None:
        if not self._undo:
            self.say("nothing to undo")
            return
        last = self._undo.pop()
        await self.ask(last.undo)
        self.refill(self.entry.ref if self.entry else "")
        self.notify(f"undone: {last.message}", timeout=4, markup=False)

    @work
    async def action_space(self) -> None:
        home = await self.ask(lambda memory: memory.space.home)
        names = [space.name for space in resolve_names(home, ["all"])]
        name = await self.push_screen_wait(Choice(names))
        if name:
            await self.ask(lambda memory: memory.close())
            self._memory = None
            self._space = name
            self._undo.clear()
            self.request = self.request._replace(until="")
            self.index()
            self.refill()

    def get_system_commands(self, screen: Any) -> Iterable[SystemCommand]:
        """The commands of the palette: the screens, and what keys do."""
        views = ((view.key, f"view('{view.name}')", "", view.name) for view in VIEWS)
        for key, action, _, title in (*views, *COMMANDS):
            yield SystemCommand(title, f"key {key}", partial(self.run_action, action))
        yield from super().get_system_commands(screen)

    def action_help(self) -> None:
        self.push_screen(Help())


def _written(path: str) -> int:
    """When a file was written last; 0 if it is not there."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
