"""`kinen trust`: trust the config file of a space."""

from __future__ import annotations

import os

import click

from kinen import config, paths
from kinen.cli.command import space_option
from kinen.config import trust as store
from kinen.space import find as spaces


@click.command()
@click.option("--revoke", is_flag=True, help="revoke the trust")
@space_option
def trust(revoke: bool, space: str | None) -> int:
    """Trust the current content of this space's .kinen/config.yml.

    The file may have come with a `git clone`. Until you trust it, keys that choose endpoints or
    models, or read outside the space, are ignored. After a change it must be trusted again.
    """
    home = paths.default_home()
    root = spaces.find(name=space).root if space else spaces.locate() or spaces.find().root
    file = config.space_file(root)
    if revoke:
        store.revoke(home, file)
        print(f"no longer trusted: {file}")
        return 0
    if not os.path.exists(file):
        print(f"nothing to trust: {file} does not exist")
        return 0
    ignored = config.load(home, root).ignored
    store.trust(home, file)
    print(f"trusted: {file}")
    for key in ignored:
        print(f"  {key} is now {config.get(config.load(home, root), key)}")
    return 0
