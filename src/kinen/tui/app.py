"""The terminal program: a list, the text of its entry, and keys."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from kinen.characters import visible
from kinen.cli.editor import compose, edit
from kinen.errors import KinenError
from kinen.journal.mark import glance
from kinen.memory import Memory
from kinen.render.text import counted
from kinen.space.find import resolve_names
from kinen.text import unspelled
from kinen.tui import changes, lists
from kinen.tui.lists import PAGE, VIEWS, Entry, View

if TYPE_CHECKING:
    from kinen.tui.changes import Change

T = TypeVar("T")
LIVE_SECONDS = 2.0
"""How often the journal is looked at for new entries."""
HELP = """\
1 … 6    search, sessions, memories, plan, issues, what agents are told
/        type to search or to filter; enter or ↓ goes to the list
j k ↓ ↑  move; g and G go to the first and the last entry
enter    read the entry; tab goes back to the list
e        open its file in the editor, or the wording of a memory
y Y      copy its ref; copy a markdown citation
o        copy the command that resumes a session in its agent
l h      links around a record; history of its file
p        pin: every recall begins with it
x        hide a memory
m        mark a memory; on another one, M merges it into the marked
         one, S says that the marked one supersedes it
space    check or clear a step of the plan
u        undo the last change
s        another space
r        read the list again
:        all commands, also ctrl+p
q        quit
"""


class Choice(ModalScreen[str]):
    """A list to choose one name from; escape chooses none."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss('')", "cancel")]

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self._names = names

    def compose(self) -> ComposeResult:
        yield OptionList(
            *(Option(Content(visible(name)), id=str(n)) for n, name in enumerate(self._names))
        )

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
    #views { height: 1; background: $panel; }
    #typed { height: 1; border: none; padding: 0 1; }
    #list { width: 45%; border: none; text-wrap: nowrap; text-overflow: ellipsis; }
    #text { width: 55%; padding: 0 1; border-left: solid $panel; }
    #status { height: 1; color: $text-muted; }
    Choice, Help { align: center middle; }
    Choice OptionList, Help VerticalScroll { width: 76; height: 20; border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(view.key, f"view('{view.name}')", view.name, show=False) for view in VIEWS),
        Binding("slash", "type", "search"),
        Binding("enter", "read", "read", show=False),
        Binding("j", "down", show=False),
        Binding("k", "up", show=False),
        Binding("g", "first", show=False),
        Binding("G", "last", show=False),
        Binding("e", "edit", "edit"),
        Binding("y", "copy_ref", "copy ref"),
        Binding("Y", "copy_citation", show=False),
        Binding("o", "resume", "resume", show=False),
        Binding("l", "page('links')", "links"),
        Binding("h", "page('history')", "history"),
        Binding("p", "change('pin')", "pin"),
        Binding("x", "change('hide')", "hide"),
        Binding("m", "mark", "mark", show=False),
        Binding("M", "join('merge')", show=False),
        Binding("S", "join('supersede')", show=False),
        Binding("space", "change('tick')", show=False),
        Binding("u", "undo", "undo"),
        Binding("s", "space", "space"),
        Binding("r", "refresh_list", show=False),
        Binding("colon", "command_palette", show=False),
        Binding("question_mark", "help", "help"),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, space: str | None = None, typed: str = "", *, pick: bool = False) -> None:
        super().__init__()
        self._space = space
        self._typed = typed
        self._pick = pick
        self.view: View = VIEWS[0]
        self.entries: list[Entry] = []
        self.marked = ""
        self._limit = PAGE
        self._turn = 0
        self._undo: list[Change] = []
        self._memory: Memory | None = None
        self._seen = ""
        # One thread: a memory is used by one at a time, and typing never waits for it.
        self._pool = ThreadPoolExecutor(1, "memory")

    def compose(self) -> ComposeResult:
        yield Static(id="views")
        yield Input(self._typed, placeholder="type to search", id="typed", select_on_focus=False)
        with Horizontal():
            yield OptionList(id="list")
            with VerticalScroll(id="text", can_focus=True):
                yield Static(id="page")
        yield Static(id="status")
        yield Footer()

    def on_mount(self) -> None:
        self._show_views()
        self.query_one("#typed").focus()
        self.refill()
        self.set_interval(LIVE_SECONDS, self.look)

    async def on_unmount(self) -> None:
        await self.ask(lambda memory: memory.close())
        self._pool.shutdown(wait=False)

    async def ask(self, question: Callable[[Memory], T]) -> T:
        """The answer of the memory, which is opened when it is first needed."""

        def answer() -> T:
            if self._memory is None:
                self._memory = Memory.open(space=self._space)
            return question(self._memory)

        return await asyncio.get_running_loop().run_in_executor(self._pool, answer)

    @work(exclusive=True, group="list")
    async def refill(self, keep: str = "") -> None:
        """Read the list of the view again; an older question that still waits is dropped."""
        self._turn += 1
        turn = self._turn
        view = self.view
        typed = self.query_one("#typed", Input).value

        def entries(memory: Memory) -> list[Entry] | None:
            return view.entries(memory, typed, self._limit) if turn == self._turn else None

        try:
            answer = await self.ask(entries)
        except KinenError as error:
            self.say(str(error))
            return
        if answer is None or turn != self._turn:
            return
        self.entries = answer
        options = self.query_one("#list", OptionList)
        options.clear_options()
        options.add_options([Option(Content(entry.line)) for entry in answer])
        places = [n for n, entry in enumerate(answer) if entry.ref == keep]
        if answer:
            options.highlighted = places[0] if places else 0
        else:
            self.show_text("")
        empty = "nothing matches" if typed else view.hint
        self.say(counted(len(answer), "entries") if answer else empty)

    def say(self, message: str) -> None:
        """A remark on the last line."""
        for line in self.query("#status").results(Static):
            line.update(Content(visible(message)))

    def show_text(self, text: str) -> None:
        """Show a text beside the list; nothing where the program is about to end."""
        for page in self.query("#page").results(Static):
            page.update(Content(visible(text)))
            self.query_one("#text").scroll_home(animate=False)

    @property
    def entry(self) -> Entry | None:
        """The entry that the list stands on."""
        place = next(
            (listed.highlighted for listed in self.query("#list").results(OptionList)), None
        )
        return self.entries[place] if place is not None and place < len(self.entries) else None

    @on(OptionList.OptionHighlighted, "#list")
    def highlighted(self) -> None:
        place = self.query_one("#list", OptionList).highlighted or 0
        if place == len(self.entries) - 1 and len(self.entries) == self._limit:
            self._limit += PAGE
            entry = self.entry
            self.refill(entry.ref if entry else "")
        elif self.entry:
            self.preview(self.view.text)

    @on(OptionList.OptionSelected, "#list")
    def selected(self) -> None:
        self.action_read()

    @work(exclusive=True, group="text")
    async def preview(self, text: Callable[[Memory, Entry], str]) -> None:
        """Show the text of the entry."""
        entry = self.entry
        if entry is None:
            return
        try:
            page = await self.ask(lambda memory: text(memory, entry))
        except KinenError as error:
            page = str(error)
        if entry == self.entry:
            self.show_text(page)

    @on(Input.Changed, "#typed")
    def typing(self) -> None:
        self._limit = PAGE
        self.refill()

    @on(Input.Submitted, "#typed")
    def typed(self) -> None:
        self.query_one("#list").focus()

    def on_key(self, event: Any) -> None:
        """From what is typed, ↓ and escape go to the list."""
        if event.key in ("down", "escape") and self.focused is self.query_one("#typed"):
            self.query_one("#list").focus()
            event.stop()

    async def look(self) -> None:
        """Read sessions and memories again when the journal has new entries."""

        def mark(memory: Memory) -> str:
            return str(glance(os.path.join(memory.space.data, "journal.db")))

        seen = await self.ask(mark)
        entry = self.entry
        if self._seen and seen != self._seen and self.view.name in ("Sessions", "Memories"):
            self.refill(entry.ref if entry else "")
        self._seen = seen

    def _show_views(self) -> None:
        names = [
            f"[{view.key} {view.name}]" if view is self.view else f" {view.key} {view.name} "
            for view in VIEWS
        ]
        self.query_one("#views", Static).update(Content(" ".join(names)))

    def action_view(self, name: str) -> None:
        self.view = next(view for view in VIEWS if view.name == name)
        self._show_views()
        self.query_one("#list").focus()
        typed = self.query_one("#typed", Input)
        if typed.value:
            typed.value = ""  # the list follows
        else:
            self._limit = PAGE
            self.refill()

    def action_type(self) -> None:
        self.query_one("#typed").focus()

    def action_down(self) -> None:
        self.query_one("#list", OptionList).action_cursor_down()

    def action_up(self) -> None:
        self.query_one("#list", OptionList).action_cursor_up()

    def action_first(self) -> None:
        self.query_one("#list", OptionList).action_first()

    def action_last(self) -> None:
        self.query_one("#list", OptionList).action_last()

    def action_read(self) -> None:
        entry = self.entry
        if entry and self._pick:
            line = f":{entry.at_line}" if entry.at_line else ""
            self.exit(f"{entry.path}{line}" if entry.path else entry.ref)
        else:
            self.query_one("#text").focus()

    def action_refresh_list(self) -> None:
        self.refill(self.entry.ref if self.entry else "")

    def action_page(self, name: str) -> None:
        self.preview(lists.links_page if name == "links" else lists.history_page)

    def action_copy_ref(self) -> None:
        if self.entry:
            self.copy_to_clipboard(self.entry.ref)
            self.say(f"copied {self.entry.ref}")

    def action_copy_citation(self) -> None:
        entry = self.entry
        if entry:
            line = f"#L{entry.at_line}" if entry.at_line else ""
            target = f"{entry.path}{line}" if entry.path else entry.ref
            self.copy_to_clipboard(f"[{entry.line.strip()[:80]}]({target})")
            self.say(f"copied a citation of {target}")

    @work
    async def action_resume(self) -> None:
        """Copy the command that takes up a session."""
        entry = self.entry
        if entry is None or self.view.name != "Sessions":
            return
        page = await self.ask(lambda memory: lists.session_page(memory, entry))
        command = page.partition("\n")[0].removeprefix("resume with: ")
        if page.startswith("resume with: "):
            self.copy_to_clipboard(command)
            self.say(f"copied: {command}")
        else:
            self.say("its agent has no command that resumes it")

    @work
    async def action_edit(self) -> None:
        """Open the file of an entry; of a memory, its wording."""
        entry = self.entry
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
        entry = self.entry
        if entry and (name != "tick" or self.view.name == "Plan"):
            await self._change(lambda memory: getattr(changes, name)(memory, entry.ref))

    def action_mark(self) -> None:
        if self.entry:
            self.marked = self.entry.ref
            self.say(f"marked {self.marked}: M merges another one into it, S supersedes it")

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
        """Choose another space."""
        home = await self.ask(lambda memory: memory.space.home)
        names = [space.name for space in resolve_names(home, ["all"])]
        name = await self.push_screen_wait(Choice(names))
        if name:
            await self.ask(lambda memory: memory.close())
            self._memory = None
            self._space = name
            self._undo.clear()
            self.refill()

    def action_help(self) -> None:
        self.push_screen(Help())
