"""The names of commands: those that are listed, and the others, each with its home."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import pytest

from kinen.cli import ALIASES
from kinen.cli.command import FEW
from kinen.cli.groups import root
from kinen.cli.run import DAILY
from kinen.verbs import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

LISTED = [name for _, name, _, _ in catalogue.COMMANDS]
HOMES = {name: home for name, home, _ in catalogue.OTHER_NAMES}


def command(name: str) -> click.Command:
    found = root.get_command(click.Context(root), name)
    assert found is not None
    return found


def test_every_other_name_has_its_home_below_a_listed_command() -> None:
    assert {home.split()[0] for home in HOMES.values()} <= {*LISTED}
    assert not {*HOMES} & {*LISTED}
    assert len({*HOMES.values()}) == len(HOMES)
    assert {name: HOMES[name] for name in ALIASES} == ALIASES
    assert {*DAILY} <= {*LISTED}


@pytest.mark.parametrize("name", sorted({home.split()[0] for home in HOMES.values()}))
def test_a_part_is_an_option_where_words_could_be_text(name: str) -> None:
    home = command(name)
    takes_words = any(isinstance(param, click.Argument) for param in home.params)
    for part in catalogue.parts(name):
        assert part.startswith("--") == takes_words
        assert part not in getattr(home, "commands", {})
        assert part not in [option for param in home.params for option in param.opts]


@pytest.mark.parametrize(("name", "home"), HOMES.items())
def test_both_names_are_the_same_command(ask: Callable[..., Ran], name: str, home: str) -> None:
    first, second = ask(*name.split(), "--help").out, ask("help", *home.split()).out
    assert first.startswith(f"Usage: kinen {ALIASES.get(name, name)} ")
    assert second.startswith(f"Usage: kinen {home} ")
    assert f"Also: kinen {name}" in second
    if len(home.split()) > 1:
        options = [text.split("Options:")[1].split("Also:")[0].strip() for text in (first, second)]
        assert options[0] == options[1]


@pytest.mark.parametrize(
    ("group", "whole"), [("session", "list"), ("plan", "list"), ("config", "show")]
)
def test_a_group_without_a_word_shows_what_there_is(
    kinen: Callable[..., Ran], group: str, whole: str
) -> None:
    kinen("plan", "save", "Tea", "1. Boil water")
    kinen("session", "new", "Tea")
    for options in ([], ["--json"]):
        short, long = kinen(group, *options), kinen(group, whole, *options)
        assert (short.code, short.out) == (long.code, long.out)
        assert short.out
    assert kinen(group, "--no-such").code == 2


@pytest.mark.parametrize(
    "text", ["log rotation was fixed", "list the open ports", "show stopper", "pin", "edit config"]
)
def test_no_word_of_a_saved_text_is_taken_for_a_command(
    kinen: Callable[..., Ran], space: Path, text: str
) -> None:
    saved = json.loads(kinen("save", *text.split(), "--json").out)
    assert text in (space / saved["path"]).read_text()
    assert text in kinen("save", "--list").out


def test_what_is_saved_in_one_form_is_read_in_the_other(kinen: Callable[..., Ran]) -> None:
    assert kinen("save", "--event", "the kettle is on", "--session", "s1").code == 0
    assert "the kettle is on" in kinen("list", "observations").out
    assert "the kettle is on" in kinen("session", "entries", "observations", "--session", "s1").out
    pinned = kinen("save", "--pin", "Never boil it dry").out.split()[0]
    assert "Never boil it dry" in kinen("list", "pins").out
    assert kinen("forget", "--pin", pinned).code == 0
    assert kinen("list", "pins").code == 1
    assert kinen("save", "descaled", "--tag", "tea").code == 0
    assert "descaled" in kinen("checkpoint", "list", "--tag", "tea").out
    assert "descaled" in kinen("save", "--tag", "tea", "--list").out


def complete(kinen: Callable[..., Ran], line: str) -> list[str]:
    words = line.split(" ")
    values = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    offered = kinen(**values, _KINEN_COMPLETE="bash_complete").out.splitlines()
    return [row.partition(",")[2] for row in offered]


def test_completion_has_the_listed_names_and_others_once_typed(kinen: Callable[..., Ran]) -> None:
    assert complete(kinen, "kinen ") == LISTED
    assert complete(kinen, "kinen se") == ["search", "session", "serve"]
    assert complete(kinen, "kinen s")[-2:] == ["snapshot", "sync"]
    assert complete(kinen, "kinen che") == ["checkpoint"]
    assert complete(kinen, "kinen session r") == ["resume", "round"]
    assert complete(kinen, "kinen session round ") == ["new"]
    assert "--event" in complete(kinen, "kinen save --e")
    assert complete(kinen, "kinen save --event --ki") == ["--kind"]


def test_help_shows_the_options_that_people_use_and_the_others_with_all(
    kinen: Callable[..., Ran],
) -> None:
    short, long = kinen("search", "--help").out, kinen("search", "--help", "--all").out
    assert kinen("help", "search", "--all").out == long
    assert "--type" in short
    assert "--min-score" not in short
    assert "--help --all      show 21 more options" in short
    assert "--min-score" in long
    assert "--help --all" not in long
    searched = [option for option in command("search").params if isinstance(option, click.Option)]
    assert sum(not getattr(row, "rare", False) and not row.hidden for row in searched) == 10


@pytest.mark.parametrize("name", [*LISTED, *HOMES])
def test_a_short_help_is_short_and_leaves_nothing_out_of_few(
    ask: Callable[..., Ran], name: str
) -> None:
    short, long = (
        ask(*name.split(), "--help", *more).out.split("Options:")[1] for more in ((), ("--all",))
    )
    if len([line for line in long.splitlines() if line.startswith("  -")]) <= FEW:
        assert short == long
