"""Every key of the configuration: its type, default, limits and help, each in one place."""

# Annotations are evaluated: the rows stand in them.
from collections.abc import Mapping

from kinen.model.kinds import MODES, PROVIDERS
from kinen.model.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Annotated, Any
else:

    class Annotated:
        """`Annotated[type, row]` is the row. That of `typing` takes a search 2 ms."""

        def __class_getitem__(cls, item):
            return item[1]


class Row(NamedTuple):
    """What a key may be set to, and by whom."""

    kind: str
    """`int`, `float`, `bool`, `text`, `name`, `choice`, `url`, `path`, `variable` (the name of an
    environment variable), `globs`, `words` or `mapping`. Each layer adds to the `globs` of the
    layer before and replaces anything else."""
    help: str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()
    dangerous: bool = False
    """Ignored in a space's own file until that is trusted: it chooses an endpoint or a program, or
    reads outside the space."""
    personal: bool = False
    """Read from the user's own file and environment only: no trust of a space's file is enough."""
    safe: tuple[str, ...] = ()
    """Values of a dangerous key that need no trust."""
    section: str = ""
    key: str = ""
    dotted: str = ""
    """The section and the key: `index.path`."""
    variable: str = ""
    """The environment variable: `KINEN_INDEX_PATH`."""

    @property
    def default(self) -> "Any":
        return getattr(getattr(Config(), self.section), self.key)


class SpaceSection(NamedTuple):
    id: Annotated[str, Row("name", "identity of the space, the same in every clone")] = ""
    name: Annotated[str, Row("name", "the name for --space")] = ""
    default: Annotated[str, Row("name", "space to use outside of every space", dangerous=True)] = ""


class IndexSection(NamedTuple):
    path: Annotated[
        str, Row("path", "folder for indexes and caches, instead of kinen's own", dangerous=True)
    ] = ""
    embedding_provider: Annotated[
        str,
        Row(
            "choice",
            "what embeds text: the shipped model, a service, or nothing",
            choices=PROVIDERS,
            dangerous=True,
            safe=("onnx", "none"),
        ),
    ] = "onnx"
    embedding_model: Annotated[str, Row("text", "model of the provider", dangerous=True)] = ""
    embedding_endpoint: Annotated[str, Row("url", "address of the provider", dangerous=True)] = ""
    embedding_key_env: Annotated[
        str, Row("variable", "environment variable with the API key", dangerous=True)
    ] = "OPENAI_API_KEY"
    embedding_path: Annotated[str, Row("path", "folder of another ONNX model", dangerous=True)] = ""
    embedding_timeout: Annotated[int, Row("int", "seconds to wait for the provider", 1, 3600)] = 30
    chunk_size: Annotated[int, Row("int", "most tokens in a chunk", 32, 8192)] = 512
    chunk_overlap: Annotated[int, Row("int", "tokens shared by neighbouring chunks", 0, 4096)] = 50
    max_file_mb: Annotated[int, Row("int", "larger files are skipped", 1, 4096)] = 64
    max_text_mb: Annotated[
        int, Row("int", "text of a file beyond this size is not indexed", 1, 4096)
    ] = 6
    file_seconds: Annotated[
        int, Row("int", "most seconds for reading a PDF or a source file", 1, 3600)
    ] = 10
    file_memory_mb: Annotated[
        int, Row("int", "most memory for reading a PDF or a source file", 64, 65536)
    ] = 400
    symbols: Annotated[bool, Row("bool", "index functions and classes of source code")] = True


class SearchSection(NamedTuple):
    default_mode: Annotated[str, Row("choice", "how hits are ranked", choices=MODES)] = "hybrid"
    default_limit: Annotated[int, Row("int", "number of hits", 1, 1000)] = 10
    context_chunks: Annotated[int, Row("int", "chunks shown around a passage", 0, 50)] = 0


class RecallSection(NamedTuple):
    budget: Annotated[int, Row("int", "most tokens of a recall", 50, 1_000_000)] = 2000
    memories: Annotated[bool, Row("bool", "include consolidated memories")] = True


