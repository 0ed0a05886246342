"""`kinen lsp` as an editor uses it: a real client, a real process, real notes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pygls")

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException

from editor_client import Editor, converse, spot
from kinen.lsp.vault import Vault

if TYPE_CHECKING:
    from conftest import Ran

NOTES = {
    "tea.md": "---\naliases: [Chai, brew]\ntags: [drink, hot/leaf]\n---\n# Tea\n\nGreen *leaves*"
    " in ![](http://x.invalid/a.png) water.\n\n## How to brew it?\n\nEighty degrees.\n",
    "index.md": "# Home\n\n- 😀 see [[tea#How to brew it?|brewing]] and `[[tea]]` and [[Chai]]\n"
    "- [pot](sub/pot.md#a-lid) [[sub/pot]] ![[cup.png]] #hot/leaf\n- [[gone]] [x](none.md)\n",
    "sub/pot.md": "# Pot\n\n## A lid\n\nFor [tea](../tea.md) and [[../tea]], see [the rule][r].\n"
    '\n| a | b |\n|---|---|\n| [[tea\\|x]] | [[tea]] |\n\n[r]: ../tea.md "T"\n',
    "other/tea.md": "# Another\n",
    "cup.png": "png",
    ".gitignore": "ignored.md\n",
    "ignored.md": "[[nowhere]]\n",
}


@pytest.fixture
def vault(space: Path, write: Callable[[str, str], Path], tmp_path: Path) -> Path:
    for path, text in NOTES.items():
        write(path, text)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("# Secret\n\nthe outside words\n")
    os.symlink(outside, space / "leak")
    os.symlink(outside / "secret.md", space / "secret.md")
    return space


def file_of(uri: str) -> Path:
    return Path(uris.to_fs_path(uri) or "")


def apply(edit: types.WorkspaceEdit) -> None:
    """Do what an editor does with a workspace edit."""
    for change in edit.document_changes or ():
        if isinstance(change, types.RenameFile):
            new = file_of(change.new_uri)
            new.parent.mkdir(exist_ok=True)
            file_of(change.old_uri).rename(new)
            continue
        assert isinstance(change, types.TextDocumentEdit)
        file = file_of(change.text_document.uri)
        lines = file.read_text().split("\n")
        edits = sorted(change.edits, key=lambda e: (e.range.start.line, e.range.start.character))
        for text_edit in reversed(edits):
            assert isinstance(text_edit, types.TextEdit)
            row = text_edit.range.start.line
            units = lines[row].encode("utf-16-le")
            start = units[: 2 * text_edit.range.start.character].decode("utf-16-le")
            end = units[2 * text_edit.range.end.character :].decode("utf-16-le")
            lines[row] = start + text_edit.new_text + end
        file.write_text("\n".join(lines))


def test_each_question_of_an_editor_is_answered(vault: Path) -> None:
    async def steps(editor: Editor) -> None:
        result = await editor.begin()
        assert result.capabilities.rename_provider
        home = editor.open("index.md")

        messages = await editor.broken(home, lambda messages: len(messages) == 2)
        assert messages == [
            "broken link: nothing is called gone",
            "broken link: nothing is called none.md",
        ]
        assert editor.diagnostics[home][0].range.start == types.Position(4, 2)

        # After an emoji: an editor counts it as two.
        link = spot(home, 2, 10)
        location = await editor.text_document_definition_async(types.DefinitionParams(**link))
        assert isinstance(location, types.Location)
        assert location.uri == editor.uri("tea.md")
        assert location.range.start.line == 8
        code = spot(home, 2, 52)
        assert await editor.text_document_definition_async(types.DefinitionParams(**code)) is None
        image = spot(home, 3, 44)
        location = await editor.text_document_definition_async(types.DefinitionParams(**image))
        assert isinstance(location, types.Location)
        assert location.uri == editor.uri("cup.png")

        hover = await editor.text_document_hover_async(types.HoverParams(**link))
        assert hover
        assert isinstance(hover.contents, types.MarkupContent)
        assert hover.contents.kind == types.MarkupKind.PlainText
        assert hover.contents.value == "Tea › How to brew it?\ntea.md\n\nEighty degrees."
        whole = await editor.text_document_hover_async(
            types.HoverParams(**spot(home, 2, NOTES["index.md"].split("\n")[2].index("Chai") + 1))
        )
        assert whole
        assert isinstance(whole.contents, types.MarkupContent)
        assert whole.contents.value == "Tea\ntea.md\n\nGreen leaves in water."

        context = types.ReferenceContext(include_declaration=True)
        places = await editor.text_document_references_async(
            types.ReferenceParams(context=context, **link)
        )
        assert places
        assert [(editor.path(p.uri), p.range.start.line) for p in places] == [
            *[("tea.md", 0), ("index.md", 2), ("index.md", 2)],
            *[("sub/pot.md", 4)] * 3,
            *[("sub/pot.md", 8)] * 2,
        ]

    converse(vault, steps)


WRONG = (
    {"context": {"triggerKind": "x"}},
    {"context": 3},
    {"position": []},
    {"textDocument": None},
)


def test_a_request_that_cannot_be_read_is_answered_with_an_error(vault: Path) -> None:
    right = {"textDocument": {"uri": vault.as_uri()}, "position": {"line": 0, "character": 0}}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("initialize", {"capabilities": {}, "processId": None, "rootUri": None}),
        *(("textDocument/completion", {**right, **wrong}) for wrong in WRONG),
        ("shutdown", {}),
    ]
    sent = b""
    for n, (method, params) in enumerate(requests):
        message = {"jsonrpc": "2.0", "id": n, "method": method, "params": params}
        body = json.dumps(message).encode()
        sent += b"Content-Length: %d\r\n\r\n" % len(body) + body
    line = [sys.executable, "-m", "kinen", "lsp"]
    done = subprocess.run(line, cwd=vault, input=sent, capture_output=True, timeout=120)
    bodies = [part for part in re.split(rb"Content-[^{]*", done.stdout) if part]
    answers = {answer.get("id"): answer for answer in map(json.loads, bodies)}
    assert [n for n in range(len(requests)) if "error" in answers[n]] == [1, 2, 3, 4]


def test_the_same_links_are_broken_as_in_the_graph(vault: Path, kinen: Callable[..., Ran]) -> None:
    notes = Vault(str(vault), max_bytes=1 << 20, max_text=1 << 20)
    notes.refresh(now=True)
    broken = [
        f"{note.path}:{reference.link.line}: {reference.link.target}"
        for note in sorted(notes.notes, key=lambda note: note.path)
        for reference in notes.broken(note)
    ]
    assert broken == kinen("graph", "broken").out.splitlines()


COMPLETIONS = (
    ("see [[", {"tea", "pot", "index", "Chai", "brew"}),
    ("see [[cha", {"Chai"}),
    ("[[TEA", {"tea"}),
    ("[[tea#", {"Tea", "How to brew it?"}),
    ("[[#", {"Own"}),
    ("x #", {"drink", "hot/leaf"}),
    ("x #ho", {"hot/leaf"}),
    ("# Heading", set()),
    ("a#b", set()),
    ("`code` [x](", set()),
)


def test_links_headings_and_tags_are_completed(vault: Path) -> None:
    async def labels(editor: Editor, uri: str, line: int, column: int) -> dict[str, str]:
        answer = await editor.text_document_completion_async(
            types.CompletionParams(**spot(uri, line, column))
        )
        assert isinstance(answer, types.CompletionList)
        edits = {item.label: item.text_edit for item in reversed(answer.items)}
        return {
            label: edit.new_text
            for label, edit in edits.items()
            if isinstance(edit, types.TextEdit)
        }

    async def steps(editor: Editor) -> None:
        await editor.begin()
        draft = editor.open("my draft.md", "")  # never saved
        for text, expected in COMPLETIONS:
            editor.type(draft, f"# Own\n\n{text}")
            items = await labels(editor, draft, 2, len(text))
            assert expected <= set(items), text
            assert expected or not items, text
        editor.type(draft, "# Own\n\n[[te]]\n\n```\n[[te\n```\n")
        items = await labels(editor, draft, 2, 4)
        assert items["tea"] == "tea]]"
        editor.type(draft, "[[tea]] [[Cha")
        assert await labels(editor, draft, 0, 13) == {"Chai": "tea|Chai]]"}
        editor.type(draft, "# Own\n\n[[te]]\n\n```\n[[te\n```\n")
        assert await labels(editor, draft, 5, 4) == {}
        editor.type(draft, "---\ntags: [dri\ntitle: hot\n")
        assert set(await labels(editor, draft, 1, 10)) == {"drink"}
        assert await labels(editor, draft, 2, 10) == {}
        editor.type(draft, "---\ntags:\n  - ho\n---\n")
        assert set(await labels(editor, draft, 2, 6)) == {"hot/leaf"}

    converse(vault, steps)


def test_unsaved_text_counts_and_changes_on_disk_are_noticed(vault: Path) -> None:
    async def steps(editor: Editor) -> None:
        await editor.begin()
        home = editor.open("index.md")
        await editor.broken(home, lambda messages: len(messages) == 2)
        tea = editor.open("tea.md", NOTES["tea.md"].replace("Chai", "gone"))
        messages = await editor.broken(home, lambda messages: "Chai" in " ".join(messages))
        assert not any("gone" in message for message in messages)
        editor.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(tea))
        )
        await editor.broken(home, lambda messages: "gone" in " ".join(messages))
        (vault / "gone.md").write_text("# Here it is\n")
        editor.workspace_did_change_watched_files(
            types.DidChangeWatchedFilesParams(
                [types.FileEvent(editor.uri("gone.md"), types.FileChangeType.Created)]
            )
        )
        await editor.broken(home, lambda messages: len(messages) == 1)

    converse(vault, steps)


def test_a_note_is_renamed_with_every_link_to_it(vault: Path, kinen: Callable[..., object]) -> None:
    async def steps(editor: Editor) -> None:
        await editor.begin()
        home = editor.open("index.md")
        link = spot(home, 2, 10)
        prepared = await editor.text_document_prepare_rename_async(
            types.PrepareRenameParams(**link)
        )
        assert isinstance(prepared, types.PrepareRenamePlaceholder)
        assert prepared.placeholder == "tea"
        for name in ("../up", "index", "a[b", "", "/", ".hidden", "ignored", "sub/pot.md"):
            with pytest.raises(JsonRpcException):
                await editor.text_document_rename_async(types.RenameParams(new_name=name, **link))
        with pytest.raises(JsonRpcException):
            await editor.text_document_rename_async(
                types.RenameParams(new_name="x", **spot(home, 4, 3))
            )
        edit = await editor.text_document_rename_async(
            types.RenameParams(new_name="hot/green tea", **link)
        )
        assert edit
        apply(edit)

    converse(vault, steps)
    home = (vault / "index.md").read_text()
    assert "[[green tea#How to brew it?|brewing]] and `[[tea]]` and [[Chai]]" in home
    pot = (vault / "sub/pot.md").read_text()
    assert "[tea](../hot/green%20tea.md) and [[../hot/green tea]]" in pot
    assert "| [[green tea\\|x]] | [[green tea]] |" in pot
    assert '[r]: ../hot/green%20tea.md "T"' in pot
    assert (vault / "hot/green tea.md").read_text() == NOTES["tea.md"]


def test_files_that_the_editor_renames_keep_their_links(vault: Path) -> None:
    async def steps(editor: Editor) -> None:
        await editor.begin(renames=False)
        home = editor.open("index.md")
        with pytest.raises(JsonRpcException, match="cannot rename files"):
            await editor.text_document_rename_async(
                types.RenameParams(new_name="new", **spot(home, 2, 10))
            )
        edit = await editor.workspace_will_rename_files_async(
            types.RenameFilesParams([types.FileRename(editor.uri("sub"), editor.uri("a/b"))])
        )
        assert edit
        apply(edit)

    converse(vault, steps)
    assert "[pot](a/b/pot.md#a-lid) [[b/pot]]" in (vault / "index.md").read_text()
    assert "[tea](../../tea.md)" in (vault / "sub/pot.md").read_text()
    assert "[[../../tea]]" in (vault / "sub/pot.md").read_text()


def test_a_rename_that_the_editor_is_applying_needs_no_more_edits(vault: Path) -> None:
    """VS Code edits the documents, then asks about the file; it shows a dialog for more edits."""

    async def steps(editor: Editor) -> None:
        await editor.begin()
        home = editor.open("index.md")
        heading = spot(editor.open("sub/pot.md"), 0, 3)
        edit = await editor.text_document_rename_async(
            types.RenameParams(new_name="jug", **heading)
        )
        assert edit
        before = (vault / "index.md").read_text()
        apply(types.WorkspaceEdit(document_changes=(edit.document_changes or ())[:-1]))
        after = (vault / "index.md").read_text()
        (vault / "index.md").write_text(before)
        assert "[pot](sub/jug.md#a-lid) [[sub/jug]]" in after
        editor.type(home, after)
        move = types.FileRename(editor.uri("sub/pot.md"), editor.uri("sub/jug.md"))
        asked = types.RenameFilesParams([move])
        assert await editor.workspace_will_rename_files_async(asked) is None

    converse(vault, steps)


def test_nothing_outside_the_space_is_read(vault: Path, tmp_path: Path) -> None:
    secret = tmp_path / "outside" / "secret.md"
    text = (
        "[[secret]] [[../outside/secret]] [x](leak/secret.md) [[/etc/passwd]] [[../../a\x07\x1bc]]"
    )

    async def steps(editor: Editor) -> None:
        await editor.begin()
        evil = editor.open("100% evil.md", text)
        messages = await editor.broken(evil, lambda messages: len(messages) == 5)
        assert all(message.isprintable() for message in messages)
        for column in range(0, len(text), 7):
            place = spot(evil, 0, column)
            assert await editor.text_document_hover_async(types.HoverParams(**place)) is None
            definition = types.DefinitionParams(**place)
            assert await editor.text_document_definition_async(definition) is None
        for uri in (secret.as_uri(), editor.uri("leak/secret.md"), "untitled:a", "file:///etc/x"):
            opened = types.TextDocumentItem(uri, "markdown", 1, "[[tea]]")
            editor.text_document_did_open(types.DidOpenTextDocumentParams(opened))
            hover = types.HoverParams(**spot(uri, 0, 3))
            assert await editor.text_document_hover_async(hover) is None
        unopened = types.HoverParams(**spot(editor.uri("index.md"), 2, 10))
        assert await editor.text_document_hover_async(unopened) is None

    converse(vault, steps)
