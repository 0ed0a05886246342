"""`kinen trust`: trust the config file of a space, and what its files say."""

from __future__ import annotations

import os

import click

from kinen import config, paths
from kinen.cli.command import space_option
from kinen.config import trust as store
from kinen.space import find as spaces


@click.command()
@click.option("--memory", is_flag=True, help="only what the repository says, not its config file")
@click.option("--revoke", is_flag=True, help="revoke the trust")
@space_option
def trust(memory: bool, revoke: bool, space: str | None) -> int:
    """Trust this space: its .kinen/config.yml as it is, and what its repository says.

    Both may have come with a `git clone`. Until you trust them, keys of the config file that choose
    endpoints or models, or read outside the space, are ignored, its limits count only if they are
    lower than yours, and agents are not told at their start what memories, plans, files, commits
    and issues say that kinen did not write on this machine. After a change the config file must be
    trusted again.
    """
    home = paths.default_home()
    root = spaces.find(name=space).root if space else spaces.locate() or spaces.find().root
    file = config.space_file(root)
    if not memory:
        if revoke:
            store.revoke(home, file)
            print(f"no longer trusted: {file}")
        elif os.path.exists(file):
            ignored = config.load(home, root).ignored
            store.trust(home, file)
            print(f"trusted: {file}")
            for key in ignored:
                print(f"  {key} is now {config.get(config.load(home, root), key)}")
    if revoke:
        store.revoke_memory(home, root)
        print(f"agents are no longer told at their start what others wrote in {root}")
    else:
        store.trust_memory(home, root, spaces.at(root).id)
        print(f"agents are told at their start what others wrote in {root}")
    return 0