class PrivacySection(NamedTuple):
    exclude: Annotated[
        tuple[str, ...], Row("globs", "paths that are never captured, added to the defaults")
    ] = tuple(
        ".env .env.* .netrc .pgpass .aws .ssh .gnupg id_rsa* id_ecdsa* id_ed25519*"
        " *.pem *.key *.p12 *.pfx *.kdbx *.keystore".split()
    )
    mask_index: Annotated[bool, Row("bool", "also mask file content and commit messages")] = False


class GitSection(NamedTuple):
    strip_prefixes: Annotated[
        tuple[str, ...], Row("words", "folders that give no tag because they only hold others")
    ] = ("src", "lib", "components", "app", "pages")
    stop_tags: Annotated[tuple[str, ...], Row("words", "tags that no path gets")] = tuple(
        "index utils helpers types __tests__ test tests cache build coverage .turbo".split()
    )
    exclude: Annotated[
        tuple[str, ...], Row("words", "paths whose history is left out, as in .gitignore")
    ] = ("node_modules/**", "dist/**", "*.lock")
    snapshot_frequency: Annotated[
        int, Row("int", "commits between snapshots, 0 for none", 0, 1_000_000)
    ] = 500
    components: Annotated[
        tuple[tuple[str, tuple[str, ...]], ...],
        Row("mapping", "tags by glob; on one line: `docs/**=docs, packages/core/**=core manifest`"),
    ] = ()


class DistillSection(NamedTuple):
    order: Annotated[
        tuple[str, ...],
        Row(
            "words",
            "distillers to try in turn: claude, gemini, ollama, openai, extract; all but extract"
            " receive the hits",
            dangerous=True,
        ),
    ] = ("extract",)
    timeout: Annotated[int, Row("int", "seconds to wait for each of them", 1, 600)] = 30
    cache_hours: Annotated[
        int, Row("int", "hours that a digest is cached, 0 for no cache", 0, 8760)
    ] = 24
    budget: Annotated[int, Row("int", "most tokens of a digest", 50, 100_000)] = 500
    claude_model: Annotated[str, Row("text", "model for `claude -p`", dangerous=True)] = "haiku"
    gemini_model: Annotated[str, Row("text", "model for `gemini -p`", dangerous=True)] = (
        "gemini-2.5-flash"
    )
    ollama_model: Annotated[
        str, Row("text", "model of Ollama; if empty, Ollama is not used", dangerous=True)
    ] = ""
    ollama_endpoint: Annotated[str, Row("url", "address of Ollama", dangerous=True)] = (
        "http://127.0.0.1:11434"
    )
    openai_model: Annotated[
        str,
        Row(
            "text",
            "model of a service with OpenAI's protocol; if empty, it is not used",
            dangerous=True,
        ),
    ] = ""
    openai_endpoint: Annotated[str, Row("url", "address of that service", dangerous=True)] = (
        "https://api.openai.com/v1"
    )
    openai_key_env: Annotated[
        str, Row("variable", "environment variable with its API key", dangerous=True)
    ] = "OPENAI_API_KEY"


class ConsolidationSection(NamedTuple):
    order: Annotated[
        tuple[str, ...],
        Row(
            "words",
            "what draws memories from sessions in `kinen consolidate`: claude, gemini, ollama,"
            " openai, extract; all but extract receive the conversation",
            dangerous=True,
        ),
    ] = ("extract",)
    on_session_close: Annotated[bool, Row("bool", "draw memories when a session ends")] = True
    extract_decisions: Annotated[bool, Row("bool", "draw decisions from notes and commits")] = True
    confidence_threshold: Annotated[float, Row("float", "least confidence of a memory", 0, 1)] = 0.7
    strategy: Annotated[
        str,
        Row(
            "choice",
            "whose words in a session count",
            choices=("user_only", "assistant_only", "hybrid"),
        ),
    ] = "hybrid"
    surprisal_threshold: Annotated[
        float,
        Row(
            "float", "how much must be new before memories are drawn during a session", 0, 1_000_000
        ),
    ] = 3.0


