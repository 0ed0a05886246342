"""Every key of the configuration, as rows: what it is, what it may be, who may set it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from kinen.model.records import MODES


class SpaceSection(NamedTuple):
    id: str = ""
    name: str = ""
    default: str = ""


class IndexSection(NamedTuple):
    embedding_provider: str = "onnx"
    embedding_model: str = ""
    embedding_endpoint: str = ""
    embedding_key_env: str = "OPENAI_API_KEY"
    embedding_path: str = ""
    embedding_timeout: int = 30
    chunk_size: int = 512
    chunk_overlap: int = 50
    max_file_mb: int = 64
    max_text_mb: int = 6
    file_seconds: int = 10
    file_memory_mb: int = 400


class SearchSection(NamedTuple):
    default_mode: str = "hybrid"
    default_limit: int = 10
    context_chunks: int = 0


class RecallSection(NamedTuple):
    budget: int = 2000
    memories: bool = False


class PrivacySection(NamedTuple):
    exclude: tuple[str, ...] = (
        *(".env", ".env.*", ".netrc", ".pgpass", ".aws", ".ssh", ".gnupg", "id_rsa*", "id_ecdsa*"),
        *("id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx", "*.keystore"),
    )
    mask_index: bool = False


class GitSection(NamedTuple):
    strip_prefixes: tuple[str, ...] = ("src", "lib", "components", "app", "pages")
    stop_tags: tuple[str, ...] = (
        *("index", "utils", "helpers", "types", "__tests__", "test", "tests"),
        *("cache", "build", "coverage", ".turbo"),
    )
    exclude: tuple[str, ...] = ("node_modules/**", "dist/**", "*.lock")
    snapshot_frequency: int = 500
    components: tuple[tuple[str, tuple[str, ...]], ...] = ()


class DistillSection(NamedTuple):
    order: tuple[str, ...] = ("extract",)
    timeout: int = 30
    cache_hours: int = 24
    budget: int = 500
    claude_model: str = "haiku"
    gemini_model: str = "gemini-2.5-flash"
    ollama_model: str = ""
    ollama_endpoint: str = "http://127.0.0.1:11434"
    openai_model: str = ""
    openai_endpoint: str = "https://api.openai.com/v1"
    openai_key_env: str = "OPENAI_API_KEY"


class HooksSection(NamedTuple):
    budget: int = 600
    inject_on_prompt: bool = False
    before_tools: bool = False


class DaemonSection(NamedTuple):
    auto_start: bool = True
    idle_shutdown_minutes: float = 10.0
    watch_debounce_ms: int = 1000


class ConsolidationSection(NamedTuple):
    order: tuple[str, ...] = ("extract",)
    on_session_close: bool = True
    extract_decisions: bool = True
    confidence_threshold: float = 0.7
    strategy: str = "hybrid"
    surprisal_threshold: float = 3.0


class Config(NamedTuple):
    """Every setting, with where it came from and what was ignored for want of trust."""

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
    ignored: tuple[str, ...] = ()
    sources: Mapping[str, str] = {}


SECTIONS = Config._fields[:10]


class Row(NamedTuple):
    """What there is to know of one key; its default stands in the section's tuple."""

    section: str
    key: str
    kind: str
    """Each layer adds to the `globs` of the one before, and replaces `words` and a `mapping`."""
    help: str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()
    dangerous: bool = False
    """From a space file only when trusted: it chooses an endpoint or reads outside the space."""
    safe: tuple[str, ...] = ()
    """Values of a dangerous key that are harmless."""

    @property
    def dotted(self) -> str:
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        return f"KINEN_{self.section}_{self.key}".upper()

    @property
    def default(self) -> Any:
        return getattr(getattr(Config(), self.section), self.key)


