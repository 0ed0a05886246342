"""The language server: its spaces, its clock, and what it tells an editor by itself."""

from __future__ import annotations

import asyncio
import gc
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter

from kinen import __version__, paths
from kinen import config as configuration
from kinen.characters import visible_line
from kinen.errors import KinenError
from kinen.lsp.vault import Heading, Note, Vault
from kinen.space import find as spaces
from kinen.storage.inside import relative
from kinen.text.parse import Span, split_lines

if TYPE_CHECKING:
    from cattrs import Converter
    from pygls.workspace import TextDocument

QUIET = 0.2
"""Seconds without a key press after which links are checked again."""
SLICE = 20
"""Notes that are read at the start between two messages of the editor."""
REQUEST_FAILED = -32803
"""LSP's code for a request that is valid and cannot be done."""
Plain = dict[str, Any]
"""A part of an answer as it is sent."""


def refusal(error: KinenError) -> JsonRpcException:
    """A user's error as an editor shows it."""
    return JsonRpcException(visible_line(error.line()), REQUEST_FAILED)


class Protocol(LanguageServerProtocol):
    """The protocol of pygls, which gives no answer to a request that it cannot read."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "method" in data and isinstance(data.get("id"), int | str):
                self._send_response(data["id"], error=error.to_response_error())
            raise


@dataclass(slots=True)
class Cursor:
    """A place in a note that is open in the editor."""

    vault: Vault
    note: Note
    lines: tuple[str, ...]
    row: int = 0
    column: int = 0

    @property
    def link(self) -> int:
        """The number of the link here, -1 if there is none."""
        return self.note.link_at(self.row + 1, self.column)

    @property
    def heading(self) -> Heading | None:
        """The heading in this line."""
        return next((h for h in self.note.headings if h.line == self.row + 1), None)


class Server(LanguageServer):
    """A language server with the vaults of the spaces that its documents are in."""

    def __init__(self, name: str = "") -> None:
        super().__init__("kinen", __version__, protocol_cls=Protocol, converter_factory=converter)
        self.spaces = Spaces(name)
        self._loading: dict[str, asyncio.Task[None]] = {}
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._generations: dict[str, int] = {}

    async def cursor(self, uri: str, position: types.Position | None = None) -> Cursor | None:
        """A place in an open document as it is now; None if that is not a note of a space."""
        place = self.spaces.place(uri)
        document = self.document(uri)
        if place is None or document is None:
            return None
        vault = place.vault
        await self.loaded(vault)
        if not vault.owns(place.path):
            return None
        self.take_edits(vault)
        vault.refresh()
        self._notice(vault)
        note = vault.note(place.path)
        if note is None:
            return None
        cursor = Cursor(vault, note, split_lines(document.source))
        if position:
            codec = self.workspace.position_codec
            here = codec.position_from_client_units(cursor.lines, position)
            cursor.row = here.line
            cursor.column = here.character
        return cursor

    def document(self, uri: str) -> TextDocument | None:
        """An open document; one that is not open is never read, wherever it may be."""
        documents: dict[str, TextDocument] = self.workspace.text_documents
        return documents.get(unquote(uri))  # as pygls stores them

    def open_notes(self, vault: Vault) -> dict[str, TextDocument]:
        """The open documents of a vault by their paths."""
        documents = self.workspace.text_documents.values()
        places = ((self.spaces.place(document.uri), document) for document in documents)
        return {
            place.path: document
            for place, document in places
            if place and place.vault is vault and vault.owns(place.path)
        }

    def take_edits(self, vault: Vault) -> None:
        """Bring what is typed, also a moment ago, into a vault: answers are about all its notes."""
        for path, document in self.open_notes(vault).items():
            vault.edit(path, document.source)

    async def loaded(self, vault: Vault) -> None:
        """Wait until every note of a vault was read once."""
        if vault.root not in self._loading:
            self._loading[vault.root] = asyncio.create_task(_load(vault))
        await self._loading[vault.root]

    def refresh(self) -> None:
        """Look for changes on disk now."""
        for vault in self.spaces.vaults.values():
            if vault.root in self._loading:
                vault.refresh(now=True)
                self._notice(vault)

    def _notice(self, vault: Vault) -> None:
        """Check all documents if files or aliases changed: their links may lead elsewhere."""
        if self._generations.get(vault.root) != vault.generation:
            self._generations[vault.root] = vault.generation
            for document in self.workspace.text_documents.values():
                self.check_soon(document.uri)

    def check_soon(self, uri: str) -> None:
        """Check the links of a document once its writer pauses."""
        waiting = self._checks.pop(uri, None)
        if waiting:
            waiting.cancel()
        self._checks[uri] = asyncio.create_task(self._check(uri))

    async def _check(self, uri: str) -> None:
        await asyncio.sleep(QUIET)
        self._checks.pop(uri, None)
        cursor = await self.cursor(uri)
        document = self.document(uri)
        if not (cursor and document):
            return
        diagnostics = [
            types.Diagnostic(
                range=self.range(reference.span, cursor.note),
                message=f"broken link: nothing is called {visible_line(reference.link.target)}",
                severity=types.DiagnosticSeverity.Warning,
                code="broken-link",
                source="kinen",
            )
            for reference in cursor.vault.broken(cursor.note)
        ]
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, diagnostics, document.version)
        )

    def range(self, span: Span, note: Note) -> types.Range:
        """A part of a note as the editor counts characters."""
        return types.Range(
            self.position(span.line, note.line(span.line), span.column),
            self.position(span.end_line, note.line(span.end_line), span.end_column),
        )

    def position(self, line: int, text: str, column: int) -> types.Position:
        return types.Position(line - 1, self.units(text, column))

    def place(self, span: Span, note: Note) -> Plain:
        """A range as it is sent, for answers with many of them."""
        column = self.units(note.line(span.line), span.column)
        end = self.units(note.line(span.end_line), span.end_column)
        return place(span.line, column, span.end_line, end)

    def units(self, text: str, column: int) -> int:
        """A column as the editor counts characters."""
        before = text[:column]
        if before.isascii():  # the same number in every encoding
            return len(before)
        return int(self.workspace.position_codec.client_num_units(before))


async def _load(vault: Vault) -> None:
    for n, path in enumerate(vault.scan()):
        vault.read(path)
        if n % SLICE == SLICE - 1:
            await asyncio.sleep(0)
    # The notes stay as long as the server: the collector need not look at them in every answer.
    gc.collect()
    gc.freeze()


@dataclass(slots=True)
class Place:
    """A document of the editor: the vault that it belongs to and its path in there."""

    vault: Vault
    path: str


@dataclass(slots=True)
class Spaces:
    """The vaults of the spaces that documents of the editor are in."""

    name: str = ""
    """The only space to serve; empty for that of each document."""
    folders: list[str] = field(default_factory=list)
    """The folders that the editor has open."""
    vaults: dict[str, Vault] = field(default_factory=dict)
    _roots: dict[str, str] = field(default_factory=dict)
    _bases: dict[str, str] = field(default_factory=dict)
    _uris: dict[tuple[str, str], str] = field(default_factory=dict)

    def place(self, uri: str) -> Place | None:
        """The note that a URI names; None for what is not in a space or leads out of it."""
        file = uris.to_fs_path(uri)
        if not file or "\0" in file:
            return None
        folder = os.path.dirname(file)
        if folder not in self._roots:
            self._roots[folder] = self._find(folder)
        root = self._roots[folder]
        path = relative(root, file) if root else ""
        if path in ("", "."):
            return None
        vault = self.vaults.get(root)
        if vault is None:
            settings = configuration.load(paths.default_home(os.environ), root).index
            vault = Vault(
                root, max_bytes=settings.max_file_mb << 20, max_text=settings.max_text_mb << 20
            )
            self.vaults[root] = vault
        if file.endswith(f"/{path}"):
            self._bases[root] = file.removesuffix(f"/{path}")
        return Place(vault, path)

    def uri(self, vault: Vault, path: str) -> str:
        """The URI of a note, below the root as the editor spells it."""
        base = self._bases.get(vault.root, vault.root)
        if (base, path) not in self._uris:
            self._uris[base, path] = uris.from_fs_path(os.path.join(base, path)) or ""
        return self._uris[base, path]

    def _find(self, folder: str) -> str:
        """The root of the space of a folder; empty if it is in none."""
        try:
            if self.name:
                return spaces.find(name=self.name).root
            while not os.path.isdir(folder):  # of a note that is not saved yet
                folder = os.path.dirname(folder)
            root = spaces.locate(folder)
            if root:
                return root
            above = next((open_ for open_ in self.folders if relative(open_, folder)), folder)
            return spaces.find(above).root
        except KinenError:
            return ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is sent as it is."""

    json: Plain | list[Plain]


def converter() -> Converter:
    """That of pygls, which also knows plain answers."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_unstructure_hook(Answer, lambda answer: answer.json)
    return converter


def place(line: int, column: int, end_line: int, end_column: int) -> Plain:
    """A range; lines count from 1, columns as the editor counts them."""
    return {
        "start": {"line": line - 1, "character": column},
        "end": {"line": end_line - 1, "character": end_column},
    }


def location(uri: str, place: Plain) -> Plain:
    return {"uri": uri, "range": place}


def workspace_edit(changes: list[Plain]) -> Answer:
    return Answer({"documentChanges": changes})
