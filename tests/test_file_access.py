"""Which modules may open files by themselves; all others go through `kinen.storage`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from syntax import FILES, SOURCE, nodes_of

if TYPE_CHECKING:
    from pathlib import Path

OPENING = {
    *("open", "os.open", "io.open", "os.fdopen", "os.listdir", "os.scandir", "os.walk"),
    *("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree", "shutil.move"),
    *("atomic.write", "filecmp.cmp"),
}
METHODS = {
    *("read_text", "read_bytes", "write_text", "write_bytes", "iterdir", "glob", "rglob", "walk"),
    "touch",
}

HOME = "a file in kinen's own folder, or of the user, that no clone brings"
ALLOWED = {
    "storage/inside.py": "the one way to a file inside a space",
    "storage/regular.py": "the one way to a regular file anywhere",
    "storage/private.py": "the one way to a file of kinen's own",
    "storage/atomic.py": "how a file is replaced as a whole",
    "cli/output.py": "standard output and error",
    "ipc/loopback.py": HOME,
    "ipc/client.py": HOME,
    "config/file.py": "the cache in kinen's folder, and the user's own config file",
    "space/find.py": "the names in the working folder, to see whether there are notes",
    "journal/write.py": HOME,
    "journal/recent.py": "what the kernel says of a process, in /proc",
    "mcp/protocol.py": "the table of tools, in the package",
    "mcp/stdio.py": "what the client holds open, and the null device",
    "hooks/detached.py": "the null device, and what the process has open",
    "agents/transcripts/codex.py": "the names of the rollouts in the client's own folder",
    "journal/spool.py": HOME,
    "journal/migrate.py": "part of the package",
    "index/lock.py": HOME,
    "index/metafile.py": HOME,
    "index/snapshots.py": HOME,
    "index/vectors.py": HOME,
    "http/team_server.py": "names in the temporary folder",
    "http/team_mirror.py": "locks in a folder of its own",
    "http/team_sign_in.py": "the settings that whoever starts the server names",
    "http/routes_web.py": "scripts and styles of the package",
    "daemon/process.py": "its port and log in kinen's folder, and /proc",
    "daemon/units.py": "units of the user's service manager",
    "daemon/watch.py": "names and times only, links not followed; limits in /proc",
    "embed/language.py": "part of the package",
    "embed/wordpiece.py": "the vocabulary of a built-in model, part of the package",
    "embed/question.py": "a built-in model, part of the package",
    "embed/onnx.py": "the model, which only a trusted config chooses",
    "distill/clis.py": "settings of the user's own agents, for a run of them",
    "cli/__init__.py": "/dev/null",
    "cli/daemon.py": "the daemon's log in kinen's folder",
    "cli/editor.py": "a draft of its own in the temporary folder",
    "cli/demo.py": "a temporary folder of its own",
    "hooks/trust.py": "settings of Codex in the user's home",
    "hooks/entries.py": "files of the package",
    "hooks/install.py": "settings in the user's home, and copies in kinen's folder",
    "tui/rows.py": "the style of the package",
    "render/export.py": "the style and script of the package",
    "lsp/features.py": "standard output",
    "lsp/vault.py": "the walk of sources/files: names and times only, links not followed",
    "memory/bundles.py": "bundles that the user names, which may be pipes",
    "memory/journal.py": "the names in the spool",
    "team/machines.py": "a folder that the user named; files by the openers of kinen.storage",
    "space/early.py": "the names in kinen's own folder",
    "space/registry.py": "the names in kinen's own folder",
    "storage/tables.py": "the names in kinen's own folder",
    "memory/garbage.py": "the names in kinen's own folder",
    "memory/git.py": "the commit message that git names",
    "agents/transcripts/find.py": "transcripts that the user names, which may be pipes",
    "agents/transcripts/cursor.py": "the names of the client's own folders",
    "cli/engine.py": "the names of folders below one that the user named",
    "agents/transcripts/opencode.py": "the names of the client's own files",
    "sources/files/watch.py": "names only, links not followed",
    "index/folders.py": "names and times only, nothing is read",
    "sources/issues.py": "names in kinen's own folder; lines of files that kinen.storage opened",
    "sources/files/walk.py": "names and times only, links not followed; contents by kinen.storage",
    "extract/html.py": "walks an HTML tree, no folder",
    "extract/epub.py": "walks an HTML tree, no folder",
    "text/labels.py": "walks a markdown tree, no folder",
}
"""Modules that open or list something by themselves, each with the reason."""


def openings(path: Path) -> list[str]:
    """The calls of a module that open, list or write files."""
    calls = [node for node in nodes_of(path) if isinstance(node, ast.Call)]
    names = [ast.unparse(call.func) for call in calls]
    return [name for name in names if name in OPENING or name.rpartition(".")[2] in METHODS]


def test_files_are_opened_through_the_storage_package() -> None:
    opening = {str(path.relative_to(SOURCE)): names for path in FILES if (names := openings(path))}
    strays = {name: calls for name, calls in opening.items() if name not in ALLOWED}
    assert not strays, "use kinen.storage, or add a reason"
    assert not ALLOWED.keys() - opening.keys(), "it opens nothing any more"


def test_what_hooks_read_of_a_space_comes_through_the_storage_package() -> None:
    for name in (
        "journal/start.py",
        "space/repository.py",
        "hooks/command.py",
        "hooks/event.py",
        "cli/log.py",
    ):
        assert not openings(SOURCE / name)
