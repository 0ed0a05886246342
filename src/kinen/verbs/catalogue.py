"""The table of commands. Those of `kinen.verbs` are also tools of MCP and endpoints of HTTP.

Reading it imports no command.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen.verbs.verb import Verb

COMMANDS = (
    ("Search", "search", "kinen.cli.search", "search by word and by meaning"),
    ("Search", "recall", "kinen.cli.recall", "what an agent should know, within a token budget"),
    ("Search", "ask", "kinen.verbs.search:Ask", "answer a question, with sources"),
    ("Search", "session", "kinen.cli.session:session", "list, show, start and close sessions"),
    ("Search", "context", "kinen.cli.context:context", "what relates to a file, session or change"),
    ("Search", "standup", "kinen.cli.context:standup", "what was done, decided and comes next"),
    ("Search", "handoff", "kinen.cli.context:handoff", "what the next person or agent needs"),
    ("Search", "fix", "kinen.verbs.experience:FixError", "how an error was fixed before"),
    ("Search", "how", "kinen.verbs.experience:HowTo", "invocations of a command that worked here"),
    ("Search", "friction", "kinen.verbs.experience:Friction", "errors that keep coming back"),
    ("Search", "memories", "kinen.cli.memories:memories", "decisions, lessons, patterns, insights"),
    ("Search", "list", "kinen.cli.list_:list_", "list observations, capsules, summaries, pins"),
    ("Search", "ledger", "kinen.cli.ledger:ledger", "what kinen sent to agents, and when"),
    ("Search", "show", "kinen.cli.show:show", "show a record, a file or a part of it"),
    ("Search", "related", "kinen.verbs.search:Related", "notes related by link, meaning and tag"),
    ("Search", "open", "kinen.cli.open_:open_", "open a hit in your editor"),
    ("Search", "graph", "kinen.cli.graph:graph", "links between notes, and broken links"),
    ("Search", "files", "kinen.verbs.git:Files", "list the repository's files by tag"),
    ("Search", "history", "kinen.verbs.git:History", "commits of a file, across renames"),
    ("Search", "cochange", "kinen.verbs.git:Cochange", "files that usually change with others"),
    ("Search", "tags", "kinen.cli.tags:tags", "list file tags, or tags for a commit message"),
    ("Search", "issues", "kinen.cli.issues:issues", "issues of beads and other trackers"),
    ("Search", "tui", "kinen.cli.tui:tui", "browse the memory in the terminal"),
    ("Search", "pick", "kinen.cli.tui:pick", "choose an entry and print its path or ref"),
    ("Search", "web", "kinen.cli.web:web", "look at the memory in a browser"),
    ("Record", "checkpoint", "kinen.cli.checkpoint:checkpoint", "save what was done and why"),
    ("Record", "plan", "kinen.cli.plan:plan", "save and follow plans"),
    ("Record", "round", "kinen.cli.session:round_", "add a round to a session"),
    ("Record", "consolidate", "kinen.cli.memories:consolidate", "extract memories from sessions"),
    ("Record", "log", "kinen.cli.log", "record an event"),
    ("Record", "capsule", "kinen.cli.capsule:capsule", "open, close and show a capsule"),
    ("Record", "pin", "kinen.cli.pin:pin", "include a record in every recall"),
    ("Record", "unpin", "kinen.cli.pin:unpin", "remove a pin"),
    ("Record", "tag", "kinen.cli.tags:tag", "add or remove tags of a file"),
    ("Record", "redact", "kinen.cli.redact:redact", "erase the text of an entry, keep its id"),
    ("Record", "forget", "kinen.cli.redact:forget", "erase an entry, or hide a file or commit"),
    ("Maintain", "export", "kinen.cli.export:export", "write the journal to a file"),
    ("Maintain", "import", "kinen.cli.import_:import_", "import a bundle or past sessions"),
    ("Maintain", "sync", "kinen.cli.team:sync", "send and receive what a team shares"),
    ("Maintain", "index", "kinen.cli.index:index", "update, inspect or rebuild the index"),
    ("Maintain", "snapshot", "kinen.cli.snapshot:snapshot", "copies of the index, one per commit"),
    ("Maintain", "resources", "kinen.cli.resources:resources", "papers, docs, examples and data"),
    ("Maintain", "gc", "kinen.cli.gc:gc", "delete indexes and vectors that nothing uses"),
    ("Maintain", "status", "kinen.cli.status:status", "contents and state of this space"),
    ("Maintain", "doctor", "kinen.cli.doctor:doctor", "check the installation and suggest fixes"),
    ("Set up", "init", "kinen.cli.init:init", "make a folder a space"),
    ("Set up", "space", "kinen.cli.space:space", "list, add and remove spaces"),
    ("Set up", "config", "kinen.cli.config:config", "show, get and set options"),
    ("Set up", "trust", "kinen.cli.trust:trust", "trust the config file of a space"),
    ("Set up", "install", "kinen.cli.install:install", "connect an agent, such as Claude Code"),
    ("Set up", "uninstall", "kinen.cli.install:uninstall", "disconnect an agent"),
    ("Set up", "hooks", "kinen.cli.hooks:hooks", "git hooks that index each commit"),
    ("Set up", "mcp", "kinen.cli.mcp:mcp", "serve the memory to agents over MCP"),
    ("Set up", "lsp", "kinen.cli.lsp:lsp", "serve links and tags of notes to an editor"),
    ("Set up", "serve", "kinen.cli.daemon:serve", "serve the memory over HTTP"),
    ("Set up", "team", "kinen.cli.team:team", "share a memory with colleagues"),
    ("Set up", "daemon", "kinen.cli.daemon:daemon", "the background process for fast searches"),
    ("Set up", "completion", "kinen.cli.completion:completion", "shell completion scripts"),
    ("Set up", "demo", "kinen.cli.demo:demo", "build a small space and search it"),
)
"""Section of the overview, name, `module:function` (`command` by default), description."""


def verbs() -> Iterator[tuple[str, type[Verb]]]:
    """Every verb with the words of its command."""
    from importlib import import_module

    for _, name, target, _ in COMMANDS:
        module, _, attribute = target.partition(":")
        if module.startswith("kinen.verbs."):
            yield name, getattr(import_module(module), attribute)
