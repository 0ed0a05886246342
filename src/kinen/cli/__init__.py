"""The command line: a table of commands, each loaded when it is asked for."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

COMMANDS = (
    ("Ask", "search", "kinen.cli.search", "find things by word and by meaning"),
    ("Ask", "recall", "kinen.cli.recall", "what an agent should know, in a token budget"),
    ("Ask", "ask", "kinen.cli.ask", "an answer with its sources"),
    ("Ask", "session", "kinen.cli.session:session", "what happened in sessions, or begin one"),
    ("Ask", "context", "kinen.cli.context:context", "what belongs to a file, session or change"),
    ("Ask", "standup", "kinen.cli.context:standup", "what was done, decided and comes next"),
    ("Ask", "handoff", "kinen.cli.context:handoff", "what the next one to work here must know"),
    ("Ask", "fix", "kinen.cli.experience:fix", "the same error before, and what ended it"),
    ("Ask", "how", "kinen.cli.experience:how", "invocations of a command that worked here"),
    ("Ask", "memories", "kinen.cli.memories:memories", "decisions, lessons, patterns and insights"),
    ("Ask", "list", "kinen.cli.list_", "observations, capsules, summaries, pins, memories"),
    ("Ask", "ledger", "kinen.cli.ledger:ledger", "what agents were told, and by which event"),
    ("Ask", "show", "kinen.cli.show", "show a record, a file or a place in it"),
    ("Ask", "graph", "kinen.cli.graph", "links between notes: around one, broken ones, drawings"),
    ("Ask", "files", "kinen.cli.history", "files of the repository, by tag"),
    ("Ask", "history", "kinen.cli.history:history", "what commits did to a file, through renames"),
    ("Ask", "cochange", "kinen.cli.history:cochange", "what usually changes with these files"),
    ("Ask", "tags", "kinen.cli.tags", "tags of files, and the line of tags for a commit"),
    ("Tell", "checkpoint", "kinen.cli.checkpoint:checkpoint", "keep what was done and why"),
    ("Tell", "plan", "kinen.cli.checkpoint:plan", "what is being worked towards"),
    ("Tell", "round", "kinen.cli.session:round_", "the next round of a session"),
    ("Tell", "consolidate", "kinen.cli.memories:consolidate", "draw memories from what was said"),
    ("Tell", "log", "kinen.cli.log", "keep something that happened"),
    ("Tell", "capsule", "kinen.cli.capsule", "open, close and show a session or a step"),
    ("Tell", "pin", "kinen.cli.pin", "have every recall begin with something"),
    ("Tell", "unpin", "kinen.cli.pin:undo", "take a pin away"),
    ("Tell", "tag", "kinen.cli.tags:tag", "give a file a tag by hand, or take one away"),
    ("Tell", "redact", "kinen.cli.redact", "empty an entry for good, keeping its place"),
    ("Tell", "forget", "kinen.cli.redact:forgetting", "leave only a tombstone; hide a file"),
    ("Keep", "export", "kinen.cli.bundle", "write the journal as one file"),
    ("Keep", "import", "kinen.cli.bundle:importing", "take in such a file, or Kindling's"),
    ("Keep", "index", "kinen.cli.index", "bring the index up to date; its status; rebuild it"),
    ("Keep", "snapshot", "kinen.cli.snapshot", "copies of the index, each tied to a commit"),
    ("Keep", "resources", "kinen.cli.resources", "add, list and search papers, docs and data"),
    ("Keep", "status", "kinen.cli.status", "what this space remembers, and with which model"),
    ("Keep", "doctor", "kinen.cli.doctor", "what is wrong on this machine, and what mends it"),
    ("Set up", "init", "kinen.cli.init", "make a folder a space"),
    ("Set up", "space", "kinen.cli.space", "the spaces on this machine"),
    ("Set up", "config", "kinen.cli.config", "show, get and set options"),
    ("Set up", "trust", "kinen.cli.trust", "let a space's own config choose endpoints and models"),
    ("Set up", "install", "kinen.cli.install:install", "make an agent remember: Claude Code"),
    ("Set up", "uninstall", "kinen.cli.install:uninstall", "take that away again"),
    ("Set up", "hooks", "kinen.cli.hooks", "index each commit by itself, with git hooks"),
    ("Set up", "mcp", "kinen.cli.mcp:mcp", "serve the memory to agents over MCP"),
    ("Set up", "serve", "kinen.cli.daemon:serve", "serve the memory over HTTP, with a token"),
    ("Set up", "daemon", "kinen.cli.daemon:daemon", "the process that keeps things warm"),
    ("Set up", "completion", "kinen.cli.completion", "completion for bash, zsh or fish"),
    ("Set up", "demo", "kinen.cli.demo", "build a small space and ask it three questions"),
)

_EXAMPLES = """Examples:
  kinen init                              make this folder a space
  kinen search why did we drop redis      ask by word and by meaning
  kinen search --type rounds --since 2w token refresh
  kinen search 'rate limiter' --json | jq '.results[0].source.path'
