"""A secret that any surface is told is in no file that kinen writes, nor in the name of one."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import pytest

import forked
from kinen import Memory
from kinen.agents import claude_code
from kinen.cli import groups
from kinen.hooks import command as hooks
from kinen.hooks import event
from kinen.journal import write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Ran

    Kinen = Callable[..., Ran]

TOKEN = "gh" + "p_" + "Zq7Rk2Vx9Lm4Tn8Wb3Yc6Hd1Jf5Gs0Pa4Ke7"
MASK = "[masked:github_token]"
QUIET = {"KINEN_INDEX_EMBEDDING_PROVIDER": "none"}
STAYS = ("daemon", "serve", "mcp", "hook", "demo", "install", "uninstall", "watch", "upgrade")
"""Commands that do not end, or that write into other programs' files."""


@pytest.fixture(autouse=True)
def alone(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    monkeypatch.chdir(space)


def leaks(*folders: Path, secret: str = TOKEN) -> list[str]:
    """Every file with a secret in its bytes or in its name."""
    for db in write.open_connections:
        db.close()
    write.open_connections.clear()
    results = []
    for folder in folders:
        for path in folder.rglob("*"):
            inside = path.is_file() and secret.encode() in path.read_bytes()
            if inside or secret in path.name:
                results.append(str(path))
    return results


def hook(payload: dict[str, Any]) -> None:
    line = ["hook", "claude-code"]
    done = forked.shared().run(line, os.getcwd(), json.dumps(payload), dict(os.environ))
    assert (done.code, done.err) == (0, b"")


def fields_of_hooks() -> set[str]:
    """Every key of a payload that the code looks at."""
    source = "".join(inspect.getsource(module) for module in (claude_code, event, hooks))
    return set(
        re.findall(r'(?:text_of\(\S*(?:said|payload), |(?:said|payload)\.get\()"(\w+)"', source)
    )


@pytest.mark.parametrize("name", sorted(hooks.HANDLERS))
def test_no_field_of_a_hook_leaks_a_secret(space: Path, home: Path, name: str) -> None:
    output: dict[str, Any] = {field: f"{field} {TOKEN}" for field in fields_of_hooks()}
    output.update(hook_event_name=name, cwd=f"{space}/{TOKEN}", session_id=TOKEN)
    del output["isMeta"]
    tools: dict[str, Any] = {
        TOKEN: {TOKEN: TOKEN, "a": 1},
        "Bash": {"command": f"curl {TOKEN}"},
        "Edit": {"file_path": f"{space}/{TOKEN}.py", "old_string": f"key {TOKEN}"},
        "Grep": {"pattern": TOKEN, "path": f"/{TOKEN}", "url": TOKEN, "query": TOKEN},
    }
    for number, (tool, values) in enumerate(tools.items()):
        output.update(tool_name=tool, tool_input=values, tool_use_id=f"{number} {TOKEN}")
        output["tool_response"] = {"stdout": TOKEN, TOKEN: TOKEN}
        hook(output)
    assert not leaks(home, space)
    with Memory.open(space) as memory:
        observations, _ = memory.journal.entries("observations", session=TOKEN)
        assert bool(observations) == (name in claude_code.READERS)


def test_no_word_of_a_command_line_leaks_a_secret(
    space: Path, home: Path, tmp_path: Path, kinen: Kinen
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2\n")
    (space / "note.md").write_text("# Note\n")
    lines = [
        ["log", TOKEN, "--session", TOKEN, "--agent", TOKEN, "--file", f"{TOKEN}.md"],
        ["log", TOKEN, "--session", TOKEN, "--agent", TOKEN, "--file", f"{TOKEN}.md", "--json"],
        ["session", "new", f"deploy with {TOKEN}"],
        ["round", "new", f"rotate {TOKEN}"],
        ["session", "close", "--summary", f"used {TOKEN}"],
        ["resources", "add", str(file), "--note", TOKEN, "--tag", TOKEN, "--to", TOKEN],
        ["pin", "note.md", "--note", TOKEN, "--session", TOKEN],
        ["capsule", "open", TOKEN, "--session", TOKEN, "--agent", TOKEN],
        ["checkpoint", f"used {TOKEN}", "--tag", TOKEN],
        ["plan", "save", f"Plan {TOKEN}", "--content", TOKEN],
        ["init", str(tmp_path / "other"), "--name", TOKEN],
        ["search", TOKEN, "--session", TOKEN],
        ["recall", TOKEN, "--distiller", "extract"],
    ]
    for line in lines:
        kinen(*line)
    assert not leaks(home, space, tmp_path / "other")
    listed = kinen("list", "observations", "--session", TOKEN, "--json")
    assert len(json.loads(listed.out)["observations"]) == 2
    exported = kinen("export", "--session", TOKEN)
    assert len(json.loads(exported.out)["observations"]) == 2
    assert TOKEN not in exported.out
    assert [path.name for path in (space / "sessions").glob("*masked-github-token*")]


PASSWORD = "Hunter" + "2pass99"
ENCODED = (
    f"Location: https://app/cb?next=%2Fx%3Faccess_token%3D{TOKEN}%26a%3D1\n"
    f"url=https%3A%2F%2Fuser%3A{PASSWORD}%40host and \x1b[31m{TOKEN}\x1b[0m, x{TOKEN}\n"
    f"https://a.example/?q=1\\u0026password={PASSWORD} kind: ok &quot;{TOKEN}&quot;\n"
)


def test_a_secret_behind_an_escape_is_in_no_file(space: Path, home: Path, kinen: Kinen) -> None:
    payload: dict[str, Any] = {
        "hook_event_name": "PostToolUse",
        "session_id": "s1",
        "cwd": str(space),
        "tool_name": "Bash",
        "tool_use_id": "t1",
        "tool_input": {"command": "curl -i 'https://app/login?r=%2Fa%3Ftoken%3D" + TOKEN + "'"},
        "tool_response": {"stdout": ENCODED, "stderr": ENCODED},
    }
    hook(payload)
    assert kinen("log", ENCODED).code == 0
    assert kinen("checkpoint", ENCODED).code == 0
    assert kinen("index").code == 0
    listed = kinen("list", "observations", "--json").out
    assert len(json.loads(listed)["observations"]) == 2
    assert "access_token%3D[masked:github_token]%26a%3D1" in listed
    for secret in (TOKEN, PASSWORD):
        assert not leaks(home, space, secret=secret)


def commands(group: click.Group, *above: str) -> Iterator[tuple[list[str], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)
        elif command is not None and not {name, *above} & set(STAYS):
            yield [*above, name], command


def planted(command: click.Command, file: Path) -> list[str]:
    """Words for every argument and option that takes text, each with the secret."""
    words: list[str] = []
    for param in command.params:
        if isinstance(param.type, click.Choice):
            value = str(param.type.choices[0])
        elif isinstance(param.type, click.Path):
            value = str(file)  # what a user calls their own files is theirs
        elif isinstance(param.type, (click.types.IntParamType, click.types.FloatParamType)):
            value = "1"
        else:
            value = TOKEN
        if isinstance(param, click.Argument):
            words.append(value)
        elif isinstance(param, click.Option) and not param.is_flag and not param.is_eager:
            words += [param.opts[0], value]
    return words


def test_no_option_of_any_command_leaks_a_secret(
    space: Path, home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """All of a command's options at once, then only its arguments: most accept one of the two."""
    tried = 0
    file = tmp_path / "a.md"
    file.write_text("# Note\n")
    for path, command in commands(groups.root):
        if path in (["config", "set"], ["init"]):
            continue  # what a user puts into a file of their own stays; see below for init
        arguments = [word for word in planted(command, file) if not word.startswith("-")]
        count = sum(isinstance(param, click.Argument) for param in command.params)
        for words in (planted(command, file), arguments[:count]):
            groups.run([*path, *words])
            tried += 1
    capfd.readouterr()
    assert tried > 60
    assert not leaks(home, space)


def test_no_field_of_a_tool_leaks_a_secret(space: Path, home: Path) -> None:
    from kinen.errors import KinenError
    from kinen.mcp.calls import TOOLS

    (space / "note.md").write_text("# Note\n")
    wrote = set()
    with Memory.open(space) as memory:
        for tool in TOOLS.values():
            output: dict[str, Any] = {}
            for name, field in tool.model_fields.items():
                shape = str(field.annotation)
                if shape == "<class 'str'>" and not (field.json_schema_extra or {}):
                    output[name] = TOKEN
                elif shape.startswith("list"):
                    output[name] = [TOKEN]
            some = {"capsule": "", "ref": "note.md", "path": "note.md", "ttl": ""}
            some["kind"] = "message"
            for less in ({}, some, {**some, "text": ""}):
                values = {**output, **{key: less[key] for key in less if key in output}}
                try:
                    part, fields = tool.part(values)
                    part.model_validate(fields).answer(memory)
                    wrote.add(part.tool_name)
                except (KinenError, ValueError):
                    continue
    assert {"kinen_observe", "kinen_checkpoint", "kinen_pin"} <= wrote
    assert not leaks(home, space)


def test_a_foreign_bundle_brings_no_secret(space: Path, home: Path, kinen: Kinen) -> None:
    scope = {f"{name}Id": TOKEN for name in ("session", "repo", "agent", "user", "task")}
    observation = {"id": TOKEN, "kind": "message", "content": TOKEN, "ts": 1, "scopeIds": scope}
    observation |= {"branch": TOKEN, "head": TOKEN, "files": [TOKEN], "capsuleId": f"c {TOKEN}"}
    observation["provenance"] = {TOKEN: {TOKEN: [TOKEN]}}
    capsule = {"id": f"c {TOKEN}", "type": "session", "intent": TOKEN, "status": "closed"}
    capsule |= {"openedAt": 1, "reason": TOKEN, "scopeIds": scope, "observationIds": [TOKEN]}
    summary = {"id": f"s {TOKEN}", "capsuleId": f"c {TOKEN}", "content": TOKEN, "createdAt": 1}
    pin = {"id": f"p {TOKEN}", "targetType": "note", "targetId": TOKEN, "reason": TOKEN}
    pin |= {"createdAt": 1, "scopeIds": scope}
    memory = {"id": f"m {TOKEN}", "type": TOKEN, "content": TOKEN, "createdAt": 1}
    memory |= {"derivedFrom": [TOKEN], "scopeIds": scope}
    tag = {"id": f"t {TOKEN}", "path": TOKEN, "op": "+", "tag": TOKEN, "createdAt": 1}
    bundle = {"version": "1.0", "exported_at": 1, "observations": [observation]}
    bundle |= {"capsules": [capsule], "summaries": [{**summary, "evidenceRefs": [TOKEN]}]}
    bundle |= {"pins": [pin], "memories": [memory], "tag_ops": [tag]}
    bundle["suppressed"] = [{"ref": TOKEN, "at": 1}]
    file = home / "bundle.json"
    file.write_text(json.dumps(bundle))
    done = kinen("import", str(file))
    assert done.code == 0, done.err
    file.unlink()
    kinen("index")
    assert not leaks(home, space)
    with Memory.open(space) as opened:
        capsule_, held, summaries = opened.journal.capsule(
            opened.journal.entries("capsules")[0][0].id
        )
        assert len(held) == len(summaries) == 1
        assert capsule_.scope.session == MASK


def test_settings_in_variables_are_not_written(space: Path, home: Path) -> None:
    env = {**os.environ, "KINEN_SOMETHING": TOKEN}
    line = [sys.executable, "-m", "kinen", "log", "the kettle is on"]
    subprocess.run(line, env=env, cwd=space, capture_output=True, timeout=120, check=True)
    assert not leaks(home, space)


def test_two_events_with_secrets_for_ids_stay_two(space: Path) -> None:
    other = TOKEN[:-1] + "0"
    with Memory.open(space) as memory:
        for id_ in (TOKEN, other, TOKEN):
            memory.observe("the kettle is on", id=id_)
        assert memory.journal.entries("observations")[1] == 2
        assert memory.journal.observed(TOKEN)


def test_the_session_id_of_an_agent_is_not_masked(space: Path) -> None:
    id_ = "33c28a23-5135-4f71-a599-d854acb259a0"
    with Memory.open(space) as memory:
        entry = memory.observe("the kettle is on", scope={"session": id_})
        assert entry.scope.session == id_


# The index


def secret_space(space: Path) -> None:
    """Files of several formats and a commit, each with a secret."""
    (space / "note.md").write_text(f"---\ntags: [x]\nkey: {TOKEN}\n---\n# Use {TOKEN}\n\n{TOKEN}\n")
    (space / "code.py").write_text(f"key = '{TOKEN}'\n")
    (space / "page.html").write_text(f"<title>{TOKEN}</title><p>{TOKEN} kettle</p>")
    (space / "rows.csv").write_text(f"a,b\n1,{TOKEN}\n")
    for line in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", f"use {TOKEN}\n\nkettle"],
    ):
        subprocess.run(["git", *line], cwd=space, check=True, capture_output=True)


def test_switching_the_mask_of_the_index_on_leaves_no_secret_behind(
    space: Path, home: Path, kinen: Kinen
) -> None:
    secret_space(space)
    assert kinen("index").code == 0
    assert kinen("snapshot", "create").code == 0
    assert leaks(home)
    masked = {"KINEN_PRIVACY_MASK_INDEX": "true"}
    done = kinen("index", **masked)
    assert done.code == 0, done.err
    assert not leaks(home)
    data = json.loads(kinen("search", "kettle", "--json", **masked).out)["results"]
    assert {item["source"]["type"] for item in data} >= {"commit"}
    assert MASK in json.dumps(data)
    (space / "note.md").write_text(f"# Another\n\n{TOKEN}\n")
    assert kinen("index", **masked).code == 0
    assert kinen("search", "another", **masked).code == 0
    assert not leaks(home)
    assert kinen("index").code == 0
    assert leaks(home)


# Private text and vectors


def test_private_text_is_in_no_file_and_no_vector(
    space: Path, home: Path, monkeypatch: pytest.MonkeyPatch, kinen: Kinen
) -> None:
    import numpy as np

    from kinen.index import sync
    from kinen.index.writer import Writer

    monkeypatch.delenv("KINEN_INDEX_EMBEDDING_PROVIDER")
    secret = "zanzibarite ultramarine"
    hook(
        {
            "hook_event_name": "UserPromptSubmit",
            "cwd": str(space),
            "prompt": f"the kettle <private>{secret}</private> is on",
            "session_id": "",
        }
    )
    with Memory.open(space) as memory:
        memory.observe(f"a second kettle <private>{secret}</private>")
        memory.sync()
        embedder = memory.core.embedder
        assert embedder is not None
        stored = dict(memory.core.cache.vectors(embedder.fingerprint))
        with contextlib.closing(Writer(memory.core.file("index.db"))) as writer:
            texts = [*writer.texts(list(stored)).values()]
        assert texts
        assert secret.split(maxsplit=1)[0] not in str(texts)
        expected = np.asarray(sync.embed_texts(embedder, texts, {}), dtype="<f2")
        results = np.array([np.frombuffer(vector, dtype="<f2") for vector in stored.values()])
        assert np.allclose(results, expected, atol=0.01)
    kinen("search", "kettle")
    kinen("recall", "kettle", "--distiller", "extract")
    for word in secret.split():
        assert not leaks(home, space, secret=word)
