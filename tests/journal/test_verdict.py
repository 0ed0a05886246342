"""Whether a command succeeded: what runners print, and whose exit code a shell line gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.journal import shell
from kinen.journal.runs import Ran, open_failures
from kinen.journal.verdict import failure_line, verdict

SAMPLES = {
    "pytest -q": (
        "FAILED test_a.py::test_a - assert 1 == 2\n=== 1 failed, 1 passed in 2.37s ===",
        ".                          [100%]\n1 passed in 1.27s",
    ),
    "python -m unittest": (
        "Ran 2 tests in 0.047s\n\nFAILED (failures=1)",
        "..\n-----\nRan 2 tests in 0.047s\n\nOK (skipped=1)",
    ),
    "go test ./...": (
        "--- FAIL: TestX (0.00s)\n    x_test.go:9: got 1\nFAIL\nFAIL\texample.com/x\t0.3s\nFAIL",
        "ok  \texample.com/x\t0.312s\nok  \texample.com/y\t(cached)",
    ),
    "cargo test": (
        "test result: FAILED. 1 passed; 1 failed; 0 ignored\n\nerror: test failed, to rerun pass",
        "running 1 test\ntest b ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored",
    ),
    "cargo build": (
        "error[E0308]: mismatched types\n --> src/lib.rs:1:21",
        "   Compiling cr v0.1.0\n    Finished `dev` profile [unoptimized] in 0.31s",
    ),
    "npx jest": (
        "FAIL src/a.test.js\nTests:       1 failed, 3 passed, 4 total\nTime: 1.2 s",
        (
            "PASS src/a.test.js\nTest Suites: 1 passed, 1 total\n"
            "Tests:       4 passed, 4 total\nSnapshots:   0 total"
        ),
    ),
    "npx vitest run": (
        (
            " FAIL  src/a.test.ts > adds\n Test Files  1 failed (1)\n"
            "      Tests  1 failed | 2 passed (3)"
        ),
        " ✓ src/a.test.ts (3 tests) 4ms\n Test Files  1 passed (1)\n      Tests  3 passed (3)",
    ),
    "npx mocha": (
        "  2 passing (10ms)\n  1 failing\n\n  1) adds:",
        "  adds\n    ✔ x\n\n  2 passing (8ms)",
    ),
    "npm install": (
        "npm error code E404\nnpm error 404 Not Found",
        "\nadded 57 packages, and audited 58 packages in 3s\n\nfound 0 vulnerabilities",
    ),
    "npx tsc --noEmit --watch false": (
        "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.",
        "[10:00:00] Found 0 errors. Watching for file changes.",
    ),
    "npx eslint .": (
        "  1:10  error  'x' is never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)",
        "  1:10  warning  Unexpected console  no-console\n\n✖ 1 problem (0 errors, 1 warning)",
    ),
    "ruff check .": ("Found 1 error.\n[*] 1 fixable with `--fix`.", "All checks passed!"),
    "mypy src": (
        "m.py:1: error: Incompatible types in assignment\nFound 1 error in 1 file (checked 1 file)",
        "Success: no issues found in 12 source files",
    ),
    "golangci-lint run": (
        "a.go:3:5: ineffectual assignment to err (ineffassign)\n1 issues:\n* ineffassign: 1",
        "0 issues.",
    ),
    "./gradlew test": (
        "3 tests completed, 1 failed\n\nFAILURE: Build failed with an exception.",
        "BUILD SUCCESSFUL in 4s\n3 actionable tasks: 3 executed",
    ),
    "mvn -q test": (
        "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE",
        "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS",
    ),
    "dotnet test": (
        "Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 5 ms",
        "Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3, Duration: 5 ms",
    ),
    "bundle exec rspec": (
        "Finished in 0.1 seconds\n3 examples, 1 failure\n\nFailed examples:",
        "Finished in 0.1 seconds (files took 0.2 seconds to load)\n3 examples, 0 failures",
    ),
    "vendor/bin/phpunit": (
        "FAILURES!\nTests: 3, Assertions: 4, Failures: 1.",
        "OK (3 tests, 4 assertions)",
    ),
    "swift test": (
        "Test Suite 'All tests' failed.\n\t Executed 3 tests, with 1 failure (0 unexpected)",
        "Test Suite 'All tests' passed.\n\t Executed 3 tests, with 0 failures (0 unexpected)",
    ),
    "git commit -m 'x'": (
        "On branch main\nnothing to commit, working tree clean",
        "[main ce4ac64] feat: x\n 1 file changed, 1 insertion(+)",
    ),
    "git push": (
        "fatal: No configured push destination.",
        "To github.com:a/b.git\n   1f2e3d4..5a6b7c8  main -> main",
    ),
}
"""A command, and the end of what it prints when it fails and when it succeeds."""
PREPARATIONS = {"npm install", "cargo build", "git commit -m 'x'", "git push"}
"""Commands that a script runs before or after its tests."""


@pytest.mark.parametrize("line", SAMPLES)
@pytest.mark.parametrize("tail", ["2>&1 | tail -20", "|| true", "; echo done", "2>&1 | tee log"])
def test_a_code_that_is_of_something_else_is_not_believed(line: str, tail: str) -> None:
    failing, passing = SAMPLES[line]
    assert verdict(f"{line} {tail}", failing, 0) is False
    assert verdict(f"{line} {tail}", passing, 0) is True
    assert verdict(f"{line} {tail}", "", 0) is None


@pytest.mark.parametrize("line", SAMPLES)
def test_without_an_exit_code_the_output_decides(line: str) -> None:
    failing, passing = SAMPLES[line]
    assert verdict(line, failing, None) is False
    assert verdict(line, passing, None) is True
    assert verdict(line, "", None) is None


@pytest.mark.parametrize("line", SAMPLES)
def test_an_exit_code_of_the_command_itself_counts(line: str) -> None:
    assert verdict(line, SAMPLES[line][1], 1) is False
    assert verdict(line, "", 0) is True
    assert verdict(f"cd app && {line}", "", 0) is True


@pytest.mark.parametrize("runner", ["make test", "npm test", "./run-tests.sh", "mise run test"])
def test_a_script_shows_what_the_runner_inside_it_prints(runner: str) -> None:
    for line, (failing, passing) in SAMPLES.items():
        proven = None if line in PREPARATIONS else True
        assert verdict(f"{runner} | tail -5", failing, 0) is False
        assert verdict(f"{runner} | tail -5", passing, 0) is proven


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("go test ./... | grep ok", "ok  \texample.com/x\t0.312s"),
        ("cargo test | grep 'test result'", "test result: ok. 1 passed; 0 failed"),
        ("pytest -q | head -3", "..."),
        ("python train.py | tail -1", "epoch 3"),
        ("ruff check . ; pytest -q | tail -1", "3 passed in 0.1s"),
        ("npx jest 2>&1 | tail -2", "Tests:       10 passed, 10 total\nSnapshots:   0 total"),
        ("npx jest 2>&1 | grep Tests:", "Tests:       10 passed, 10 total"),
        ("npx vitest run | tail -3", "      Tests  12 passed (12)\n   Start at  10:00:00"),
        ("npx vitest run | grep Test", " Test Files  3 passed (3)\n      Tests  12 passed (12)"),
        ("dotnet test | tail -1", "Passed!  - Failed:     0, Passed:     3, Total:     3 - B.dll"),
        ("rspec | tail -1", "0 examples, 0 failures"),
        ("npm test | tail -2", "> jest\nup to date"),
        ("npm test 2>&1 | tail -3", "Tests:       3 passed, 3 total\nSnapshots:   0 total"),
    ],
)
def test_a_part_of_an_output_does_not_prove_success(line: str, output: str) -> None:
    assert verdict(line, output, 0) is None


@pytest.mark.parametrize(
    ("line", "output", "expected"),
    [
        ("pytest -q tests/a >/dev/null; pytest -q tests/b", "3 passed in 0.1s", None),
        ("mypy src &> log; mypy tests", "Success: no issues found in 3 source files", None),
        ("pytest -q a; pytest -q b", "3 passed in 0.1s", None),
        ("pytest -q a; pytest -q b", "3 passed in 0.1s\n4 passed in 0.1s", True),
        ("make lint; make test | tail -1", "3 passed in 0.1s", None),
        ("./lint.sh; pytest -q | tail -1", "3 passed in 0.1s", None),
        ("ruff check .; pytest -q | tail -1", "All checks passed!\n3 passed in 0.1s", True),
        ("rm -f a.db; pytest -q | tail -1", "3 passed in 0.1s", True),
        ("pytest -q | tail -1; git commit -m x", "3 passed in 1s\n[main ce4ac64] x", True),
        ("for f in a b; do pytest -q $f; done", "3 passed in 0.1s", None),
        ("for f in a b; do make $f || exit 1; done", "", True),
    ],
)
def test_a_line_of_success_proves_one_command(
    line: str, output: str, expected: bool | None
) -> None:
    assert verdict(line, output, 0) is expected


FAILING = "FAILED tests/test_a.py::test_x - KeyError\n1 failed, 3 passed in 0.1s"


@pytest.mark.parametrize(
    ("line", "output", "expected"),
    [
        ("bash -lc 'pytest -q 2>&1 | tail -3'", FAILING, False),
        ("bash -lc 'pytest -q 2>&1 | tail -3'", "3 passed in 0.1s", True),
        ("bash -lc 'pytest -q 2>&1 | tail -3'", "", None),
        ("bash -c 'pytest -q'", "", True),
        ('sh -c "cd app && pytest -q" | tail -3', FAILING, False),
        ("docker compose exec web pytest -q | tail -1", "1 failed, 3 passed in 0.1s", False),
        ("docker exec web sh -c 'pytest -q | tail -1'", "1 failed, 3 passed in 0.1s", False),
        ("npx vitest run | tail -3", " Test Files  3 passed (3)\n     Errors  1 error", False),
        ("./scripts/ci.sh", FAILING, None),
        ("./scripts/ci.sh", "3 passed in 0.1s", True),
        ("cat log.txt", FAILING, True),
        ("ruff check --fix . | tail -1", "Found 3 errors (3 fixed, 0 remaining).", True),
        ("ruff check --fix . | tail -1", "Found 3 errors (2 fixed, 1 remaining).", False),
        ("make fix | tail -1", "Found 3 errors (3 fixed, 0 remaining).", True),
    ],
)
def test_what_runs_a_command_does_not_hide_how_it_ended(
    line: str, output: str, expected: bool | None
) -> None:
    assert verdict(line, output, 0) is expected


@pytest.mark.parametrize(
    "output",
    [
        'Traceback (most recent call last):\n  File "a.py", line 1\nModuleNotFoundError: No module',
        "bash: foo: command not found",
        "a.c:1:19: error: 'x' undeclared (first use in this function)",
        "make: *** [Makefile:2: a] Error 1",
    ],
)
def test_what_any_program_prints_when_it_fails_is_known(output: str) -> None:
    assert verdict("./build.sh | tail", output, 0) is False


def test_looking_around_is_judged_by_its_code_alone() -> None:
    assert verdict("cat log | grep FAIL | head", "--- FAIL: TestX", 0) is True
    assert verdict("git log | head -3", "fatal: flaw in x fixed", 0) is True


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("cd x && pytest -q", []),
        ("pytest -q && git commit -m 'a; b | c'", []),
        ("set -e; make; echo x", []),
        ("set -o pipefail; make | tail", []),
        ("make || exit 1", []),
        ("make && make test || echo failed", ["make", "make test"]),
        ("make; echo done", ["make"]),
        ("make & sleep 1", ["make"]),
        ("if make; then echo ok; fi", ["make"]),
        ("timeout 60 pytest | tail", ["pytest"]),
        ("cat <<EOF > a.py\nfoo; bar | baz\nEOF\npython a.py", []),
        ("cmd >& log && ls", []),
        ("ls | wc -l", []),
    ],
)
def test_the_commands_whose_failure_a_line_hides(line: str, hidden: list[str]) -> None:
    assert [" ".join(words) for words in shell.hidden(line)] == hidden


@given(st.text(alphabet="ab'\"`$()|&;<>\\\n E OF#", max_size=60), st.text(max_size=60))
def test_any_line_and_output_have_a_verdict(line: str, output: str) -> None:
    assert verdict(line, output, 1) is False
    assert verdict(line, output, None) in (True, False, None)
    for part in shell.parts(line):
        assert part.text.strip() in line.replace("\n", "\n")


LOGGED = """bun test v1.3.5