class HooksSection(NamedTuple):
    budget: Annotated[
        int, Row("int", "most tokens to inject at session start, 0 for none", 0, 100_000)
    ] = 600
    inject_on_prompt: Annotated[bool, Row("bool", "inject what is relevant to each prompt")] = False
    before_tools: Annotated[
        bool,
        Row(
            "bool",
            "inject what is known of a file or command before it is edited or run; needs"
            " `kinen install` again",
        ),
    ] = False


class DaemonSection(NamedTuple):
    auto_start: Annotated[bool, Row("bool", "a search starts the daemon", dangerous=True)] = True
    idle_shutdown_minutes: Annotated[
        float,
        Row(
            "float",
            "minutes without requests until it stops, 0 for never; a signed-in browser keeps it",
            0,
            100_000,
            dangerous=True,
        ),
    ] = 10.0
    watch_debounce_ms: Annotated[
        int,
        Row("int", "quiet time after a change before it is indexed", 250, 600_000, dangerous=True),
    ] = 1000


class EngineSection(NamedTuple):
    url: Annotated[
        str,
        Row(
            "text",
            "PostgreSQL database for `--engine config`; keep the password in ~/.pgpass",
            personal=True,
        ),
    ] = ""


class TeamSection(NamedTuple):
    url: Annotated[
        str,
        Row("text", "the team: https://… of its server or postgresql://…", dangerous=True),
    ] = ""
    share: Annotated[
        str,
        Row(
            "choice",
            "what is sent to the team; each level includes the one before",
            choices=("none", "checkpoints", "summaries", "all"),
            dangerous=True,
            safe=("none",),
        ),
    ] = "none"
    name: Annotated[
        str, Row("text", "your name in the team, instead of your login", dangerous=True)
    ] = ""
    space: Annotated[
        str,
        Row("text", "name of the space in the team, instead of its git remote", dangerous=True),
    ] = ""
    token_env: Annotated[
        str,
        Row("variable", "environment variable with the token of the server", dangerous=True),
    ] = "TEAM_TOKEN"  # noqa: S105
    certificate: Annotated[
        str,
        Row(
            "text",
            "PEM file of the server's certificate, if no authority signed it",
            dangerous=True,
        ),
    ] = ""
    interval: Annotated[
        int, Row("int", "seconds between two runs of the daemon", low=1, high=86_400)
    ] = 30


class Config(NamedTuple):
    """Every setting, with its origin, and the keys that were ignored because of missing trust."""

    space: SpaceSection = SpaceSection()
    index: IndexSection = IndexSection()  # type: ignore[assignment]  # hides tuple.index
    search: SearchSection = SearchSection()
    recall: RecallSection = RecallSection()
    privacy: PrivacySection = PrivacySection()
    git: GitSection = GitSection()
    distill: DistillSection = DistillSection()
    consolidation: ConsolidationSection = ConsolidationSection()
    hooks: HooksSection = HooksSection()
    daemon: DaemonSection = DaemonSection()
    engine: EngineSection = EngineSection()
    team: TeamSection = TeamSection()
    ignored: tuple[str, ...] = ()
    sources: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()
    """What is wrong with the files but stops nothing, such as unknown keys."""


SECTIONS = Config._fields[:-3]


def _rows() -> dict[str, Row]:
    """Dotted key → row, from the annotations of the sections."""
    rows = {}
    for section in SECTIONS:
        for key, annotation in Config.__annotations__[section].__annotations__.items():
            row: Row = annotation
            dotted = f"{section}.{key}"
            variable = f"KINEN_{section}_{key}".upper()
            rows[dotted] = row._replace(section=section, key=key, dotted=dotted, variable=variable)
    return rows


ROWS = _rows()


def clean_name(text: str) -> str:
    """A name of a space that can be typed: no slashes, commas, quotes or leading punctuation."""
    from kinen.privacy import entrance

    cleaned = ""
    for letter in entrance.name(text):
        cleaned += letter if letter.isprintable() and letter not in '/\\,"' else "-"
    cleaned = cleaned.lstrip(" .-~").rstrip() or "space"
    return "all-2" if cleaned == "all" else cleaned  # `--space all` means every space
