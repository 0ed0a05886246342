"""Settings of any layout: what the user writes stays to the byte, what is ours comes and goes."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from kinen.errors import KinenError
from kinen.hooks.install import AGENTS, install, places_of, uninstall
from kinen.hooks.jsontext import bare

if TYPE_CHECKING:
    from collections.abc import Callable

    Texts = st.SearchStrategy[str]

MANY = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
REMARKS = {"jsonc": "// ", "toml": "# ", "yaml": "# "}


class Desk:
    """A home with one file of settings, and two places where kinen is installed."""

    def __init__(self, agent: str, project: Path, home: Path, patch: pytest.MonkeyPatch) -> None:
        self.agent = agent
        self.project = str(project)
        self.patch = patch
        places = places_of(agent, "user", self.project)
        place = next(place for place in places if place.parts[-1].part in ("server", "notify"))
        self.form = place.form
        self.file = Path(place.file)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.kinens = [home / "first" / "kinen", home / "second place" / "kinen"]
        for program in self.kinens:
            program.parent.mkdir(exist_ok=True)
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)

    def write(self, text: str) -> None:
        self.file.write_bytes(text.encode())

    @property
    def text(self) -> str:
        return self.file.read_bytes().decode()

    def install(self, kinen: int = 0) -> str:
        """What was done to the file."""
        self.patch.setattr(sys, "argv", [str(self.kinens[kinen])])
        done = install(self.agent, "user", self.project)
        return next(file.done for file in done if file.path == str(self.file))

    def uninstall(self) -> None:
        uninstall(self.agent, "user", self.project)

    def parsed(self, text: str) -> Any:
        if self.form == "toml":
            return tomllib.loads(text)
        if self.form == "yaml":
            return yaml.safe_load(text) or {}
        return json.loads(bare(text).removeprefix("\ufeff"))


@pytest.fixture
def desk(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Desk]:
    for agent in AGENTS.values():
        if agent.variable:
            monkeypatch.delenv(agent.variable, raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    project = tmp_path / "project"
    project.mkdir()
    return lambda agent: Desk(agent, project, home, monkeypatch)


# Each line of the user has a word of its own, `u1`, `u2` …, by which an edit finds it again.


def numbered(lines: list[str]) -> list[str]:
    return [line.replace("@", f"u{n}") for n, line in enumerate(lines)]


def ended(draw: Any, text: str) -> str:
    """The text with line ends of Windows, without the last one, or with some more."""
    text = draw(st.sampled_from([text, text, text.rstrip("\n"), text + "\n\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@st.composite
def jsonc(draw: Any, section: str) -> str:
    """Members in lines of their own; `~` stands for a level."""
    members = draw(
        st.lists(
            st.sampled_from(
                [
                    '"@": 1',
                    '"@": {"a": [1, 2], "b": null} // why',
                    '"@": "// no { comment", /* but */ "x@": 1.50',
                    '"@": [\n~~1\n~]',
                ]
            ),
            max_size=3,
        )
    )
    inner = draw(
        st.sampled_from(
            [
                *(None, None, "null", "{}", "{ }", "{\n~}", "{ /* none */ }"),
                '{"@": {"command": "x"}}',
                '{\n~~"@": {"command": "x"} // mine\n~}',
                '{\n~~// first\n~~"@": {}\n~~// last\n~}',
            ]
        )
    )
    if inner is not None:
        members.insert(draw(st.integers(0, len(members))), f'"{section}": {inner}')
    last_comma = draw(st.sampled_from(["", ","]))
    lines = ["{ // @"]
    for n, member in enumerate(members):
        lines += draw(st.sampled_from([[], ["~// about @"], ["", "~/* @\n~*/"]]))
        comma = "," if n < len(members) - 1 else last_comma
        value, remark, why = member.partition(" // why")
        lines.append(f"~{value}{comma}{remark}{why}")
    text = "\n".join(numbered([*lines, "} // @"]) if members else ["{}"]) + "\n"
    text = text.replace("~", draw(st.sampled_from(["  ", "    ", "\t"])))
    return draw(st.sampled_from(["", "\ufeff"])) + ended(draw, text)


@st.composite
def toml(draw: Any) -> str:
    roots = draw(
        st.lists(
            st.sampled_from(
                [
                    *("@ = 1", "@ = 1 # why", "# about @", "", '"a.@" = "x = [y] # no"'),
                    *('@ = [\n  "[no]", # yes\n  "x",\n]', '@ = """\n[no]\nx = 1 # no\n"""'),
                    "@ = { a = [1, 2], b = '}' }",
                ]
            ),
            max_size=4,
        )
    )
    servers = draw(
        st.sampled_from(
            [
                *([], [], ["[mcp_servers]"], ["[mcp_servers] # @", "", "# about @"]),
                ["[mcp_servers.@] # why", 'command = "x@"', "", "# below @"],
                ["[mcp_servers.@.env]", "a@ = 1"],
            ]
        )
    )
    if not servers:
        roots += draw(
            st.sampled_from(
                [
                    *([], [], ["mcp_servers = {}"], ['mcp_servers = {@ = {command = "x"}}']),
                    ['mcp_servers.@.command = "x"'],
                ]
            )
        )
    tables = draw(
        st.lists(
            st.sampled_from(
                [
                    ["[t@]", "a@ = 1", "", "# end @"],
                    ['[p."/a b@"]', "t@ = 'x' # yes"],
                    ["[[l]]", "a@ = 1", "  [l.b]", "  c@ = 2"],
                ]
            ),
            max_size=3,
        )
    )
    parts = draw(st.permutations([servers, *tables]))
    lines = numbered([*roots, *(line for part in parts for line in part)])
    return ended(draw, "".join(f"{line}\n" for line in lines))


