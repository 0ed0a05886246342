"""The description of an agent: where its settings are, what its events are called, what it hears.

Each agent with hooks is one module in `agents/clients/` that holds one `Client`, and no code. Hooks
load the one that they are called by: this module and the descriptions import nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Keys = tuple[str, ...]

SHARED_EVENTS = (
    "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure SubagentStart"
    " SubagentStop PreCompact PostCompact Stop SessionEnd".split()
)
"""Events as kinen calls them, which is as Claude Code does; the others are translated to these."""

BORROWERS = (("cursor", "", "cursor_version"), ("copilot", "COPILOT_CLI", ""))
"""Agents that also run the hooks of Claude Code, each with the variable or the field that tells."""


class Setting:
    """One file of an agent's settings, and the part of it that is kinen's.

    `part` is what is written: `hooks`, `server`, `notify`, `read`, `rules` or `plugin`.
    `form` is how: `json`, `jsonc` (comments allowed), `toml`, `yaml`, `block` (a marked block of
    text) or `file` (the whole file). `keys` lead to where an entry goes.

    Places are templates: `{home}` is the user's folder, `{config}` the agent's own, `{base}` what
    its variable says or else the home, `{settings}` where the system keeps settings of programs,
    `{folder}` the name of the agent's folder, `{top}` the repository, `{main}` its main worktree.
    """

    __slots__ = ("file", "form", "keys", "part")

    def __init__(self, part: str, file: str, keys: Keys = (), form: str = "json") -> None:
        self.part = part
        self.file = file
        self.keys = keys
        self.form = form


class Result:
    """Where the response to a tool use holds what is recorded: paths of keys joined by dots.

    `text` is what was printed or answered, the first that is there. `marks` are texts before an
    exit code inside of it; without one the code is `silent`, None if that says nothing. `noise` are
    beginnings of lines that the client adds to an output. `report` are the beginning of a text that
    is a whole report of a command, and the texts before and after the output in it.
    """

    __slots__ = ("diff", "exit_code", "failed", "marks", "noise", "report", "silent", "text")

    def __init__(
        self,
        *,
        text: Keys = (),
        exit_code: str = "",
        diff: str = "",
        failed: str = "",
        marks: Keys = (),
        noise: Keys = (),
        report: Keys = (),
        silent: int | None = 0,
    ) -> None:
        self.text = text
        self.exit_code = exit_code
        self.diff = diff
        self.failed = failed
        self.marks = marks
        self.noise = noise
        self.report = report
        self.silent = silent


class Trust:
    """Where it stands whether the user trusts a folder; elsewhere hooks of a project do not run.

    `file` is the record. The first of `keys` that it has is a list of trusted folders; without
    keys the record itself has for each folder what was decided, as that of Gemini CLI. `switch`
    leads to the setting in `settings` that turns the check on or off, `on` is its default.
    """

    __slots__ = ("file", "keys", "on", "settings", "switch")

    def __init__(
        self, file: str, keys: Keys = (), settings: str = "", switch: Keys = (), *, on: bool = True
    ) -> None:
        self.file = file
        self.keys = keys
        self.settings = settings
        self.switch = switch
        self.on = on


class Client:
    """One agent, as data: `Client("codex", "Codex CLI", folder=".codex", …)`."""

    program: str = ""
    """Its command."""
    resume: str = ""
    """The command that takes up a past session, with `{}` for its id."""
    folder: str = ""
    """Its own folder in the user's home, by which it is detected, too."""
    variable: str = ""
    """The variable that moves the folder."""
    scopes: Mapping[str, tuple[Setting, ...]] = {}
    """The settings of each scope: `user`, `project` and `local`."""
    events: Mapping[str, str] = {}
    """The client's events that are recorded or answered, each with its shared name."""
    matchers: Mapping[str, str] = {}
    """Events that are limited to some tools; `*` is all of them."""
    before_tools: Mapping[str, str] = {}
    """Events, with their tools, that are installed only if `hooks.before_tools` is set: each starts
    a process per use of a tool."""
    hook: Mapping[str, Any] = {}
    """The entry of a hook, in which `{line}` is our command and `{event}` the event."""
    nested: bool = True
    """Whether hooks are in groups with a matcher, as those of Claude Code."""
    defaults: Mapping[str, Any] = {}
    """Keys that a new file of hooks must have, such as a version."""
    server: Mapping[str, Any] = {}
    """The entry of the MCP server: `{program}` and `{args}`, or `{argv}` for both, are ours."""
    plugin: str = ""
    """The plugin that is shipped with kinen, below `hooks/`."""
    commands: Mapping[str, tuple[str, str]] = {}
    """For each scope that has slash commands: a folder, and the folder of ours below it."""
    command_form: str = "markdown"
    """How slash commands are written: `claude`, `markdown`, `toml`, `plain`, or by the `plugin`."""
    command_file: str = "{command}.md"
    fields: Mapping[str, Keys] = {}
    """Where a payload has the shared fields: paths of keys, the first that leads to a value."""
    result: Result | None = None
    """Where a payload has the outcome of a tool; None if it is as in Claude Code."""
    answer: str = ""
    """The form of a response: `claude`, `copilot`, `cursor`, or `text` for a plugin of ours."""
    told_at: Keys = ()
    """Shared events whose response reaches the model."""
    project_variable: str = ""
    """The variable with the project's folder, which goes before the working folder."""
    transcript: Keys = ()
    """Where the last answer is, if no event has it: the type of a line of the transcript, and the
    path in it."""
    late: bool = False
    """Whether exit codes and edits are in its transcript and not in its events: it is read at the
    end of each turn."""
    switches: Mapping[Keys, bool] = {}
    """Settings beside the hooks that turn all hooks off, each with the value that does."""
    by_hand: Mapping[str, str] = {}
    """What the user has to do after an install in a scope; `{program}` is the agent's command."""
    trust: Trust | None = None
    """Where it stands whether the user trusts a folder, if hooks of a project depend on it."""
    forgets: bool = False
    """Whether a session that is resumed has lost what hooks told it before."""
    imports: bool = False
    """Whether `kinen import transcripts` reads its past sessions."""
    proved: str = "settings only"
    """What shows that it works: the version of the real client that tests run, or a replay."""

    def __init__(self, name: str, title: str, **fields: Any) -> None:
        self.name = name
        self.title = title
        for field, value in fields.items():
            if not hasattr(Client, field):
                raise TypeError(f"an agent has no {field!r}")
            setattr(self, field, value)

    def like(self, name: str, title: str, **fields: Any) -> Client:
        """Another agent that differs from this one in some fields."""
        same = {field: value for field, value in vars(self).items() if hasattr(Client, field)}
        return Client(name, title, **{**same, **fields})


def load(name: str) -> Client | None:
    """The description of an agent, or None if there is none of that name."""
    module = name.replace("-", "_")
    if not module.isidentifier() or module != module.lower():
        return None
    client: Client | None = getattr(_described(module), "CLIENT", None)
    others: tuple[Client, ...] = () if client else _described("settings_only").CLIENTS
    return client or next((other for other in others if other.name == name), None)


def _described(module: str) -> Any:
    try:
        return __import__(f"kinen.agents.clients.{module}", fromlist=["CLIENT"])
    except ImportError:
        return None


def clients() -> dict[str, Client]:
    """All descriptions by name, in the order of the alphabet."""
    import pkgutil

    from kinen.agents import clients as package

    names = (module.name.replace("_", "-") for module in pkgutil.iter_modules(package.__path__))
    described = [*_described("settings_only").CLIENTS, *filter(None, map(load, names))]
    return dict(sorted((client.name, client) for client in described))
