"""Every key of the configuration: its type, default, limits and help, each in one place."""

from __future__ import annotations

from _collections_abc import Mapping

from kinen.model.kinds import MODES, PROVIDERS
from kinen.model.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Annotated, Any
else:

    class Annotated:
        """`Annotated[type, row]` is the row. That of `typing` takes a search 2 ms."""

        def __class_getitem__(cls, item):
            return item[1]


HARMLESS = "any value"
LOWER = "only lower"
HIGHER = "only higher"
ADDED = "only added"
TRUST = "needs trust"
PERSONAL = "never"
MARKS = (HARMLESS, LOWER, HIGHER, ADDED, TRUST, PERSONAL)
"""What counts of a space's own file, which may have come by `git clone`, before it is trusted.

A mark compares with the layers before: the defaults and the user's own file. `LOWER` keeps the
lower number, `false`, or the earlier choice; `HIGHER` the reverse; `ADDED` keeps the rules that are
in a list already. `PERSONAL` keys are read from the user's own file and environment only, and trust
does not change that. A key is harmless if no value of it costs more time or memory, tells an agent
more, stores more or sends anything; where neither direction is harmless, it needs trust.
"""


class Row(NamedTuple):
    """What a key may be set to, and by whom."""

    kind: str
    """`int`, `float`, `bool`, `text`, `name`, `choice`, `url`, `path`, `variable` (the name of an
    environment variable), `globs`, `words` or `mapping`. Each layer adds to the `globs` of the
    layer before and replaces anything else."""
    mark: str
    """One of `MARKS`. It has no default: every new key says what a clone may do with it."""
    help: str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()
    """With `LOWER` or `HIGHER`, from the lowest to the highest."""
    section: str = ""
    key: str = ""
    dotted: str = ""
    """The section and the key: `index.path`."""
    variable: str = ""
    """The environment variable: `KINEN_INDEX_PATH`."""

    @property
    def default(self) -> Any:
        return getattr(getattr(Config(), self.section), self.key)


class SpaceSection(NamedTuple):
    # Another space's id is refused where spaces are found.
    id: Annotated[str, Row("name", HARMLESS, "identity of the space, the same in every clone")] = ""
    name: Annotated[str, Row("name", HARMLESS, "the name for --space")] = ""
    default: Annotated[str, Row("name", TRUST, "space to use outside of every space")] = ""


class IndexSection(NamedTuple):
    path: Annotated[
        str, Row("path", TRUST, "folder for indexes and caches, instead of kinen's own")
    ] = ""
    embedding_provider: Annotated[
        str,
        Row(
            "choice",
            LOWER,
            "what embeds text: the shipped model, a service, or nothing",
            choices=PROVIDERS,
        ),
    ] = "onnx"
    embedding_model: Annotated[
        str, Row("text", TRUST, "model of the provider; of onnx: english or multilingual")
    ] = ""
    embedding_endpoint: Annotated[str, Row("url", TRUST, "address of the provider")] = ""
    embedding_key_env: Annotated[
        str, Row("variable", TRUST, "environment variable with the API key")
    ] = "OPENAI_API_KEY"
    embedding_path: Annotated[str, Row("path", TRUST, "folder of another ONNX model")] = ""
    embedding_timeout: Annotated[
        int, Row("int", LOWER, "seconds to wait for the provider", 1, 3600)
    ] = 30
    # A small chunk multiplies the work by its overlap, a large one what is shown of a hit.
    chunk_size: Annotated[int, Row("int", TRUST, "most tokens in a chunk", 32, 8192)] = 512
    chunk_overlap: Annotated[
        int, Row("int", LOWER, "tokens shared by neighbouring chunks", 0, 4096)
    ] = 50
    max_file_mb: Annotated[int, Row("int", LOWER, "larger files are skipped", 1, 4096)] = 64
    max_text_mb: Annotated[
        int, Row("int", LOWER, "text of a file beyond this size is not indexed", 1, 4096)
    ] = 6
    file_seconds: Annotated[
        int, Row("int", LOWER, "most seconds for reading a PDF or a source file", 1, 3600)
    ] = 10
    file_memory_mb: Annotated[
        int, Row("int", LOWER, "most memory for reading a PDF or a source file", 64, 65536)
    ] = 400
    symbols: Annotated[bool, Row("bool", LOWER, "index functions and classes of source code")] = (
        True
    )