@st.composite
def yaml_text(draw: Any) -> str:
    roots = draw(
        st.lists(
            st.sampled_from(
                [
                    *("@: 1", "@: it's # why", "# about @", "", '"@": "# no: {"'),
                    *(
                        "@:\n  - a\n  - b: c # last",
                        "@: |-\n  kinen: no\n  # no\n",
                        "@: {a: [1, 2]}",
                    ),
                    *("@: &n@\n  a: 1\nx@: *n@", "@: &m@ {a: 1}\nx@: [*m@, *m@]", "@:"),
                ]
            ),
            max_size=4,
        )
    )
    section = draw(
        st.sampled_from(
            [
                *([], [], ["extensions:"], ["extensions: # @"], ["extensions: ~"]),
                *(["extensions: null # @"], ["extensions: {}"], ["extensions: {@: {a: 1}} # x"]),
                ["extensions:", "  # about @", "  e@:", "    a: 1 # x", "  # end @"],
                ["extensions:", "    e@: {a: 1}", "", "    f@: x", "# after @"],
            ]
        )
    )
    parts = draw(st.permutations([*([root] for root in roots), section]))
    lines = numbered([line for part in parts for line in part])
    return ended(draw, "".join(f"{line}\n" for line in lines))


TEXTS = {
    "zed": jsonc("context_servers"),
    "opencode": jsonc("mcp"),
    "codex": toml(),
    "goose": yaml_text(),
}


def edited(text: str, remark: str, edits: list[tuple[str, int]]) -> str:
    """The text after some edits of its user: comments above and below known lines, and around."""
    end = "\r\n" if "\r\n" in text else "\n"
    for kind, n in edits:
        lines = text.split("\n")
        if kind == "top" and remark == "# ":
            text = f"{remark}top {n}{end}{text}"
        elif kind == "end":
            text = f"{text}{remark}end {n}{end}"
        elif kind in ("above", "below"):
            for at, line in enumerate(lines):
                if line.lstrip().startswith((f"u{n}", f'"u{n}"', f"eu{n}", f"{remark}about u{n}")):
                    if line.rstrip().endswith(("[", '"""', "|", ":")) and kind == "below":
                        break
                    indent = line[: len(line) - len(line.lstrip())]
                    more = f"{indent}{remark}note {n}" + end[:-1]
                    lines.insert(at + (kind == "below"), more)
                    break
            text = "\n".join(lines)
    return text


EDITS = st.lists(
    st.tuples(st.sampled_from(["top", "end", "above", "below", "below"]), st.integers(0, 12)),
    max_size=4,
)


@pytest.mark.slow
@pytest.mark.parametrize("agent", TEXTS)
@MANY
@given(st.data())
def test_what_the_user_wrote_since_the_install_stays_to_the_byte(
    desk: Callable[[str], Desk], agent: str, data: st.DataObject
) -> None:
    table = desk(agent)
    before = data.draw(TEXTS[agent], label="before")
    edits = data.draw(EDITS, label="edits")
    edits = [edit for edit in edits if edit[0] != "end" or before.endswith("\n")]
    remark = REMARKS[table.form]
    table.write(before)
    value = table.parsed(before)
    assert table.install() == "installed"
    assert table.install() == "unchanged"
    installed = table.text
    assert table.parsed(installed) != value
    changed = edited(installed, remark, edits)
    expected = edited(before, remark, edits)
    try:
        table.parsed(changed)
    except (ValueError, yaml.YAMLError):
        reject()  # such as a remark within a block of text
    table.write(changed)
    if data.draw(st.booleans(), label="update"):
        assert table.install(1) == "updated"
        for line in expected.split("\n"):
            if remark in line:
                assert line[line.index(remark) :].strip() in table.text
        assert table.install(1) == "unchanged"
    table.uninstall()
    assert table.text == expected
    table.uninstall()
    assert table.text == expected


