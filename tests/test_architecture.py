"""The structure of docs/architecture.md, checked from the imports themselves."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import syntax
from syntax import FILES, SOURCE, code_metrics, nodes_of
from tools.tool import load

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

trace_path = load("trace_path")

LAYERS = (
    {
        "errors",
        "extras",
        "paths",
        "ids",
        "times",
        "text",
        "characters",
        "ports",
        "model",
        "storage",
        "privacy",
    },
    {"config", "space", "ipc", "extract", "embed", "query"},
    {"journal", "index", "postgres"},
    {"sources", "worklog", "agents", "transfer", "team", "recall", "distill", "consolidation"},
    {"memory", "render"},
    {"verbs"},
    {"api"},
    {
        "frameworks",
        "hooks",
        "cli",
        "mcp",
        "http",
        "web",
        "tui",
        "lsp",
        "daemon",
        "__init__",
        "__main__",
    },
)
"""A part may import parts of its own layer and of the layers before it."""
HOOKS = LAYERS[0] | LAYERS[1] | {"journal", "index", "agents", "hooks"}
"""What the hot path may import."""
SLOW_HOOKS = {"hooks/background.py"}
"""What hooks start in a process of its own, or only where a setting asks for it."""

RARELY_SEARCHED = {
    *("typing", "dataclasses", "datetime", "inspect", "subprocess", "markdown_it"),
    *("re", "json", "threading"),
    *("kinen.model.documents", "kinen.model.journal"),
    *("kinen.ipc.client", "kinen.journal.write", "kinen.privacy.masking", "kinen.recall.spelling"),
    *("kinen.render.graph", "kinen.render.json", "kinen.storage.inside"),
}
"""What a cold search loads only where a question, a setting or new entries need it."""
RARELY_LOGGED = {"typing", "re", "json", "contextlib", "inspect", "subprocess", "hashlib"}
RARELY_LOGGED |= {f"kinen.privacy.{name}" for name in ("masking", "names")}
"""What a hook loads only for text that may hold a secret, or for rare events."""
RARELY_SHOWN = {
    *("subprocess", "tempfile", "logging", "concurrent.futures"),
    *("kinen.memory.consolidation", "kinen.privacy.masking", "kinen.recall.search"),
    *("kinen.sources.files.walk", "kinen.sources.git.worktree"),
}
"""What `kinen status` and `kinen plan list` do not need: they only read."""
HEAVY = (
    "psycopg",
    "numpy",
    "onnxruntime",
    "tokenizers",
    "mcp",
    "fastapi",
    "textual",
    "click",
    "jinja2",
    "rich",
    "yaml",
)


def part(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path: Path) -> set[str]:
    """The parts of kinen that a module imports, wherever the import stands."""
    results = set()
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "kinen":
                names = [f"kinen.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        results |= {name.split(".")[1] for name in names if name.startswith("kinen.")}
    return results - {"__version__"}


def allowed(name: str, *, slow: bool = False) -> set[str]:
    """The parts that a part may import."""
    if name == "hooks" and not slow:
        return HOOKS
    for number, layer in enumerate(LAYERS):
        if name in layer:
            return set().union(*LAYERS[: number + 1])
    raise AssertionError(f"{name} is in no layer")


def test_a_module_imports_only_what_its_layer_allows() -> None:
    for path in FILES:
        slow = str(path.relative_to(SOURCE)) in SLOW_HOOKS
        assert imports(path) <= allowed(part(path), slow=slow), path


# Limits on the figures of tools/code_metrics.py. They are today's, and only ever go down.
MOST_VAGUE_PERCENT = 0.22
MOST_PACKED_ASSIGNMENTS = 0
MOST_LOOSE_MODULES = 7
MOST_FILES = 452
MOST_LINES = 102_436
MOST_CHANGES_OF_MODULE = {"cold-search": 253, "hook-event": 80}
DEEPEST_CLASS = 2
"""Of the errors, which are drawn as a tree in errors.py, one more: base, family, member."""


@pytest.fixture
def modules() -> list[Any]:
    """Every module, parsed: only the process that runs these tests needs them."""
    return [*syntax.modules().values()]


def test_modules_do_not_import_each_other_in_a_circle(modules: list[Any]) -> None:
    assert code_metrics.import_cycles(code_metrics.import_graph(modules)) == []


def test_names_are_words_of_the_domain(modules: list[Any]) -> None:
    share = code_metrics.vague_percent(modules)
    assert round(share, 2) <= MOST_VAGUE_PERCENT, code_metrics.vague_by_module(modules)


def test_a_line_assigns_one_thing(modules: list[Any]) -> None:
    assert code_metrics.packed_assignments(modules) <= MOST_PACKED_ASSIGNMENTS


def test_few_modules_are_loose_at_the_root() -> None:
    loose = code_metrics.loose_modules(SOURCE.parent)
    assert len(loose) <= MOST_LOOSE_MODULES, loose


def test_classes_are_not_towers(modules: list[Any]) -> None:
    name, depth = code_metrics.deepest_class(modules, apart="kinen.errors")
    assert depth <= DEEPEST_CLASS, name
    name, depth = code_metrics.deepest_class(modules)
    assert depth <= DEEPEST_CLASS + 1, name


def test_a_circle_of_imports_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a", "d"}}
    assert code_metrics.import_cycles(graph) == [["b", "c"]]


def test_the_whole_does_not_grow() -> None:
    assert len(FILES) <= MOST_FILES
    assert sum(len(path.read_text().splitlines()) for path in FILES) <= MOST_LINES


@pytest.mark.parametrize("path", MOST_CHANGES_OF_MODULE)
def test_a_path_passes_through_no_more_modules(path: str) -> None:
    result = trace_path.trace(path, trace_path.SOURCE)
    assert result["changes"] <= MOST_CHANGES_OF_MODULE[path]


def test_every_protocol_is_in_ports() -> None:
    for path in FILES:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef) and path.name != "ports.py":
                assert "Protocol" not in [ast.unparse(base) for base in node.bases], path


ENGINES = {"journal", "index", "postgres", "storage", "team"}
"""Parts that speak SQL to their own tables."""
OTHER_SQL = {
    "agents/transcripts/cursor.py": "the database of another program",
    "agents/transcripts/zed.py": "the database of another program",
    "extract/data.py": "the tables of a database that is indexed as a file",
    "transfer/kindling.py": "the database of another program",
    "agents/transcripts/databases.py": "the databases of other programs",
}
"""Modules with SQL outside of the engines, and why: they read files of other programs."""
SQL = re.compile(
    r"\bSELECT .+ FROM|\bINSERT (OR \w+ )?INTO|\bDELETE FROM|\bUPDATE \w+ SET|\bPRAGMA "
    r"|\bFROM (observations|capsules|summaries|pins|memories|suppressed|tag_ops|records|chunks)\b"
)


def speaks_sql(nodes: Iterable[ast.AST]) -> bool:
    """Whether a module has a statement, or part of one, or runs one."""
    for node in nodes:
        if isinstance(node, ast.JoinedStr) and SQL.search(ast.unparse(node)):
            return True
        if isinstance(node, ast.Constant) and SQL.search(str(node.value)):
            return True
        if isinstance(node, ast.Attribute) and node.attr.startswith("execute"):
            return True
    return False


def test_sql_is_written_in_the_engines_only() -> None:
    outside = [path for path in FILES if part(path) not in ENGINES]
    speaking = {path for path in outside if speaks_sql(nodes_of(path))}
    assert {path.relative_to(SOURCE).as_posix() for path in speaking} == OTHER_SQL.keys()


TABLES = {
    "index": re.compile(r"\b(FROM|JOIN|INTO|UPDATE) (records|chunks|touches|paths|commits)\b"),
    "journal": re.compile(r"\b(FROM|JOIN|INTO|UPDATE) (observations|capsules|pins|memories)\b"),
}
OWNERS = {"index": {"index"}, "journal": {"journal", "team"}}
"""The packages with SQL on a store's tables: a team replicates rows of the journal."""


