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

COMMANDS = (
    ("e", "edit", "edit", "Edit its file, or the wording of a memory"),
    ("y", "copy_ref", "copy", "Copy its ref"),
    ("Y", "copy_citation", "", "Copy a markdown citation"),
    ("o", "resume", "", "Copy the command that resumes a session"),
    ("l", "page('links')", "links", "Links around a record"),
    ("h", "page('history')", "", "History of its file"),
    ("w", "page('why')", "why", "Why its file is so"),
    ("p", "change('pin')", "", "Pin"),
    ("x", "change('hide')", "", "Forget a memory"),
    ("m", "mark", "", "Mark a memory"),
    ("M", "join('merge')", "", "Merge a memory into the marked one"),
    ("S", "join('supersede')", "", "Supersede a memory by the marked one"),
    ("space", "change('tick')", "", "Check or clear a step of the plan"),
    ("u", "undo", "undo", "Undo the last change"),
    ("s", "space", "space", "Another space"),
    ("r", "refresh_list", "", "Read the list again"),
    ("?", "help", "help", "All keys"),
)
"""What keys do: the key, the action, its word in the last line, its title in the palette."""
KEYS: list[BindingType] = [
    *(Binding(view.key, f"view('{view.name}')", view.name, show=False) for view in VIEWS),
    # With priority: the next key is for the list already, however fast it comes.
    Binding("down,enter,escape", "leave_field", "list", priority=True),
    Binding("escape,tab", "leave_text", "list", show=False, priority=True),
    Binding("slash", "type", "search"),
    Binding("G,end", "last", show=False),
    *(Binding(key, action, word, show=bool(word)) for key, action, word, _ in COMMANDS),
    Binding("colon", "command_palette", show=False),
    Binding("q", "quit", "quit"),
]
"""The keys of the browser."""


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
