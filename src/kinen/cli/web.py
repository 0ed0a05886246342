"""`kinen web`: the pages of a memory in a browser."""

from __future__ import annotations

import json
import os
import sys

import click

from kinen import paths
from kinen.cli.command import Output, json_command, path_option
from kinen.errors import KinenError
from kinen.ipc import client, extras

SECONDS = 30.0
"""How long the daemon may take for the link: it may have to read the space first."""


@click.command()
@path_option("--space -s", "NAME", "space to open (default: that of the current folder)")
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
    root = _root(space)
    control.start(home)
    answer = client.ask(home, "POST /v1/web", {}, space=root, sign=SECONDS)
    if answer is None:
        raise KinenError("the daemon does not answer", "run `kinen doctor`")
    body = json.loads(answer.body)
    if answer.code != 200:
        raise KinenError(body["error"]["message"], body["error"]["hint"])
    opened = not no_open and _open(body["url"])
    text = "opened in your browser" if opened else body["url"]
    return Output({**body, "opened": opened}, text)


def _root(space: str) -> str:
    """The folder of the space to open; empty if there is none here and none was named."""
    from kinen.space import find as spaces

    try:
        return spaces.find(name=space or None).root
    except KinenError:
        if space:
            raise
        return ""


def _open(url: str) -> bool:
    """Start a browser, where there is a screen for it; a text browser would take the terminal."""
    screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    if not screen:
        return False
    import webbrowser

    return webbrowser.open(url)
