"""The two options that nearly every command has."""

from __future__ import annotations

import click

in_space = click.option("--space", "-s", help="another space than the one of this folder")
for_scripts = click.option("--json", "as_json", is_flag=True, help="for scripts")
