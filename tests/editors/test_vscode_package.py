"""The VS Code extension as its sources have it: commands, version, settings, what it talks to.

What it does in an editor is tested by `make editors`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kinen import __version__
from kinen.cli.groups import root

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[2] / "editors" / "vscode"
PACKAGE = json.loads((FOLDER / "package.json").read_text())
SOURCES = {path: path.read_text() for path in sorted(FOLDER.glob("src/*.ts"))}
SHOWN = [*SOURCES.values(), *(path.read_text() for path in FOLDER.glob("media/*"))]
LINES = 400


def command(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that a line runs, and the rest of its words."""
    target: click.Command = root
    for place, word in enumerate(words):
        if not isinstance(target, click.Group) or word.startswith("-"):
            return target, words[place:]
        inner = target.get_command(click.Context(target), word)
        assert inner, f"no command {words}"
        target = inner
    return target, []


def lines_run() -> Iterator[list[str]]:
    for body in re.findall(r"return \[(.+?)\];", (FOLDER / "src" / "words.ts").read_text()):
        yield re.findall(r'"([^"]+)"', body)
    yield from (["mcp"], ["lsp"])


def test_every_command_line_is_known_to_kinen() -> None:
    lines = list(lines_run())
    assert len(lines) > 10
    for words in lines:
        subject, rest = command(words)
        names = {name for param in subject.params for name in param.opts}
        options = [word for word in rest if word.startswith("--") and word != "--"]
        assert {*options} <= names, words


def test_the_package_has_the_version_of_kinen_and_pins_what_it_is_built_with() -> None:
    assert PACKAGE["version"] == __version__
    assert "dependencies" not in PACKAGE, "the bundle has everything"
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    assert lock["version"] == __version__
    for name, version in PACKAGE["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
        assert lock["packages"][f"node_modules/{name}"]["version"] == version
    hosts = {
        re.sub(r"(//[^/]+).*", r"\1", url) for url in re.findall(r'"resolved": "([^"]+)', str(lock))
    }
    assert hosts <= {"https://registry.npmjs.org"}


def test_every_command_of_the_palette_is_registered() -> None:
    text = SOURCES[FOLDER / "src" / "extension.ts"]
    names = {
        entry["command"].removeprefix("kinen.") for entry in PACKAGE["contributes"]["commands"]
    }
    assert names == {
        *re.findall(r'command\("(\w+)"', text),
        *re.findall(r'registerCommand\("kinen\.(\w+)"', text),
    }


def test_a_workspace_cannot_choose_the_program() -> None:
    settings = PACKAGE["contributes"]["configuration"]["properties"]
    assert settings["kinen.path"]["scope"] == "machine"
    trust = PACKAGE["capabilities"]["untrustedWorkspaces"]
    assert trust["supported"] == "limited"
    assert "kinen.path" in trust["restrictedConfigurations"]


def test_nothing_leaves_the_machine_and_content_runs_nothing() -> None:
    for text in SHOWN:
        words = re.sub(r"//www\.w3\.org/2000/svg", "", text)
        assert not re.search(
            r"https?://|telemetry|fetch\(|XMLHttpRequest|WebSocket|node:https", words, re.IGNORECASE
        )
        assert not re.search(
            r"isTrusted = true|supportHtml = true|enableCommandUris: true|eval\(", text
        )
        # A link in a hover may do one thing.
        words = text.replace("command:kinen.openSession?", "")
        assert not re.search(r"command:\w+\.|shell: true|\bexec\(['\"`]", words)
    starters = {path.name for path, text in SOURCES.items() if "node:child_process" in text}
    assert starters == {"process.ts"}


def test_files_are_short() -> None:
    for path, text in SOURCES.items():
        assert text.count("\n") <= LINES, path.name