@pytest.mark.parametrize("store", TABLES)
def test_the_tables_of_a_store_are_read_in_its_own_package(store: str) -> None:
    reading = {part(path) for path in FILES if TABLES[store].search(path.read_text())}
    assert reading == OWNERS[store]


@pytest.mark.parametrize(
    "line",
    [
        "db.execute(QUERY)",
        "sql = f'SELECT {columns} FROM {table}'",
        "part = 'EXISTS (SELECT 1 FROM capsules WHERE id = 1)'",
        "x = 'PRAGMA cache_size'",
    ],
)
def test_sql_is_seen(line: str) -> None:
    assert speaks_sql(ast.walk(ast.parse(line)))


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "helpers", "common", "manager", "service", "misc", "base"}
    assert not [path for path in FILES if path.stem in empty or path.parent.name in empty]


def test_no_expression_repeats_a_group_possessively() -> None:
    """Before Python 3.11.5 `(?:a|b)*+` matches too little; `(?>(?:a|b)*)` is right there, too."""
    wrong = re.compile(r"[^(\\]\)(?:[*+?]|\{+\d*,?\d*\}+)\+(?!\+)")
    found = {
        (path.relative_to(SOURCE).as_posix(), node.lineno)
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        if wrong.search(node.value if isinstance(node.value, str) else node.value.decode("latin-1"))
    }
    assert not found


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter has after running some code."""
    program = f"import sys\n{code}\nprint(' '.join(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    modules = set(run.stdout.splitlines()[-1].split())
    return modules | {name.split(".")[0] for name in modules}


def loaded_by(tmp_path: Path, *words: str) -> set[str]:
    """The modules that a command of kinen loads, in a space with one note."""
    space = tmp_path / "space"
    (space / ".kinen").mkdir(parents=True, exist_ok=True)
    note = space / "a.md"
    if not note.exists():
        note.write_text("# Tea\n\n- The kettle — “Old Faithful” — is on.\n")
        for path in (note, space / ".kinen", space):  # what changed just now is read once more
            os.utime(path, (1_700_000_000, 1_700_000_000))
    return loaded(
        "import contextlib, io, os\n"
        f"os.environ['KINEN_HOME'] = {str(tmp_path / 'home')!r}\n"
        f"os.environ['HOME'] = {str(tmp_path)!r}\n"
        f"os.chdir({str(space)!r})\n"
        "from kinen.cli import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        f"    main({list(words)!r})"
    )


@pytest.mark.slow
def test_every_module_can_be_imported() -> None:
    """A name that stands under TYPE_CHECKING is no name for an import that runs."""
    program = """