class SearchSection(NamedTuple):
    default_mode: Annotated[str, Row("choice", HARMLESS, "how hits are ranked", choices=MODES)] = (
        "hybrid"
    )
    default_limit: Annotated[int, Row("int", LOWER, "number of hits", 1, 1000)] = 10
    context_chunks: Annotated[int, Row("int", LOWER, "chunks shown around a passage", 0, 50)] = 0


class RecallSection(NamedTuple):
    budget: Annotated[int, Row("int", LOWER, "most tokens of a recall", 50, 1_000_000)] = 2000
    memories: Annotated[bool, Row("bool", LOWER, "include consolidated memories")] = True


class PrivacySection(NamedTuple):
    exclude: Annotated[
        tuple[str, ...],
        Row("globs", HARMLESS, "paths that are never captured, added to the defaults"),
    ] = tuple(
        ".env .env.* .netrc .pgpass .aws .ssh .gnupg id_rsa* id_ecdsa* id_ed25519*"
        " *.pem *.key *.p12 *.pfx *.kdbx *.keystore".split()
    )
    mask_index: Annotated[
        bool, Row("bool", HIGHER, "also mask file content and commit messages")
    ] = False


class GitSection(NamedTuple):
    strip_prefixes: Annotated[
        tuple[str, ...],
        Row("words", HARMLESS, "folders that give no tag because they only hold others"),
    ] = ("src", "lib", "components", "app", "pages")
    stop_tags: Annotated[tuple[str, ...], Row("words", HARMLESS, "tags that no path gets")] = tuple(
        "index utils helpers types __tests__ test tests cache build coverage .turbo".split()
    )
    exclude: Annotated[
        tuple[str, ...], Row("words", ADDED, "paths whose history is left out, as in .gitignore")
    ] = ("node_modules/**", "dist/**", "*.lock")
    # Two snapshots are kept, however often they are made.
    snapshot_frequency: Annotated[
        int, Row("int", HARMLESS, "commits between snapshots, 0 for none", 0, 1_000_000)
    ] = 500
    components: Annotated[
        tuple[tuple[str, tuple[str, ...]], ...],
        Row(
            "mapping",
            HARMLESS,
            "tags by glob; on one line: `docs/**=docs, packages/core/**=core manifest`",
        ),
    ] = ()


class DistillSection(NamedTuple):
    order: Annotated[
        tuple[str, ...],
        Row(
            "words",
            TRUST,
            "distillers to try in turn: client (the model of the MCP client), claude, gemini,"
            " ollama, openai, extract; all but extract receive the hits",
        ),
    ] = ("extract",)
    timeout: Annotated[int, Row("int", LOWER, "seconds to wait for each of them", 1, 600)] = 30
    cache_hours: Annotated[
        int, Row("int", LOWER, "hours that a digest is cached, 0 for no cache", 0, 8760)
    ] = 24
    budget: Annotated[int, Row("int", LOWER, "most tokens of a digest", 50, 100_000)] = 500
    claude_model: Annotated[str, Row("text", TRUST, "model for `claude -p`")] = "haiku"
    gemini_model: Annotated[str, Row("text", TRUST, "model for `gemini -p`")] = "gemini-2.5-flash"
    ollama_model: Annotated[
        str, Row("text", TRUST, "model of Ollama; if empty, Ollama is not used")
    ] = ""
    ollama_endpoint: Annotated[str, Row("url", TRUST, "address of Ollama")] = (
        "http://127.0.0.1:11434"
    )
    openai_model: Annotated[
        str,
        Row(
            "text",
            TRUST,
            "model of a service with OpenAI's protocol; if empty, it is not used",
        ),
    ] = ""
    openai_endpoint: Annotated[str, Row("url", TRUST, "address of that service")] = (
        "https://api.openai.com/v1"
    )
    openai_key_env: Annotated[
        str, Row("variable", TRUST, "environment variable with its API key")
    ] = "OPENAI_API_KEY"


