from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.journal.summary import LIMIT, summarize
from kinen.model.journal import Capsule, Observation
from kinen.model.kinds import EVENTS, REDACTED
from kinen.text import estimate

if TYPE_CHECKING:
    from collections.abc import Iterator

TEN = 1772359200000
"""2026-03-01T10:00Z"""
CAPSULE = Capsule("c", "session", "survive a truncated header", "closed", TEN)
SECRET = "hunter2"


def seen(kind: str, content: str, *files: str, **provenance: Any) -> Observation:
    return Observation("", kind, content, TEN, provenance=provenance, files=files)


def ran(command: str, code: int = 0, output: str = "") -> Observation:
    return seen("command", f"$ {command}\n{output}", command=command, exitCode=code)


def edited(path: str) -> Observation:
    return seen("file_diff", f"Tool: Edit\nFile: {path}\n@@", path, toolName="Edit")


def numbered(*observations: Observation) -> list[Observation]:
    """With ids o0, o1 … a minute apart."""
    return [item._replace(id=f"o{n}", ts=TEN + n * 60_000) for n, item in enumerate(observations)]


def summary(*observations: Observation) -> str:
    return summarize(CAPSULE, numbered(*observations))[0]


def test_a_session_reads_like_this() -> None:
    text, evidence = summarize(
        CAPSULE,
        numbered(
            seen("message", "The parser dies on truncated headers", role="user"),
            seen("tool_call", "Tool: Read\nFile: src/parser.py", "src/parser.py"),
            ran("pytest -q", 1, "Traceback:\n  raise error\nValueError: too short\n1 failed"),
            edited("src/parser.py"),
            ran("pytest  -q", 0, "4 passed"),
            ran("make lint", 2, "make: *** [lint] Error 2"),
            seen("message", "Done.\n\nLint is still open.", role="assistant"),
        ),
    )
    assert text == (
        "**Intent**: survive a truncated header\n"
        "7 events, 2026-03-01T10:00Z to 2026-03-01T10:06Z\n"
        "\n"
        "**Outcome**: Lint is still open.\n"
        "\n"
        "**Next**\n"
        "- Lint is still open.\n"
        "\n"
        "**State**: tests ✓ `pytest -q`: 4 passed\n"
        "\n"
        "**Unresolved**\n"
        "- `make lint` (exit 2): make: *** [lint] Error 2\n"
        "\n"
        "**Files**: `src/parser.py` ×2\n"
        "\n"
        "**Commands**\n"
        "- `pytest -q`\n"
        "- `make lint` ✗ exit 2"
    )
    assert evidence == ("o0", "o3", "o4", "o5", "o6")


@pytest.mark.parametrize("intent", ["", "tidy up"])
def test_of_an_empty_capsule_it_says_so(intent: str) -> None:
    text, evidence = summarize(CAPSULE._replace(intent=intent), [])
    assert text == "Nothing was recorded." + (f" Intent: {intent}" if intent else "")
    assert evidence == ()


def test_a_capsule_of_redacted_and_forgotten_observations_is_empty() -> None:
    gone = [
        seen("message", REDACTED)._replace(redacted=True),
        seen("message", SECRET)._replace(forgotten_at=TEN),
    ]
    assert summary(*gone).startswith("Nothing was recorded.")


def test_files_are_told_by_how_often_they_were_touched() -> None:
    often = [edited("a.py"), edited("b.py"), edited("b.py")]
    assert "**Files**: `b.py` ×2, `a.py`\n" in summary(*often, ran("ls"))
    assert summary(*often, *(edited(f"{n}.py") for n in range(13))).endswith("`9.py`, and 3 more")


@pytest.mark.parametrize(
    "one",
    [
        seen("file_diff", "", "src/a.py"),
        seen("file_diff", "Tool: Edit\nFile: src/a.py\n@@"),
        seen("tool_call", "", filePath="src/a.py"),
    ],
)
def test_a_file_is_known_however_it_is_named(one: Observation) -> None:
    assert "`src/a.py`" in summary(one)


