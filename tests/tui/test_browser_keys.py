"""Every screen and key of `kinen tui`, in a terminal that Textual simulates."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("textual")

from textual.command import CommandPalette
from textual.widgets import OptionList
from textual.worker import WorkerCancelled

from kinen import Memory
from kinen.tui.app import Browser
from kinen.tui.lists import VIEWS
from kinen.tui.screens import Choice

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

Steps = Callable[["Screen"], Awaitable[None]]
SCOPE = {"session": "s-1", "agent": "claude-code"}
HOSTILE = "[red]bold[/red] [@click=app.quit]x[/] \x1b]0;owned\x07"


class Screen:
    """The running program: press keys, wait until it is idle, read what it shows."""

    def __init__(self, app: Browser, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> str:
        """The screen after some keys."""
        await self.pilot.press(*keys)
        await self.settle()
        return self.text

    async def settle(self) -> None:
        while self.app.workers:
            with contextlib.suppress(WorkerCancelled):  # a newer question replaced it
                await self.app.workers.wait_for_complete()
            await self.pilot.pause()
        await self.pilot.pause()

    @property
    def text(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)

    @property
    def refs(self) -> list[str]:
        return [entry.ref for entry in self.app.entries]


@pytest.fixture
def browse(space: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs steps in the program and returns what it ends with."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    monkeypatch.chdir(space)

    def run(steps: Steps, **options: Any) -> str | None:
        async def main() -> str | None:
            app = Browser(**options)
            async with app.run_test(size=(80, 24)) as pilot:
                screen = Screen(app, pilot)
                await screen.settle()
                await steps(screen)
            return app.return_value

        return asyncio.run(main())

    return run


@pytest.fixture
def filled(space: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A space with notes, a session, memories and a plan."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    (space / "tea.md").write_text("# Tea\n\nGreen tea is brewed at eighty degrees.\n")
    (space / "coffee.md").write_text("# Coffee\n\nSee [[tea]] for temperatures.\n")
    (space / "evil.md").write_text(f"# Evil\n\n{HOSTILE} wormwood\n")
    with Memory.open(space) as memory:
        memory.sync(embed=False)
        capsule = memory.journal.open_capsule("fix the kettle", scope=SCOPE)
        memory.observe(
            "the kettle whistles too early",
            capsule=capsule.id,
            scope=SCOPE,
            provenance={"role": "user"},
        )
        memory.worklog.checkpoint("Kettle", decision="Boil at 99 degrees because we live high up.")
        memory.worklog.checkpoint("Pot", decision="Use a porcelain pot because iron rusts.")
        memory.worklog.save_plan("Breakfast", "- [ ] boil\n- [x] lay the table\n", activate=True)
        memory.consolidation.consolidate()
        assert len(memory.consolidation.memories()) == 2
    return space


def test_typing_searches_and_shows_the_votes(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        output = await screen.press(*"green", "space", *"brewed")
        assert screen.refs[0].startswith("note:tea.md")
        assert "fulltext" in output
        assert "100%" in output or "%  rank" in output
        assert "eighty degrees" in output

    browse(steps)


def test_links_history_and_copies(
    browse: Any, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press(*"brewed", "enter")
        assert "coffee" in await screen.press("l")
        assert screen.app.entry
        screen.app.refill(live=True)
        await screen.settle()
        assert "coffee" in screen.text, "what an agent records meanwhile does not end the reading"
        assert "git" in await screen.press("h")
        await screen.press("y")
        assert screen.app.clipboard.startswith("note:tea.md")
        await screen.press("Y")
        assert screen.app.clipboard.endswith("(tea.md#L3)")

    browse(steps)


def test_keys_lead_from_the_field_to_the_list_and_from_the_text_back_to_it(
    browse: Any, filled: Path
) -> None:
    async def steps(screen: Screen) -> None:
        footer = (await screen.press(*"brewed")).splitlines()[-1]
        assert "list" in footer
        assert "search" not in footer, "a slash is typed here"
        for back in ("tab", "escape"):
            await screen.press("enter", "enter")
            assert screen.app.focused is screen.app._text
            await screen.press(back)
            assert screen.app.focused is screen.app.rows
        help_lines = (await screen.press("question_mark")).splitlines()
        assert any("quit" in line for line in help_lines[:-1]), "all of it is on the screen"

    browse(steps)


@pytest.mark.parametrize(
    ("keys", "remark"),
    [
        *((("6", key), "no record: this is what an agent would be sent") for key in "lwyYep"),
        (("1", "o"), "no session: press 2 for the sessions"),
        (("1", "space"), "no step of the plan: press 4 for the plan"),
        (("2", "m"), "only memories are merged: press 3 for the memories"),
    ],
)
def test_a_key_that_does_not_apply_says_why(
    browse: Any, filled: Path, keys: tuple[str, ...], remark: str
) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("escape", keys[0])
        assert remark in await screen.press(keys[1])

    browse(steps)


def test_sessions_are_found_by_their_words_and_resumed(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        output = await screen.press("escape", "2")
        assert "fix the kettle" in output
        assert "claude --resume s-1" in output
        await screen.press("o")
        assert screen.app.clipboard == "claude --resume s-1"
        assert "observation: " in await screen.press("l"), "words, not ids"
        await screen.press("slash", *"whistles")
        assert len(screen.refs) == 1
        await screen.press("escape", "slash", *"zebra")
        assert screen.refs == []
        assert "nothing matches" in screen.text

    browse(steps)


def test_memories_are_hidden_merged_superseded_pinned_and_brought_back(
    browse: Any, filled: Path
) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("escape", "3")
        before = list(screen.refs)
        assert len(before) == 2
        await screen.press("x")
        assert screen.refs == before[1:]
        await screen.press("u")
        assert screen.refs == before
        for key in ("M", "S"):
            await screen.press("g", "m", "j", key)
            assert screen.refs == before[:1], key
            await screen.press("u")
            assert screen.refs == before, key
        await screen.press("p")
        with Memory.open(filled) as memory:
            assert len(memory.journal.entries("pins")[0]) == 1
        await screen.press("u", "u")
        assert "nothing to undo" in await screen.press("u")

    browse(steps)


def test_the_wording_of_a_memory_is_edited(
    browse: Any, filled: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/porcelain/glass/' \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.setattr(Browser, "suspend", lambda self: contextlib.nullcontext())

    async def steps(screen: Screen) -> None:
        await screen.press("escape", "3", "slash", *"porcelain", "enter", "e")
        await screen.press("slash", *(["backspace"] * 9), *"glass")
        assert len(screen.refs) == 1
        await screen.press("escape", "u")
        assert screen.refs == []

    browse(steps)


def test_a_file_opens_in_the_editor_at_its_line(
    browse: Any, filled: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "vim"
    editor.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/words\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.setattr(Browser, "suspend", lambda self: contextlib.nullcontext())

    async def steps(screen: Screen) -> None:
        await screen.press(*"brewed", "enter", "e")

    browse(steps)
    assert (tmp_path / "words").read_text() == f"+3 {filled}/tea.md\n"


def test_another_space_is_chosen_and_the_palette_opens(
    browse: Any, filled: Path, tmp_path: Path
) -> None:
    other = tmp_path / "pantry"
    (other / ".kinen").mkdir(parents=True)
    (other / "jam.md").write_text("# Jam\n\nQuinces are boiled twice.\n")
    with Memory.open(other) as memory:
        memory.sync(embed=False)

    async def steps(screen: Screen) -> None:
        await screen.press(*"quinces", "enter")
        assert screen.refs == []
        await screen.pilot.press("s")
        while not isinstance(screen.app.screen, Choice):  # it waits for the answer
            await screen.pilot.pause()
        names = [str(option.prompt) for option in screen.app.screen.query_one(OptionList).options]
        await screen.press(*["down"] * names.index("pantry"), "enter")
        assert screen.refs[0].startswith("note:jam.md")
        await screen.pilot.press("colon")
        assert isinstance(screen.app.screen, CommandPalette)
        await screen.press(*"memories")
        await screen.pilot.pause(0.5)
        await screen.press("enter")
        while screen.app.view.name != "Memories":  # the palette is closed first
            await screen.pilot.pause()

    browse(steps)


def test_steps_of_the_plan_are_checked(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        assert "[ ] boil" in await screen.press("escape", "4")
        assert "[x] boil" in await screen.press("space")
        assert "[ ] boil" in await screen.press("u")

    browse(steps)


def test_what_agents_are_told_is_counted(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        output = await screen.press("escape", "6")
        assert "tokens  session start" in output
        assert "## Plan" in output

    browse(steps)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_every_screen_opens_in_an_empty_space(browse: Any, view: Any) -> None:
    async def steps(screen: Screen) -> None:
        output = await screen.press("escape", view.key)
        assert f"[{view.key} {view.name}]" in output
        for key in ("e", "y", "Y", "o", "l", "h", "p", "x", "m", "M", "space", "u", "r", "enter"):
            await screen.press(key)
        assert "keys" not in screen.text

    browse(steps)


def test_a_mouse_opens_screens_and_entries(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        await screen.pilot.click("#views", offset=(28, 0))
        await screen.settle()
        assert screen.app.view.name == "Memories"
        first = screen.app.entry
        await screen.pilot.click("#list", offset=(3, 1))
        await screen.settle()
        assert screen.app.entry not in (None, first)
        assert screen.app.focused is screen.app.rows
        await screen.pilot.click("#list", offset=(3, 1))
        await screen.settle()
        assert screen.app.focused is not screen.app.rows

    browse(steps)


def test_a_long_list_is_read_in_pages_and_drawn_by_lines(browse: Any, filled: Path) -> None:
    with Memory.open(filled) as memory:
        memory.worklog.save_plan("Long", "".join(f"- [ ] step {n}\n" for n in range(450)))
        memory.worklog.activate_plan("long")

    async def steps(screen: Screen) -> None:
        await screen.press("escape", "4")
        assert "100 entries, more below" in screen.text
        assert "step 30" not in screen.text
        await screen.press(*["pagedown"] * 5)
        assert len(screen.refs) == 200
        assert screen.app.entry
        assert screen.app.entry.line in screen.text
        await screen.press("G")
        assert len(screen.refs) == 450
        assert "step 449" in screen.text
        assert "step 0" in await screen.press("g")

    browse(steps)


def test_why_a_file_is_so(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press(*"brewed", "enter")
        assert "## " in await screen.press("w")

    browse(steps)


def test_hostile_text_is_shown_as_it_is(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        output = await screen.press(*"wormwood")
        assert "[red]bold[/red]" in output.replace("\n", " ")
        assert "\x1b" not in output

    browse(steps)


def test_new_entries_of_hooks_appear(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("escape", "2")
        await screen.app.look()
        with Memory.open(filled) as memory:
            capsule = memory.journal.open_capsule("polish the tray", scope={"session": "s-2"})
            memory.observe("polish it", capsule=capsule.id, scope={"session": "s-2"})
        await screen.app.look()
        await screen.settle()
        assert "polish the tra" in screen.text

    browse(steps)


def test_help_lists_the_keys_and_q_ends(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        assert "undo the last change" in await screen.press("escape", "question_mark")
        assert "undo the last change" not in await screen.press("escape")
        await screen.press("q")

    assert browse(steps) is None


def test_pick_ends_with_the_chosen_file(
    browse: Any, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press(*"brewed", "enter")
        await screen.pilot.press("enter")

    assert browse(steps, pick=True) == "tea.md:3"

    async def typed(screen: Screen) -> None:
        assert screen.refs[0].startswith("note:tea.md")
        await screen.pilot.press("enter", "enter")

    assert browse(typed, typed="brewed", pick=True) == "tea.md:3"
    (filled / "below").mkdir()
    monkeypatch.chdir(filled / "below")
    assert browse(typed, typed="brewed", pick=True) == "../tea.md:3"


def test_without_a_terminal_it_says_what_to_use(kinen: Any) -> None:
    ran = kinen("tui")
    assert ran.code == 2
    assert ran.err == "kinen: this needs a terminal · use `kinen search` in scripts\n"


def test_a_session_is_resumed_from_the_command_line(kinen: Any, filled: Path) -> None:
    assert kinen("session", "resume", "whistles").out == "claude --resume s-1\n"
    assert kinen("session", "resume", "last").out == "claude --resume s-1\n"
    missing = kinen("session", "resume", "zebra", "quantum")
    assert (missing.code, missing.out) == (1, "")
