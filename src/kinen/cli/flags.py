"""The options that nearly every command has."""

from __future__ import annotations

import click

FILE_NAME = click.UNPROCESSED
"""A file, a record or a space by its name, which may have bytes that are not UTF-8."""
in_space = click.option(
    "--space", "-s", type=FILE_NAME, help="another space than the one of this folder"
)
in_spaces = click.option(
    "--space",
    "-s",
    "spaces",
    type=FILE_NAME,
    multiple=True,
    help="another space than the one of this folder; repeatable, or all",
)
for_scripts = click.option("--json", "as_json", is_flag=True, help="for scripts")