def test_a_command_is_told_once_with_how_it_last_ended() -> None:
    output = summary(ran("make"), ran("git  status"), ran("make", 2), ran("git status"))
    assert "**Commands**\n- `make` ✗ exit 2\n- `git status`" in output


def test_at_most_ten_commands_are_told() -> None:
    output = summary(*(ran(f"run {n}") for n in range(14)))
    assert output.endswith("- `run 9`\n- and 4 more")


def test_a_command_is_read_from_the_content_where_nothing_else_names_it() -> None:
    assert "- `ls -l`" in summary(seen("command", "$ ls -l\ntotal 0"))
    assert "- `ls` ✗" in summary(seen("error", "$ ls\nno such folder"))


@pytest.mark.parametrize(
    ("then", "resolved"),
    [
        ([], False),
        ([edited("a.py")], False),
        ([ran("ls")], False),
        ([ran("make")], True),
        ([edited("a.py"), ran(" make ")], True),
        ([ran("make -j2 2>&1")], True),
        ([ran("make && ./app --version")], True),
        ([ran("cd build && make -j2")], False),
        ([ran("cd build && make 2>&1 | tail -5")], False),
        ([ran("make lint")], False),
        ([edited("a.py"), ran("ls")], False),
        ([edited("a.py"), ran("pytest -q", 0, "4 passed")], False),
        ([edited("a.py"), ran("make", 1, "error: boom")], False),
        ([ran("make"), ran("make", 1, "error: boom")], False),
    ],
)
def test_an_error_is_told_until_the_same_command_passes(
    then: list[Observation], resolved: bool
) -> None:
    lines = summary(ran("make", 1, "error: boom"), *then).splitlines()
    assert ("- `make` (exit 1): error: boom" not in lines) == resolved


@pytest.mark.parametrize(
    ("observation", "line"),
    [
        (seen("error", "connection reset"), "connection reset"),
        (seen("node_error", "step 3 failed"), "step 3 failed"),
        (seen("error", ""), "an error"),
        (seen("command", "$ x\nboom", hasError=True), "`x`: boom"),
        (seen("command", "$ x\n", exitCode="7"), "`x` (exit 7)"),
        (ran("pytest -q | tail -3", 0, "2 failed, 3 passed"), "`pytest -q`: 2 failed, 3"),
    ],
)
def test_what_counts_as_an_error(observation: Observation, line: str) -> None:
    assert f"**Unresolved**\n- {line}" in summary(observation)


@pytest.mark.parametrize(
    "observation",
    [
        ran("grep -r kettle src", 1),
        ran("ls nowhere", 2, "ls: cannot access 'nowhere'"),
        seen("error", "Tool: Edit\nFile: a.py\nno such text", "a.py", toolName="Edit"),
    ],
)
def test_looking_around_in_vain_is_no_error(observation: Observation) -> None:
    assert "Unresolved" not in summary(observation)


def test_the_last_four_errors_are_told() -> None:
    output = summary(*(seen("error", f"error: {n}") for n in range(8)))
    assert output.endswith("- error: 4\n- and 4 earlier")


def message(role: str, text: str) -> Observation:
    return seen("message", text, role=role)


def test_the_outcome_is_what_the_last_messages_say_not_the_steps_before() -> None:
    output = summary(
        message("user", "move the sessions"),
        message("assistant", "Let me look at the store first."),
        message("assistant", "The sessions are in PostgreSQL now, and the old table is gone."),
        message("assistant", "Let me check the logs."),
    )
    assert "**Outcome**: The sessions are in PostgreSQL now, and the old table is gone." in output
    assert "Let me" not in output


def test_a_short_answer_at_the_end_does_not_hide_what_was_done() -> None:
    done = "The epic is complete. " + "It moved the store to another database. " * 8
    output = summary(
        message("user", "do it"),
        message("assistant", done),
        message("user", "did you push?"),
        message("assistant", "Yes, everything is pushed to origin."),
    )
    outcome = output.partition("**Outcome**: ")[2]
    assert outcome.startswith("Yes, everything is pushed to origin.")
    assert "**Earlier**\n- The epic is complete." in output


