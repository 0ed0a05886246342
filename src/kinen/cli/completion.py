"""`kinen completion`: the script that a shell sources."""

from __future__ import annotations

import click


def command() -> click.Command:
    return completion


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script for a shell.

    \b
    Examples:
      eval "$(kinen completion bash)"               # in ~/.bashrc
      eval "$(kinen completion zsh)"                # in ~/.zshrc
      kinen completion fish > ~/.config/fish/completions/kinen.fish
    """
    from click.shell_completion import get_completion_class

    from kinen.cli.groups import root

    kind = get_completion_class(shell)
    assert kind is not None
    print(kind(root, {}, "kinen", "_KINEN_COMPLETE").source())
    return 0
