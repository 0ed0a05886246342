"""`kinen init`: make a folder a space."""

from __future__ import annotations

import os

import click

from kinen import config, paths
from kinen.cli.command import choice_option
from kinen.memory import Memory
from kinen.render.text import counted
from kinen.space import early, find, registry
from kinen.storage import inside

PATIENCE_MS = 5_000
"""How long it waits for a process that writes the journal."""
TEMPLATES = {
    "technical": ("docs", "papers", "examples", "data"),
    "writing": ("drafts", "references", "people", "places"),
    "research": ("papers", "notes", "data", "figures"),
}


@click.command()
@click.argument("path", default=".", type=click.Path(file_okay=False))
@click.option("--name", metavar="NAME", help="name of the space (default: name of the folder)")
@choice_option(
    "--template", list(TEMPLATES), "create these folders below resources/ (default: none)"
)
def init(path: str, name: str | None, template: str | None) -> int:
    """Make a folder a space: register it and write a short .kinen/config.yml.

    Existing files are not changed; running it again is safe.

    \b
    Examples:
      kinen init
      kinen init ~/notes --name notes --template research
    """
    os.makedirs(path, exist_ok=True)
    root = os.path.realpath(path)
    home = paths.default_home()
    space = find.at(root, home=home)
    file = config.space_file(root)
    new = not os.path.lexists(file)
    if new:
        title = name or space.name
        identity = registry.new_identity() if space.identity == "path" else ""
        inside.create(root, ".kinen/config.yml", config.template(title, identity).encode())
    waiting = early.count(home, root)
    registered = find.register(find.at(root, home=home), name)
    for folder in TEMPLATES.get(template or "", ()):
        inside.make_folder(root, f"resources/{folder}")
    print(f"{'initialised' if new else 'already a space:'} {registered.name} in {root}")
    if waiting:
        with Memory.open(root) as memory:
            memory.core.store.drain(PATIENCE_MS)
            memory.journal.close_ended()
            taken = waiting - early.count(home, root)
        print(f"took in {counted(taken, 'events')} from before it was a space")
    print("next: run `kinen index`, then `kinen search`")
    return 0