def test_a_request_that_nobody_answered_is_next() -> None:
    output = summary(
        message("assistant", "The parser is done now."), message("user", "now fix the lexer")
    )
    assert "**Next**\n- now fix the lexer" in output


def test_what_is_next_is_not_told_again_as_the_outcome() -> None:
    text = summary(
        message("user", "Update the README."),
        message("assistant", "The README has a chapter on reports.\n\nWant me to commit it?"),
    )
    assert "**Outcome**: The README has a chapter on reports." in text
    assert text.count("Want me to commit it?") == 1


def test_commits_and_pushes_are_told() -> None:
    commit = ran('git commit -m "fix: the lexer"', 0, "[main 1234567] fix: the lexer\n 1 file")
    assert "1 commit (fix: the lexer (1234567)), not pushed" in summary(commit)
    assert "1 commit (fix: the lexer (1234567)), pushed" in summary(commit, ran("git push"))
    amended = ran("git commit --amend --no-edit", 0, "[main 89abcde] fix: the lexer\n 1 file")
    assert "2 commits (fix: the lexer (89abcde)), not pushed" in summary(commit, amended)
    assert "the last ones not pushed" in summary(commit, ran("git push"), commit)


def test_what_was_decided_and_learned_is_told() -> None:
    output = summary(
        message("user", "We decided to keep sessions in PostgreSQL."),
        message("assistant", "The root cause was a race between two refreshing browser tabs."),
    )
    assert "**Decided**\n- We decided to keep sessions in PostgreSQL." in output
    assert "**Learned**\n- The root cause was a race between two refreshing browser tabs." in output


@pytest.mark.slow
def test_observations_are_read_one_by_one_and_memory_stays_small() -> None:
    import tracemalloc

    def stream() -> Iterator[Observation]:
        for n in range(6_000):
            yield ran(f"run {n} " + "x" * 500, n % 2)._replace(id=f"o{n}", files=(f"{n}.py",))

    tracemalloc.start()
    text, evidence = summarize(CAPSULE, stream())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000
    assert estimate(text) <= LIMIT
    assert len(evidence) < 50
    assert "or more" in text


words = st.sampled_from(
    [
        "error: no",
        "make",
        "src/a.py",
        "한국어" * 30,
        "\n",
        "`",
        "$ ls",
        "Tool: Edit",
        "File: b",
        "**",
    ]
)
texts = st.lists(words | st.text(max_size=20), max_size=12).map(" ".join) | st.text(max_size=900)
odd = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), texts, st.lists(texts, max_size=2)
)
keys = ("toolName", "command", "exitCode", "hasError", "filePath", "role", "query")
observations = st.builds(
    lambda id_, kind, content, ts, provenance, files: Observation(
        id_, kind, content, ts, provenance=provenance, files=tuple(files)
    ),
    st.integers(0, 40).map(str),
    st.sampled_from(EVENTS),
    texts,
    st.integers(-(10**18), 10**18) | st.integers(TEN, TEN + 10**8),
    st.none() | st.dictionaries(st.sampled_from(keys), odd, max_size=5),
    st.lists(texts, max_size=3),
)
streams = st.lists(observations, max_size=40)


@settings(deadline=None)
@given(texts, streams)
def test_whatever_happened_a_summary_is_short_and_the_same_again(
    intent: str, stream: list[Observation]
) -> None:
    capsule = CAPSULE._replace(intent=intent)
    text, evidence = summarize(capsule, iter(stream))
    assert (text, evidence) == summarize(capsule, stream)
    assert estimate(text) <= LIMIT
    assert len(set(evidence)) == len(evidence)
    assert set(evidence) <= {item.id for item in stream}
    assert bool(evidence) == bool(stream)


