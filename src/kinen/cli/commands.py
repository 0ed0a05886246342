"""The table of commands, and the help of `kinen` itself. Reading it imports no command."""

from __future__ import annotations

COMMANDS = (
    ("Search", "search", "kinen.cli.search", "search by word and by meaning"),
    ("Search", "recall", "kinen.cli.recall", "what an agent should know, within a token budget"),
    ("Search", "ask", "kinen.cli.ask:ask", "answer a question, with sources"),
    ("Search", "session", "kinen.cli.session:session", "list, show, start and close sessions"),
    ("Search", "context", "kinen.cli.context:context", "what relates to a file, session or change"),
    ("Search", "standup", "kinen.cli.context:standup", "what was done, decided and comes next"),
    ("Search", "handoff", "kinen.cli.context:handoff", "what the next person or agent needs"),
    ("Search", "fix", "kinen.cli.experience:fix", "how an error was fixed before"),
    ("Search", "how", "kinen.cli.experience:how", "invocations of a command that worked here"),
    ("Search", "memories", "kinen.cli.memories:memories", "decisions, lessons, patterns, insights"),
    ("Search", "list", "kinen.cli.list_:list_", "list observations, capsules, summaries, pins"),
    ("Search", "ledger", "kinen.cli.ledger:ledger", "what kinen sent to agents, and when"),
    ("Search", "show", "kinen.cli.show:show", "show a record, a file or a part of it"),
    ("Search", "related", "kinen.cli.graph:related", "notes related by link, meaning and tag"),
    ("Search", "open", "kinen.cli.open_:open_", "open a hit in your editor"),
    ("Search", "graph", "kinen.cli.graph:graph", "links between notes, and broken links"),
    ("Search", "files", "kinen.cli.history:files", "list the repository's files by tag"),
    ("Search", "history", "kinen.cli.history:history", "commits of a file, across renames"),
    ("Search", "cochange", "kinen.cli.history:cochange", "files that usually change with others"),
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

DAILY = "search recall ask context checkpoint plan standup handoff status install".split()
"""The commands that the help of `kinen` shows first."""
_EXAMPLES = """Examples:
  kinen init                              make this folder a space
  kinen search why did we drop redis      search by word and by meaning
  kinen checkpoint 'Tokens now rotate'    save what was done and why
  kinen search 'rate limiter' --json | jq '.results[0].source.path'
"""
_OPTIONS = """Options:
  --space NAME   use another space than that of the current folder
  --version      show the version
  --help         show this help"""


def overview(*, everything: bool = False) -> str:
    """The help of `kinen` itself: the daily commands, or with `everything` all of them."""
    lines = [
        "Usage: kinen COMMAND [ARGS]...",
        "",
        "  Local, lossless, explained memory for AI coding agents.",
    ]
    lines += _sections() if everything else _daily()
    return "\n".join([*lines, "", _EXAMPLES, _OPTIONS])


def _daily() -> list[str]:
    descriptions = {name: description for _, name, _, description in COMMANDS}
    others = len(COMMANDS) - len(DAILY)
    return [
        "",
        "Every day:",
        *(f"  {name:<11} {descriptions[name]}" for name in DAILY),
        "",
        "More:",
        "  help NAME   show the help of a command",
        f"  help all    list the {others} other commands",
    ]


def _sections() -> list[str]:
    lines = []
    section = ""
    for group, name, _, description in COMMANDS:
        if group != section:
            lines += ["", f"{group}:"]
            section = group
        lines.append(f"  {name:<11} {description}")
    return lines
