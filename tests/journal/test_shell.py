"""Which command lines have run what another one did when it failed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.journal.shell import acting, commands, covers, uncovered, without_filters

COVERED = [
    ("npm test", "npm test"),
    ("pytest -q", "pytest -q tests/x.py"),
    ("npm test", "npm test -- x"),
    ("npm test && npm run lint", "npm test"),
    ("cd frontend && npm test", "cd frontend && npm test 2>&1 | tail -5"),
    ("FOO=1 npm run lint > log", "npm run lint"),
    ("go test ./...", "go test ./auth"),
    ("go test ./auth/...", "go test ./auth -run TestX"),
    (".venv/bin/python -m pytest -q", "uv run pytest tests/a.py::test_b -x"),
    ("bash -lc 'pytest -q'", "pytest -q tests/a"),
    ("bun run test", "wrap bun run test"),
    ("wrap test bun run test", "wrap bun run test"),
    ("bun run lint", "bun run lint:fix"),
    ("git commit --no-verify -m 'a'", "git commit -m 'a'"),
    ("git commit -m 'b c'", "git add -A && git commit -m 'a'"),
    ("git add a.py", "git add a.py dist/a.js"),
    ("make -j2", "make"),
    ("make lint test", "make test"),
    ("ruff check .", "ruff check src"),
    ("ruff check --fix .", "ruff check ."),
    ("npx vitest run", "npx vitest run src/a.test.ts"),
    ("docker compose exec web pytest", "docker compose exec web pytest -k a"),
    ("./gradlew clean test", "./gradlew test --tests Foo"),
    ("pytest tests/a", "pytest tests/a/test_x.py::t -k foo"),
    ("make", "cd . && make"),
    ("cargo test", "cargo test parse"),
    ("python manage.py test", "./manage.py test app.tests"),
    ("make || true", "make"),
    ("npm run test", "npm t"),
    (
        "python - <<'EOF'\nfrom a import b\nfor c in b.late():\n    print(c.id, c.due)\nEOF",
        "python - <<'EOF'\nfrom a import b\nfor c in b.late():\n    print(c.id)\nEOF",
    ),
]
"""A line that succeeded, and one that failed before and is settled by it."""
OTHERS = [
    ("npm run build", "npm run lint"),
    ("go test ./billing", "go test ./auth"),
    ("python manage.py migrate", "python manage.py test"),
    ("python -m http.server --help", "python -m mypy src"),
    ("docker compose ps", "docker compose up -d db"),
    ("pytest -q tests/test_login.py", "pytest -q tests/test_refund.py"),
    ("npx vitest run", "go test ./x"),
    ("cd frontend && npm test", "cd backend && npm test"),
    ("cd build && make", "make"),
    ("pytest -k a", "pytest -k b"),
    ("pytest -k a", "pytest"),
    ("go test", "go test ./auth"),
    ("make test", "make"),
    ("make", "make test"),
    ("pytest tests/a", "pytest tests/ab"),
    ("npm test", "npm run lint && npm test"),
    ("pytest -q", "docker exec c pytest -q"),
    ("vitest run", "vitest run --config e2e.ts"),
    ("python -c 'import b'", "python -c 'import a'"),
    ("psql < b.sql", "psql < a.sql"),
    ("pytest --lf", "pytest"),
    ("echo pytest", "pytest"),
    ("make x || npm test", "npm test"),
    ("", "x"),
    ("x", ""),
    ("pytest -q", "pytest -q --run-slow"),
    ("cargo test", "cargo test -p core"),
    ("bash -c 'cd a && npm test'", "bash -c 'cd b && npm test'"),
    ("npm run test:unit", "npm run test:e2e"),
    ("npm test", "npm run test:e2e"),
    ("yarn test", "npm test"),
    ("python - <<'EOF'\nprint(3)\nEOF", "python - <<'EOF'\nimport a\nprint(a.b, 1)\nEOF"),
]
"""A line that succeeded, and one that failed before and says nothing about it."""


@pytest.mark.parametrize(("success", "failed"), COVERED)
def test_the_same_command_or_one_that_runs_the_same_tests_covers_it(
    success: str, failed: str
) -> None:
    assert covers(success, failed)


@pytest.mark.parametrize(("success", "failed"), OTHERS)
def test_another_command_of_the_same_program_does_not_cover_it(success: str, failed: str) -> None:
    assert not covers(success, failed)


@given(
    st.lists(
        st.sampled_from(
            "pytest make npm test run -q -k a.py cd /x && || | ; 'b c' >log".split(" ")
        ),
        max_size=12,
    )
)
def test_whatever_a_line_is_it_can_be_compared(words: list[str]) -> None:
    line = " ".join(words)
    assert covers(line, f"{line} ") is covers(line, line)


@given(st.text(alphabet="abc sh-'\"`$()|&;<>\\\n E OF#", max_size=60))
def test_any_text_can_be_compared(line: str) -> None:
    assert covers(line, line) in (True, False)


def test_what_failed_together_may_succeed_one_by_one() -> None:
    left = uncovered("npm run lint", commands("npm test && npm run lint"))
    assert left
    assert not uncovered("npm test 2>&1", left)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("pytest -q 2>&1 | tail -5", "pytest -q"),
        ("go test ./a/... | grep FAIL | head", "go test ./a/..."),
        ("make | ./deploy", "make | ./deploy"),
        ("make", "make"),
    ],
)
def test_a_line_is_told_without_what_shortens_its_output(line: str, told: str) -> None:
    assert without_filters(line) == told


def test_git_in_another_folder_looks_around_as_it_does_here() -> None:
    assert not acting("git -C /srv/app log --oneline")
    assert acting("git -C /srv/app push")