@settings(deadline=None)
@given(streams, st.data())
def test_nothing_of_what_was_redacted_or_forgotten_is_told(
    stream: list[Observation], data: st.DataObject
) -> None:
    mixed = []
    for item in stream:
        if data.draw(st.booleans()):
            mixed.append(item)
        else:
            how = data.draw(st.sampled_from([{"redacted": True}, {"forgotten_at": TEN}]))
            output = {"command": SECRET, "toolName": SECRET, "exitCode": 1}
            gone = item._replace(content=f"$ {SECRET}\nerror: {SECRET}", files=(SECRET,), id=SECRET)
            mixed.append(gone._replace(provenance=output, **how))
    text, evidence = summarize(CAPSULE, mixed)
    assert SECRET not in text
    assert SECRET not in evidence
    remaining = [entry for entry in mixed if not (entry.redacted or entry.forgotten_at)]
    assert (text, evidence) == summarize(CAPSULE, remaining)


def test_tests_are_told_by_what_runs_them_and_how_they_ended() -> None:
    output = summary(
        ran(
            "export PATH=/opt/bin:$PATH && cargo test",
            0,
            "running 9 tests\ntest result: ok. 9 passed",
        ),
        ran('gh pr create --body "all cargo test runs pass"', 0, "https://example.org/pull/1"),
    )
    assert "tests ✓ `cargo test`: test result: ok. 9 passed" in output


def test_what_came_of_each_request_is_told_those_with_changes_first() -> None:
    output = summary(
        message("user", "add a cache"),
        edited("src/cache.py"),
        message("assistant", "Added:\n- a cache of 100 entries in `src/cache.py`\n- its tests"),
        message("user", "what is a ring buffer?"),
        message("assistant", "A ring buffer overwrites its oldest entry when it is full."),
        message("user", "rename it"),
        message("assistant", "The cache is called `Recent` now."),
    )
    earlier = output.partition("**Earlier**\n")[2].splitlines()
    assert earlier[0] == "- Added: a cache of 100 entries in `src/cache.py`; its tests"
    assert earlier[1] == "- A ring buffer overwrites its oldest entry when it is full."


def test_a_long_request_is_told_by_its_report_and_not_by_a_remark_at_its_end() -> None:
    report = "Implemented the cap on all routes.\n- 29 tests passed\n- Committed as `78c9b48`"
    text = summary(
        seen("message", "Harden the worker", role="user"),
        edited("src/cap.py"),
        seen("message", report, role="assistant"),
        seen("message", "The review found an empty range of commits.", role="assistant"),
        seen("message", "What is the branch called?", role="user"),
        seen("message", "The branch is called security-audit, as it was before.", role="assistant"),
    )
    earlier = text.partition("**Earlier**")[2]
    assert "29 tests passed" in earlier
    assert "not committed" not in earlier


def test_a_request_that_was_interrupted_has_no_result() -> None:
    text = summary(
        seen("message", "Build a server", role="user"),
        edited("src/server.ts"),
        seen("message", "There is no file yet. I'm creating the project.", role="assistant"),
        seen("message", "Use Python", role="user"),
        seen(
            "message", "The server is written in Python, with all of its tests.", role="assistant"
        ),
    )
    assert "There is no file yet" not in text


def test_a_tool_that_refused_its_input_is_no_open_error() -> None:
    refused = seen(
        "error", "Tool: Task\n{}\nAgent type 'x' not found", toolName="Task", hasError=True
    )
    text = summary(refused, seen("message", "All of it is simpler now.", role="assistant"))
    assert "Unresolved" not in text


def test_what_an_earlier_request_left_to_do_is_next_until_it_comes_up_again() -> None:
    first = [
        message("user", "replace the audience"),
        edited("src/token.py"),
        message(
            "assistant", "Replaced it. Remaining work is to deploy the service and release it."
        ),
        message("user", "open a pull request"),
        message("assistant", "The pull request 60 is open on both repositories now."),
    ]
    assert "Remaining work is to deploy the service" in summary(*first).partition("**Next**")[2]
    deployed = [
        message("user", "deploy the service and release it"),
        message("assistant", "The service is deployed, and the release is out for everybody."),
    ]
    assert "**Next**" not in summary(*first, *deployed)


