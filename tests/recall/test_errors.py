"""Which errors are the same, what ended them, how commands were called: pure functions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.journal import events
from kinen.model.journal import Observation, Scope
from kinen.recall import errors
from kinen.recall.invocations import fold, runs


def ran(number: int, command: str, output: str = "", code: int = 0) -> Observation:
    kind = "error" if code else "command"
    return Observation(
        id=f"{number:026d}",
        kind=kind,
        content=f"$ {command}\n{output}",
        ts=1000 + number,
        scope=Scope(session="s1"),
        provenance={"command": command, "exitCode": code},
    )


def edited(number: int, path: str) -> Observation:
    return Observation(
        id=f"{number:026d}",
        kind="file_diff",
        content=f"Tool: Edit\nFile: {path}\n-a\n+b",
        ts=1000 + number,
        provenance={"toolName": "Edit", "filePath": path},
        files=(path,),
    )


SAME = [
    ("KeyError: 'user_id' at 0x7f3a2b", "KeyError: 'user_id' at 0x55aa99"),
    ("/home/ada/src/a.py:12: TypeError: bad", "/tmp/x/a.py:977: TypeError: bad"),
    ("2026-01-02T03:04:05Z ERROR disk is full", "2025-11-12T13:14:15.2Z ERROR disk is full"),
    ("\x1b[31mfatal: bad object 1f2e3d4c5b\x1b[0m", "fatal: bad object 9a8b7c6d5e"),
]
DIFFERENT = [
    ("ModuleNotFoundError: No module named 'yaml'", "ModuleNotFoundError: No module named 'httpx'"),
    ("error[E0382]: borrow of moved value", "error[E0603]: module `trading` is private"),
    ("ZeroDivisionError: division by zero", "TypeError: unsupported operand type"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_an_error_is_the_same_whatever_numbers_and_folders_it_has(first: str, second: str) -> None:
    assert errors.normalised(first) == errors.normalised(second)
    assert errors.similarity(first, second) == 1.0


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_errors_that_name_other_things_are_different(first: str, second: str) -> None:
    lines = errors.identifying_lines(second)
    assert errors.likeness(errors.identifying_lines(first), lines) < errors.FLOOR


LONG = (
    "commit: cannot auto-sign commit: disable signing or set Signer: no ssh-agent is running and"
    " no key was configured"
)


@pytest.mark.parametrize("typed", ["cannot auto-sign commit", "No ssh-agent"])
def test_a_part_of_an_error_finds_it_and_is_not_the_same_error(typed: str) -> None:
    text = f"Exit code 1\n  {LONG}\nfatal: nothing was committed"
    assert errors.compared([typed], text) == (errors.PART, LONG)
    assert errors.FLOOR <= errors.PART < errors.SAME


@pytest.mark.parametrize("typed", ["commit was configured", "cannot sign the commit"])
def test_words_that_do_not_stand_together_find_nothing(typed: str) -> None:
    assert errors.compared([typed], LONG)[0] < errors.FLOOR


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("TestRewind", (errors.FLOOR, "--- FAIL: TestRewind (0.00s)")),
        ("assert 1998 == 1999", (1.0, "assert 1998 == 1999")),
        ("assert 7 == 9", (0.0, "")),
    ],
)
def test_one_word_of_an_error_finds_it_as_it_was_typed(
    typed: str, expected: tuple[float, str]
) -> None:
    text = "ok  a\nE       assert  1998 == 1999\n--- FAIL: TestRewind (0.00s)\nFAIL"
    assert errors.compared(errors.asked_lines(typed), text) == expected


@pytest.mark.parametrize(
    "typed", ["exit code 1", "1998 == 1999", "error", "ok", "1 failed in 0.1s"]
)
def test_what_stands_in_every_error_is_too_little_of_one(typed: str) -> None:
    assert errors.asked_lines(typed) == []


def test_the_closest_line_of_an_error_is_shown() -> None:
    text = "error: the build stopped early\nKeyError: 'colour of k'"
    assert errors.compared(["KeyError: 'colour of k'"], text)[1] == "KeyError: 'colour of k'"


def test_lines_that_every_failure_has_do_not_identify_one() -> None:
    text = "Exit code 1\nTraceback (most recent call last):\n  x = d['k']\nKeyError: 'colour of k'"
    assert errors.identifying_lines(text) == ["KeyError: 'colour of k'"]
    assert errors.identifying_lines("Exit code 1") == []
    assert errors.identifying_lines("") == []


@given(st.text(max_size=300), st.text(max_size=300))
def test_similarity_is_symmetric_and_between_0_and_1(first: str, second: str) -> None:
    score = errors.similarity(first, second)
    assert 0.0 <= score <= 1.0
    assert score == errors.similarity(second, first)


@given(st.text(max_size=500))
def test_an_error_is_like_itself(text: str) -> None:
    lines = errors.identifying_lines(text)
    assert len(lines) <= errors.MOST_LINES
    if lines:
        assert errors.likeness(lines, lines) == pytest.approx(1.0)


@given(st.text(max_size=300))
def test_normalising_twice_is_normalising_once_without_quotes(line: str) -> None:
    once = errors.normalised(line)
    assert len(once.split()) >= len(errors.normalised(once).split())


def test_what_was_done_between_a_failure_and_its_success_is_the_fix() -> None:
    failure = ran(1, "pytest -q tests", "KeyError: 'user id'", 1)
    later = [
        ran(2, "ls -la"),
        edited(3, "src/a.py"),
        edited(4, "src/a.py"),
        ran(5, "pip install pyyaml"),
        ran(6, "pytest -q tests", "3 passed"),
        edited(7, "src/b.py"),
    ]
    outcome = errors.outcome(failure, later)
    assert [(step.kind, step.text) for step in outcome.steps] == [
        ("edit", "src/a.py"),
        ("run", "pip install pyyaml"),
    ]
    assert outcome.success == later[4]


def test_what_was_done_before_the_error_came_again_did_not_help() -> None:
    failure = ran(1, "pytest -q tests", "KeyError: 'user id'", 1)
    later = [
        edited(2, "src/wrong.py"),
        ran(3, "pytest -q tests", "KeyError: 'user id'", 1),
        edited(4, "src/right.py"),
        ran(5, "pytest -q tests", "3 passed"),
    ]
    outcome = errors.outcome(failure, later)
    assert [step.text for step in outcome.steps] == ["src/right.py"]


def test_without_a_later_success_nothing_is_called_a_fix() -> None:
    failure = ran(1, "make build", "error: no rule to make target", 2)
    assert errors.outcome(failure, [edited(2, "Makefile"), ran(3, "ls")]) == errors.Outcome()


UNRELATED = [
    ("npm run lint", "npm run build"),
    ("go test ./auth", "go test ./billing"),
    ("python manage.py test", "python manage.py migrate"),
    ("pytest -q tests/test_refund.py", "pytest -q tests/test_login.py"),
    ("make", "pytest -q"),
]


@pytest.mark.parametrize(("failed", "passed"), UNRELATED)
def test_a_success_of_something_else_is_no_fix(failed: str, passed: str) -> None:
    failure = ran(1, failed, "error: refund.py cannot map 'invoice'", 1)
    later = [edited(2, "src/refund.py"), ran(3, passed, "3 passed in 0.1s")]
    assert errors.outcome(failure, later) == errors.Outcome()
    assert errors.outcome(failure, [*later, ran(4, failed)]).success


@given(st.text(alphabet="/ab .|&;=-\n", max_size=30))
def test_whatever_a_command_line_is_its_programs_have_names(line: str) -> None:
    """A command that is a folder (`/`) had a program without a name, and reading it failed."""
    event = ran(1, line, "boom", 1)
    assert all(program.split() for program in events.programs(line))
    assert events.deed(event) == line.strip()
    events.looks_around(event)


def test_a_folder_that_is_run_as_a_command_is_read() -> None:
    assert events.programs("/") == []
    assert events.deed(ran(1, "/", "is a directory", 126)) == "/"


RUNS = [
    ("pytest -q", "pytest", True),
    ("cd /x && FOO=1 uv run pytest -q | tail", "pytest", True),
    (".venv/bin/python -m pytest -q", "pytest", True),
    ("docker  compose up -d", "docker compose", True),
    ("docker build . && docker compose ps", "docker compose", True),
    ("docker build .", "docker compose", False),
    ("echo pytest", "pytest", False),
    ("cat pytest.ini", "pytest", False),
]


@pytest.mark.parametrize(("line", "wanted", "expected"), RUNS)
def test_a_command_is_known_by_what_it_runs(line: str, wanted: str, expected: bool) -> None:
    assert runs(line, wanted.split()) is expected


def test_equal_invocations_are_folded_and_the_last_success_counts() -> None:
    observations = [
        ran(1, "pytest -q"),
        ran(2, "pytest  -q"),
        ran(3, "pytest -q", "boom", 1),
        ran(4, "pytest -x", "boom", 1),
        edited(5, "a.py"),
    ]
    first, second = fold(observations, ["pytest"])
    assert (second.text, second.succeeded, second.failed, second.at) == ("pytest -q", 2, 1, 1002)
    assert (first.text, first.succeeded, first.failed) == ("pytest -x", 0, 1)
    assert [step.text for step in fold(observations, ["edit"])] == ["Edit a.py"]


@given(st.lists(st.tuples(st.sampled_from(["pytest", "pytest -q", "ls"]), st.booleans())))
def test_folding_loses_no_use(uses: list[tuple[str, bool]]) -> None:
    observations = [ran(n, line, "x", int(bad)) for n, (line, bad) in enumerate(uses)]
    folded = fold(observations, ["pytest"])
    total = sum(entry.succeeded + entry.failed for entry in folded)
    assert total == sum(line != "ls" for line, _ in uses)
    assert [item.at for item in folded] == sorted((element.at for element in folded), reverse=True)