class ConsolidationSection(NamedTuple):
    order: Annotated[
        tuple[str, ...],
        Row(
            "words",
            TRUST,
            "what draws memories from sessions in `kinen memories draw`: claude, gemini, ollama,"
            " openai, extract; client (the model of the MCP client) at a checkpoint; all but"
            " extract receive the conversation",
        ),
    ] = ("extract",)
    on_session_close: Annotated[bool, Row("bool", LOWER, "draw memories when a session ends")] = (
        True
    )
    extract_decisions: Annotated[
        bool, Row("bool", LOWER, "draw decisions from notes and commits")
    ] = True
    confidence_threshold: Annotated[
        float, Row("float", HIGHER, "least confidence of a memory", 0, 1)
    ] = 0.7
    strategy: Annotated[
        str,
        Row(
            "choice",
            TRUST,
            "whose words in a session count",
            choices=("user_only", "assistant_only", "hybrid"),
        ),
    ] = "hybrid"
    surprisal_threshold: Annotated[
        float,
        Row(
            "float",
            HIGHER,
            "how much must be new before memories are drawn during a session",
            0,
            1_000_000,
        ),
    ] = 3.0


class HooksSection(NamedTuple):
    budget: Annotated[
        int, Row("int", LOWER, "most tokens to inject at session start, 0 for none", 0, 100_000)
    ] = 600
    inject_on_prompt: Annotated[
        bool, Row("bool", LOWER, "inject what is relevant to each prompt")
    ] = False
    before_tools: Annotated[
        bool,
        Row(
            "bool",
            LOWER,
            "inject what is known of a file or command before it is edited or run; needs"
            " `kinen install` again",
        ),
    ] = False


class MemoriesSection(NamedTuple):
    ask: Annotated[
        str,
        Row(
            "choice",
            LOWER,
            "ask agents to save what was decided or learned: never, by a line at session start, or"
            " also after work: when its turn ends, or the user stops it or takes it back",
            choices=("off", "gentle", "stop"),
        ),
    ] = "gentle"


class McpSection(NamedTuple):
    # A server lists its tools before it knows the space of its client.
    tools: Annotated[
        str,
        Row(
            "choice",
            PERSONAL,
            "tools that `kinen mcp` lists to agents: the main ones, or all; each costs tokens, and"
            " all can be called",
            choices=("main", "all"),
        ),
    ] = "main"


class DaemonSection(NamedTuple):
    # One daemon serves all spaces, so that a clone does not say how it runs.
    auto_start: Annotated[bool, Row("bool", LOWER, "a search starts the daemon")] = True
    idle_shutdown_minutes: Annotated[
        float,
        Row(
            "float",
            TRUST,
            "minutes without requests until it stops, 0 for never; a signed-in browser keeps it",
            0,
            100_000,
        ),
    ] = 10.0
    model_idle_seconds: Annotated[
        float,
        Row("float", TRUST, "seconds at rest until it frees the model, 0 for never", 0, 1_000_000),
    ] = 120.0
    watch_debounce_ms: Annotated[
        int,
        Row("int", TRUST, "quiet time after a change before it is indexed", 250, 600_000),
    ] = 1000


class EngineSection(NamedTuple):
    url: Annotated[
        str,
        Row(
            "text",
            PERSONAL,
            "PostgreSQL database for `--engine config`; keep the password in ~/.pgpass",
        ),
    ] = ""


