"""The table of commands.

Commands of `kinen.verbs` are also tools of MCP and endpoints of HTTP. Reading this imports none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kinen.verbs.verb import Verb

COMMANDS = (
    ("Ask", "search", "kinen.verbs.search:Search", "search by word and by meaning"),
    ("Ask", "ask", "kinen.verbs.answers:ask", "answer a question, with sources"),
    (
        "Ask",
        "recall",
        "kinen.verbs.search:Recall",
        "what an agent should know, within a token budget",
    ),
    ("Ask", "fix", "kinen.verbs.experience:FixError", "how an error was fixed before"),
    ("Ask", "how", "kinen.verbs.experience:HowTo", "invocations of a command that worked here"),
    (
        "Ask",
        "friction",
        "kinen.verbs.experience:friction",
        "errors and corrections that come back",
    ),
    ("Ask", "why", "kinen.verbs.why:Why", "why a line, a commit or a memory is there"),
    ("Ask", "show", "kinen.verbs.records:Show", "show a record, a file or a part of it"),
    ("Ask", "related", "kinen.verbs.answers:related", "files related by link, meaning and tag"),
    ("Ask", "open", "kinen.cli.editor:open_", "open a hit in your editor"),
    ("Ask", "tui", "kinen.cli.surfaces:tui", "browse the memory in the terminal"),
    ("Ask", "web", "kinen.cli.surfaces:web", "look at the memory in a browser"),
    ("Work", "session", "kinen.cli.session:session", "list, show, start and close sessions"),
    ("Work", "handoff", "kinen.verbs.reports:Handoff", "what the next person or agent needs"),
    ("Work", "standup", "kinen.verbs.reports:Standup", "what was done, decided and comes next"),
    ("Work", "save", "kinen.verbs.worklog:save", "save what was done and why"),
    ("Work", "memories", "kinen.verbs.memories:memories", "decisions, lessons, patterns, insights"),
    ("Work", "plan", "kinen.cli.plan:plan", "save and follow plans; issues"),
    ("Work", "forget", "kinen.verbs.journal:forget", "erase an entry, or hide a file or commit"),
    ("Files", "files", "kinen.verbs.files:Files", "list the repository's files by tag"),
    ("Files", "history", "kinen.verbs.files:History", "commits of a file, across renames"),
    ("Files", "cochange", "kinen.verbs.files:Cochange", "files that usually change with others"),
    ("Maintain", "import", "kinen.cli.transfer:import_", "import a bundle or past sessions"),
    ("Maintain", "export", "kinen.cli.transfer:export", "write the journal to a file"),
    ("Maintain", "index", "kinen.cli.index:index", "update, inspect or rebuild the index"),
    ("Maintain", "status", "kinen.cli.status:status", "contents and state of this space"),
    ("Maintain", "doctor", "kinen.cli.doctor:doctor", "check the installation and suggest fixes"),
    ("Set up", "install", "kinen.cli.install:install", "connect an agent, such as Claude Code"),
    ("Set up", "space", "kinen.cli.space:space", "list, add and remove spaces"),
    ("Set up", "config", "kinen.cli.config:config", "show, get and set options"),
    ("Set up", "serve", "kinen.cli.daemon:serve", "serve the memory over HTTP, MCP or LSP"),
    ("Set up", "team", "kinen.cli.team:team", "share a memory with colleagues"),
)
"""Section of `kinen help all`, name, `module:function` (`command` by default), description."""

OTHER_NAMES = (
    ("query", "search", "kinen.verbs.search:Search"),
    ("context", "recall --around", "kinen.verbs.reports:Context"),
    ("pick", "tui --pick", "kinen.cli.surfaces:pick"),
    ("checkpoint", "save", "kinen.verbs.worklog:checkpoint"),
    ("checkpoint list", "save --list", "kinen.verbs.worklog:list_saved"),
    ("checkpoint show", "save --show", "kinen.verbs.worklog:show_saved"),
    ("checkpoint edit", "save --edit", "kinen.cli.editor:edit_saved"),
    ("log", "save --event", "kinen.cli.log"),
    ("pin", "save --pin", "kinen.verbs.journal:pin"),
    ("unpin", "forget --pin", "kinen.verbs.journal:unpin"),
    ("redact", "forget --redact", "kinen.verbs.journal:redact"),
    ("capsule", "session capsule", "kinen.verbs.journal:capsule"),
    ("round", "session round", "kinen.cli.session:round_"),
    ("list", "session entries", "kinen.verbs.journal:list_"),
    ("consolidate", "memories draw", "kinen.verbs.memories:consolidate"),
    ("issues", "plan issues", "kinen.cli.issues:issues"),
    ("graph", "files graph", "kinen.verbs.records:graph"),
    ("resources", "files resources", "kinen.cli.resources:resources"),
    ("blame", "files blame", "kinen.verbs.files:blame"),
    ("restore", "files restore", "kinen.verbs.files:restore"),
    ("tag", "files tag", "kinen.verbs.records:tag"),
    ("tags", "files tags", "kinen.verbs.records:Tags"),
    ("daemon", "index daemon", "kinen.cli.daemon:daemon"),
    ("gc", "index gc", "kinen.cli.index:gc"),
    ("hooks", "index hooks", "kinen.cli.hooks:hooks"),
    ("snapshot", "index snapshot", "kinen.cli.index:snapshot"),
    ("ledger", "status ledger", "kinen.cli.ledger:ledger"),
    ("uninstall", "install --remove", "kinen.cli.install:uninstall"),
    ("demo", "space demo", "kinen.cli.demo:demo"),
    ("init", "space init", "kinen.cli.space:init"),
    ("trust", "space trust", "kinen.cli.space:trust"),
    ("completion", "config completion", "kinen.cli.config:completion"),
    ("lsp", "serve lsp", "kinen.cli.surfaces:lsp"),
    ("mcp", "serve mcp", "kinen.cli.mcp"),
    ("sync", "team sync", "kinen.cli.team:sync"),
)
"""Commands that `kinen help all` does not list: name, home, `module:function`.