@pytest.mark.parametrize("agent", ["zed", "gemini", "claude-code", "codex", "goose"])
def test_a_file_that_install_made_goes_and_one_with_a_line_of_the_user_stays(
    desk: Callable[[str], Desk], agent: str
) -> None:
    table = desk(agent)
    table.install()
    made = table.text
    table.uninstall()
    assert not table.file.exists()
    table.install()
    remark = REMARKS.get(table.form)
    if remark is None:
        return
    table.write(f"{remark}mine\n{made}")
    table.uninstall()
    assert table.text == f"{remark}mine\n" + ("" if remark == "# " else "{}\n")


def test_a_place_where_our_entry_would_change_others_is_refused_and_nothing_is_written(
    desk: Callable[[str], Desk],
) -> None:
    table = desk("goose")
    for text in (
        "x: &a {b: 1}\nextensions: *a\n",
        "x: &a\n  b: 1\nextensions: *a\n",
        "extensions: &a\n  b: 1\ny: *a\n",  # what it names would change too
        "extensions: &a\ny: *a\n",
        "y: |\n  a text without a line end at the end of the file",
    ):
        table.write(text)
        with pytest.raises(KinenError) as refused:
            table.install()
        assert "nothing was written" in refused.value.hint
        assert table.text == text
    billion = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 25))
    table.write(f"l0: &l0 [x]\n{billion}")
    assert table.install() == "installed"
    table.uninstall()
    assert table.text == f"l0: &l0 [x]\n{billion}"


@pytest.mark.parametrize(
    "text",
    [
        '{"hooks": null}',
        '{"hooks": {"Stop": null}, "x": 1}',
        '{\n  "hooks": {\n    "Stop": [\n    ]\n  }\n}\n',
        '{"hooks": {"Stop": []}, "a": 1, "a": 2}',
        '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say"}]}]},"x":[{}]}',
    ],
)
def test_sections_that_are_null_or_empty_come_back_as_they_were(
    desk: Callable[[str], Desk], text: str
) -> None:
    table = desk("claude-code")
    for before in (text, text.replace("{", '{"theme": "dark", ', 1)):
        path = Path(os.environ["HOME"]) / ".claude" / "settings.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        install("claude-code", "user", table.project)
        assert "kinen" in path.read_text()
        if before != text:  # the user adds an entry meanwhile
            path.write_text(path.read_text().replace("{", '{"theme": "dark", ', 1))
        uninstall("claude-code", "user", table.project)
        assert path.read_text() == before


def test_hooks_that_the_user_moved_go_without_a_rest(desk: Callable[[str], Desk]) -> None:
    table = desk("claude-code")
    path = Path(os.environ["HOME"]) / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    mine = {"hooks": [{"type": "command", "command": "say done"}]}
    path.write_text(json.dumps({"hooks": {"Stop": [mine]}}, indent=2))
    install("claude-code", "user", table.project)
    settings_ = json.loads(path.read_text())
    settings_["hooks"]["Stop"].reverse()
    settings_["hooks"] = dict(reversed(settings_["hooks"].items()))
    path.write_text(json.dumps(settings_))
    uninstall("claude-code", "user", table.project)
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [mine]}}


@pytest.mark.parametrize("agent", ["claude-code", "codex", "goose"])
def test_the_target_of_a_dangling_link_comes_and_goes_and_the_link_stays(
    desk: Callable[[str], Desk], agent: str
) -> None:
    table = desk(agent)
    target = table.file.parent / "dot" / "files" / "settings"
    table.file.symlink_to(target)
    table.install()
    assert "kinen" in target.read_text()
    table.uninstall()
    assert table.file.is_symlink()
    assert not target.exists()
    assert not target.parent.parent.exists()


def test_the_text_with_our_entries_is_kept_until_the_next_install(
    desk: Callable[[str], Desk], home: Path
) -> None:
    table = desk("codex")
    table.write('model = "x"\n')
    table.install()
    table.write(table.text + "\n# mine\n[later]\n")
    last = table.text
    table.uninstall()
    assert table.text == 'model = "x"\n\n# mine\n[later]\n'
    (backup,) = (home / "kinen" / "backups").glob("*config.toml")
    assert backup.read_text() == last
    table.install()
    assert backup.read_text() == 'model = "x"\n\n# mine\n[later]\n'


def test_rules_keep_what_is_written_around_them(desk: Callable[[str], Desk]) -> None:
    table = desk("goose")
    rules = table.file.parent / ".goosehints"
    for text in ("", "Be brief.", "Be brief.\n", "Be brief.\r\n\r\n"):
        rules.write_bytes(text.encode())
        table.install()
        end = "\r\n" if "\r" in text else "\n"
        after = f"{end}Be kind.{end}" if text.endswith("\n") else ""
        rules.write_bytes(f"Top.{end}".encode() + rules.read_bytes() + after.encode())
        installed = rules.read_bytes()
        assert table.install() == "unchanged"
        assert rules.read_bytes() == installed
        table.uninstall()
        assert rules.read_bytes().decode() == f"Top.{end}{text}{after}"