"""


def overview() -> str:
    """The help of `kinen` itself."""
    lines = [
        "Usage: kinen COMMAND [ARGS]...",
        "",
        "  Local, lossless, explained memory for AI coding agents.",
        "",
    ]
    group = ""
    for section, name, _, text in COMMANDS:
        if section != group:
            lines += [f"{section}:"] if not group else ["", f"{section}:"]
            group = section
        lines.append(f"  {name:<11} {text}")
    lines += ["", _EXAMPLES, "Options:", "  --version      show the version"]
    lines += ["  --help         show this, or a command's own help"]
    lines += ["", "Most commands take --space NAME to work on another space than this folder's."]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    """The entry point. Exit codes: 0 found or done, 1 nothing found, 2 error."""
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["hook"]:  # it prints little, and makes that visible itself
        _leave(_ended(words), argv is None)
    from kinen.cli.output import visible_output

    with visible_output():
        _leave(_ended(words), argv is None)


def _leave(code: int, at_once: bool) -> NoReturn:
    """End the process; at once where nobody called us: taking the interpreter down costs 8 ms."""
    if at_once:
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _ended(words: list[str]) -> int:
    """Run a command line to its end; its exit code."""
    try:
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does: not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _quick(words: list[str]) -> int | None:
    """Run a plain line of a command that must start fast; None when click had better look at it."""
    import gc

    gc.disable()  # the process ends before there is garbage to speak of
    from kinen.cli.fastargs import read

    if words[0] == "search":
        from kinen.cli import search as command

        run, least, most = command.search, 1, 1 << 20
    elif words[0] == "recall":
        from kinen.cli import recall as command  # type: ignore[no-redef]

        run, least, most = command.recall, 0, 1 << 20  # type: ignore[attr-defined]
    else:
        from kinen.cli import log as command  # type: ignore[no-redef]

        run, least, most = command.log, 1, 1  # type: ignore[attr-defined]
    plain = read(words[1:], command.OPTIONS)
    if not plain or not least <= len(plain[0]) <= most:
        return None
    try:
        return run(" ".join(plain[0]), **plain[1])
    except BrokenPipeError:
        raise
    except Exception as error:
        from kinen.cli.run import explained

        return explained(error)


def _run(words: list[str]) -> int:
    completing = "_KINEN_COMPLETE" in os.environ
    if not completing and words in ([], ["--help"], ["-h"], ["help"]):
        print(overview())
        return 0
    if words == ["--version"]:
        from kinen import __version__

        print(f"kinen {__version__}")
        return 0
    if words[:1] == ["hook"]:  # what agents call; it is no command for people
        from kinen.hooks.command import main as hook

        return hook(words[1:])
    if not completing and words[0] in ("search", "recall", "log"):
        code = _quick(words)
        if code is not None:
            return code
    from kinen.cli.groups import run

    return run(words)