import importlib, pkgutil, sys, kinen
for module in pkgutil.walk_packages(kinen.__path__, "kinen."):
    if module.name != "kinen.__main__":
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            if "extra: pip install" not in str(error):
                sys.exit(f"{module.name}: {error}")
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_importing_a_surface_loads_nothing_heavy() -> None:
    assert not loaded("import kinen.cli, kinen.memory, kinen.render") & set(HEAVY)


def test_a_daemon_at_rest_has_neither_numpy_nor_a_model() -> None:
    assert not loaded("import kinen.http.app") & {"numpy", "onnxruntime", "tokenizers"}


def test_a_full_text_search_loads_nothing_that_slows_its_start(tmp_path: Path) -> None:
    search = ("search", "--fulltext", "kettle")
    log = ("log", "the pot is warm")
    loaded_by(tmp_path, *search)
    assert sorted(loaded_by(tmp_path, *search) & {*HEAVY, *RARELY_SEARCHED}) == []
    loaded_by(tmp_path, *log)
    loaded_by(tmp_path, *search)  # begins to follow the journal
    loaded_by(tmp_path, *log)
    needed = {"typing", "kinen.journal.write", "kinen.model.documents", "kinen.model.journal"}
    needed |= {"re", "json"}
    assert sorted(loaded_by(tmp_path, *search) & ({*HEAVY, *RARELY_SEARCHED} - needed)) == []


def test_a_recall_of_notes_without_vectors_loads_nothing_heavy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINEN_DAEMON_AUTO_START", "false")
    loaded_by(tmp_path, "index", "--no-embed")
    modules = loaded_by(tmp_path, "recall", "where is the kettle")
    assert "kinen.recall.excerpts" in modules
    assert not modules & {*HEAVY, "markdown_it", "logging", "concurrent.futures"}


@pytest.mark.parametrize("words", [["status"], ["plan", "list"]], ids=" ".join)
def test_commands_that_only_read_load_nothing_for_writing(tmp_path: Path, words: list[str]) -> None:
    assert not loaded_by(tmp_path, *words) & RARELY_SHOWN


def test_keeping_an_observation_loads_only_what_sqlite_needs(tmp_path: Path) -> None:
    space = tmp_path / "space"
    (space / ".kinen").mkdir(parents=True)
    output = (
        "import os, sys\n"
        f"os.environ['KINEN_HOME'] = {str(tmp_path / 'home')!r}\n"
        f"os.environ['HOME'] = {str(tmp_path)!r}\n"
        f"os.chdir({str(space)!r})\n"
        "from kinen.cli import main\n"
        "try:\n"
        "    main(['log', 'the kettle is on', '--session', 's1', '--file', 'tea.md'])\n"
        "except SystemExit:\n"
        "    pass"
    )
    loaded(output)  # finds the space, and remembers where it is
    run = [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r})\n"]
    run[-1] += f"{output}\nprint(' '.join(sys.modules))"
    stdout = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    modules = set(stdout.splitlines()[-1].split())
    modules |= {name.split(".")[0] for name in modules}
    assert not modules & {*HEAVY, *RARELY_LOGGED}
