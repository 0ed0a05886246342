"""`kinen completion`: the completion script of a shell."""

from __future__ import annotations

import click


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

    script = get_completion_class(shell)
    assert script is not None
    print(script(root, {}, "kinen", "_KINEN_COMPLETE").source())
    return 0