[Routes] Error in POST /api/evaluate
error: Database connection failed
      at <anonymous> (/src/routes.test.ts:317:25)
TypeError: x is not a function
      at run (/src/a.test.ts:3:1)

 1319 pass
 0 fail
Ran 1319 tests across 60 files. [957.00ms]
"""
"""The tests pass, and some of them provoke errors that are logged."""


@pytest.mark.parametrize(
    "line", ["bun run test 2>&1", "bun test | tail -20", "npm test; echo done"]
)
def test_errors_that_passing_tests_log_are_no_failure(line: str) -> None:
    assert verdict(line, LOGGED, 0) is True
    failed = LOGGED.replace(" 1319 pass\n 0 fail", " 1318 pass\n 1 fail")
    assert verdict(line, failed, 0) is False


@pytest.mark.parametrize(
    ("line", "logged", "count"),
    [
        ("pytest -s", "ERROR app.db - connection lost", "3 passed in 0.10s"),
        ("python manage.py test", "ValueError: provoked", "Ran 3 tests in 0.1s\n\nOK"),
    ],
)
def test_a_logged_error_before_the_count_of_a_runner_is_no_failure(
    line: str, logged: str, count: str
) -> None:
    trace = f'Traceback (most recent call last):\n  File "a.py", line 3, in x\n{logged}\n'
    for output in (f"{logged}\n...\n{count}\n", f"{trace}...\n{count}\n"):
        assert verdict(line, output, 0) is True
        assert verdict(f"{line} 2>&1 | tail -20", output, 0) is True


def test_a_failure_after_the_count_is_one() -> None:
    output = (
        LOGGED + 'error: script "lint" exited with code 1\nTraceback (most recent call last):\n'
    )
    output += '  File "a.py", line 1\nValueError: x\n'
    assert verdict("bun run test; ./report.py", output, 0) is False
    assert verdict("bun run all | tail -40", output, 0) is False


def test_a_commit_whose_hook_logs_errors_is_known_by_its_code() -> None:
    output = LOGGED + "[main 11469d4] Redesign the summary\n 2 files changed\n"
    assert verdict("git commit -m x", output, 0) is True


@pytest.mark.parametrize(
    ("line", "output", "code", "expected"),
    [
        ("bun run lint 2>&1 | tail -5", "Checked 290 files in 101ms.", 0, True),
        ("bun run lint 2>&1 | tail -5", 'error: script "lint" exited with code 1', 0, False),
        ("bun run lint 2>&1 | head -5", "Checked 290 files in 101ms.", 0, None),
        ("bun run lint | tail -5", "Checked 290 files in 101ms.", 0, None),
        ("bun run lint 2>/dev/null | tail -5", "Checked 290 files in 101ms.", 0, None),
        ("pnpm run -s lint 2>&1 | tail -5", "Checked 290 files in 101ms.", 0, None),
        ("git commit -m x", "error: a test provokes it\n[main ce4ac64] x", None, True),
        ("git commit -m x", "[main ce4ac64] x\nerror: a hook logs it below", None, True),
        ("git add a && git commit -m x", "[main ce4ac64] x\nerror: logged", None, True),
        ("npm test; git commit -m x", "[main ce4ac64] x\nnpm ERR! Test failed.", None, False),
        ("make release", "[main ce4ac64] x\nmake: *** [release] Error 1", None, False),
        ("git commit -m x", "error: pathspec 'x' did not match", None, False),
    ],
)
def test_a_program_that_tells_its_failure_at_the_end_is_believed(
    line: str, output: str, code: int | None, expected: bool | None
) -> None:
    assert verdict(line, output, code) is expected


@pytest.mark.parametrize(
    ("line", "output", "expected"),
    [
        ("go vet ./... | tail -3", "# example.com/a\nvet: ./main.go:5:2: undefined: x", False),
        ("cargo fmt --check || true", "Diff in /w/src/main.rs:1:\n fn main() {\n-let x=1;", False),
        ("pytest -q | tail -4", "ERROR tests/test_a.py - ImportError: no x\n", False),
        ("php artisan test | tail -1", "  Tests:    1 skipped, 3 passed (4 assertions)", True),
        ("git rebase main 2>&1 | tail -1", "Successfully rebased and updated refs/heads/f.", True),
    ],
)
def test_lines_of_programs_with_several_forms(line: str, output: str, expected: bool) -> None:
    assert verdict(line, output, 0) is expected


def test_a_program_that_logs_a_traceback_and_ends_with_0_puts_its_failure_right() -> None:
    line = "python worker.py"
    logged = f'$ {line}\nTraceback (most recent call last):\n  File "w.py", line 3\nValueError: x\n'
    again = Ran(line, 2, code=0, text=logged)
    assert again.succeeded() is True
    assert open_failures([again, Ran(line, 1, code=1, text=f"$ {line}\nboom")]) == []


@pytest.mark.parametrize(
    ("line", "output", "expected"),
    [
        (
            "go test ./... ; echo done",
            "ok  \tx/a\t0.1s\n--- FAIL: TestRewind (0.00s)\n    r_test.go:12: want 1\nFAIL\ndone",
            "--- FAIL: TestRewind (0.00s)",
        ),
        (
            "pytest -q | tail -3",
            "FAILED t/test_a.py::test_half - assert 1 == 2\n1 failed in 0.1s",
            "FAILED t/test_a.py::test_half - assert 1 == 2",
        ),
        (
            "npx tsc | tail -3",
            "src/a.ts(3,7): error TS2322: no\ndone",
            "src/a.ts(3,7): error TS2322: no",
        ),
        ("python train.py", "epoch 3", ""),
        ("ls; cat a", "FAIL", ""),
    ],
)
def test_a_failure_is_told_by_the_line_that_shows_it(line: str, output: str, expected: str) -> None:
    assert failure_line(line, output) == expected