class TeamSection(NamedTuple):
    url: Annotated[
        str,
        Row("text", TRUST, "the team: https://… of its server or postgresql://…"),
    ] = ""
    share: Annotated[
        str,
        Row(
            "choice",
            LOWER,
            "what is sent to the team; each level includes the one before",
            choices=("none", "checkpoints", "summaries", "all"),
        ),
    ] = "none"
    name: Annotated[str, Row("text", TRUST, "your name in the team, instead of your login")] = ""
    space: Annotated[
        str,
        Row("text", TRUST, "name of the space in the team, instead of its git remote"),
    ] = ""
    token_env: Annotated[
        str,
        Row("variable", TRUST, "environment variable with the token of the server"),
    ] = "TEAM_TOKEN"  # noqa: S105
    certificate: Annotated[
        str,
        Row(
            "text",
            TRUST,
            "PEM file of the server's certificate, if no authority signed it",
        ),
    ] = ""
    interval: Annotated[
        int, Row("int", TRUST, "seconds between two runs of the daemon", low=1, high=86_400)
    ] = 30


class Config(NamedTuple):
    """Every setting, with its origin, and what was ignored because of missing trust."""

    space: SpaceSection = SpaceSection()
    index: IndexSection = IndexSection()  # type: ignore[assignment]  # hides tuple.index
    search: SearchSection = SearchSection()
    recall: RecallSection = RecallSection()
    privacy: PrivacySection = PrivacySection()
    git: GitSection = GitSection()
    distill: DistillSection = DistillSection()
    consolidation: ConsolidationSection = ConsolidationSection()
    hooks: HooksSection = HooksSection()
    memories: MemoriesSection = MemoriesSection()
    mcp: McpSection = McpSection()
    daemon: DaemonSection = DaemonSection()
    engine: EngineSection = EngineSection()
    team: TeamSection = TeamSection()
    ignored: Mapping[str, object] = {}  # noqa: RUF012
    """Keys of the space's own file of which nothing counts, or with `ADDED` only a part, and their
    values there."""
    sources: Mapping[str, str] = {}  # noqa: RUF012
    warnings: tuple[str, ...] = ()
    """What is wrong with the files but stops nothing, such as unknown keys."""


SECTIONS = Config._fields[:-3]


class Rows(Mapping[str, Row]):
    """Dotted key → row. Each is read from its annotation by the first use: most runs need few."""

    def __init__(self) -> None:
        self._annotations = {
            f"{section}.{key}": annotation
            for section, defaults in Config._field_defaults.items()
            if section in SECTIONS
            for key, annotation in defaults.__annotations__.items()
        }
        self._rows: dict[str, Row] = {}

    def __getitem__(self, dotted: str) -> Row:
        row = self._rows.get(dotted)
        if row is None:
            plain: Row = eval(self._annotations[dotted], globals())  # noqa: S307 - from above
            section, _, key = dotted.partition(".")
            variable = f"KINEN_{section}_{key}".upper()
            row = plain._replace(section=section, key=key, dotted=dotted, variable=variable)
            self._rows[dotted] = row
        return row

    def __contains__(self, dotted: object) -> bool:
        return dotted in self._annotations

    def __iter__(self) -> Iterator[str]:
        return iter(self._annotations)

    def __len__(self) -> int:
        return len(self._annotations)

    def by_variable(self) -> dict[str, str]:
        """The key of each environment variable."""
        return {f"KINEN_{key.replace('.', '_')}".upper(): key for key in self._annotations}


ROWS = Rows()


def clean_name(text: str) -> str:
    """A name of a space that can be typed: no slashes, commas, quotes or leading punctuation."""
    from kinen.privacy import entrance

    cleaned = ""
    for letter in entrance.name(text):
        cleaned += letter if letter.isprintable() and letter not in '/\\,"' else "-"
    cleaned = cleaned.lstrip(" .-~").rstrip() or "space"
    return "all-2" if cleaned == "all" else cleaned  # `--space all` means every space
