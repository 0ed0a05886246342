"""The house of design §3, checked from the imports themselves."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "kinen"
FILES = sorted(SOURCE.rglob("*.py"))

# What each part may import, besides itself. Layer 0 is open to all.
BASE = {
    *("model", "entries", "ports", "errors", "text", "masking", "database", "config", "configfile"),
    "configkeys",
    *("gitdir", "registry", "space", "route", "vocabulary", "characters", "gitcommand"),
    *("entrance", "budget"),
    "storage",
    *(
        "secret_shapes",
        "secret_names",
        "secret_values",
        "secret_marks",
        "secret_blocks",
        "injected",
        "lineage",
        "answers",
        "question",
        "wire",
    ),
    *("brief", "loopback", "httpserver", "endpoints"),
}
ALLOWED = {
    "markdown": BASE,
    "journal": BASE | {"markdown"},
    "extract": BASE,
    "embed": BASE,
    "index": BASE | {"markdown"},
    "sources": BASE | {"markdown", "extract", "journal"},
    "recall": BASE | {"index", "journal", "markdown"},
    "memory": BASE | {"journal", "extract", "embed", "index", "sources", "recall"},
    "render": BASE | {"journal", "extract", "embed", "index", "sources", "recall"},
}
ALLOWED["consolidation"] = BASE | {"journal", "markdown", "sources", "recall"}
ALLOWED["memory"] |= {"consolidation"}
ALLOWED["jot"] = BASE | {"journal"}
ALLOWED["memory"] |= {"jot"}
SURFACES = ("cli", "mcp", "web", "tui", "agents", "daemon")
for _surface in SURFACES:
    ALLOWED[_surface] = BASE | {"memory", "render", "jot"}
ALLOWED["agents"] |= {"journal"}  # its quick ways: a hook has no time for the façade
ALLOWED["cli"] |= {"agents", "mcp", "daemon"}
for _base in BASE:
    ALLOWED[_base] = BASE
ALLOWED["__init__"] = {"memory", "model", "entries", "errors"}
ALLOWED["__main__"] = {"cli"}

HEAVY = ("numpy", "onnxruntime", "tokenizers", "mcp", "fastapi", "textual", "click", "rich", "yaml")


def part(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path: Path) -> set[str]:
    """The parts of kinen that a module imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "kinen":
                names = [f"kinen.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("kinen.")}
    return found - {"__version__"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_its_layer_allows(path: Path) -> None:
    here = part(path)
    assert here in ALLOWED, f"{here} has no place in design §3"
    assert imports(path) - {here} <= ALLOWED[here]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_and_its_functions_are_readable_in_one_sitting(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{node.name} is too long"


def test_every_protocol_is_in_ports() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and path.name != "ports.py":
                assert "Protocol" not in [ast.unparse(base) for base in node.bases], path


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "helpers", "common", "manager", "service", "misc", "base"}
    assert not [path for path in FILES if path.stem in empty or path.parent.name in empty]


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter has after running some code."""
    program = f"import sys\n{code}\nprint(' '.join(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in run.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize("module", ["kinen", "kinen.cli", "kinen.memory", "kinen.render"])
def test_importing_a_surface_loads_nothing_heavy(module: str) -> None:
    assert not loaded(f"import {module}") & set(HEAVY)


def test_a_full_text_search_loads_nothing_that_slows_its_start(tmp_path: Path) -> None:
    space = tmp_path / "space"
    (space / ".kinen").mkdir(parents=True)
    (space / "a.md").write_text("# Tea\n\nThe kettle is on.\n")
    ask = (
        "import contextlib, io, os, runpy\n"
        f"os.environ['KINEN_HOME'] = {str(tmp_path / 'home')!r}\n"
        f"os.environ['HOME'] = {str(tmp_path)!r}\n"
        f"os.chdir({str(space)!r})\n"
        "from kinen.cli import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    main(['search', '--fulltext', 'kettle'])"
    )
    loaded(ask)
    assert not loaded(ask) & {*HEAVY, "dataclasses", "inspect", "subprocess", "pathspec"}


def test_keeping_an_observation_loads_only_what_sqlite_needs(tmp_path: Path) -> None:
    space = tmp_path / "space"
    (space / ".kinen").mkdir(parents=True)
    told = (
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
    loaded(told)  # finds the space, and remembers where it is
    heavy = {*HEAVY, "typing", "re", "json", "contextlib", "inspect", "subprocess", "hashlib"}
    run = [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r})\n"]
    run[-1] += f"{told}\nprint(' '.join(sys.modules))"
    found = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert not {name.split(".")[0] for name in found.splitlines()[-1].split()} & heavy
