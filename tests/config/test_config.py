"""Defaults < user file < space file (if trusted) < KINEN_* < flags."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kinen import config, paths
from kinen.config import file as configfile
from kinen.config.keys import (
    ADDED,
    HARMLESS,
    HIGHER,
    LOWER,
    MARKS,
    PERSONAL,
    ROWS,
    SECTIONS,
    TRUST,
    Config,
    Row,
)
from kinen.config.trust import is_trusted, revoke, trust
from kinen.config.values import parse_value, to_raw
from kinen.errors import ConfigError
from kinen.space import find as spaces
from kinen.storage import atomic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEED = """\
space:
  default: personal
index:
  path: ~/.local/share/kinen/indices
  embedding_model: nomic-embed-text
  embedding_provider: ollama
  chunk_size: 512
  chunk_overlap: 50
search:
  default_mode: hybrid
  default_limit: 10
  context_chunks: 2
consolidation:
  on_session_close: true
  extract_decisions: true
  confidence_threshold: 0.7
daemon:
  auto_start: true
  idle_shutdown_minutes: 10
  watch_debounce_ms: 1000
"""
REMOTE = "index:\n  embedding_provider: openai\n  embedding_endpoint: https://evil.example/v1\n"


@pytest.fixture
def user(home: Path) -> Path:
    file = home / ".config" / "kinen" / "config.yml"
    if os.name == "nt":
        file = home / "AppData" / "Roaming" / "kinen" / "config.yml"
    file.parent.mkdir(parents=True)
    return file


@pytest.fixture
def ours(space: Path) -> Path:
    return space / ".kinen" / "config.yml"


@pytest.fixture
def data(home: Path) -> Path:
    return home / "kinen"


def aged(file: Path, text: str) -> Path:
    """A file that was written a while ago: younger ones are not cached."""
    file.write_text(text, encoding="utf-8")
    os.utime(file, (1_700_000_000.5, 1_700_000_000.5))
    return file


def plain_env(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "USERPROFILE": str(home), **more}


def test_without_any_file_everything_is_default(data: Path, space: Path, home: Path) -> None:
    loaded = config.load(data, space, plain_env(home))
    assert loaded == Config()
    assert loaded.index.chunk_size == 512
    assert loaded.search.default_mode == "hybrid"
    assert loaded.sources == {}


def test_each_layer_wins_over_the_one_before(
    data: Path, space: Path, home: Path, user: Path, ours: Path
) -> None:
    user.write_text("search: {default_limit: 11, context_chunks: 1}\nindex: {max_file_mb: 5}\n")
    ours.write_text("search:\n  default_limit: 12\n  context_chunks: 2\n")
    trust(data, ours)
    env = plain_env(home, KINEN_SEARCH_DEFAULT_LIMIT="13")
    loaded = config.load(data, space, env, {"index.chunk_size": 100, "search.default_mode": None})
    assert loaded.index.max_file_mb == 5
    assert loaded.search.context_chunks == 2
    assert loaded.search.default_limit == 13
    assert loaded.index.chunk_size == 100
    assert loaded.sources == {
        "index.max_file_mb": f"{user}:2",
        "search.context_chunks": f"{ours}:3",
        "search.default_limit": "KINEN_SEARCH_DEFAULT_LIMIT",
        "index.chunk_size": "flag",
    }
    assert config.load(data, space, env, {"search.default_limit": 14}).search.default_limit == 14


def test_every_row_is_a_field_with_a_default_of_its_kind_and_every_field_a_row() -> None:
    fields = {
        f"{section}.{key}" for section in SECTIONS for key in getattr(Config(), section)._fields
    }
    assert set(ROWS) == fields
    for dotted, row in ROWS.items():
        assert row.dotted == dotted
        assert row.help
        raw = to_raw(config.get(Config(), dotted))
        assert parse_value(row, raw, "default") == row.default


def test_the_config_of_the_first_design_loads_as_user_and_as_space_file(
    data: Path, space: Path, home: Path, user: Path, ours: Path
) -> None:
    user.write_text(SEED)
    loaded = config.load(data, space, plain_env(home))
    assert (loaded.index.embedding_provider, loaded.space.default) == ("ollama", "personal")
    user.unlink()
    ours.write_text(SEED)
    loaded = config.load(data, space, plain_env(home))
    assert (loaded.index.embedding_provider, loaded.search.context_chunks) == ("onnx", 0)
    trust(data, ours)
    loaded = config.load(data, space, plain_env(home))
    assert (loaded.index.embedding_provider, loaded.search.context_chunks) == ("ollama", 2)


def test_every_key_has_a_variable(data: Path, home: Path) -> None:
    assert ROWS["index.chunk_size"].variable == "KINEN_INDEX_CHUNK_SIZE"
    env = plain_env(home, KINEN_INDEX_CHUNK_SIZE="99", KINEN_SEARCH_DEFAULT_MODE="")
    loaded = config.load(data, None, env)
    assert loaded.index.chunk_size == 99
    assert loaded.search.default_mode == "hybrid"


def test_a_misspelt_variable_is_an_error_but_foreign_and_reserved_ones_are_not(
    data: Path, home: Path
) -> None:
    fine = {"KINEN_HOME": "x", "KINEN_DAEMON_AUTO_START": "0", "KINEN_INDEX_PATH": "y"}
    config.load(data, None, plain_env(home, **fine))
    with pytest.raises(ConfigError, match=r"KINEN_INDEX_CHUNKSIZE.*KINEN_INDEX_CHUNK_SIZE"):
        config.load(data, None, plain_env(home, KINEN_INDEX_CHUNKSIZE="5"))


@pytest.mark.parametrize(
    ("text", "line", "near"),
    [
        ("index:\n  chunksize: 5\n", 2, "index.chunk_size"),
        ("chunk_size: 5\n", 1, "index.chunk_size"),
        ("\nserch:\n  default_limit: 5\n", 3, "search.default_limit"),
        ("daemon:\n  autostart: true\n", 2, "daemon.auto_start"),
    ],
)
def test_an_unknown_key_is_a_warning_that_names_the_nearest(
    text: str, line: int, near: str, data: Path, space: Path, ours: Path
) -> None:
    ours.write_text(text)
    loaded = config.load(data, space)
    (warning,) = loaded.warnings
    assert warning.startswith("unknown key ")
    assert f"{ours}:{line}" in warning
    assert f"did you mean {near}?" in warning
    assert not loaded.sources.keys() - {"daemon.auto_start"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("index:\n  chunk_size: [1\n", 3),
        ("index:\n\tchunk_size: 1\n", 2),
        ("- a\n- b\n", 1),
        ("just text", 1),
        ("index:\n  chunk_size: 60\n  chunk_size: 70\n", 3),
        ("index: {}\nindex: {}\n", 2),
        ("index: 5\n", 1),
        ("index:\n  chunk_size: {a: 1}\n", 2),
        ("index:\n  chunk_size: [[1]]\n", 2),
        ("a: 1\n---\nb: 2\n", 2),
        ("? [a]\n: 1\n", 1),
        ("git:\n  exclude: &x [*x]\n", 2),
        ("index: [[1]]\n", 1),
        ("git:\n  stop_tags: {a: b}\n", 2),
        ("git:\n  stop_tags: [[a]]\n", 2),
        ('git:\n  exclude: ["a\\x07"]\n', 2),
        ("git:\n  snapshot_frequency: -1\n", 2),
        ("git:\n  components: [a]\n", 2),
        ("git:\n  components: docs\n", 2),
        ("git:\n  components: [[a]]\n", 2),
        ("git:\n  components: {a: {b: c}}\n", 2),
        ("git:\n  components: {a: [[b]]}\n", 2),
        ("git:\n  components: {a: [b c]}\n", 2),
        ('git:\n  components: {a: ["b,c"]}\n', 2),
        ("git:\n  components: {a: []}\n", 2),
        ("git:\n  components:\n    a:\n", 2),
        ("git:\n  components:\n    a: b\n    a: c\n", 4),
        ('git:\n  components: {"": b}\n', 2),
        ('git:\n  components: {"a\\x07": b}\n', 2),
        ("git:\n  components: {[a]: b}\n", 2),
    ],
)
def test_a_broken_file_is_an_error_with_its_line(
    text: str, line: int, data: Path, space: Path, ours: Path
) -> None:
    ours.write_text(text)
    with pytest.raises(ConfigError) as raised:
        config.load(data, space)
    assert f"{ours}:{line}" in str(raised.value)


@pytest.mark.parametrize("content", [b"\xff\xfe\xff", b"a: \x00", b"x" * 300_000, b"[" * 5000])
def test_garbage_is_a_config_error(content: bytes, data: Path, space: Path, ours: Path) -> None:
    ours.write_bytes(content)
    with pytest.raises(ConfigError, match=r"config\.yml"):
        config.load(data, space)


def test_a_folder_in_place_of_the_file_is_a_config_error(
    data: Path, space: Path, ours: Path
) -> None:
    ours.mkdir()
    with pytest.raises(ConfigError, match="cannot read"):
        config.load(data, space)


@pytest.mark.parametrize("content", ["", "# nothing\n", "~\n", "index:\nsearch: ~\n", "\ufeff{}\n"])
def test_an_empty_file_sets_nothing(content: str, data: Path, space: Path, ours: Path) -> None:
    ours.write_text(content, encoding="utf-8")
    assert config.load(data, space, {}) == Config()


@pytest.mark.parametrize(
    ("dotted", "text", "words"),
    [
        ("index.chunk_size", "many", "whole number from 32 to 8192"),
        ("index.chunk_size", "31", "from 32"),
        ("index.chunk_size", "1.5", "whole number"),
        ("search.default_limit", "0", "from 1"),
        ("search.default_mode", "fuzzy", "use hybrid, fulltext"),
        ("index.embedding_provider", "cohere", "use none, onnx, ollama"),
        ("index.embedding_endpoint", "localhost:11434", "http://"),
        ("space.name", "a/b", "a name"),
        ("space.name", "all", "a name"),
        ("space.default", "bad\x07", "control"),
    ],
)
def test_a_wrong_value_says_what_is_right(dotted: str, text: str, words: str, data: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        config.load(data, None, {}, {dotted: text})
    assert dotted in str(raised.value)
    assert words in str(raised.value)


def test_a_pasted_key_is_refused_and_never_repeated(data: Path, home: Path, user: Path) -> None:
    user.write_text("index:\n  embedding_key_env: sk-secret-123\n")
    with pytest.raises(ConfigError, match="never the key itself") as raised:
        config.load(data, None, plain_env(home))
    assert "sk-secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        ("bool", "Yes", True),
        ("bool", "off", False),
        ("bool", "0", False),
        ("float", "0.7", 0.7),
        ("int", "1", 1),
        ("globs", ["a", "b"], ("a", "b")),
        ("globs", "a, b,", ("a", "b")),
        ("words", ["a", "b"], ("a", "b")),
        ("words", "a, b c,", ("a", "b c")),
        ("words", [], ()),
        ("words", " [] ", ()),
        ("mapping", {"a/**": ["x", "y"], "b": "z"}, (("a/**", ("x", "y")), ("b", ("z",)))),
        ("mapping", " a/** = x  y,b=z, ", (("a/**", ("x", "y")), ("b", ("z",)))),
        ("mapping", "k=v/**=x", (("k=v/**", ("x",)),)),
        ("mapping", "b=c++, a=+x -y x x", (("b", ("c++",)), ("a", ("+x", "-y", "x")))),
        ("mapping", {}, ()),
        ("mapping", "{}", ()),
        ("text", " x ", "x"),
    ],
)
def test_each_kind_of_value_is_read_from_text(kind: str, raw: Any, value: Any) -> None:
    row = Row(kind, HARMLESS, "help", 0, 1)
    assert parse_value(row, raw, "here") == value


def test_a_word_that_yaml_takes_for_a_boolean_is_still_a_name(
    data: Path, space: Path, ours: Path
) -> None:
    ours.write_text("space:\n  name: no\n  id: 0123\n")
    loaded = config.load(data, space)
    assert (loaded.space.name, loaded.space.id) == ("no", "0123")


def test_chunks_cannot_overlap_by_their_size(data: Path, space: Path, ours: Path) -> None:
    ours.write_text("index:\n  chunk_size: 64\n  chunk_overlap: 64\n")
    trust(data, ours)
    with pytest.raises(ConfigError, match="must be smaller than") as raised:
        config.load(data, space)
    assert f"{ours}:3" in str(raised.value)


def test_the_id_of_a_space_does_not_belong_in_the_user_file(
    data: Path, home: Path, user: Path
) -> None:
    user.write_text("space:\n  id: one-for-all\n")
    with pytest.raises(ConfigError, match=r"space\.id belongs to a single space"):
        config.load(data, None, plain_env(home))


def test_dangerous_keys_of_a_space_file_wait_for_trust(
    data: Path, space: Path, home: Path, ours: Path
) -> None:
    ours.write_text(REMOTE + "  chunk_overlap: 20\n")
    loaded = config.load(data, space, plain_env(home))
    assert loaded.index.embedding_provider == "onnx"
    assert loaded.index.embedding_endpoint == ""
    assert loaded.index.chunk_overlap == 20
    assert loaded.ignored == {
        "index.embedding_provider": "openai",
        "index.embedding_endpoint": "https://evil.example/v1",
    }
    assert not is_trusted(data, ours)

    trust(data, ours)
    assert is_trusted(data, ours)
    loaded = config.load(data, space, plain_env(home))
    assert loaded.index.embedding_provider == "openai"
    assert loaded.ignored == {}

    ours.write_text(ours.read_text().replace("evil", "evel"))
    assert not is_trusted(data, ours)
    assert config.load(data, space, plain_env(home)).index.embedding_endpoint == ""

    trust(data, ours)
    revoke(data, ours)
    assert not is_trusted(data, ours)
    assert config.load(data, space, plain_env(home)).ignored


def test_a_key_without_a_mark_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        Row("int", "most tokens", low=1, high=2)  # type: ignore[call-arg]
    for dotted, row in ROWS.items():
        assert row.mark in MARKS, dotted
        if row.mark in (LOWER, HIGHER):
            assert row.kind in ("int", "float", "bool", "choice"), dotted
        if row.mark == ADDED:
            assert row.kind == "words", dotted
        if row.kind in ("url", "path", "variable"):
            assert row.mark in (TRUST, PERSONAL), dotted


@pytest.mark.parametrize("dotted", [dotted for dotted, row in ROWS.items() if row.mark != HARMLESS])
def test_an_untrusted_file_moves_a_key_only_as_its_mark_says(
    dotted: str, data: Path, space: Path, home: Path, ours: Path
) -> None:
    row = ROWS[dotted]
    fitting = {"index.chunk_size": (64, 8192), "index.chunk_overlap": (0, 500)}
    low, high = fitting.get(dotted, (row.low, row.high))  # these two are checked together
    rules = row.default if row.kind == "words" else ()
    values: dict[str, tuple[Any, ...]] = {
        "int": (low, row.default, high),
        "float": (low, row.default, high),
        "bool": (False, True),
        "choice": row.choices,
        "words": (("other",), ("!other", *rules)),
        "url": ("https://evil.example",),
        "variable": ("EVIL",),
    }
    for value in values.get(row.kind, ("evil",)):
        raw = f"[{', '.join(map(repr, value))}]" if isinstance(value, tuple) else to_raw(value)
        ours.write_text(f"{row.section}:\n  {row.key}: {raw}\n")
        loaded = config.load(data, space, plain_env(home))
        counts = config.get(loaded, dotted)
        if row.mark == ADDED:
            assert counts == (value[0], *row.default)
        elif row.mark in (LOWER, HIGHER):
            rank = row.choices.index if row.choices else float
            assert counts in (value, row.default)
            assert rank(counts) == (min if row.mark == LOWER else max)(
                rank(value), rank(row.default)
            )
        else:
            assert counts == row.default
        withheld = counts != value and row.mark != PERSONAL
        assert list(loaded.ignored) == ([dotted] if withheld else [])
        trust(data, ours)
        loaded = config.load(data, space, plain_env(home))
        assert loaded.ignored == {}
        taken = config.get(loaded, dotted)
        if row.kind == "path":
            value = str(space / value)
        assert taken == (row.default if row.mark == PERSONAL else value)


def test_harmless_values_of_a_dangerous_key_need_no_trust(
    data: Path, space: Path, ours: Path
) -> None:
    ours.write_text("index:\n  embedding_provider: none\n")
    loaded = config.load(data, space)
    assert (loaded.index.embedding_provider, loaded.ignored) == ("none", {})


def test_the_same_keys_in_the_user_file_or_a_variable_need_no_trust(
    data: Path, home: Path, user: Path
) -> None:
    user.write_text(REMOTE)
    env = plain_env(home, KINEN_INDEX_EMBEDDING_KEY_ENV="MY_KEY")
    loaded = config.load(data, None, env)
    assert loaded.index.embedding_endpoint == "https://evil.example/v1"
    assert loaded.index.embedding_key_env == "MY_KEY"


def test_a_damaged_trust_table_trusts_nothing(data: Path, space: Path, ours: Path) -> None:
    ours.write_text(REMOTE)
    trust(data, ours)
    assert not config.load(data, space).ignored
    (data / "trust.json").write_text("{")
    assert config.load(data, space).ignored
    (kept,) = data.glob("trust.json.damaged-*")
    assert kept.read_text() == "{"
    trust(data, ours)
    assert not config.load(data, space).ignored


def test_a_relative_model_path_is_relative_to_the_space(
    data: Path, space: Path, ours: Path
) -> None:
    ours.write_text("index:\n  embedding_path: models/mine\n")
    trust(data, ours)
    assert config.load(data, space).index.embedding_path == str(space / "models" / "mine")


def test_get_and_items_agree(data: Path) -> None:
    loaded = config.load(data, None, {}, {"search.default_limit": 3})
    assert config.get(loaded, "search.default_limit") == 3
    assert dict(config.items(loaded))["search.default_limit"] == 3
    assert [dotted for dotted, _ in config.items(loaded)] == list(ROWS)
    with pytest.raises(ConfigError, match=r"did you mean search\.default_limit\?"):
        config.get(loaded, "search.limit")


# Words and mappings

COMPONENTS = (("packages/core/**", ("core", "manifest")), ("docs/**", ("docs",)))
IN_YAML = 'git:\n  components: {"packages/core/**": [core, manifest], "docs/**": docs}\n'
IN_ONE_LINE = "packages/core/**=core manifest, docs/**=docs"


def test_a_later_layer_replaces_words_and_mappings_but_adds_to_globs(
    data: Path, space: Path, home: Path, user: Path, ours: Path
) -> None:
    user.write_text("git:\n  stop_tags: [a]\n  exclude: [b]\n  components: {x: y}\n")
    ours.write_text(IN_YAML + "  stop_tags: c, d\n  exclude: []\nprivacy: {exclude: [p]}\n")
    loaded = config.load(data, space, plain_env(home))
    assert loaded.git.stop_tags == ("c", "d")
    assert loaded.git.exclude == ("b",)
    assert loaded.git.components == COMPONENTS
    assert loaded.privacy.exclude == (*Config().privacy.exclude, "p")
    assert loaded.ignored == {"git.exclude": ()}
    trust(data, ours)
    assert config.load(data, space, plain_env(home)).git.exclude == ()
    assert loaded.sources["git.components"] == f"{ours}:2"
    env = plain_env(home, KINEN_GIT_STOP_TAGS="[]", KINEN_GIT_COMPONENTS="{}")
    loaded = config.load(data, space, env, {"git.exclude": ("e",), "git.snapshot_frequency": 0})
    assert loaded.git == Config().git._replace(stop_tags=(), exclude=("e",), snapshot_frequency=0)


def test_a_mapping_may_be_a_variable_or_a_flag(data: Path, home: Path) -> None:
    env = plain_env(home, KINEN_GIT_COMPONENTS=IN_ONE_LINE)
    assert config.load(data, None, env).git.components == COMPONENTS
    for value in (IN_ONE_LINE, dict(COMPONENTS)):
        loaded = config.load(data, None, plain_env(home), {"git.components": value})
        assert loaded.git.components == COMPONENTS


@pytest.mark.parametrize("text", ["docs/**", "docs/**=", "=docs", "a=x, a=y", "a=x, b"])
def test_a_line_that_is_no_mapping_says_how_to_write_one(text: str, data: Path) -> None:
    with pytest.raises(ConfigError, match=r"git\.components cannot have .*docs/\*\*=docs"):
        config.load(data, None, {}, {"git.components": text})


def test_a_mapping_comes_out_of_the_cache_as_it_went_in(
    data: Path, space: Path, ours: Path
) -> None:
    aged(ours, IN_YAML)
    assert config.load(data, space).git.components == COMPONENTS
    assert str(ours) in json.loads((data / "cache" / "config.json").read_text())
    code = (
        "from kinen import config\n"
        f"assert config.load(sys.argv[1], sys.argv[2]).git.components == {COMPONENTS!r}\n"
    )
    assert "yaml" not in imported(code, str(data), str(space))


@pytest.mark.parametrize(
    ("dotted", "before", "after"),
    [
        ("components", "", "git:\n  components: %s\n"),
        ("components", "git:\n  components: {}  # x\n", "git:\n  components: %s  # x\n"),
        ("components", "git:\n  components:\n", "git:\n  components: %s\n"),
        (
            "components",
            "git:\n  components:\n    a: b\n    # why\n    c: [d]\n  # more\n  exclude: []\n",
            "git:\n  components: %s\n  # more\n  exclude: []\n",
        ),
        (
            "components",
            "git:\n  components:  # ours\n    a: b\n",
            "git:\n  components:  # ours\n    %s\n",
        ),
        ("components", "git: {components: {a: b}}\n", "git: {components: %s}\n"),
        ("stop_tags", "git:\n  stop_tags:\n  - a\n  - b  # x\n", "git:\n  stop_tags: %s  # x\n"),
        ("exclude", "git:\r\n  exclude: [a]\r\n", "git:\r\n  exclude: %s\r\n"),
    ],
)
def test_words_and_mappings_are_set_in_place(
    dotted: str, before: str, after: str, ours: Path
) -> None:
    ours.write_bytes(before.encode())
    text, value = (IN_ONE_LINE, COMPONENTS) if dotted == "components" else ("x, z", ("x", "z"))
    assert config.set_value(ours, f"git.{dotted}", text) == value
    mapping = '{"packages/core/**": [core, manifest], "docs/**": [docs]}'
    output = mapping if dotted == "components" else "[x, z]"
    assert ours.read_bytes().decode() == after.replace("%s", output)
    empty = "{}" if dotted == "components" else "[]"
    assert config.set_value(ours, f"git.{dotted}", empty) == ()


def test_the_command_shows_and_sets_a_mapping(space: Path, kinen: Any) -> None:
    assert kinen("config", "set", "git.components", IN_ONE_LINE).code == 0
    assert kinen("config", "get", "git.components").out == IN_ONE_LINE + "\n"
    assert f"git.components: {IN_ONE_LINE}  # " in kinen("config", "show").out
    output = json.loads(kinen("config", "show", "--json").out)
    assert output["git.components"] == {glob: list(tags) for glob, tags in COMPONENTS}
    assert output["git.exclude"] == list(Config().git.exclude)
    assert kinen("config", "get", "git.exclude").out == "node_modules/**, dist/**, *.lock\n"


def test_aliases_cannot_make_a_small_file_large(data: Path, space: Path, ours: Path) -> None:
    many = "\n".join(f"  k{n}: *list" for n in range(9_000))
    ours.write_text(f"space: {{name: &list [{'x, ' * 9_000}]}}\ndaemon:\n{many}\n")
    with pytest.raises(ConfigError, match="too many values"):
        config.load(data, space)


# The cache


def imported(code: str, *args: str) -> set[str]:
    check = f"import sys\n{code}\nprint(*sys.modules)"
    command = [
        sys.executable,
        "-S",
        "-c",
        f"import sys; sys.path[:] = {sys.path!r}\n{check}",
        *args,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_second_start_reads_no_yaml(data: Path, space: Path, ours: Path) -> None:
    aged(ours, REMOTE + "  chunk_overlap: 7\n")
    code = (
        "from kinen import config\nfrom kinen.space import find as space\n"
        "found = space.find(sys.argv[2], home=sys.argv[1])\n"
        "assert config.load(sys.argv[1], found.root).index.chunk_overlap == 7\n"
    )
    first = imported(code, str(data), str(space))
    assert "yaml" in first
    spaces.register(spaces.find(space))
    second = imported(code, str(data), str(space))
    heavy = {"yaml", "dataclasses", "subprocess", "pathlib", "inspect", "numpy", "click"}
    heavy |= {"sqlite3", "difflib", "tempfile", "hashlib", "logging", "datetime"}
    assert not heavy & second


def test_a_changed_file_is_read_again(data: Path, space: Path, ours: Path) -> None:
    aged(ours, "search:\n  default_limit: 7\n")
    assert config.load(data, space).search.default_limit == 7
    assert str(ours) in json.loads((data / "cache" / "config.json").read_text())
    ours.write_text("search:\n  default_limit: 8\n")
    assert config.load(data, space).search.default_limit == 8
    ours.unlink()
    assert config.load(data, space).search.default_limit == 10


def test_a_file_that_was_just_written_is_not_cached(data: Path, space: Path, ours: Path) -> None:
    for limit in (*range(1, 10), *range(1, 10)):
        ours.write_text(f"search:\n  default_limit: {limit}\n")
        assert config.load(data, space).search.default_limit == limit


@pytest.mark.parametrize("junk", ["", "{", "[]", '{"%s": 5}', '{"%s": {"stamp": 1}}', "null"])
def test_a_damaged_cache_is_ignored(junk: str, data: Path, space: Path, ours: Path) -> None:
    aged(ours, "search:\n  default_limit: 7\n")
    (data / "cache").mkdir(parents=True)
    (data / "cache" / "config.json").write_text(junk.replace("%s", str(ours)))
    assert config.load(data, space).search.default_limit == 7
    assert config.load(data, space).search.default_limit == 7


def test_a_cache_that_cannot_be_written_costs_only_time(
    data: Path, space: Path, ours: Path
) -> None:
    aged(ours, "search:\n  default_limit: 7\n")
    data.mkdir()
    (data / "cache").write_text("a file where a folder should be")
    assert config.load(data, space).search.default_limit == 7


# Editing


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "index:\n  chunk_size: 99\n"),
        ("# mine\n", "# mine\nindex:\n  chunk_size: 99\n"),
        (
            "index:\n  chunk_size: 60   # small\nsearch: {}\n",
            "index:\n  chunk_size: 99   # small\nsearch: {}\n",
        ),
        ("index:\n  chunk_size:\n", "index:\n  chunk_size: 99\n"),
        ("index:   # how\n\n# end\n", "index:   # how\n  chunk_size: 99\n\n# end\n"),
        ("index: ~\n", "index:\n  chunk_size: 99\n"),
        (
            "index:\n    max_file_mb: 3  # x\n    # more\n\nsearch:\n",
            "index:\n    max_file_mb: 3  # x\n    chunk_size: 99\n    # more\n\nsearch:\n",
        ),
        (
            "search:\n  default_limit: 4",
            "search:\n  default_limit: 4\n\nindex:\n  chunk_size: 99",
        ),
        ("index: {max_file_mb: 3}\n", "index: {max_file_mb: 3, chunk_size: 99}\n"),
        ("{search: {}}\n", "{search: {}, index: {chunk_size: 99}}\n"),
        ("index:\r\n  max_file_mb: 3\r\n", "index:\r\n  max_file_mb: 3\r\n  chunk_size: 99\r\n"),
        ("# 日本語 😀\nindex:\n  chunk_size: 60\n", "# 日本語 😀\nindex:\n  chunk_size: 99\n"),
        (
            "git:\n  exclude:\n    - a\n    - b  # last\n# tail\n",
            "git:\n  exclude:\n    - a\n    - b  # last\n\nindex:\n  chunk_size: 99\n# tail\n",
        ),
        ('index:\n  chunk_size: "60"\n', "index:\n  chunk_size: 99\n"),
        (
            "git:\n  components:\n    a: b  # last\n  # more\n",
            "git:\n  components:\n    a: b  # last\n\nindex:\n  chunk_size: 99\n  # more\n",
        ),
    ],
)
def test_setting_a_value_changes_that_value_and_nothing_else(
    before: str, after: str, ours: Path
) -> None:
    ours.write_bytes(before.encode())
    assert config.set_value(ours, "index.chunk_size", "99") == 99
    assert ours.read_bytes().decode() == after


def test_setting_a_value_makes_the_file_where_there_is_none(home: Path, data: Path) -> None:
    file = paths.user_file(plain_env(home))
    config.set_value(file, "search.default_mode", "semantic")
    assert config.load(data, None, plain_env(home)).search.default_mode == "semantic"


@pytest.mark.parametrize("name", ["notes", "no", "42", "my notes: a #1", "'quoted'", "日本 😀"])
def test_any_text_that_is_valid_survives_being_set(name: str, ours: Path, data: Path) -> None:
    config.set_value(ours, "space.name", name)
    assert config.load(data, ours.parent.parent).space.name == name


def test_a_value_that_would_not_load_is_not_written(ours: Path) -> None:
    text = "index:\n  chunk_overlap: 80\n"
    ours.write_text(text)
    for dotted, value in [
        ("index.chunk_size", "nine"),
        ("index.chunk_size", "64"),
        ("index.chunksize", "99"),
        ("daemon.auto_start", "often"),
    ]:
        with pytest.raises(ConfigError):
            config.set_value(ours, dotted, value)
    assert ours.read_text() == text


def test_an_edit_that_would_touch_another_key_is_refused(ours: Path) -> None:
    text = "index:\n  chunk_overlap: &n 90\n  chunk_size: *n\n"
    ours.write_text(text)
    with pytest.raises(ConfigError, match="by hand"):
        config.set_value(ours, "index.chunk_size", "99")
    assert ours.read_text() == text


def test_a_broken_file_is_not_edited(ours: Path) -> None:
    ours.write_text("index: [\n")
    with pytest.raises(ConfigError, match="YAML"):
        config.set_value(ours, "index.chunk_size", "99")
    assert ours.read_text() == "index: [\n"


def test_a_written_file_keeps_its_mode_and_the_link_to_it(tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("POSIX modes")
    real, link = tmp_path / "dotfiles.yml", tmp_path / "config.yml"
    real.write_text("# mine\n")
    real.chmod(0o640)
    link.symlink_to(real)
    config.set_value(link, "search.default_limit", "9")
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "default_limit: 9" in real.read_text()


def test_a_failed_write_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "inside").write_text("kept")
    with pytest.raises(OSError):
        atomic.write(target, "text")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_the_template_loads_and_every_line_of_it_can_be_uncommented(
    data: Path, space: Path, ours: Path
) -> None:
    text = config.template("My notes", "a1b2")
    ours.write_text(text)
    loaded = config.load(data, space)
    assert (loaded.space.name, loaded.space.id) == ("My notes", "a1b2")
    lines = text.splitlines()
    assert len(lines) < 60
    ours.write_text("\n".join([lines[0], *(line.removeprefix("# ") for line in lines[1:])]))
    assert config.load(data, space)._replace(sources={}) == loaded._replace(sources={})
    ours.write_text(config.template("x"))
    config.set_value(ours, "search.default_limit", "5")
    assert config.load(data, space).search.default_limit == 5


@pytest.mark.parametrize("name", ["all", ".dots", "a,b", '"', "caf\udce9", "\t", "- x", "no", "~"])
def test_the_template_loads_whatever_the_folder_is_called(
    name: str, data: Path, space: Path, ours: Path
) -> None:
    atomic.write(ours, config.template(name))
    assert config.load(data, space).space.name


# Where files are


@pytest.mark.skipif(os.name == "nt", reason="POSIX folders")
def test_xdg_folders_are_honoured_unless_relative(home: Path) -> None:
    env = plain_env(home)
    assert paths.user_file(env) == str(home / ".config/kinen/config.yml")
    there = plain_env(home, XDG_CONFIG_HOME="/there", XDG_DATA_HOME="/data")
    assert paths.user_file(there) == "/there/kinen/config.yml"
    assert paths.user_file({**env, "XDG_CONFIG_HOME": "rel"}) == paths.user_file(env)
    if sys.platform == "darwin":
        assert paths.default_home(env) == str(home / "Library/Application Support/kinen")
    else:
        assert paths.default_home(env) == str(home / ".local/share/kinen")
        assert paths.default_home(there) == "/data/kinen"
    assert paths.default_home({**env, "KINEN_HOME": "/k"}) == "/k"
    assert paths.user_file({**env, "KINEN_CONFIG": "/c.yml"}) == "/c.yml"


def test_yaml_written_by_kinen_means_the_same_to_any_reader() -> None:
    import yaml

    values = ["no", "a b", "", "1e3", "a: b", 5, 0.5, True, ["x", "yes"], "~", "üñ", {}]
    for value in [*values, {"a/**": ["x"], "no": ["no"], "b: c": ["-"]}]:
        assert yaml.safe_load(configfile.written(value)) == value


@pytest.mark.parametrize("text", ["- " * 100_000, "a: " + "[" * 100_000, "{a: " * 30_000])
def test_a_file_nested_beyond_reason_is_an_error_and_no_crash(data: Path, text: str) -> None:
    file = data / "config.yml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    with pytest.raises(ConfigError):
        config.load(data, None, {"KINEN_CONFIG": str(file)})


@pytest.mark.parametrize(
    ("key", "now"),
    [
        ("distill.provider", "distill.order"),
        ("distill.maxTokens", "distill.budget"),
        ("distill.cache", "distill.cache_hours"),
        ("db_path", "index.path"),
        ("embeddings.model", "a model of its own"),
        ("tokenBudget", "recall.budget"),
    ],
)
def test_keys_of_goldfish_and_kindling_name_what_kinen_has_for_them(key: str, now: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config.get(Config(), key)
    assert f"kinen has {now}" in raised.value.hint


GOLDFISH = """distill: {provider: auto, model: gemini-2.5-pro, cache: false, maxTokens: 400}
embeddings: {model: bge-small-en-v1.5, dimensions: 384}
"""


def test_a_config_of_goldfish_stops_nothing_and_says_what_to_set(
    data: Path, space: Path, ours: Path
) -> None:
    ours.write_text(GOLDFISH)
    warnings = "\n".join(config.load(data, space).warnings)
    for setting in (
        "distill.order claude,gemini,extract",
        "distill.gemini_model gemini-2.5-pro",
        "distill.cache_hours 0",
        "distill.budget 400",
    ):
        assert f"`kinen config set {setting}`" in warnings
    assert "embeddings.dimensions" in warnings
    with pytest.raises(ConfigError) as raised:
        config.set_value(ours, "distill.timeout", "30000")
    assert raised.value.hint.endswith("it is in seconds here: 30")


def test_a_value_that_stops_every_command_can_be_set_and_unset(
    kinen, space: Path, ours: Path
) -> None:
    ours.write_text("distill: {timeout: 30000, budget: 400}\n")
    assert "in seconds here: 30" in kinen("status").err
    assert kinen("config", "set", "distill.timeout", "30").code == 0
    assert kinen("config", "get", "distill.timeout").out.strip() == "30"
    ours.write_text("distill: {timeout: 30000, budget: 400}\n")
    assert kinen("config", "unset", "distill.timeout").code == 0
    assert kinen("config", "get", "distill.timeout").out.strip() == "30"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("search:\n  default_limit: 20\n", ""),
        ("# mine\nsearch:\n  default_limit: 20  # many\n  context_chunks: 1\n", None),
        ("index:\n  chunk_size: 64\n\nsearch:\n  default_limit: 20\n", None),
        ("search: {default_limit: 20, context_chunks: 1}\n", None),
        ("search: {context_chunks: 1, default_limit: 20}\n", None),
        ("search:\n  context_chunks: 1\n  default_limit: 20", None),
        ("llm:\n  x: 1\nsearch:\r\n  default_limit: 20\r\n  context_chunks: 1\r\n", None),
    ],
)
def test_a_key_is_unset_and_everything_else_stays(
    text: str, left: str | None, data: Path, space: Path, ours: Path
) -> None:
    ours.write_bytes(text.encode())
    before = config.load(data, space)
    assert config.unset_value(ours, "search.default_limit")
    after = config.load(data, space)
    assert after.search == before.search._replace(default_limit=10)
    assert after.index == before.index
    assert after.warnings == before.warnings or "llm" in text
    if left is not None:
        assert ours.read_text() == left
    assert ("# mine" in text) == ("# mine" in ours.read_text())
    assert not config.unset_value(ours, "search.default_limit")


def test_a_guarded_key_that_the_user_sets_counts_at_once(space: Path, ours: Path, kinen) -> None:
    assert kinen("config", "set", "distill.order", "claude,extract").code == 0
    assert kinen("config", "get", "distill.order").out == "claude, extract\n"
    assert kinen("config", "set", "search.default_limit", "3").code == 0
    assert kinen("config", "get", "distill.order").out == "claude, extract\n"
    assert kinen("config", "unset", "distill.order").out == "distill.order: extract\n"
    assert kinen("config", "unset", "distill.order").code == 1


def test_a_guarded_key_beside_untrusted_ones_is_not_trusted(ours: Path, kinen) -> None:
    ours.write_text("index:\n  embedding_endpoint: http://127.0.0.1:9\n")
    ran = kinen("config", "set", "distill.order", "claude,extract")
    assert ran.code == 0
    assert "ignored until you run `kinen trust`" in ran.err
    assert kinen("config", "get", "distill.order").out == "extract\n"
    assert kinen("config", "get", "index.embedding_endpoint").out == "\n"


def test_show_names_kiste_as_the_source_and_its_unknown_keys(space: Path, kinen) -> None:
    (space / ".kiste.yaml").write_text("snapshot_frequency: 2\ndb_path: x\n")
    ran = kinen("config", "show")
    assert f"git.snapshot_frequency: 2  # {space}/.kiste.yaml" in ran.out
    assert "unknown key db_path in .kiste.yaml:2" in ran.err
    assert kinen("config", "get", "git.snapshot_frequency").out == "2\n"


def test_unknown_keys_stop_no_command_and_are_told_once(space: Path, ours: Path, kinen) -> None:
    ours.write_text("llm:\n  default_provider: x\nsession:\n  a: 1\n  b: 2\naider: {c: 3}\n")
    (space / ".kiste.yaml").write_text("db_path: x\n")
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    sections = "are ignored: llm, session, aider"
    first = kinen("index", "--no-embed").err
    assert (first.count(sections), first.count("unknown key db_path")) == (1, 1)
    for words in (["index", "--no-embed"], ["search", "--fulltext", "kettle"], ["status"]):
        ran = kinen(*words)
        assert (ran.code, "unknown" in ran.err) == (0, False)
    checked = kinen("doctor").out
    assert sections in checked
    assert "unknown key db_path" in checked
    ours.write_text("llm:\n  default_provider: x\n")
    assert "are ignored: llm" in kinen("status").err


def test_init_writes_a_short_file(tmp_path: Path, kinen) -> None:
    assert kinen("init", str(tmp_path / "new")).code == 0
    assert len((tmp_path / "new/.kinen/config.yml").read_text().splitlines()) <= 5


@pytest.mark.parametrize(
    ("text", "globs"),
    [
        ('["secret/**"]', ("secret/**",)),
        ("['a b/*.md', \"*.crt\"]", ("a b/*.md", "*.crt")),
        ("[secret, docs/*.md]", ("secret", "docs/*.md")),
        ("[]", ()),
        ("secret/**, *.crt", ("secret/**", "*.crt")),
        ("./secret/**", ("secret/**",)),
        ("[ab]*.[ch]", ("[ab]*.[ch]",)),
    ],
)
def test_a_list_on_one_line_is_a_list(
    space: Path, kinen: Callable[..., Any], text: str, globs: tuple[str, ...]
) -> None:
    ran = kinen("config", "set", "privacy.exclude", text)
    assert ran.code == 0, ran.err
    assert ran.out.startswith(f"privacy.exclude: {', '.join(globs)}  # ")
    loaded = config.load(os.environ["KINEN_HOME"], str(space))
    default = config.load(os.environ["KINEN_HOME"]).privacy.exclude
    assert loaded.privacy.exclude == (*default, *globs)


def test_a_list_that_was_stored_as_a_text_is_read_as_the_list(space: Path) -> None:
    file = space / ".kinen" / "config.yml"
    file.write_text("""privacy:\n  exclude: ["[\\"secret/**\\", \\"b\\"]", c]\n""")
    loaded = config.load(os.environ["KINEN_HOME"], str(space))
    assert loaded.privacy.exclude[-3:] == ("secret/**", "b", "c")


@pytest.mark.parametrize("key", ["distill.order", "git.exclude"])
def test_lists_of_words_are_lists_too(space: Path, kinen: Callable[..., Any], key: str) -> None:
    ran = kinen("config", "set", key, '["claude", "extract"]')
    assert ran.code == 0, ran.err
    assert kinen("config", "get", key).out == "claude, extract\n"


def test_a_mapping_on_one_line_is_a_mapping(space: Path, kinen: Callable[..., Any]) -> None:
    ran = kinen("config", "set", "git.components", '{"docs/**": [docs, text], src: ["code"]}')
    assert ran.code == 0, ran.err
    assert kinen("config", "get", "git.components").out == "docs/**=docs text, src=code\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('["", "a"]', "it is empty"),
        ('"secret"', "the quotes are part of it"),
        ("../other/**", "it leads out of the space"),
        ("~/notes", "it leads out of the space"),
        ("/etc/passwd", "it leads out of the space"),
        ("{root}/secret/**", "use secret/**"),
        ("[ab", "a bracket is not closed"),
        ("[*.md]", "cannot be read"),
        ('["secret/**", "s2/**"', "quotes are part of it"),
        ("secret/** s2/**", "use commas: secret/**, s2/**"),
        ("secret/**\ns2/**", "it has a control character"),
        ("secret//a.md", "a folder in it has no name"),
        ("secret/./a.md", "a folder in it has no name"),
        ("secret\\**", "it has a backslash"),
    ],
)
def test_a_glob_that_can_match_nothing_is_refused(
    space: Path, kinen: Callable[..., Any], text: str, reason: str
) -> None:
    ran = kinen("config", "set", "privacy.exclude", text.replace("{root}", os.path.realpath(space)))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran
    assert reason in ran.err
    assert not (space / ".kinen" / "config.yml").exists()


def test_a_glob_in_a_file_that_can_match_nothing_is_noted(space: Path, kinen) -> None:
    file = space / ".kinen" / "config.yml"
    file.write_text("privacy:\n  exclude: [ok/**, 'secret//a.md', './notes/**']\n")
    ran = kinen("status")
    assert ran.code == 0
    assert "privacy.exclude has 'secret//a.md', which matches nothing" in ran.err
    assert "ok/**" not in ran.err and "notes" not in ran.err


def test_setting_a_glob_that_matches_nothing_now_says_so(space: Path, kinen) -> None:
    (space / "secret").mkdir()
    (space / "secret" / "a.md").write_text("# A\n\nThe kettle.\n")
    assert kinen("index").code == 0
    ran = kinen("config", "set", "privacy.exclude", "secret;other")
    assert "`secret;other` matches nothing that is indexed now" in ran.err
    ran = kinen("config", "set", "privacy.exclude", "secret")
    assert "nothing that is indexed" not in ran.err
