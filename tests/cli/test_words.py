"""Every command keeps to the tables of options and verbs in CONTRIBUTING.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kinen.cli.groups import root
from kinen.verbs import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
OWN = {
    ("kinen files", "-t"): "the tag that files must have, as before types existed",
    ("kinen daemon logs", "-f"): "--follow, as in tail",
    ("kinen daemon logs", "-n"): "--lines, as in tail",
    ("kinen history", "-p"): "--patch, as in git log",
    ("kinen resources add", "--to"): "the folder to copy to",
    ("kinen tags", "--files"): "tags of files only",
    ("kinen save", "--context"): "what led to it",
    ("kinen checkpoint", "--context"): "what led to the checkpoint",
    ("kinen hooks install", "--tags"): "suggest tags in commit messages",
    ("kinen config set", "--user"): "the user's own file",
    ("kinen config unset", "--user"): "the user's own file",
}
"""Options that mean something else than in the table, and why."""
NO_SHORT = {"kinen tag"}
"""Commands without one-letter options: `-security` removes a tag."""


def rows(head: str) -> list[list[str]]:
    """The cells of the table that begins with a row."""
    lines = TEXT.split(head, 1)[1].splitlines()[2:]
    table = [line for line in lines[: lines.index("")] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def options() -> dict[str, tuple[set[str], set[str]]]:
    """Each option of the table → its names, and its aliases."""
    table = {}
    for option, short, aliases, _ in rows("| option | short | aliases | what it means |"):
        name = re.findall(r"--[a-z-]+", option)[0]
        names = {name, *re.findall(r"-[a-zA-Z0-9]\b", short)}
        table[name] = names, set(re.findall(r"--[a-z-]+", aliases))
    return table


def commands() -> Iterator[tuple[str, click.Command]]:
    def below(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
        yield path, command
        if isinstance(command, click.Group):
            for name, inner in command.commands.items():
                yield from below(inner, f"{path} {name}")

    for name in catalogue.names():
        command = root.get_command(click.Context(root), name)
        assert command is not None
        yield from below(command, f"kinen {name}")


ALL = dict(commands())


def test_an_option_has_the_names_of_the_table() -> None:
    table = options()
    measured = {name: option for option, names in table.items() for name in set.union(*names)}
    for path, param in ((path, param) for path, row in ALL.items() for param in row.params):
        if not isinstance(param, click.Option):
            continue
        names = {name for name in param.opts if (path, name) not in OWN}
        longs = [name for name in param.opts if name.startswith("--") and name in names]
        if longs and longs[0] in table:
            output, aliases = table[longs[0]]
            assert names <= output | aliases, f"{path}: {names} are not all names of {longs[0]}"
            if path not in NO_SHORT:
                assert output <= names, f"{path}: {longs[0]} is also {output - names}"
            if longs[0] in ("--since", "--until", "--tag"):
                assert aliases <= names, f"{path}: {longs[0]} is also {aliases - names}"
        else:
            used = {name: measured[name] for name in names if name in measured}
            assert not used, f"{path}: {used} mean something else in the table"
            short = {name for name in names if len(name) == 2}
            assert not short, f"{path}: {short} are not in the table"


def test_verbs_are_those_of_the_table() -> None:
    verbs = {
        word
        for cells in rows("| verb | what it does |")
        for word in re.findall(r"`([a-z]+)`", cells[0])
    }
    used = {path.split()[2] for path in ALL if len(path.split()) > 2}
    assert used <= verbs, used - verbs


def test_lists_and_entries_come_as_json_too() -> None:
    for path in (path for path in ALL if path.endswith((" list", " show"))):
        assert any("--json" in param.opts for param in ALL[path].params), path


def test_a_period_has_the_same_names_in_every_command(kinen) -> None:
    kinen("log", "the kettle is on", "--session", "s1", "--agent", "claude-code")
    for words in (
        ("--since", "1d", "--until", "1d"),
        ("--after", "1d", "--before", "1m"),
        ("--from", "1d", "--to", "1m"),
        ("--days", "2"),
        ("--since", "1700000000"),
        ("--since", "1700000000000"),
    ):
        for command in (("list", "observations"), ("search", "kettle"), ("recall", "kettle")):
            ran = kinen(*command, *words)
            assert ran.code in (0, 1), (command, words, ran.err)
    both = kinen("search", "kettle", "--days", "2", "--since", "1d")
    assert (both.code, both.out) == (2, "")
    assert "--since: cannot be combined with days" in both.err


def test_names_match_by_their_beginning_and_an_empty_export_is_an_error(kinen) -> None:
    kinen("log", "the kettle is on", "--session", "3a9810da-11", "--agent", "claude-code")
    for words in (("--session", "3a98"), ("--agent", "claude"), ("--agent", "CODE")):
        assert "kettle" in kinen("list", "observations", *words).out
        assert "kettle" in kinen("export", *words).out
        assert "kettle" in kinen("search", "--fulltext", "kettle", *words).out
        assert kinen("list", "observations", words[0], "98").code == 1
    empty = kinen("export", "--session", "zzz")
    assert (empty.code, empty.out) == (2, "")
    assert "no session 'zzz' in this space" in empty.err


def test_the_plain_forms_of_a_command_line(kinen, space) -> None:
    kinen("log", "the kettle is on")
    assert kinen("help", "plan", "save").out == kinen("plan", "save", "--help").out
    assert kinen("version").out == kinen("--version").out
    result = kinen("--space", str(space), "query", "--mode", "fts", "kettle", cwd=space.parent)
    assert "the kettle is on" in result.out, result.err
    assert kinen("query", "--tags", "a,b").err == kinen("files", "--tags", "a,b").err
    listed = kinen("--space", str(space), "list", "observations", cwd=space.parent)
    assert "the kettle is on" in listed.out
