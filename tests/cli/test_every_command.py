"""Every command in an empty space: on a terminal of 80 columns and in a pipe.

`every_command.txt` has the output, so that a change is seen in review; UPDATE_SNAPSHOTS=1 writes
it.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kinen.cli.commands import COMMANDS
from kinen.cli.groups import root
from kinen.render.screen import columns
from terminal import COLUMNS, on_terminal

SNAPSHOT = Path(__file__).with_name("every_command.txt")
ARGUMENTS = {
    "ask": "why",
    "capsule close": "nothing",
    "capsule open": "--intent tea",
    "capsule show": "nothing",
    "cochange": "tea.md",
    "completion": "",
    "config get": "search.default_limit",
    "config set": "search.default_limit 5",
    "config unset": "search.default_limit",
    "fix": "ValueError",
    "forget": "nothing",
    "graph show": "tea.md",
    "history": "tea.md",
    "how": "pytest",
    "import": "nothing.json",
    "ledger show": "nothing",
    "list": "observations",
    "log": "hello",
    "memories edit": "nothing words",
    "memories forget": "nothing",
    "memories merge": "nothing other",
    "memories restore": "nothing",
    "memories show": "nothing",
    "memories supersede": "nothing other",
    "open": "tea.md",
    "pin": "nothing",
    "plan activate": "nothing",
    "plan check": "",
    "plan save": "Tea water",
    "plan show": "",
    "plan update": "nothing text",
    "recall": "",
    "redact": "nothing",
    "related": "tea.md",
    "resources add": "nothing.pdf",
    "resources remove": "nothing.pdf",
    "resources search": "tea",
    "round new": "Tea",
    "search": "tea",
    "session new": "Tea",
    "show": "tea.md",
    "snapshot restore": "nothing",
    "space add": "nothing",
    "space alias": "nothing other",
    "space remove": "nothing",
    "tag": "tea.md +hot",
    "team member add": "ada --allow shop --database nothing",
    "team member remove": "ada --database nothing",
    "team token create": "ada --allow shop --database nothing",
    "team token list": "--database nothing",
    "team token revoke": "nothing --database nothing",
    "uninstall": "claude-code",
    "unpin": "nothing",
}
"""Arguments of the commands that need some."""
SKIPPED = {
    "daemon install": "writes a unit of the service manager",
    "daemon restart": "starts a daemon",
    "daemon run": "runs until it is stopped",
    "daemon start": "starts a daemon",
    "demo": "builds a space of its own",
    "lsp": "waits for an editor",
    "mcp": "waits for a client",
    "serve": "runs until it is stopped",
    "pick": "runs until an entry is chosen",
    "team login": "waits for a token",
    "tui": "runs until it is closed",
    "ui": "runs until it is closed",
    "web": "runs until it is stopped",
    "checkpoint": "opens an editor",
    "checkpoint edit": "opens an editor",
    "plan edit": "opens an editor",
}
CHANGING = (
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
    (r"\d{8}T\d+Z", "TIME"),
    (r"exported_at\": \d+", 'exported_at": N'),
    (r"(?:\r?\x1b\[K[^\r\n\x1b]*)+\r?\x1b\[K", ""),
    (r"\d{8}-01-", "DATE-01-"),
    (r"\d{4}-\d\d-\d\d", "DATE"),
    (r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "ID"),
    (r"\b[0-9a-f]{16,64}\b", "HEX"),
    (r"\([\d.]+ s\)", "(N s)"),
    (r"\([\d.,]+ MB\)", "(N MB)"),
    (r"\b3\.\d+\.\d+\b", "VERSION"),
)


def leaves() -> list[str]:
    """The commands, without groups that only have subcommands."""

    def below(command: click.Command, path: str) -> list[str]:
        if not isinstance(command, click.Group):
            return [path]
        own = [path] if command.invoke_without_command else []
        inner = [below(inner, f"{path} {name}") for name, inner in command.commands.items()]
        return own + [leaf for leaves in inner for leaf in leaves]

    paths = []
    for _, name, _, _ in COMMANDS:
        command = root.get_command(click.Context(root), name)
        assert command is not None
        paths += below(command, name)
    return [path for path in paths if path not in SKIPPED]


def steady(text: str, places: dict[str, str]) -> str:
    """The text without what differs from run to run."""
    for place, name in places.items():
        text = text.replace(place, name)
    for pattern, name in CHANGING:
        text = re.sub(pattern, name, text)
    return text


def faults(code: int, text: str) -> list[str]:
    """What is wrong with the output of a command, wherever it is printed."""
    problems = []
    if code not in (0, 1, 2):
        problems.append(f"exit code {code}")
    if "Traceback" in text:
        problems.append("a traceback")
    if code and not text.strip():
        problems.append("fails in silence")
    if plural := re.search(r"(?<![\d,.:-])1 [a-z]{3,}s\b", text):
        problems.append(f"a plural of one: {plural[0]}")
    return problems


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path has always the same length: messages with it are wrapped."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="kinen-") as folder:
        yield Path(folder)


def test_every_command_in_an_empty_space(kinen, short_folder: Path, monkeypatch) -> None:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    sections = []
    problems: list[str] = []
    for n, leaf in enumerate(leaves()):
        outputs = []
        for where in ("terminal", "pipe"):
            folder = short_folder / f"{n:03}{where[0]}"
            space = folder / "space"
            (space / ".kinen").mkdir(parents=True)
            env = {"HOME": str(folder / "home"), "KINEN_HOME": str(folder / "home" / "kinen")}
            words = [*leaf.split(), *ARGUMENTS.get(leaf, "").split()]
            if where == "terminal":
                code, text = on_terminal(*words, cwd=space, **env)
            else:
                ran = kinen(*words, cwd=space, **env)
                code, text = ran.code, ran.out + ran.err
            text = steady(text, {str(space): "/space", str(folder / "home"): "/home"})
            problems += [f"{leaf}: {problem}" for problem in faults(code, text)]
            outputs.append((code, text.strip("\n")))
        (code, output), (piped_code, piped) = outputs
        wide = [line for line in output.splitlines() if columns(line) > COLUMNS]
        problems += [f"{leaf}: wider than the terminal: {line}" for line in wide]
        sections.append(f"$ kinen {' '.join(words)}  [{code}]\n{output}")
        if (piped_code, piped.split()) != (code, output.split()):
            sections.append(f"$ kinen {' '.join(words)} | cat  [{piped_code}]\n{piped}")
    whole = "\n\n".join(sections) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(whole)
    assert not problems, "\n".join(problems)
    assert whole == SNAPSHOT.read_text()
