"""Every screen and key of `kinen tui`, in a terminal that Textual simulates."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("textual")

from rich.text import Text
from textual.command import CommandPalette
from textual.widgets import OptionList
from textual.worker import WorkerCancelled

from kinen import Memory
from kinen.render.screen import SIGNS
from kinen.tui.app import Browser, Choice
from kinen.tui.lists import VIEWS
from kinen.tui.rows import sign_colours

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
        return [entry.ref for entry in self.app.entries if entry.ref]

    async def go(self, ref: str) -> str:
        """The screen with the cursor on an entry."""
        self.app.rows.go([entry.ref for entry in self.app.entries].index(ref))
        await self.settle()
        return self.text


@pytest.fixture
def browse(space: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs steps in the program and returns what it ends with."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    monkeypatch.chdir(space)

    def run(steps: Steps, size: tuple[int, int] = (80, 24), **options: Any) -> str | None:
        async def main() -> str | None:
            app = Browser(**options)
            async with app.run_test(size=size) as pilot:
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


def test_the_first_screen_tells_of_the_day(browse: Any, filled: Path) -> None:
    """Sessions as bars, what was decided, what is open, and what comes next; `[` goes back."""

    async def steps(screen: Screen) -> None:
        lines = screen.text.splitlines()
        assert lines[0].startswith("[1 Today] 2 Sessions  3 Knowledge  4 Code  5 Told")
        assert lines[1].startswith("Last 7 days · 1 session")
        lanes = {line.partition(" ")[0]: line for line in lines[2:8]}
        assert "▂" in lanes["claude"]
        assert SIGNS["decision"] in lanes["decided"]
        at = next(n for n, line in enumerate(lines) if line.startswith("Decided"))
        assert lines[at + 1].startswith(f"{SIGNS['decision']} ")
        assert f"{SIGNS['open']} boil" in screen.text
        assert "lay the table" not in screen.text, "what is done is not open"
        assert "The next agent" in screen.text
        assert "▬ fix the kettle" in screen.text
        assert "No session in these days" in await screen.press("left_square_bracket")
        assert "▬ fix the kettle" in await screen.press("right_square_bracket")
        assert "Last 14 days" in await screen.press("d")
        assert "days belong to Today" in await screen.press("2", "d")

    browse(steps)


def test_more_of_a_section_is_a_line_away(browse: Any, filled: Path) -> None:
    with Memory.open(filled) as memory:
        for n in range(7):
            memory.worklog.checkpoint(
                f"c{n}", decision=f"Kettle number {n} is descaled on day {n}."
            )

    async def steps(screen: Screen) -> None:
        assert " more" in screen.text
        await screen.go("more:Decided")
        await screen.press("enter")
        assert "more:Decided" not in screen.refs
        assert "descaled" in screen.text

    browse(steps)


def test_a_digit_is_a_tab_until_a_field_is_open(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        assert "[3 Knowledge]" in await screen.press("3")
        assert screen.app.field.value == ""
        await screen.press("slash", "9", "9")
        assert screen.app.field.value == "99", "the field is open: it is typed"
        assert "[3 Knowledge]" in await screen.press("escape"), "back to where it was"
        assert not screen.app.field.display

    browse(steps)


def test_typing_searches_and_shows_the_votes(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("slash", *"green", "space", *"brewed", "enter")
        assert screen.refs[0].startswith("note:tea.md")
        output = await screen.press("enter")
        assert "fulltext" in output
        assert "100%" in output or "%  rank" in output
        assert "eighty degrees" in output

    browse(steps)


def test_links_history_and_copies(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press(*"/brewed", "enter")
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
        footer = (await screen.press(*"/brewed")).splitlines()[-1]
        assert "list" in footer
        assert "q quit" not in footer, "it is typed here"
        await screen.press("enter")
        for back in ("tab", "escape", "left"):
            await screen.press("enter")
            assert screen.app.focused is screen.app.text
            await screen.press(back)
            assert screen.app.focused is screen.app.rows
        help_lines = (await screen.press("question_mark")).splitlines()
        assert any("undo the last" in line for line in help_lines), "all of it is on the screen"

    browse(steps)


@pytest.mark.parametrize(
    ("keys", "remark"),
    [
        *((("5", key), "no record: this is what an agent would be sent") for key in "lwyYepX"),
        (("3", "space"), "no step of the plan"),
        (("2", "m"), "only memories are merged: press 3 for the memories"),
    ],
)
def test_a_key_that_does_not_apply_says_why(
    browse: Any, filled: Path, keys: tuple[str, ...], remark: str
) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press(keys[0])
        assert remark in await screen.press(keys[1])

    browse(steps)


def test_sessions_are_found_by_their_words_and_resumed(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        output = await screen.press("2")
        assert "Today" in output.splitlines()[1], "a heading for the day"
        assert "fix the kettle" in output
        await screen.press("o")
        assert screen.app.clipboard == "claude --resume s-1"
        await screen.press("O")
        assert screen.app.clipboard.startswith("# fix the kettle")
        assert "claude --resume s-1" in await screen.press("enter")
        assert "observation: " in await screen.press("escape", "l"), "words, not ids"
        await screen.press("escape", "f", *"whistles")
        assert len(screen.refs) == 1
        await screen.press("escape", "f", *"zebra")
        assert screen.refs == []
        assert "nothing matches" in screen.text

    browse(steps)


def test_a_session_tells_its_outcome_and_the_strip_of_its_steps_first(
    browse: Any, filled: Path
) -> None:
    with Memory.open(filled) as memory:
        scope = {"session": "s-7", "agent": "codex"}
        memory.journal.open_capsule("descale it", scope=scope)
        for kind, text, known in (
            ("message", "Descale the kettle.", {"role": "user"}),
            ("command", "$ pytest -q\n1 failed", {"command": "pytest -q", "exitCode": 1}),
            ("command", "$ ./descale", {"command": "./descale"}),
            ("file_diff", "Tool: Edit\nFile: tea.md\n- a\n+ b", {}),
            ("command", "$ pytest -q\n2 passed", {"command": "pytest -q", "exitCode": 0}),
            ("message", "Descaled with vinegar, and the tests pass.", {"role": "assistant"}),
        ):
            memory.observe(text, kind=kind, scope=scope, provenance=known)

    async def steps(screen: Screen) -> None:
        screen.app.refill()
        await screen.press("2", "g", "enter")
        text = Text.from_ansi(screen.app.shown_text).plain
        assert ">✗?✎✓·" in text
        assert text.index("Outcome") < text.index("Steps") < text.index("./descale")
        assert "Descaled with vinegar" in text
        assert "descale it" in await screen.press("escape", "slash", *"vinegar", "enter", "t")

    browse(steps)


def test_an_entry_is_erased_after_a_question_alone(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("2")
        session = screen.refs[0]
        for answer, left in ((["enter"], True), (["down", "enter"], False)):
            await screen.pilot.press("X")
            while not isinstance(screen.app.screen, Choice):
                await screen.pilot.pause()
            assert "This goes for good" in screen.text
            assert "1 event" in screen.text
            await screen.press(*answer)
            assert (session in screen.refs) == left

    browse(steps)
    with Memory.open(filled) as memory:
        assert not any("whistles" in hit.chunk.text for hit in memory.search("whistles"))


def test_memories_are_hidden_merged_superseded_pinned_and_brought_back(
    browse: Any, filled: Path
) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("3")
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
        await screen.press("3", "f", *"porcelain", "enter", "e")
        await screen.press("f", *(["backspace"] * 9), *"glass")
        assert len(screen.refs) == 1
        await screen.press("enter", "u")
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
        await screen.press(*"/brewed", "enter", "e")

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
        await screen.press(*"/quinces", "enter")
        assert screen.refs == []
        await screen.pilot.press("s")
        while not isinstance(screen.app.screen, Choice):  # it waits for the answer
            await screen.pilot.pause()
        names = [str(option.prompt) for option in screen.app.screen.query_one(OptionList).options]
        await screen.press(*["down"] * names.index("pantry"), "enter")
        assert screen.refs[0].startswith("note:jam.md")
        await screen.pilot.press("colon")
        assert isinstance(screen.app.screen, CommandPalette)
        await screen.press(*"knowledge")
        await screen.pilot.pause(0.5)
        await screen.press("enter")
        while screen.app.view.name != "Knowledge":  # the palette is closed first
            await screen.pilot.pause()

    browse(steps)


def test_steps_of_the_plan_are_checked(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        await screen.go(next(ref for ref in screen.refs if ref.startswith("plan:")))
        assert "☐ boil" not in await screen.press("space")
        assert "☐ boil" in await screen.press("u")

    browse(steps)


def test_what_agents_are_told_is_counted(browse: Any, filled: Path) -> None:
    with Memory.open(filled) as memory:
        memory.ledger.record_answer("kinen_recall", "codex", "- Boil at 99 degrees.", [])

    async def steps(screen: Screen) -> None:
        output = await screen.press("5")
        assert "tokens" in output
        assert "Sent so far: 1 text" in output
        assert "## Plan" in await screen.press("enter")
        assert "Boil at 99 degrees." in await screen.press("escape", "G", "enter")

    browse(steps)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_every_screen_opens_in_an_empty_space(browse: Any, view: Any) -> None:
    async def steps(screen: Screen) -> None:
        output = await screen.press(view.key)
        assert f"[{view.key} {view.name}]" in output
        for key in (*"eyYoOtlhwpxXmMurd[]", "space", "enter", "escape"):
            await screen.press(
                *[{"[": "left_square_bracket", "]": "right_square_bracket"}.get(key, key)]
            )
        if view.name == "Today":
            assert "kinen import transcripts" in screen.text, "it teaches"
        assert f"[{view.key} {view.name}]" in screen.text

    browse(steps)


def test_a_mouse_opens_screens_and_entries(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        await screen.pilot.click("#views", offset=(28, 0))
        await screen.settle()
        assert screen.app.view.name == "Knowledge"
        first = screen.app.entry
        await screen.pilot.click("#list", offset=(3, 1))
        await screen.settle()
        assert screen.app.entry not in (None, first)
        assert screen.app.focused is screen.app.rows
        await screen.pilot.click("#list", offset=(3, 1))
        await screen.settle()
        assert screen.app.focused is screen.app.text

    browse(steps)


def test_a_long_list_is_read_in_pages_and_drawn_by_lines(browse: Any, filled: Path) -> None:
    with Memory.open(filled) as memory:
        for n in range(250):
            memory.journal.open_capsule(f"errand {n:03}", scope={"session": f"e-{n}"})

    async def steps(screen: Screen) -> None:
        assert "100 entries, more below" in await screen.press("2")
        assert "errand 200" not in screen.text
        await screen.press(*["pagedown"] * 5)
        assert len(screen.refs) == 200
        assert screen.app.entry
        assert screen.app.entry.title in screen.text
        await screen.press("G")
        assert len(screen.refs) == 251
        assert "fix the kettle" in screen.text
        assert "errand 249" in await screen.press("g")

    browse(steps)


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40)], ids=str)
def test_every_screen_fits_the_terminal(browse: Any, filled: Path, size: tuple[int, int]) -> None:
    """A title has fifty columns at 80; what stands beside it never wraps or takes its place."""
    title = "Descale the kettle before its lid turns quite green."
    right = "\u05ea\u05b7\u05bc\u05d4 \u05d9\u05e8\u05d5\u05e7"  # Hebrew, with points
    with Memory.open(filled) as memory:
        for n, words in enumerate((title, f"{right} {HOSTILE}")):
            scope = {"session": f"w-{n}", "agent": "codex"}
            capsule = memory.journal.open_capsule(words, scope=scope)
            memory.observe("ok", kind="error", capsule=capsule.id, scope=scope)

    async def steps(screen: Screen) -> None:
        for view in VIEWS:
            output = await screen.press(view.key)
            strips = screen.app.screen._compositor.render_strips()
            assert {strip.cell_length for strip in strips} == {size[0]}
            assert f"[{view.key} {view.name}]" in output
            assert "\x1b" not in output
            if view.name == "Sessions":
                assert right in output, "in the order in which it is written"
                assert title[: 50 if size[0] >= 80 else 20] in output
            await screen.press("enter", "escape")

    browse(steps, size)


def test_signs_and_colours_are_those_of_the_pages(
    browse: Any, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR")

    async def steps(screen: Screen) -> None:
        strips = screen.app.screen._compositor.render_strips()
        parts = [part for strip in strips for part in strip]
        for kind in ("decision", "session", "open"):
            colour = sign_colours()[kind][1]
            looks = [part.style for part in parts if SIGNS[kind] in part.text and part.style]
            assert any(look.color and look.color.name == colour for look in looks), kind

    browse(steps)


def test_a_space_that_was_never_indexed_is_indexed_beside_the_lists(
    browse: Any, space: Path
) -> None:
    (space / "tea.md").write_text("# Tea\n\nGreen tea is brewed at eighty degrees.\n")

    async def steps(screen: Screen) -> None:
        await screen.press("slash", *"brewed", "enter")
        assert screen.refs[0].startswith("note:tea.md")

    browse(steps)


def test_why_a_file_is_so(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        assert "## " in await screen.press(*"/brewed", "enter", "w")

    browse(steps)


def test_hostile_text_is_shown_as_it_is(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        output = await screen.press(*"/wormwood", "enter", "enter")
        assert "[red]bold[/red]" in output.replace("\n", " ")
        assert "\x1b" not in output

    browse(steps)


def test_new_entries_of_hooks_appear(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("2")
        await screen.app.look()
        with Memory.open(filled) as memory:
            capsule = memory.journal.open_capsule("polish the tray", scope={"session": "s-2"})
            memory.observe("polish it", capsule=capsule.id, scope={"session": "s-2"})
        await screen.app.look()
        await screen.settle()
        assert "polish the tray" in screen.text

    browse(steps)


def test_help_lists_the_keys_and_q_ends(browse: Any, filled: Path) -> None:
    async def steps(screen: Screen) -> None:
        assert "undo the last change" in await screen.press("question_mark")
        assert "undo the last change" not in await screen.press("3", "escape")
        assert "[1 Today]" in screen.text
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
