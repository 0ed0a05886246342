"""`kinen trust`: let a space's own config file choose endpoints and models."""

from __future__ import annotations

import os

import click

from kinen import config, paths
from kinen.cli.flags import in_space
from kinen.config import trust as store
from kinen.space import find as spaces


def command() -> click.Command:
    return trust


@click.command()
@click.option("--revoke", is_flag=True, help="take the trust back")
@in_space
def trust(revoke: bool, space: str | None) -> int:
    """Trust this space's .kinen/config.yml as it is now.

    The file may have come with a `git clone`. Until you trust it, its keys that choose endpoints
    and models, or read outside the space, are ignored. When it changes, it must be trusted again.
    """
    home = paths.default_home()
    root = spaces.find(name=space).root if space else spaces.locate() or spaces.find().root
    file = config.space_file(root)
    if revoke:
        store.revoke(home, file)
        print(f"no longer trusted: {file}")
        return 0
    if not os.path.exists(file):
        print(f"nothing to trust: there is no {file}")
        return 0
    before = config.load(home, root).ignored
    store.trust(home, file)
    print(f"trusted: {file}")
    for key in before:
        print(f"  {key} is now {config.get(config.load(home, root), key)}")
    return 0
