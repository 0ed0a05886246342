"""The tracer counts calls of kinen's functions and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tools.tool import TOOLS, load

if TYPE_CHECKING:
    from pathlib import Path

trace_path = load("trace_path")


def test_it_counts_functions_modules_and_changes(tmp_path: Path) -> None:
    package = tmp_path / "kinen"
    package.mkdir()
    (package / "a.py").write_text(
        "class A:\n    n = 1\n\n\ndef inner():\n    return [n for n in 'x']\n"
    )
    (package / "b.py").write_text(
        "from a import inner\n\n\ndef outer():\n    inner()\n    inner()\n"
    )
    program = (
        f"import json, pathlib, sys\nsys.path[:0] = [{str(TOOLS)!r}, {str(package)!r}]\n"
        f"from trace_path import Tracer\ntracer = Tracer(pathlib.Path({str(tmp_path)!r}))\n"
        "tracer.start()\ntracer.recording = True\nfrom b import outer\nouter()\nouter()\n"
        "tracer.recording = False\nouter()\nprint(json.dumps(tracer.result()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(run.stdout) == {
        "functions": 2,
        "modules": 2,
        "changes": 3,
        "calls": [
            {"module": "b", "function": "outer", "calls": 2},
            {"module": "a", "function": "inner", "calls": 4},
        ],
    }


def test_a_hook_event_is_traced_in_a_scratch_home() -> None:
    result = trace_path.trace("hook-event", trace_path.SOURCE)
    assert 20 < result["functions"] < 200
    assert result["modules"] < result["functions"]
    assert result["changes"] > 0


def test_an_unknown_path_is_named() -> None:
    run = subprocess.run(
        [sys.executable, str(TOOLS / "trace_path.py"), "nowhere"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert "unknown path 'nowhere'" in run.stderr
