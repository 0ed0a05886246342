"""The user's editor, and the commands that open it: a file at a line, or a text to write."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping

from kinen.cli.run import piped
from kinen.errors import KinenError, NotFound, QueryError
from kinen.memory import Memory
from kinen.query import place
from kinen.render.journal import checkpoint_json
from kinen.text import unspelled
from kinen.verbs.params import flag, param
from kinen.verbs.verb import Output, verb
from kinen.verbs.worklog import NAME

FALLBACKS = ("sensible-editor", "nano", "vim", "vi")
GOTO = {"code", "code-insiders", "codium", "cursor", "windsurf"}
"""Editors that take `--goto PATH:LINE`."""
COLON = {"hx", "helix", "subl", "zed"}
"""Editors that take `PATH:LINE`."""
WINDOWED = GOTO | {"subl", "zed", "gvim", "gedit", "kate", "mate", "bbedit", "emacsclient"}
"""Editors that open a window of their own, so that a program without a terminal can start them."""
EDIT_REMARK = "Save and close the editor to store the wording; an empty text changes nothing."
EDIT_HINT = "`kinen memories edit ID TEXT` gives the new wording"
MEMORY = param("", "a memory", required=True, metavar="ID")
COMMENT = "#!"
"""Start of a line that does not become part of the text; `#` alone is a markdown heading."""


def _configured(environ: Mapping[str, str]) -> Iterator[list[str]]:
    """The words of the commands in VISUAL and EDITOR."""
    import shlex

    for name in ("VISUAL", "EDITOR"):
        with contextlib.suppress(ValueError):
            words = shlex.split(environ.get(name, ""))
            if words:
                yield words


def command(environ: Mapping[str, str]) -> list[str]:
    """The words of the editor's command: VISUAL, EDITOR, or one that is installed."""
    import shutil

    installed = ([name] for name in FALLBACKS if shutil.which(name))
    words = next(_configured(environ), None) or next(installed, None)
    if words is None:
        raise KinenError("no editor", "set EDITOR, for example: export EDITOR=nano")
    return words


def arguments(editor: str, path: str, line: int) -> list[str]:
    """The arguments that open a file at a line; a line of 0 is none."""
    name = _name(editor)
    if line < 1:
        return [path]
    if name in GOTO:
        return ["--goto", f"{path}:{line}"]
    return [f"{path}:{line}"] if name in COLON else [f"+{line}", path]


def graphical(environ: Mapping[str, str]) -> list[str]:
    """The words of an editor with a window of its own; empty if the user's runs in a terminal."""
    windowed = (words for words in _configured(environ) if _name(words[0]) in WINDOWED)
    return next(windowed, [])


def _name(editor: str) -> str:
    return os.path.basename(editor).removesuffix(".exe")


def launch(path: str) -> None:
    """Open a file in an editor with a window of its own, and do not wait for it."""
    import shlex
    import subprocess
    from threading import Thread

    words = graphical(os.environ)
    if not words:
        raise QueryError("the editor needs a terminal", f"run `kinen open {shlex.quote(path)}`")
    try:
        process = subprocess.Popen(
            [*words, path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        hint = "set EDITOR to the name of your editor"
        raise KinenError(f"cannot run {words[0]}: {error.strerror}", hint) from error
    Thread(target=process.wait, daemon=True).start()


def edit(path: str, line: int = 0) -> None:
    """Open a file in the editor and wait until it is closed."""
    import subprocess

    words = command(os.environ)
    sys.stdout.flush()
    try:
        code = subprocess.run([*words, *arguments(words[0], path, line)], check=False).returncode
    except OSError as error:
        hint = "set EDITOR to the name of your editor"
        raise KinenError(f"cannot run {words[0]}: {error.strerror}", hint) from error
    if code:
        raise KinenError(f"{words[0]} ended with exit code {code}", "nothing was changed")


def compose(remark: str, draft: str = "") -> str:
    """A text that the user writes in the editor, without the remark; empty to cancel."""
    import tempfile

    descriptor, path = tempfile.mkstemp(suffix=".md", prefix="kinen-")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{draft}\n{COMMENT} {remark}\n")
        edit(path)
        with open(path, encoding="utf-8", errors="backslashreplace") as file:
            lines = [line for line in file.read().splitlines() if not line.startswith(COMMENT)]
    finally:
        os.unlink(path)
    return "\n".join(lines).strip()


def rewrite(draft: str, remark: str, hint: str) -> str:
    """A draft as the user changes it in the editor; elsewhere than on a terminal, an error."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise KinenError("no text", hint)
    text = compose(remark, draft)
    if not text:
        raise KinenError("nothing was written", "nothing was saved")
    return text


@verb()
def open_(
    memory: Memory,
    name: str = param("", "a hit", required=True, path=True, metavar="REF|PATH[:LINE]"),
    show: bool = flag("--print", "print the path and line, open nothing"),
) -> Output:
    """Open the file of a hit in your editor (VISUAL, EDITOR), at its line.

    \b
    Examples:
      kinen open docs/auth.md:42
      kinen open 'round:sessions/20251203-01-auth/rounds/01-foundation.md#3'
    """
    record, chunks = memory.records.show(*place(name))
    line = place(name)[1]
    if line < 1 and "#" in name and chunks:
        line = chunks[0].start_line
    path = os.path.join(memory.space.root, os.fsdecode(unspelled(record.path)))
    if not record.path or not os.path.isfile(path):
        raise NotFound(f"{record.ref} has no file", f"`kinen show {name}` shows it")
    if not show:
        edit(path, max(0, line))
    where = f"{path}:{line}" if line > 0 else path
    return Output({"path": path, "line": max(0, line) or None}, where if show else "")


@verb()
def edit_saved(memory: Memory, name: str = NAME) -> Output:
    """Open a saved memory (default: the newest) in your editor."""
    path = memory.worklog.saved_checkpoint(name).path
    file = os.fsdecode(unspelled(path))
    with memory.worklog.editing(file):
        edit(os.path.join(memory.space.root, file))
    memory.worklog.refresh()
    saved = memory.worklog.saved_checkpoint(path)
    return Output(checkpoint_json(saved), saved.ref)


@verb()
def edit_memory(
    memory: Memory, name: str = MEMORY, text: str = param("", "new wording", metavar="[TEXT|-]")
) -> Output:
    """Put a memory into other words. Without TEXT, in your editor; `-` reads standard input.

    The former wording is hidden, and is not extracted again.

    \b
    Examples:
      kinen memories edit 01KX8JJZ 'Sessions are in Postgres, not in Redis'
      kinen memories undo
    """
    old = memory.consolidation.get(name)
    if text == "-":
        text = piped()
    new = memory.consolidation.edit(old.ref, text or rewrite(old.content, EDIT_REMARK, EDIT_HINT))
    word = "unchanged" if new.id == old.id else f"replaces {old.ref}"
    return Output({"ref": new.ref, "replaced": old.ref}, f"{new.ref}  {word}")
