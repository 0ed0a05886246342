"""`kinen fix` and `kinen how`, asked as people and agents ask them."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from kinen import Memory
from kinen.mcp.server import create_server
from mcp import Client

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

    Kinen = Callable[..., Ran]

ERROR = "ModuleNotFoundError: No module named 'yaml'"
FAILED = {"exitCode": 1, "hasError": True}


@pytest.fixture
def worked(space: Path) -> Path:
    """A space with a session in which an error came and went."""
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        memory.journal.open_capsule("fix the tests", scope={"session": "s1"})

        def record(kind: str, content: str, files: tuple[str, ...] = (), **about: Any) -> None:
            memory.observe(
                content, kind=kind, scope={"session": "s1"}, files=files, provenance=about
            )

        test = "pytest -q tests/test_a.py"
        record("error", f"$ {test}\nExit code 1\n  /x/a.py:3\n{ERROR}", command=test, **FAILED)
        record("command", "$ pip install pyyaml", command="pip install pyyaml", exitCode=0)
        record("file_diff", "Tool: Edit\nFile: setup.cfg\n+yaml", ("setup.cfg",), toolName="Edit")
        record("command", f"$ {test}\n3 passed", command=test, exitCode=0)
        line = 'git commit -m "build: yaml"'
        record("command", f"$ {line}\n[main abc1234] build: yaml", command=line, exitCode=0)
        line = "pytest --nope"
        record("error", f"$ {line}\nusage error: no such option", command=line, **FAILED)
    return space


def test_fix_tells_what_ended_the_same_error_before(worked: Path, kinen: Kinen) -> None:
    run = kinen("fix", "--json", stdin=f"  File '/other/place.py', line 99\n{ERROR}\n")
    assert run.code == 0, run.err
    (fix,) = json.loads(run.out)["fixes"]
    assert fix["error"] == ERROR
    assert fix["command"] == "pytest -q tests/test_a.py"
    assert [(step["kind"], step["text"]) for step in fix["steps"]] == [
        ("run", "pip install pyyaml"),
        ("edit", "setup.cfg"),
    ]
    assert fix["commit"] == "build: yaml (abc1234)"
    assert fix["session"] == "s1"
    assert fix["came_back"] is None
    text = kinen("fix", ERROR).out
    assert "ran: pip install pyyaml" in text
    assert "commit: build: yaml (abc1234)" in text


def test_an_error_that_is_not_known_is_said_not_guessed(worked: Path, kinen: Kinen) -> None:
    run = kinen("fix", "ModuleNotFoundError: No module named 'numpy'")
    assert run.code == 1
    assert "not among the recorded failures; above is what search finds" in run.err
    assert "No module named 'yaml'" in run.out
    run = kinen("fix", "--json", "TypeError: unsupported operand")
    assert run.code == 1
    assert json.loads(run.out)["fixes"] == []


def test_a_fix_after_which_the_error_came_back_says_so(worked: Path, kinen: Kinen) -> None:
    with Memory.open(worked) as memory:
        about = {"command": "pytest -q tests/test_a.py", **FAILED}
        memory.observe(
            f"$ pytest\n{ERROR}", kind="error", scope={"session": "s2"}, provenance=about
        )
    fixes = json.loads(kinen("fix", ERROR, "--json").out)["fixes"]
    assert [bool(fix["came_back"]) for fix in fixes if fix["fixed_at"]] == [True]


def test_how_lists_the_invocations_that_worked(worked: Path, kinen: Kinen) -> None:
    run = kinen("how", "pytest", "--json")
    (use,) = json.loads(run.out)["invocations"]
    assert use["invocation"] == "pytest -q tests/test_a.py"
    assert (use["succeeded"], use["failed"], use["session"]) == (1, 1, "s1")
    assert "pytest --nope" in kinen("how", "--failed", "pytest").out
    assert "Edit setup.cfg" in kinen("how", "Edit").out
    assert "git commit -m" in kinen("how", "git commit").out
    assert "git commit -m" in kinen("how", "/usr/bin/git commit").out
    assert "git commit -m" in kinen("how", "git", "commit", "--limit", "1").out


def test_agents_ask_by_mcp_and_the_ledger_has_the_answer(worked: Path) -> None:
    async def ask(memory: Memory) -> tuple[Any, Any]:
        async with Client(create_server(memory)) as client:
            fixes = await client.call_tool("kinen_fix", {"error": ERROR})
            uses = await client.call_tool("kinen_how", {"command": "pytest"})
        return fixes, uses

    with Memory.open(worked, settings={"index.embedding_provider": "none"}) as memory:
        fixes, uses = anyio.run(ask, memory)
        output, count = memory.ledger.injections(event="mcp")
    assert fixes.structured_content["fixes"][0]["commit"] == "build: yaml (abc1234)"
    assert uses.structured_content["invocations"][0]["succeeded"] == 1
    assert count == 2
    assert [item.subject for item in output] == ["kinen_how", "kinen_fix"]
    assert output[1].text == fixes.content[0].text
    assert output[1].entries[0].startswith("observation:")


def imported(space: Path, kinen: Kinen, observations: list[dict[str, Any]]) -> None:
    """Put observations into the journal, and all of them into one session."""
    capsule = {"id": "c", "type": "session", "status": "open", "openedAt": 1_700_000_000_000}
    bundle = space.parent / "bundle.json"
    bundle.write_text(
        json.dumps({"version": "1.0", "capsules": [capsule], "observations": observations})
    )
    assert kinen("import", str(bundle)).code == 0
    assert kinen("index").code == 0


def observation(n: int, line: str, **fields: Any) -> dict[str, Any]:
    about = {"command": line, "exitCode": 0} | fields.pop("provenance", {})
    entry = {"id": f"o{n:06d}", "kind": "command", "content": f"$ {line}", "capsuleId": "c"}
    return {**entry, "ts": 1_700_000_000_000 + n, "provenance": about, **fields}


def instructions(db: Any, run: Callable[[], object]) -> int:
    """How many hundreds of instructions SQLite runs meanwhile."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1

    db.set_progress_handler(step, 100)
    run()
    db.set_progress_handler(None, 0)
    return count


