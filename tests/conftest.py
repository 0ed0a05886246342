"""Every test has its own home: nothing of the person who runs it is read or written."""

from __future__ import annotations

import functools
import gc
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

import forked
import postgres_server
import shortcuts
from home_processes import kill_processes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

for _name in [name for name in os.environ if name.startswith(("KINEN_", "GIT_", "XDG_"))]:
    if _name not in (
        "KINEN_STRESS",
        "KINEN_E2E",
        "KINEN_E2E_CLIENTS",
        "KINEN_CHROMIUM",
        "KINEN_CODE_SERVER",
        "KINEN_OIDC_PROVIDER",
        "KINEN_TEST_POSTGRES",
        "KINEN_TEST_POSTGRES_BIN",
    ):
        del os.environ[_name]
os.environ["GIT_CONFIG_GLOBAL"] = str(Path(__file__).with_name("gitconfig"))
os.environ["GIT_CONFIG_NOSYSTEM"] = "1"
os.environ["KINEN_PROGRESS"] = "off"  # how long a command takes is not what a test is about
os.environ["KINEN_DAEMON_AUTO_START"] = "false"  # a test that wants a daemon says so

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell starts background jobs so, and every process of a test would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no defect of what is tested. Every run has the same examples: whoever changes
# something else should not meet a new failure by chance. `make stress` looks for new ones.
settings.register_profile(
    "kinen", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile(
    "stress", settings.get_profile("kinen"), derandomize=False, max_examples=1000
)
settings.load_profile("stress" if os.environ.get("KINEN_STRESS") else "kinen")

shortcuts.share()
shortcuts.share_child()


SLOW = (
    "daemon/",
    "e2e/",
    "index/test_killed_history.py",
    "lsp/",
    "mcp/test_stdio.py",
    "postgres/",
    "properties/test_chunking.py",
    "properties/test_extracting.py",
    "properties/test_folding.py",
    "properties/test_history.py",
    "properties/test_passage_properties.py",
    "properties/test_rebuild.py",
    "properties/test_round_trip.py",
    "team/",
    "test_budgets.py",
    "test_clock.py",
    "test_erasing.py",
    "test_hostile_text.py",
    "memory/test_lanes.py",
    "test_linear_time.py",
    "space/test_many_spaces.py",
    "test_scale.py",
    "test_two_versions.py",
    "tui/test_browser_keys.py",
    "tui/test_real_terminal.py",
    "web/test_browser.py",
    "web/test_curation.py",
    "web/test_page_in_browser.py",
    "web/test_team_browser.py",
)
"""Files and folders whose tests are `slow`, but for those marked `quick`."""


assert all((Path(__file__).parent / name).exists() for name in SLOW)


@functools.cache
def _listed(path: Path) -> bool:
    return path.relative_to(Path(__file__).parent).as_posix().startswith(SLOW)


def _has(path: Path, kind: str) -> bool:
    """Whether a file can have tests that are `slow` or `not slow`, by its name and its marks."""
    text = path.read_text(encoding="utf-8")
    if _listed(path):
        return kind == "slow" or "mark.quick" in text
    return kind == "not slow" or "mark.slow" in text or "postgres" in text


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file that has nothing to run for `make test` or for `make test-slow`."""
    kind = config.option.markexpr
    chosen = kind in ("slow", "not slow") and collection_path.suffix == ".py"
    return True if chosen and not _has(collection_path, kind) else None


def pytest_collection() -> None:
    """What is collected stays: the collector of garbage need not look at it, now and later."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make test` and `make check` leave to `make test-slow`."""
    kinds = set()
    for item in items:
        needs_server = "postgres_server_url" in getattr(item, "fixturenames", ())
        if needs_server or (_listed(item.path) and not item.get_closest_marker("quick")):
            item.add_marker("slow")
        kinds.add((item.path, "slow" if item.get_closest_marker("slow") else "not slow"))
    for path, kind in kinds:
        assert _has(path, kind), f"{path} has {kind} tests, and neither its name nor a mark says so"


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what this process started, and the PostgreSQL once all workers are done with it."""
    if forked.shared.cache_info().currsize:
        forked.shared().close()
    if not hasattr(config, "workerinput"):
        postgres_server.stop(postgres_server.run_id())


@pytest.fixture(scope="session")
def postgres_server_url() -> str:
    """A real PostgreSQL with pgvector, shared by the whole run; skips where none can start."""
    try:
        return postgres_server.server_url()
    except postgres_server.NoServer as reason:
        pytest.skip(str(reason))


@pytest.fixture
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    """The address of an empty database, dropped after the test."""
    url = postgres_server.create_database(postgres_server_url)
    yield url
    postgres_server.drop_database(postgres_server_url, url)


@pytest.fixture(autouse=True)
def home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A home folder, and kinen's own folder in it; a daemon that was started there ends."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    monkeypatch.setenv("KINEN_HOME", str(folder / "kinen"))
    monkeypatch.setenv("NO_COLOR", "1")
    yield folder
    if any((folder / "kinen").glob("daemon.*")):
        kill_processes_of(str(folder / "kinen"))


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """An empty space."""
    root = tmp_path / "space"
    (root / ".kinen").mkdir(parents=True)
    return root


@pytest.fixture
def write(space: Path) -> Callable[[str, str], Path]:
    """Writes a file of the space."""

    def _write(path: str, text: str) -> Path:
        full = space / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8")
        return full

    return _write


class Ran(NamedTuple):
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def kinen(space: Path) -> Callable[..., Ran]:
    """Runs the real command in a process of its own, in the space unless told otherwise.

    With a variable for Python itself, such as PYTHONPATH, Python is started anew.
    """

    def run(*words: str, cwd: Path | None = None, stdin: str = "", **env: str) -> Ran:
        if not any(name.startswith("PYTHON") for name in env):
            ended = forked.shared().run([*words], cwd or space, stdin, {**os.environ, **env})
            return Ran(ended.code, _text(ended.out), _text(ended.err))
        done = subprocess.run(
            [sys.executable, "-m", "kinen", *words],
            cwd=cwd or space,
            env={**os.environ, **env},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def run_hook() -> Callable[..., str]:
    """Runs the hook of a client on a payload, in a process of its own; what it prints."""

    def run(payload: Any, agent: str = "claude-code", *words: str, cwd: Path | None = None) -> str:
        line = ["hook", agent, *words]
        stdin = payload if isinstance(payload, str) else json.dumps(payload)
        ended = forked.shared().run(line, cwd or Path(os.environ["HOME"]), stdin, dict(os.environ))
        assert (ended.code, ended.err) == (0, b"")
        return ended.out.decode()

    return run


@pytest.fixture
def ask(space: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Callable[..., Ran]:
    """Runs a command in this process, which is faster, where it makes no difference."""
    from kinen.cli import main

    def run(*words: str, cwd: Path | None = None, stdin: str = "", **env: str) -> Ran:
        with monkeypatch.context() as here, pytest.raises(SystemExit) as end:
            here.chdir(cwd or space)
            here.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            for name, value in env.items():
                here.setenv(name, value)
            main(list(words))
        gc.enable()  # a process of its own does without
        return Ran(int(end.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def without_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Full text only, and no agent around."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    for name in [name for name in os.environ if name.startswith(("CLAUDE", "AI_AGENT", "CODEX_"))]:
        monkeypatch.delenv(name)


def _text(data: bytes) -> str:
    """Output as `subprocess` decodes it with text=True."""
    return data.decode().replace("\r\n", "\n").replace("\r", "\n")


@pytest.fixture(scope="session")
def demo_space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's space, copied: real-looking notes for tests that only read."""
    import kinen.cli

    root = tmp_path_factory.mktemp("demo") / "parcelry"
    shutil.copytree(Path(kinen.cli.__file__).parent / "demo_space", root)
    (root / ".kinen").mkdir()
    return root
