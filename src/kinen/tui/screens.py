"""Screens above the list: the keys, and names to choose from."""

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

if TYPE_CHECKING:
    from textual.app import ComposeResult

HELP = """\
1 … 6    search, sessions, memories, plan, issues, what agents are told
/        type to search or to filter; enter or ↓ goes to the list
j k ↓ ↑  move; g and G go to the first and the last entry
enter    read the entry; tab goes back to the list
e        open its file in the editor, or the wording of a memory
y Y      copy its ref; copy a markdown citation
o        copy the command that resumes a session in its agent
l        links around a record
h w      history of its file; why it is so: sessions, decisions, commits
p        pin: every recall begins with it
x        forget a memory: it is hidden until u or `kinen memories restore`
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