def test_what_was_not_committed_then_is_not_next_after_a_commit() -> None:
    text = summary(
        message("user", "fix the cap"),
        edited("src/cap.py"),
        message("assistant", "Fixed the cap. The three changed files are not committed yet."),
        message("user", "go ahead"),
        ran("git commit -m 'fix: cap'", 0, "[main 78c9b48] fix: cap"),
        message("assistant", "All of it is in now, and nothing else was touched."),
    )
    assert "not committed yet" not in text.partition("**Next**")[2]


def test_several_test_programs_of_one_run_are_summed() -> None:
    output = (
        "running 115 tests\ntest result: ok. 115 passed; 0 failed; 0 ignored\n"
        "running 35 tests\ntest result: ok. 35 passed; 0 failed; 0 ignored"
    )
    assert "tests ✓ `cargo test`: 150 passed, 0 failed" in summary(ran("cargo test", 0, output))


def test_tests_that_passed_before_a_linter_failed_are_told_as_passed() -> None:
    output = "186 | failed: new Error()\n 9 pass\n 0 fail\nerror: script lint exited"
    text = summary(ran("bun run test && bun run lint", 1, output))
    assert "tests ✓ `bun run test`: 9 pass" in text
    assert "(exit 1): error: script lint exited" in text
    assert "tests ✗" in summary(ran("bun run test && bun run lint", 1, " 8 pass\n 1 fail"))


def test_a_command_that_runs_without_its_wrapper_is_no_open_error() -> None:
    failed = ran("wrap bun run test", 2, "error: unrecognized subcommand 'bun'")
    assert "Unresolved" in summary(failed)
    assert "Unresolved" not in summary(failed, ran("bun run test", 0, "9 pass"))


def test_earlier_results_have_less_room_where_the_last_request_changed_most() -> None:
    points = "\n".join(f"- point {n} about {'the report and ' * 6}" for n in range(20))
    first = [
        seen("message", "first", role="user"),
        seen("message", f"Reported.\n{points}", role="assistant"),
    ]
    last = [
        seen("message", "second", role="user"),
        edited("a.py"),
        seen("message", "The page has a title and a footer now.", role="assistant"),
    ]
    assert len(summary(*first, *last)) < len(summary(*first, last[0], last[2]))


@pytest.mark.parametrize(
    ("command", "state"),
    [
        (
            "pytest tests/test_a.py -q",
            "tests ✓ `pytest tests`: 129 passed, tests ✓ `pytest tests/test_a.py -q`: 3 passed",
        ),
        ("pytest tests -q 2>&1 | tail -3", "tests ✓ `pytest tests -q`: 3 passed"),
        ("cargo test", "tests ✓ `cargo test`: 3 passed"),
    ],
)
def test_a_run_of_some_tests_stands_beside_the_run_of_all(command: str, state: str) -> None:
    text = summary(ran("pytest tests", output="129 passed"), ran(command, output="3 passed"))
    assert f"**State**: {state}\n" in text


def test_a_part_of_the_results_of_several_test_programs_is_not_their_sum() -> None:
    results = [f"test result: ok. {count} passed; 0 failed" for count in (15, 35)]
    assert "`cargo test`: 50 passed" in summary(ran("cargo test", output="\n".join(results)))
    cut_out = "running 129 tests\n…\n" + "\n".join(results)
    assert "tests ✓ `cargo test`: passed" in summary(ran("cargo test", output=cut_out))
    picked = summary(ran("cargo test | tail -5", output=results[1]))
    assert "tests ✓ `cargo test`: passed" in picked


def test_a_session_that_was_left_on_the_way_says_what_it_was_asked_for() -> None:
    text = summary(
        message("user", "add a page on backups to the guide"),
        message("assistant", "Added the page, with a table of the options."),
        message("user", "and describe how a backup is restored"),
        message("assistant", "I have everything I need. Let me write it."),
        edited("docs/restore.md"),
    )
    assert "**Outcome**: not finished: and describe how a backup is restored" in text
    assert "I have everything" not in text
    assert "Added the page, with a table of the options." in text


