"""What an editor asks for, each question with its answer."""

from __future__ import annotations

import logging
import os

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException

from kinen.characters import visible_line
from kinen.errors import KinenError
from kinen.lsp import completion, plain, rename
from kinen.lsp.naming import shortest_name
from kinen.lsp.passage import first_passage, heading_line
from kinen.lsp.server import REQUEST_FAILED, Cursor, Server, refusal
from kinen.lsp.vault import Note, Reference, Vault, path_of
from kinen.markdown.spans import Span

_KINDS = {
    "note": types.CompletionItemKind.File,
    "alias": types.CompletionItemKind.Reference,
    "heading": types.CompletionItemKind.Module,
    "tag": types.CompletionItemKind.Keyword,
}
_GLOB = "**/*.{md,markdown,mdx}"
NO_NOTE = KinenError("no note here", "put the cursor on a link or on the note's first heading")
CANNOT_RENAME = KinenError(
    "this editor cannot rename files for a language server", "rename the file in it, or by hand"
)


async def complete(ls: Server, params: types.CompletionParams) -> types.CompletionList | None:
    """Names and aliases of notes after `[[`, headings after `#` in a link, tags."""
    cursor = await ls.cursor(params.text_document.uri, params.position)
    if cursor is None:
        return None
    line = cursor.lines[cursor.row] if cursor.row < len(cursor.lines) else ""
    options = completion.suggestions(
        cursor.vault, cursor.note, cursor.lines, cursor.row, cursor.column
    )
    items = []
    for n, suggestion in enumerate(options):
        start = ls.position(cursor.row + 1, line, suggestion.start)
        end = ls.position(cursor.row + 1, line, suggestion.end)
        items.append(
            types.CompletionItem(
                label=visible_line(suggestion.label),
                kind=_KINDS[suggestion.kind],
                detail=visible_line(suggestion.detail),
                filter_text=suggestion.searched,
                sort_text=f"{n:03}",
                text_edit=types.TextEdit(types.Range(start, end), suggestion.text),
            )
        )
    return types.CompletionList(is_incomplete=len(items) >= completion.MOST, items=items)


async def define(ls: Server, params: types.DefinitionParams) -> types.Location | None:
    """The note, heading or file that a link leads to."""
    cursor = await ls.cursor(params.text_document.uri, params.position)
    if cursor is None or cursor.link < 0:
        return None
    link = cursor.note.links[cursor.link]
    path = cursor.vault.file(link, cursor.note.path)
    if not path:
        return None
    note = cursor.vault.note(path)
    line = heading_line(note, link.heading) if note else 1
    return ls.location(cursor.vault, path, line)


async def refer(ls: Server, params: types.ReferenceParams) -> plain.Answer | None:
    """The links to the note at the cursor, or to the heading at it."""
    cursor = await ls.cursor(params.text_document.uri, params.position)
    if cursor is None:
        return None
    vault = cursor.vault
    note = _note_at(cursor) or cursor.note
    references = list(vault.linking_to(note.ref))
    heading = cursor.heading if cursor.link < 0 else None
    line = 1
    if heading and heading.level > 1:
        line = heading.line
        references = [
            reference
            for reference in references
            if reference.link.heading and heading_line(note, reference.link.heading) == line
        ]
    locations = [
        plain.location(
            ls.spaces.uri(vault, reference.note.path), ls.place(reference.span, reference.note)
        )
        for reference in references
    ]
    if params.context.include_declaration:
        declaration = plain.place(line, 0, line, 0)
        locations.insert(0, plain.location(ls.spaces.uri(vault, note.path), declaration))
    return plain.Answer(locations)


def _note_at(cursor: Cursor) -> Note | None:
    """The note that the link at the cursor leads to."""
    if cursor.link < 0:
        return None
    return cursor.vault.note(path_of(cursor.vault.targets(cursor.note)[cursor.link]))


async def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    """The first passage of the note that a link leads to."""
    cursor = await ls.cursor(params.text_document.uri, params.position)
    note = _note_at(cursor) if cursor else None
    if cursor is None or note is None:
        return None
    reference = Reference(cursor.note, cursor.link)
    text = first_passage(cursor.vault, note, reference.link.heading)
    return types.Hover(
        types.MarkupContent(types.MarkupKind.PlainText, text), ls.range(reference.span, cursor.note)
    )


