"""The terminal program: what keys do with the entries of a list."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from textual import on, work
from textual.app import SystemCommand

from kinen.cli.editor import compose, edit
from kinen.errors import KinenError
from kinen.memory import Memory
from kinen.paths import openable
from kinen.space.find import resolve_names
from kinen.text import unspelled
from kinen.tui import changes, lists
from kinen.tui.changes import Change
from kinen.tui.listing import LAST, Listing
from kinen.tui.lists import ALL, PAGE, VIEWS, Entry
from kinen.tui.rows import Rows
from kinen.tui.screens import COMMANDS, Choice, Help

PAGES = {"links": lists.links_page, "history": lists.history_page, "why": lists.why_page}


class Browser(Listing):
    """Browses a memory; with `pick`, enter ends the program with the chosen entry."""

    def __init__(self, space: str | None = None, typed: str = "", *, pick: bool = False) -> None:
        super().__init__(space, typed)
        self._pick = pick
        self.marked = ""
        self._undo: list[Change] = []

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        if action == "leave_text":
            return self.focused is self._text
        if action in ("leave_field", "type"):
            return (self.focused is self.field) == (action == "leave_field")
        return True

    def action_leave_field(self) -> None:
        """From what is typed, go to the list."""
        self.screen.set_focus(self.rows)

    action_leave_text = action_leave_field

    def action_view(self, name: str) -> None:
        self.view = next(view for view in VIEWS if view.name == name)
        self._page_ref = ""
        self._show_views()
        self.screen.set_focus(self.rows)
        if self.field.value:
            self.field.value = ""  # the list follows
        else:
            self._limit = PAGE
            self.refill()

    def action_type(self) -> None:
        self.field.focus()

    def action_last(self) -> None:
        """Go to the last entry, and read those that are not there yet."""
        if len(self.entries) == self._limit:
            self._limit = ALL
            self.refill(LAST)
        else:
            self.rows.go(len(self.entries) - 1)

    @on(Rows.Chosen)
    def read(self) -> None:
        entry = self.entry
        if entry and self._pick:
            root = self._memory.space.root if self._memory else ""
            line = f":{entry.at_line}" if entry.at_line else ""
            path = openable(root, entry.path, os.getcwd())
            self.exit(f"{path}{line}" if entry.path else entry.ref)
        else:
            self._text.focus()

    def action_refresh_list(self) -> None:
        self.refill(self.entry.ref if self.entry else "")

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
            self.preview(self._page_text)

    def action_copy_ref(self) -> None:
        entry = self.record_entry()
        if entry:
            self.copy_to_clipboard(entry.ref)
            self.say(f"copied {entry.ref}")

    def action_copy_citation(self) -> None:
        entry = self.record_entry()
        if entry:
            line = f"#L{entry.at_line}" if entry.at_line else ""
            target = f"{entry.path}{line}" if entry.path else entry.ref
            self.copy_to_clipboard(f"[{entry.line.strip()[:80]}]({target})")
            self.say(f"copied a citation of {target}")

    @work
    async def action_resume(self) -> None:
        """Copy the command that takes up a session."""
        entry = self.entry
        if self.view.name != "Sessions":
            self.say("no session: press 2 for the sessions")
            return
        if entry is None:
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
        if name == "tick" and self.view.name != "Plan":
            self.say("no step of the plan: press 4 for the plan")
            return
        entry = self.record_entry()
        if entry:
            await self._change(lambda memory: getattr(changes, name)(memory, entry.ref))

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
            self.refill()

    def get_system_commands(self, screen: Any) -> Iterable[SystemCommand]:
        """The commands of the palette: the screens, and what keys do."""
        for view in VIEWS:
            action = f"view('{view.name}')"
            yield SystemCommand(view.name, f"key {view.key}", self._call_of(action))
        for key, action, _, title in COMMANDS:
            yield SystemCommand(title, f"key {key}", self._call_of(action))
        yield from super().get_system_commands(screen)

    def _call_of(self, action: str) -> Callable[[], Awaitable[bool]]:
        return lambda: self.run_action(action)

    def action_help(self) -> None:
        self.push_screen(Help())
