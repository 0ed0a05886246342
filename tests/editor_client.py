"""An editor for tests: a real language client that talks to a real `kinen lsp`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 60
"""Seconds that a test waits for something that is bound to come."""


class Editor(LanguageClient):
    """A client with the documents that it has open and what it was told about them."""

    def __init__(self, root: Path) -> None:
        super().__init__("tests", "1")
        self.root = root
        self.versions: dict[str, int] = {}
        self.diagnostics: dict[str, list[types.Diagnostic]] = {}
        self._told = asyncio.Condition()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def receive(params: types.PublishDiagnosticsParams) -> None:
            async with self._told:
                self.diagnostics[params.uri] = list(params.diagnostics)
                self._told.notify_all()

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def accept(_params: types.RegistrationParams) -> None:
            return None

    def uri(self, path: str) -> str:
        return (self.root / path).as_uri()

    def path(self, uri: str) -> str:
        return next(
            str(file.relative_to(self.root))
            for file in self.root.rglob("*")
            if file.as_uri() == uri
        )

    async def begin(self, *, renames: bool = True) -> types.InitializeResult:
        operations = [types.ResourceOperationKind.Rename] if renames else []
        result = await self.initialize_async(
            types.InitializeParams(
                capabilities=types.ClientCapabilities(
                    workspace=types.WorkspaceClientCapabilities(
                        workspace_edit=types.WorkspaceEditClientCapabilities(
                            document_changes=True, resource_operations=operations
                        ),
                        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
                            dynamic_registration=True
                        ),
                    )
                ),
                workspace_folders=[types.WorkspaceFolder(self.root.as_uri(), "notes")],
                root_uri=self.root.as_uri(),
            )
        )
        self.initialized(types.InitializedParams())
        return result

    def open(self, path: str, text: str | None = None) -> str:
        """Open a note, with another text than on disk if one is passed."""
        uri = self.uri(path)
        content = (self.root / path).read_text() if text is None else text
        self.versions[uri] = 1
        self.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "markdown", 1, content))
        )
        return uri

    def type(self, uri: str, text: str) -> None:
        """Replace the text of a document, without saving it."""
        self.versions[uri] += 1
        self.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def broken(self, uri: str, expected: Callable[[list[str]], bool]) -> list[str]:
        """The messages about a document, once they are as expected."""
        async with asyncio.timeout(PATIENCE), self._told:
            await self._told.wait_for(
                lambda: uri in self.diagnostics and expected(self.messages(uri))
            )
            return self.messages(uri)

    def messages(self, uri: str) -> list[str]:
        return [diagnostic.message for diagnostic in self.diagnostics.get(uri, [])]


def spot(uri: str, line: int, character: int) -> dict[str, Any]:
    """The parameters of a question about a place."""
    return {
        "text_document": types.TextDocumentIdentifier(uri),
        "position": types.Position(line, character),
    }


def converse(root: Path, steps: Callable[[Editor], Awaitable[None]], *words: str) -> None:
    """Start `kinen lsp` as an editor does, take some steps, and end it."""

    async def run() -> None:
        editor = Editor(root)
        await editor.start_io(sys.executable, "-m", "kinen", "lsp", *words, cwd=root)
        try:
            async with asyncio.timeout(PATIENCE):
                await steps(editor)
                await editor.shutdown_async(None)
                editor.exit(None)
                server = editor._server
                assert server
                code = await server.wait()
                assert code == 0, (code, await server.stderr.read() if server.stderr else b"")
        finally:
            if editor._server and editor._server.returncode is None:
                editor._server.kill()
            await editor.stop()

    asyncio.run(run())