ROWS = {
    row.dotted: row
    for row in (
        Row("space", "id", "name", "identity of the space, the same in every clone"),
        Row("space", "name", "name", "what --space calls it"),
        Row("space", "default", "name", "space to use where there is none", dangerous=True),
        Row(
            "index",
            "embedding_provider",
            "choice",
            "who embeds: the shipped model, a service, or nobody",
            choices=("onnx", "ollama", "openai", "none"),
            dangerous=True,
            safe=("onnx", "none"),
        ),
        Row("index", "embedding_model", "text", "model of the provider", dangerous=True),
        Row("index", "embedding_endpoint", "url", "address of the provider", dangerous=True),
        Row("index", "embedding_key_env", "variable", "variable with its key", dangerous=True),
        Row("index", "embedding_path", "path", "folder of another ONNX model", dangerous=True),
        Row("index", "embedding_timeout", "int", "seconds to wait for it", 1, 3600),
        Row("index", "chunk_size", "int", "most tokens in a chunk", 32, 8192),
        Row("index", "chunk_overlap", "int", "tokens shared by neighbours", 0, 4096),
        Row("index", "max_file_mb", "int", "larger files are skipped", 1, 4096),
        Row("index", "max_text_mb", "int", "of longer texts only so much is indexed", 1, 4096),
        Row("index", "file_seconds", "int", "longest time that reading a PDF may take", 1, 3600),
        Row("index", "file_memory_mb", "int", "most memory that reading a PDF may take", 64, 65536),
        Row("search", "default_mode", "choice", "how hits are found", choices=MODES),
        Row("search", "default_limit", "int", "how many hits", 1, 1000),
        Row("search", "context_chunks", "int", "chunks shown around a passage", 0, 50),
        Row("recall", "budget", "int", "most tokens of a recall", 50, 1_000_000),
        Row("recall", "memories", "bool", "consolidated memories among what is found, too"),
        Row("privacy", "exclude", "globs", "more paths that are never captured"),
        Row("privacy", "mask_index", "bool", "mask file content and commit messages, too"),
        Row("git", "strip_prefixes", "words", "folders that give no tag: they only hold others"),
        Row("git", "stop_tags", "words", "tags that say nothing: no path gets them"),
        Row("git", "exclude", "words", "paths whose history is left out, as in .gitignore"),
        Row("git", "snapshot_frequency", "int", "commits between snapshots, 0: none", 0, 1_000_000),
        Row(
            "git",
            "components",
            "mapping",
            "tags by glob; in one line: `docs/**=docs, packages/core/**=core manifest`",
        ),
        Row(
            "distill",
            "order",
            "words",
            "who is asked for a digest: claude, gemini, ollama, openai, extract; all but extract"
            " are told what was found",
            dangerous=True,
        ),
        Row("distill", "timeout", "int", "seconds until one of them is given up", 1, 600),
        Row("distill", "cache_hours", "int", "how long a digest is kept, 0: not at all", 0, 8760),
        Row("distill", "budget", "int", "most tokens of a digest", 50, 100_000),
        Row("distill", "claude_model", "text", "model that `claude -p` is to use", dangerous=True),
        Row("distill", "gemini_model", "text", "model that `gemini -p` is to use", dangerous=True),
        Row("distill", "ollama_model", "text", "model of Ollama, none: not asked", dangerous=True),
        Row("distill", "ollama_endpoint", "url", "address of Ollama", dangerous=True),
        Row(
            "distill",
            "openai_model",
            "text",
            "model of a service that speaks OpenAI's protocol, none: not asked",
            dangerous=True,
        ),
        Row("distill", "openai_endpoint", "url", "address of that service", dangerous=True),
        Row("distill", "openai_key_env", "variable", "variable with its key", dangerous=True),
        Row(
            "consolidation",
            "order",
            "words",
            "who draws memories from sessions in `kinen consolidate`: claude, gemini, ollama,"
            " openai, extract; all but extract are told what was said",
            dangerous=True,
        ),
        Row("consolidation", "on_session_close", "bool", "draw memories when a session ends"),
        Row("consolidation", "extract_decisions", "bool", "draw decisions from what was written"),
        Row("consolidation", "confidence_threshold", "float", "less certain ones stay out", 0, 1),
        Row(
            "consolidation",
            "strategy",
            "choice",
            "whose words in a session count",
            choices=("user_only", "assistant_only", "hybrid"),
        ),
        Row(
            "consolidation",
            "surprisal_threshold",
            "float",
            "how much must be new before memories are drawn in between",
            0,
            1_000_000,
        ),
        Row("hooks", "budget", "int", "most tokens that an agent is told, 0: nothing", 0, 100_000),
        Row("hooks", "inject_on_prompt", "bool", "tell it what belongs to each prompt, too"),
        Row(
            "hooks",
            "before_tools",
            "bool",
            "before an edit or a command, what is known of it; then run `kinen install` again",
        ),
        Row("daemon", "auto_start", "bool", "a search starts the daemon", dangerous=True),
        Row(
            "daemon",
            "idle_shutdown_minutes",
            "float",
            "it ends when nobody has asked for so long, 0: never",
            0,
            100_000,
            dangerous=True,
        ),
        Row(
            "daemon",
            "watch_debounce_ms",
            "int",
            "quiet time after a change before it is indexed",
            250,
            600_000,
            dangerous=True,
        ),
    )
}
# Known names that nothing reads yet: files that have them load.
RESERVED = ("index.path",)


def clean_name(text: str) -> str:
    """A name of a space that can be typed: no slashes, commas, quotes or leading punctuation."""
    from kinen.privacy import entrance

    cleaned = ""
    for letter in entrance.name(text):
        cleaned += letter if letter.isprintable() and letter not in '/\\,"' else "-"
    cleaned = cleaned.lstrip(" .-~").rstrip() or "space"
    return "all-2" if cleaned == "all" else cleaned  # `--space all` means every space
