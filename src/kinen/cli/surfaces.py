"""`kinen tui`, `pick`, `web` and `lsp`: the memory in a terminal, a browser or an editor."""

from __future__ import annotations

import json
import os
import sys
import threading
import time

import click

from kinen import paths
from kinen.cli.command import json_command, options, space_option
from kinen.cli.daemon import root_to_serve
from kinen.cli.output import FOUND, NOTHING, note
from kinen.errors import KinenError
from kinen.ipc import client, extras
from kinen.verbs.params import option
from kinen.verbs.verb import Output

SECONDS = 30.0
"""How long the daemon may take for the link: it may have to read the space first."""


@click.command()
@options(
    space=option(
        "--space -s", "NAME", "space to open (default: that of the current folder)", path=True
    )
)
@click.option("--no-open", is_flag=True, help="print the link, do not start a browser")
@json_command
def web(space: str, no_open: bool) -> Output:
    """Look at the memory in a browser: search, sessions, memories, what agents were sent.

    Starts the daemon if it is not running; it serves the pages on loopback. The link can be opened
    once, within ten minutes. The browser that opens it stays signed in for twelve hours after its
    last request, and the daemon keeps running for it; `kinen daemon stop` ends both.

    \b
    Examples:
      kinen web
      kinen web --space notes
      kinen web --no-open
    """
    extras.require("kinen web", "http")
    from kinen.daemon import control

    home = paths.default_home(os.environ)
    root = root_to_serve(space)
    control.start(home)
    answer = client.ask(home, "POST /v1/web", {}, space=root, sign=SECONDS)
    if answer is None:
        raise KinenError("the daemon does not answer", "run `kinen doctor`")
    body = json.loads(answer.body)
    if answer.code != 200:
        raise KinenError(body["error"]["message"], body["error"]["hint"])
    opened = not no_open and _browse(body["url"])
    text = "opened in your browser" if opened else body["url"]
    return Output({**body, "opened": opened}, text)


def _browse(url: str) -> bool:
    """Start a browser, where there is a screen for it; a text browser would take the terminal."""
    screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    if not screen:
        return False
    import webbrowser

    return webbrowser.open(url)


@click.command()
@click.argument("query", nargs=-1)
@space_option
def tui(query: tuple[str, ...], space: str | None) -> int:
    """Browse the memory: today, sessions, knowledge, code, what agents are told, and search.

    `?` shows the keys.

    \b
    Examples:
      kinen tui
      kinen tui token refresh
    """
    _browser(query, space)
    return FOUND


@click.command()
@click.argument("query", nargs=-1)
@space_option
def pick(query: tuple[str, ...], space: str | None) -> int:
    """Choose an entry and print its path and line, or its ref. Exit 1 if nothing is chosen.

    \b
    Examples:
      vim $(kinen pick | cut -d: -f1)
      kinen show "$(kinen pick token refresh)"
    """
    chosen = _browser(query, space, pick=True)
    if chosen:
        print(chosen)
    return FOUND if chosen else NOTHING


def _browser(query: tuple[str, ...], space: str | None, *, pick: bool = False) -> str:
    extras.require("kinen pick" if pick else "kinen tui", "tui")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise KinenError("this needs a terminal", "use `kinen search` in scripts")
    from kinen.tui.app import Browser

    threading.Thread(target=_end_with_terminal, daemon=True).start()
    return Browser(space, " ".join(query), pick=pick).run() or ""


def _end_with_terminal() -> None:
    """End the program when its terminal is closed.

    A hang-up ends it, too, unless hang-ups are ignored, as below `nohup`: then it would read an
    empty input forever, at full speed.
    """
    while os.isatty(sys.stdin.fileno()):
        time.sleep(1)
    os._exit(1)


@click.command()
@click.option("--stdio", is_flag=True, help="accepted since editors pass it; there is no other way")
@options(
    space=option("--space -s", "NAME", "space to serve (default: that of each file)", path=True)
)
def lsp(stdio: bool, space: str) -> int:  # noqa: ARG001 - see its help
    """Serve an editor over the Language Server Protocol, on standard input and output.

    Broken links, completion of links and tags, go to definition, references, rename and hover,
    for the markdown notes of a space. `docs/guides/editors.md` has the settings of editors.

    \b
    Examples:
      kinen lsp
      kinen lsp --space notes
    """
    extras.require("kinen lsp", "lsp")
    from kinen.lsp.features import serve

    if sys.stdin.isatty():
        note("waiting for an editor on standard input; Ctrl-D exits")
    serve(space)
    return 0
