"""Options that several commands share, each with its names in one place.

The table in CONTRIBUTING.md lists them; `tests/cli/test_words.py` holds every command to it.
Commands that must start fast use the rows as they are, the others use `command.options`.
"""

from __future__ import annotations

from kinen.cli.fastargs import Option, flag
from kinen.model.kinds import MODE_ALIASES, MODES, MOST_HITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TIMES = "2026-03-01, 2h, 3d, 1w, today, yesterday or epoch seconds"
SPACE_HELP = "space to use (default: that of the current folder)"
PREFIX = "a prefix is enough"


def since(default: str = "") -> Option:
    """`--since`, with the default that the command uses."""
    description = f"only since this time: {TIMES}" + (f" (default: {default})" if default else "")
    return Option("--since", "since", "TIME", description, aliases="--after --from")


SINCE = since()
UNTIL = Option(
    "--until", "until", "TIME", "only until this time", aliases="--before --to", rare=True
)
DAYS = Option("--days", "days", "N", "only the last N days", type=int, default=0, hidden=True)
PERIOD = (SINCE, UNTIL, DAYS)
AS_OF = Option("--as-of", "as_of", "TIME", "what was known at a time, or in a commit", rare=True)
BEGIN = (SINCE, DAYS)
"""For commands whose period ends now."""

REPO = Option("--repo", "repo", "NAME", f"only this repository ({PREFIX})", rare=True)
AGENT = Option("--agent", "agent", "NAME", f"only this agent ({PREFIX})", rare=True)
USER = Option("--user", "user", "NAME", f"only this user ({PREFIX})", rare=True)
SESSION = Option("--session", "session", "ID", f"only this session ({PREFIX})", rare=True)
SCOPE = (REPO, AGENT, USER, SESSION)

FILE = Option(
    "--file -f",
    "files",
    "PATH",
    "about this file: its path, or the end of it",
    many=True,
    path=True,
)
SPACE = Option("--space -s", "space", "NAME", SPACE_HELP, default=None, path=True)
SPACES = Option("--space -s", "spaces", "NAME", f"{SPACE_HELP}, or all", many=True, path=True)
JSON = flag("--json", "as_json", "print JSON")


MODE = Option(
    "--mode -m",
    "mode",
    "MODE",
    "how to search: hybrid, fulltext (by word), semantic (by meaning), or with another ranking:"
    " rrf, keyword-first, rerank (default: search.default_mode)",
    choices=(*MODES, *MODE_ALIASES),
    rare=True,
)
HOW = (
    flag("--semantic", "semantic", "search by meaning only", rare=True),
    flag("--fulltext", "fulltext", "search by word only", rare=True),
    flag(
        "--hybrid", "hybrid", "search by word and meaning, also if the model must load", rare=True
    ),
    MODE,
)


def mode_of(options: Mapping[str, Any]) -> str:
    """The mode from --mode, --semantic, --fulltext or --hybrid; empty if none is used."""
    modes = [name for name in ("semantic", "fulltext", "hybrid") if options[name]]
    modes += [options["mode"]] if options["mode"] else []
    if len(modes) > 1:
        from kinen.errors import QueryError

        raise QueryError(f"{' and '.join(modes)} cannot be combined", "use one mode")
    return modes[0] if modes else ""


def tags(description: str, aliases: str = "") -> Option:
    """`--tag`, repeatable, or several tags with commas."""
    names = f"--tags {aliases}"
    return Option("--tag", "tags", "TAG", description, many=True, split=True, aliases=names)


TAG = tags("tag that records must have")


def limit(noun: str, default: int | None, configured: str = "") -> Option:
    """`--limit` of a search; `configured` names the setting that replaces a default of None."""
    setting = f", default: {configured}" if configured else ""
    description = f"maximum number of {noun} (0 = all{setting})"
    return Option("--limit -n", "limit", "N", description, type=int, default=default)


def hit_limit(number: int | None) -> int:
    """The limit of a query: 0, which means as configured, for no option; all for an option of 0."""
    return 0 if number is None else number or MOST_HITS


def begin(options: Mapping[str, Any]) -> str:
    """The begin of a period, from --since or --days."""
    from kinen.errors import QueryError

    days = options["days"]
    if days < 0:
        raise QueryError("--days cannot be negative", "use 1 or more")
    if days and options["since"]:
        raise QueryError("--since and --days cannot be combined", "use one of them")
    return f"{days}d" if days else str(options["since"])
