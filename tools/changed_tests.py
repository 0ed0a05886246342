"""Names the test files of what changed, or runs them: `make check`.

    tools/changed_tests.py [--base REVISION] [--run]

Changed is what differs from the common ancestor with REVISION (origin/main, else main, else HEAD),
committed or not, and every new file. A module belongs to the test file that mirrors it
(src/kinen/index/vectors.py: tests/index/test_vectors*.py), or, where none does, to the test files
that import it. The architecture tests always belong to it. `--run` leaves out tests marked `slow`,
as `make test` does.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[1]
ALWAYS = "tests/test_architecture.py"
DOCS = "tests/test_docs.py"


def git(*words: str, root: Path = ROOT) -> list[str]:
    """The lines that git prints; none where it fails."""
    run = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return run.stdout.splitlines() if run.returncode == 0 else []


def ancestor(base: str, root: Path = ROOT) -> str:
    """The commit to compare with: where this branch left the base, or HEAD."""
    for name in [base] if base else ["origin/main", "main"]:
        commits = git("merge-base", "HEAD", name, root=root)
        if commits:
            return commits[0]
    return "HEAD"


def changed_files(base: str, root: Path = ROOT) -> list[str]:
    """Paths that differ from the base, and files that git does not know yet."""
    changed = git("diff", "--name-only", ancestor(base, root), root=root)
    new = git("ls-files", "--others", "--exclude-standard", root=root)
    return sorted({*changed, *new})


def test_files(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """The test files that belong to changed paths."""
    tests = {path.relative_to(root).as_posix(): path for path in root.glob("tests/**/test_*.py")}
    chosen = {ALWAYS}
    for path in changed:
        if path in tests:
            chosen.add(path)
        elif path.endswith(".md") or path.startswith("docs/"):
            chosen.add(DOCS)
        elif path.startswith("src/kinen/") and path.endswith(".py"):
            module = path.removeprefix("src/kinen/").removesuffix(".py").removesuffix("/__init__")
            chosen |= mirrors(module, tests) or importers(module, tests)
        elif path.startswith("tools/") and path.endswith(".py"):
            chosen |= mirrors(path.removesuffix(".py"), tests)
    return sorted(chosen & tests.keys())


def mirrors(module: str, tests: Iterable[str]) -> set[str]:
    """Test files named after a module: `index/vectors` has `tests/index/test_vectors*.py`."""
    folder, _, name = module.rpartition("/")
    start = f"tests/{folder}/test_{name}" if folder else f"tests/test_{name}"
    return {test for test in tests if test == f"{start}.py" or test.startswith(f"{start}_")}


def importers(module: str, tests: dict[str, Path]) -> set[str]:
    """Test files that import a module by its name."""
    name = "kinen." + module.replace("/", ".")
    return {test for test, path in tests.items() if name in imported(path)}


def imported(path: Path) -> set[str]:
    """Every module that a file imports, with the names it takes from them."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--base", default="", help="compare with this revision")
    parser.add_argument("--run", action="store_true", help="run them, without those marked slow")
    options = parser.parse_args()
    files = test_files(changed_files(options.base))
    print("\n".join(files))
    if not options.run:
        return 0
    line = [sys.executable, "-m", "pytest", "-n", "auto", "-m", "not slow", *files]
    code = subprocess.run(line, cwd=ROOT, check=False).returncode
    return 0 if code == 5 else code  # 5: every test of these files is slow


if __name__ == "__main__":
    sys.exit(main())
