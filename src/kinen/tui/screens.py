"""The keys of the browser and its commands, and the screens above the list."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kinen.characters import visible
from kinen.tui.lists import VIEWS

if TYPE_CHECKING:
    from textual.app import ComposeResult

HELP = """\
1 … 6    search, sessions, memories, plan, issues, what agents are told
/        type to search or to filter; enter or ↓ goes to the list
j k ↓ ↑  move; g and G go to the first and the last entry
enter    read the entry; tab or escape goes back to the list
e        open its file in the editor, or the wording of a memory
y Y      copy its ref; copy a markdown citation
o        copy the command that resumes a session in its agent
l        links around a record
h w      history of its file; why it is so: sessions, decisions, commits
p        pin: every recall begins with it
x        forget a memory; u or `kinen memories restore` brings it back
m        mark a memory; on another one, M merges it into the marked
         one, S says that the marked one supersedes it
space    check or clear a step of the plan
u r      undo the last change; read the list again
s        another space
: q      all commands, also ctrl+p; quit
"""

KEYS: list[BindingType] = [
    *(Binding(view.key, f"view('{view.name}')", view.name, show=False) for view in VIEWS),
    # With priority: the next key is for the list already, however fast it comes.
    Binding("down,enter,escape", "leave_field", "list", priority=True),
    Binding("escape,tab", "leave_text", "list", show=False, priority=True),
    Binding("slash", "type", "search"),
    Binding("G,end", "last", show=False),
    Binding("e", "edit", "edit"),
    Binding("y", "copy_ref", "copy"),
    Binding("Y", "copy_citation", show=False),
    Binding("o", "resume", "resume", show=False),
    Binding("l", "page('links')", "links"),
    Binding("h", "page('history')", show=False),
    Binding("w", "page('why')", "why"),
    Binding("p", "change('pin')", show=False),
    Binding("x", "change('hide')", show=False),
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
"""The keys of the browser."""
COMMANDS = (
    ("Edit its file, or the wording of a memory", "e", "edit"),
    ("Copy its ref", "y", "copy_ref"),
    ("Copy a markdown citation", "Y", "copy_citation"),
    ("Copy the command that resumes a session", "o", "resume"),
    ("Links around a record", "l", "page('links')"),
    ("History of its file", "h", "page('history')"),
    ("Why its file is so", "w", "page('why')"),
    ("Pin", "p", "change('pin')"),
    ("Forget a memory", "x", "change('hide')"),
    ("Mark a memory", "m", "mark"),
    ("Merge a memory into the marked one", "M", "join('merge')"),
    ("Supersede a memory by the marked one", "S", "join('supersede')"),
    ("Check or clear a step of the plan", "space", "change('tick')"),
    ("Undo the last change", "u", "undo"),
    ("Another space", "s", "space"),
    ("Read the list again", "r", "refresh_list"),
    ("All keys", "?", "help"),
)
"""What the palette offers besides the screens: title, key and action."""


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
