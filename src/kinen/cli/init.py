"""`kinen init`: make a folder a space."""

from __future__ import annotations

import os

import click

TEMPLATES = {
    "technical": ("docs", "papers", "examples", "data"),
    "writing": ("drafts", "references", "people", "places"),
    "research": ("papers", "notes", "data", "figures"),
}


def command() -> click.Command:
    return init


@click.command()
@click.argument("path", default=".", type=click.Path(file_okay=False))
@click.option("--name", help="what to call it; the folder's name if not given")
@click.option("--template", type=click.Choice(list(TEMPLATES)), help="folders for resources/")
def init(path: str, name: str | None, template: str | None) -> int:
    """Make a folder a space: register it and write a short .kinen/config.yml.

    Nothing that is there is changed; running it again is harmless.

    \b
    Examples:
      kinen init
      kinen init ~/notes --name notes --template research
    """
    from kinen import config, paths
    from kinen.space import find, registry
    from kinen.storage import inside

    os.makedirs(path, exist_ok=True)
    root = os.path.realpath(path)
    home = paths.default_home()
    found = find.at(root, home=home)
    file = config.space_file(root)
    new = not os.path.lexists(file)
    if new:
        title = name or found.name
        identity = registry.new_identity() if found.identity == "path" else ""
        inside.create(root, ".kinen/config.yml", config.template(title, identity).encode())
    registered = find.register(find.at(root, home=home), name)
    for folder in TEMPLATES.get(template or "", ()):
        inside.make_folder(root, f"resources/{folder}")
    print(f"{'initialised' if new else 'already a space:'} {registered.name} in {root}")
    print("next: `kinen index`, then `kinen search` something")
    return 0