@pytest.mark.parametrize(
    "words",
    [
        "The branch is behind by two commits, so I'm rebasing it first.",
        "I'm on the wrong branch — need to switch to `docs`.",
        "Two files are staged. I’ll commit them now.",
        "Checking the last run…",
    ],
)
def test_what_is_done_next_is_not_an_outcome(words: str) -> None:
    text = summary(message("user", "please push the branch now"), message("assistant", words))
    assert "**Outcome**: not finished: please push the branch now" in text


def test_what_was_committed_after_the_last_words_is_the_outcome() -> None:
    text = summary(
        message("user", "commit the fix of the lexer"),
        message("assistant", "All files are staged. Let me commit them."),
        ran('git commit -m "fix: the lexer"', 0, "[main 1234567] fix: the lexer\n 1 file"),
    )
    assert "**Outcome**: committed fix: the lexer (1234567)" in text


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("PR created: https://example.org/pull/174", "PR created: https://example.org/pull/174"),
        ("All three findings are fixed:\n\n| a | b |\n|---|---|", "All three findings are fixed"),
        ("All tasks are done. Waiting for further instructions.", "All tasks are done."),
        ("The cache is gone. If you want, I'll remove its tests.", "The cache is gone."),
        ("The cache is gone. Let me know if it is missed.", "The cache is gone."),
    ],
)
def test_the_last_words_are_the_outcome_where_they_report_something(
    words: str, outcome: str
) -> None:
    text = summary(
        message("user", "please finish the work"),
        message("assistant", "Good, the folder is cleaned up."),
        message("assistant", words),
    )
    assert f"**Outcome**: {outcome}" in text
    assert "not finished" not in text


def test_an_error_without_a_command_is_settled_with_the_one_that_failed_before_it() -> None:
    events = (
        ran("pytest -q tests/labels", 1, "1 failed"),
        seen("error", "UnicodeDecodeError in labels/render.py: unexpected byte order mark"),
        edited("labels/render.py"),
    )
    assert "UnicodeDecodeError" in summary(*events).partition("Unresolved")[2]
    assert "Unresolved" not in summary(*events, ran("pytest -q tests/labels", 0, "2 passed"))
    assert "Unresolved" in summary(*events, ran("pytest -q tests/other", 0, "2 passed"))
    unknown = seen("command", "$ pytest -q tests/labels\nthe template has a mark")
    assert "Unresolved" not in summary(unknown, *events[1:], ran("pytest -q tests/labels"))


COMMIT = "git commit -m 'Group the cards by file'"
MADE = "[main 1f3a9c0] Group the cards by file"


def test_a_message_about_the_commit_is_not_the_outcome() -> None:
    text = summary(
        seen("message", "Group the cards", role="user"),
        edited("cards.py"),
        seen("message", "Cards of one file now stand below its name.", role="assistant"),
        seen("message", "commit", role="user"),
        ran(COMMIT, 0, MADE),
        seen("message", "Committed as `1f3a9c0`. Pre-commit hooks all passed.", role="assistant"),
    )
    outcome = text.partition("**Outcome**: ")[2].partition("\n\n")[0]
    assert outcome.startswith("Cards of one file now stand below its name.")


def test_an_outcome_begins_with_the_commit_that_has_the_last_edit() -> None:
    told = "Committed as `1f3a9c0`. Pre-commit hooks (tests, lint, types) all passed."
    work = (seen("message", "Do it", role="user"), edited("cards.py"), ran(COMMIT, 0, MADE))
    text = summary(*work, seen("message", told, role="assistant"))
    assert "**Outcome**: Group the cards by file (1f3a9c0)\n" in text
    later = summary(*work, edited("b.py"), seen("message", "b.py has the icons.", role="assistant"))
    assert "**Outcome**: b.py has the icons." in later


def test_what_was_done_to_a_file_is_not_learned() -> None:
    told = "Updated `README.md:108` to say that a patch does not include any binary files."
    work = (seen("message", "Say so", role="user"), edited("README.md"))
    assert "**Learned**" not in summary(*work, seen("message", told, role="assistant"))
    assert "**Learned**" in summary(*work, seen("message", f"Lesson: {told}", role="assistant"))