async def prepare_rename(
    ls: Server, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder:
    """The note that would be renamed: that of a link, or the open one on its first heading."""
    cursor = await ls.cursor(params.text_document.uri, params.position)
    path, span = _renamed(cursor)
    assert cursor is not None
    return types.PrepareRenamePlaceholder(
        ls.range(span, cursor.note), visible_line(shortest_name(path))
    )


def _renamed(cursor: Cursor | None) -> tuple[str, Span]:
    """The path of the note to rename, and the words at the cursor that name it."""
    note = _note_at(cursor) if cursor else None
    if cursor and note:
        return note.path, rename.name_span(Reference(cursor.note, cursor.link))
    heading = cursor.heading if cursor else None
    if cursor and heading and heading == cursor.note.headings[0]:
        end = len(cursor.note.line(heading.line))
        return cursor.note.path, Span(heading.line, 0, heading.line, end)
    raise refusal(NO_NOTE)


async def rename_note(ls: Server, params: types.RenameParams) -> plain.Answer:
    """Rename the file of a note, and every link to it."""
    cursor = await ls.cursor(params.text_document.uri, params.position)
    path, _ = _renamed(cursor)
    assert cursor is not None
    vault = cursor.vault
    vault.refresh(now=True)
    if not _renames_files(ls):
        raise refusal(CANNOT_RENAME)
    try:
        target = rename.new_path(vault, path, params.new_name)
    except KinenError as error:
        raise refusal(error) from None
    if target == path:
        return plain.workspace_edit([])
    changes = _text_edits(ls, vault, rename.link_edits(vault, {path: target}))
    changes.append(plain.file_rename(ls.spaces.uri(vault, path), ls.spaces.uri(vault, target)))
    return plain.workspace_edit(changes)


def _renames_files(ls: Server) -> bool:
    workspace = ls.client_capabilities.workspace
    edit = workspace.workspace_edit if workspace else None
    operations = edit.resource_operations if edit else None
    return types.ResourceOperationKind.Rename in (operations or ())


def _text_edits(ls: Server, vault: Vault, edits: list[rename.Edit]) -> list[plain.Plain]:
    """The edits by document; an editor refuses them if it has a newer version of one."""
    by_path: dict[str, list[plain.Plain]] = {}
    for edit in edits:
        start = ls.units(edit.source, edit.start)
        end = ls.units(edit.source, edit.end)
        place = plain.place(edit.line, start, edit.line, end)
        by_path.setdefault(edit.path, []).append(plain.text_edit(place, edit.text))
    documents = ls.open_notes(vault)
    versions = {path: document.version for path, document in documents.items()}
    return [
        plain.document_edit(ls.spaces.uri(vault, path), versions.get(path), text_edits)
        for path, text_edits in by_path.items()
    ]


async def will_rename(ls: Server, params: types.RenameFilesParams) -> plain.Answer | None:
    """The edits of links for files and folders that the editor is about to rename.

    VS Code asks this also while it applies the edits of `rename_note`: no link needs one then.
    """
    changes: list[plain.Plain] = []
    for file in params.files:
        old = ls.spaces.place(file.old_uri)
        new = ls.spaces.place(file.new_uri)
        if old is None or new is None or old.vault is not new.vault:
            continue
        await ls.loaded(old.vault)
        ls.take_edits(old.vault)
        old.vault.refresh(now=True)
        moves = rename.moved_files(old.vault, old.path, new.path)
        changes += _text_edits(ls, old.vault, rename.link_edits(old.vault, moves))
    return plain.workspace_edit(changes) if changes else None


def on_open(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    ls.check_soon(params.text_document.uri)


def on_change(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    ls.check_soon(params.text_document.uri)


def on_save(ls: Server, _params: types.DidSaveTextDocumentParams) -> None:
    ls.refresh()


def on_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    """The note on disk counts again, and what was said about the document is withdrawn."""
    place = ls.spaces.place(params.text_document.uri)
    if place:
        place.vault.release(place.path)
        ls.refresh()
    ls.text_document_publish_diagnostics(
        types.PublishDiagnosticsParams(params.text_document.uri, [])
    )


def on_files_change(
    ls: Server, _params: types.DidChangeWatchedFilesParams | types.RenameFilesParams
) -> None:
    ls.refresh()


async def on_start(ls: Server, _params: types.InitializedParams) -> None:
    """Read the notes of the open folders, and ask to hear of changes on disk."""
    folders = [uris.to_fs_path(folder.uri) for folder in ls.workspace.folders.values()]
    ls.spaces.folders = [folder for folder in (*folders, ls.workspace.root_path) if folder]
    for folder in ls.spaces.folders:
        place = ls.spaces.place(uris.from_fs_path(f"{folder}/note.md") or "")
        if place:
            await ls.loaded(place.vault)
    workspace = ls.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if watched and watched.dynamic_registration:
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*")])
        registration = types.Registration(
            "kinen-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options
        )
        await ls.client_register_capability_async(types.RegistrationParams([registration]))


_RENAMES = types.FileOperationRegistrationOptions(
    [
        types.FileOperationFilter(
            types.FileOperationPattern(_GLOB, types.FileOperationPatternKind.File)
        ),
        types.FileOperationFilter(
            types.FileOperationPattern("**", types.FileOperationPatternKind.Folder)
        ),
    ]
)
FEATURES = (
    (types.INITIALIZED, on_start, None),
    (types.TEXT_DOCUMENT_DID_OPEN, on_open, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, on_change, None),
    (types.TEXT_DOCUMENT_DID_SAVE, on_save, None),
    (types.TEXT_DOCUMENT_DID_CLOSE, on_close, None),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, on_files_change, None),
    (types.WORKSPACE_DID_RENAME_FILES, on_files_change, _RENAMES),
    (types.WORKSPACE_WILL_RENAME_FILES, will_rename, _RENAMES),
    (
        types.TEXT_DOCUMENT_COMPLETION,
        complete,
        types.CompletionOptions(trigger_characters=["[", "#"]),
    ),
    (types.TEXT_DOCUMENT_DEFINITION, define, None),
    (types.TEXT_DOCUMENT_REFERENCES, refer, None),
    (types.TEXT_DOCUMENT_HOVER, hover, None),
    (types.TEXT_DOCUMENT_PREPARE_RENAME, prepare_rename, None),
    (types.TEXT_DOCUMENT_RENAME, rename_note, types.RenameOptions(prepare_provider=True)),
)


def serve(name: str = "") -> None:
    """Serve an editor on standard input and output until it closes them."""
    server = Server(name)
    for feature, handler, options in FEATURES:
        server.feature(feature, options)(handler)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_defect)
    # Only messages of the protocol may be on standard output: anything else goes to the log.
    with os.fdopen(os.dup(1), "wb") as output:
        os.dup2(2, 1)
        server.start_io(stdout=output)


def _is_defect(record: logging.LogRecord) -> bool:
    """Whether a failure is worth a line in the editor's log: a refusal is an answer."""
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, JsonRpcException) and error.code == REQUEST_FAILED)