The home is the listed command, or a word or an option of it. Both forms are the same command. It
is an option where the listed command takes words of its own, which could be the same word.
"""

REQUESTS = (
    ("read", "kinen.verbs.records:Read"),
    ("links", "kinen.verbs.records:BrowseLinks"),
    ("observe", "kinen.verbs.journal:observe"),
    ("list observations", "kinen.verbs.journal:list_observations"),
    ("forget observation", "kinen.verbs.journal:forget_observation"),
    ("list capsules", "kinen.verbs.journal:list_capsules"),
    ("list open capsules", "kinen.verbs.journal:list_open_capsules"),
    ("list pins", "kinen.verbs.journal:list_pins"),
    ("remove pin", "kinen.verbs.journal:remove_pin"),
    ("retrieve", "kinen.verbs.reports:retrieve"),
    ("session start", "kinen.verbs.reports:session_start"),
    ("pre compact", "kinen.verbs.reports:pre_compact"),
    ("prompt", "kinen.verbs.reports:prompt_context"),
    ("change plan", "kinen.verbs.worklog:change_plan"),
    ("correct memory", "kinen.verbs.memories:CorrectMemory"),
    ("index status", "kinen.verbs.index:IndexStatus"),
)
"""Verbs that have no row above: those of no command, or of one with other parts."""


def target(name: str) -> str:
    """Where a command is defined; empty if there is none of that name."""
    listed = {row[1]: row[2] for row in COMMANDS}
    return listed.get(name) or next((row[2] for row in OTHER_NAMES if row[0] == name), "")


def names() -> list[str]:
    """The first words of all command lines, those that are listed first."""
    others = [name for name, _, _ in OTHER_NAMES if " " not in name]
    return [*(name for _, name, _, _ in COMMANDS), *others]


def parts(name: str) -> dict[str, str]:
    """The words and options of a listed command that are commands, each with its other name."""
    homes = ((home.split(), other) for other, home, _ in OTHER_NAMES)
    return {words[1]: other for words, other in homes if len(words) > 1 and words[0] == name}


def also(path: str) -> list[str]:
    """The other words for a command."""
    pairs = [(name, home) for name, home, _ in OTHER_NAMES]
    return [home for name, home in pairs if name == path] + [
        name for name, home in pairs if home == path
    ]


def verbs() -> Iterator[tuple[str, type[Verb]]]:
    """Every verb with the words of its command, or of a request that has none, each once."""
    rows = [*((name, target) for _, name, target, _ in COMMANDS), *REQUESTS]
    seen = set()
    for name, verb in _classes([*rows, *((name, target) for name, _, target in OTHER_NAMES)]):
        if verb not in seen and not verb.is_group():
            seen.add(verb)
            yield name, verb


def _classes(rows: Iterable[tuple[str, type[Verb] | str]]) -> Iterator[tuple[str, type[Verb]]]:
    """The verbs of a table, and their parts."""
    from importlib import import_module

    for name, target in rows:
        verb = target
        if isinstance(verb, str):
            module, _, attribute = verb.partition(":")
            if not module.startswith("kinen.verbs."):
                continue
            verb = getattr(import_module(module), attribute)
        yield name, verb
        yield from _classes((f"{name} {word}", part) for word, part in verb.parts.items())