@pytest.mark.slow
def test_the_work_of_how_does_not_grow_with_the_square_of_the_journal(
    space: Path, kinen: Kinen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    counts = []
    for first, last in ((0, 400), (400, 4_000)):
        uses = [observation(n, f"make part-{n % 40}") for n in range(first, last)]
        imported(space, kinen, uses)
        with Memory.open(space) as memory:
            run = partial(memory.experience.how, "make", 0)
            assert len(run().invocations) == 40
            counts.append(instructions(memory.core.reader.db, run))
    assert counts[1] < 15 * counts[0], counts
    cut = kinen("how", "make")
    assert "note: only the latest 3,000 events that name it were looked at" in cut.err
    assert json.loads(kinen("how", "make", "--json").out)["latest"] == 3_000


@pytest.mark.slow
def test_fix_follows_a_bounded_number_of_observations_and_names_the_rest(
    space: Path, kinen: Kinen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    failed = {"kind": "error", "content": f"$ pytest\n{ERROR}", "provenance": FAILED}
    counts = []
    for first in (30, 0):
        failures = [observation(n, "pytest", **failed) for n in range(first, first + 30)]
        imported(
            space,
            kinen,
            failures + [observation(100 + n, f"ls part-{n}") for n in range(2_000)],
        )
        with Memory.open(space) as memory:
            run = partial(memory.experience.fix, ERROR)
            counts.append(instructions(memory.core.store.db, run))
            assert run().omitted > 0
    assert counts[1] < 1.5 * counts[0], counts
    assert "similar failures not followed" in kinen("fix", ERROR).err


@pytest.fixture
def session(space: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Records a session: prompts, edits, and commands with their exit codes and outputs."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")

    def record(*events: tuple[Any, ...]) -> None:
        with Memory.open(space) as memory:
            scope = {"session": "s1"}
            capsule = memory.journal.open_capsule("work", scope=scope)
            for what, *rest in events:
                if what in ("user", "assistant"):
                    memory.observe(rest[0], kind="message", scope=scope, provenance={"role": what})
                elif what == "edit":
                    text = f"Tool: Edit\nFile: {rest[0]}\n-a\n+b"
                    memory.observe(text, kind="file_diff", scope=scope, files=(rest[0],))
                else:
                    code, output = rest
                    about = {"command": what, "exitCode": code, "hasError": bool(code)}
                    kind = "error" if code else "command"
                    memory.observe(f"$ {what}\n{output}", kind=kind, scope=scope, provenance=about)
            memory.journal.close_capsule(capsule.id)

    return record


UNREPAIRED = [
    ("npm run lint", "a.ts:3:1 error no-undef kettle is not defined", "npm run build"),
    ("go test ./auth", "    login_test.go:12: token expired: want 3 got 1", "go test ./billing"),
    ("go test ./cart", "    cart_test.go:9: basket is empty: want 3", "npx vitest run"),
    ("python manage.py test", "AssertionError: invoice is wrong", "python manage.py migrate"),
    ("python -m mypy src", "q.py:3: error: Incompatible return", "python -m http.server --help"),
    ("docker compose up -d db", "Error: port 5432 already allocated", "docker compose ps"),
    ("pytest -q t_refund.py", "RefundError: refund.py cannot map", "pytest -q t_login.py"),
    ("cd backend && npm test", "Error: backend has no teapot", "cd frontend && npm test"),
]


@pytest.mark.parametrize(("failed", "error", "other"), UNREPAIRED)
def test_a_success_of_another_command_resolves_nothing(
    failed: str, error: str, other: str, session: Callable[..., None], kinen: Kinen
) -> None:
    session((failed, 1, error), ("edit", "src/refund.py"), (other, 0, "3 passed in 0.1s"))
    assert f"`{failed}` (exit 1)" in kinen("handoff").out
    (fix,) = json.loads(kinen("fix", error, "--json").out)["fixes"]
    assert fix["fixed_at"] is None
    assert other not in kinen("fix", error).out


@pytest.mark.parametrize(
    ("failed", "passed"),
    [
        ("pytest -q tests/test_a.py", "pytest -q"),
        ("npm test -- cart", "npm test && npm run lint"),
        ("cd app && go test ./auth 2>&1 | tail -3", "cd app && go test ./..."),
        ("bash -lc 'make check'", "make check"),
    ],
)
def test_the_same_tests_and_more_resolve_a_failure(
    failed: str, passed: str, session: Callable[..., None], kinen: Kinen
) -> None:
    error = "RefundError: refund.py cannot map"
    session((failed, 1, error), ("edit", "src/refund.py"), (passed, 0, "3 passed in 0.1s"))
    assert "Unresolved" not in kinen("handoff").out
    (fix,) = json.loads(kinen("fix", error, "--json").out)["fixes"]
    assert fix["success"] == passed


PASTED = "Claude Code cannot be launched inside another Claude Code session."


def test_a_pasted_line_is_found_whatever_words_it_has(
    session: Callable[..., None], kinen: Kinen
) -> None:
    session(
        ("user", f"I get this when I start it:\n\n{PASTED}\nNested sessions share resources."),
        ("assistant", "The child unsets CLAUDECODE now."),
        ("user", "der Server sagt: Verbindung abgelehnt auf Port 5432"),
        ("assistant", "Postgres lief nicht."),
    )
    for line, answer in (
        (PASTED, "unsets CLAUDECODE"),
        ("cannot be launched inside another", "unsets CLAUDECODE"),
        ("Verbindung abgelehnt auf Port 5432", "Postgres lief nicht."),
    ):
        run = kinen("fix", line)
        assert run.code == 0, run.err
        assert answer in run.out
    assert "100% similar" in kinen("fix", PASTED).out
    assert kinen("fix", "sessions are launched by the server").code == 1


def test_an_error_that_begins_with_a_dash_is_no_option(
    session: Callable[..., None], kinen: Kinen
) -> None:
    session(
        ("go test ./x", 1, "--- FAIL: TestTeapot (0.00s)\n    x_test.go:9: got 1\nFAIL"),
        ("kettle", 127, "-bash: kettle: command not found"),
        ("pytest -q", 1, "E   KettleError: the kettle is cold\n1 failed in 0.1s"),
    )
    for words in (["--- FAIL: TestTeapot"], ["---", "FAIL:", "TestTeapot", "--limit", "1"]):
        run = kinen("fix", *words)
        assert run.code == 0, run.err
        assert "failed: go test ./x" in run.out
    assert "failed: kettle" in kinen("fix", "-bash: kettle: command not found").out
    assert "100% similar" in kinen("fix", "KettleError: the kettle is cold").out
    assert len(json.loads(kinen("fix", "--json", "--limit=1", "--- FAIL: TestTeapot").out)) > 0
    assert kinen("how", "--failed", "pytest", "-q").code == 0


@pytest.mark.parametrize(
    ("command", "output", "line"),
    [
        ("flutter test", "00:02 +3 -1: counter increments twice [E]", "counter increments twice"),
        ("sbt test", "[info] - adds two numbers *** FAILED ***", "adds two numbers *** FAILED ***"),
        ("bazel test //...", "//app:login_test     FAILED in 0.3s", "//app:login_test FAILED"),
        ("npx cypress run", "  1) login page\n     shows a red banner", "shows a red banner"),
        ("npx ava", "  ✘ [fail]: foo bar Difference between values", "Difference between values"),
        ("docker exec web pytest -q", "E   KettleError: the kettle is cold", "kettle is cold"),
        ("./whatever", "it went wrong in an unknown way", "wrong in an unknown way"),
    ],
)
def test_whatever_ends_with_an_error_is_known(
    command: str, output: str, line: str, session: Callable[..., None], kinen: Kinen
) -> None:
    session((command, 1, f"Exit code 1\n{output}\ndone"))
    assert f"failed: {command}" in kinen("fix", line).out


def test_how_does_not_look_into_what_is_quoted(session: Callable[..., None], kinen: Kinen) -> None:
    session(
        ('git add . && git commit -m "test: the kettle"', 0, "[main 1234567] test: the kettle"),
        ("bash -lc 'make test'", 0, "3 passed in 0.1s"),
    )
    out = kinen("how", "test").out
    assert "make test" in out
    assert "git commit" not in out
    assert "git commit" in kinen("how", "git", "commit").out


def _fail_and_fix(memory: Memory, session: str, number: int) -> None:
    """A session in which a command fails with the same error as in others, and passes."""
    scope = {"session": session}
    memory.journal.open_capsule("start the server", scope=scope)
    line = f"make serve PORT={number}"
    failed = f"$ {line}\nOSError: [Errno 98] Address already in use: ('0.0.0.0', {number})"
    memory.observe(
        failed, kind="error", scope=scope, provenance={"command": "make serve", **FAILED}
    )
    kill = "docker compose down"
    about = {"command": kill, "exitCode": 0}
    memory.observe(f"$ {kill}", kind="command", scope=scope, provenance=about)
    about = {"command": "make serve", "exitCode": 0}
    memory.observe("$ make serve\nlistening", kind="command", scope=scope, provenance=about)


def test_friction_lists_errors_of_three_sessions_with_what_helped(
    space: Path, kinen: Kinen
) -> None:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        for number in range(2):
            _fail_and_fix(memory, f"s{number}", 8000 + number)
    assert kinen("friction").code == 1
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        _fail_and_fix(memory, "s2", 8002)
    (error,) = json.loads(kinen("friction", "--json").out)["errors"]
    assert (error["sessions"], error["count"]) == (3, 3)
    assert "Address already in use" in error["error"]
    assert [fix["steps"][0]["text"] for fix in error["helped"]] == ["docker compose down"] * 3
    text = kinen("friction").out
    assert "3 times in 3 sessions" in text
    assert "failed: make serve\n" in text
    assert "passed after: ran: docker compose down  ×3" in text


def test_friction_lists_rules_that_were_given_in_three_sessions(space: Path, kinen: Kinen) -> None:
    rules = (
        "No, never commit generated files.",
        "Never commit the generated files!",
        "Please fix the build. Never commit generated files again.",
    )
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        for number, text in enumerate((*rules, "What is a generated file?")):
            scope = {"session": f"s{number}"}
            memory.journal.open_capsule("work", scope=scope)
            memory.observe(text, scope=scope, provenance={"role": "user"})
            assert not memory.experience.corrections() or number >= 2
    (row,) = json.loads(kinen("friction", "--json").out)["corrections"]
    assert (row["sessions"], row["memory"], row["again"]) == (3, "", 0)
    text = kinen("friction").out
    assert "given in 3 sessions" in text
    assert "no memory says it" in text
    assert kinen("memories", "add", "Never commit generated files", "--type", "lesson").code == 0
    assert "not since" in kinen("friction").out


def test_friction_counts_no_line_that_names_no_error(space: Path, kinen: Kinen) -> None:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        for number in range(3):
            scope = {"session": f"s{number}"}
            memory.journal.open_capsule("lint", scope=scope)
            text = "$ make lint\n$ checker --error-on-warnings\nChecked 290 files in 101ms."
            about = {"command": "make lint", **FAILED}
            memory.observe(text, kind="error", scope=scope, provenance=about)
    assert "no error of 3 failures is in 3 or more sessions" in kinen("friction").err
    assert "--sessions" not in kinen("friction", "--sessions", "2").err
