"""The ledger: what agents were told, at the surface of hooks, the command line and MCP."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen import Memory
from kinen.journal import ledger, memories
from kinen.journal.ledger_queries import Injection
from kinen.memory.ledger import repeats
from kinen.model.journal import Learned, Observation
from kinen.privacy.quote import MARK
from kinen.recall.errors import remedies
from kinen.recall.prompts import Candidate, asks_something, choose
from kinen.recall.usefulness import Common, Heard, Moment, Trial, estimate_use, names_in
from kinen.text import estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ran

    Hook = Callable[..., str]
    Kinen = Callable[..., Ran]

SECRET = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def hook(space: Path, run_hook: Hook) -> Hook:
    """Runs the real hook on an event of a session; the context that the client would add."""

    def run(event: str, session: str = "s1", **more: Any) -> str:
        payload = {"session_id": session, "cwd": str(space), "hook_event_name": event, **more}
        printed = run_hook(payload)
        if not printed.startswith("{"):
            return printed
        return str(json.loads(printed)["hookSpecificOutput"]["additionalContext"])

    return run


@pytest.fixture
def pinned(space: Path) -> str:
    """A space where one observation is pinned; its ref."""
    with Memory.open(space) as memory:
        ref = memory.observe("deploys go through the blue cluster").ref
        memory.journal.pin(ref)
    return ref


def file_of(space: Path) -> Path:
    with Memory.open(space) as memory:
        folder = Path(memory.space.data)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / ledger.FILE


def listed(kinen: Kinen, *words: str) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = json.loads(kinen("ledger", *words, "--json").out)["injections"]
    return data


def test_what_a_session_start_told_is_shown_byte_for_byte(
    hook: Hook, pinned: str, kinen: Kinen
) -> None:
    context = hook("SessionStart", source="startup")
    (line,) = listed(kinen)
    assert (line["event"], line["agent"], line["session"]) == ("SessionStart", "claude-code", "s1")
    assert (line["entries"], line["dropped"]) == (1, 0)
    assert "blue cluster" in line["first_line"]
    assert kinen("ledger", "show", line["id"]).out == context
    whole = json.loads(kinen("ledger", "show", line["id"][:12], "--json").out)
    assert whole["text"].replace(MARK, "") == context  # JSON is quoted as all that is printed
    assert whole["entries"] == [pinned]
    totals = json.loads(kinen("ledger", "totals", "--json").out)
    assert totals["tokens"] == line["tokens"] > 0


def test_what_did_not_fit_is_recorded_with_the_reason(
    space: Path, hook: Hook, kinen: Kinen
) -> None:
    with Memory.open(space) as memory:
        for number in range(40):
            ref = memory.observe(f"note {number}: " + "a rule of the house " * 30).ref
            memory.journal.pin(ref)
    hook("SessionStart", source="startup")
    (line,) = listed(kinen)
    whole = json.loads(kinen("ledger", "show", line["id"], "--json").out)
    assert len(whole["entries"]) + len(whole["dropped"]) == 40
    assert {left["reason"] for left in whole["dropped"]} == {"budget"}


def test_the_same_is_not_told_twice_in_a_session_until_a_compaction(
    hook: Hook, pinned: str
) -> None:
    assert pinned in hook("SessionStart", source="startup")
    assert hook("SessionStart", source="resume", seconds_since_last_response=90_000) == ""
    assert pinned in hook("SessionStart", "s2", source="startup")
    assert pinned in hook("PreCompact", trigger="auto")
    assert pinned in hook("SessionStart", source="compact")
    assert hook("SessionStart", source="resume", seconds_since_last_response=90_000) == ""


def test_something_new_is_told_alone_when_a_session_goes_on(
    space: Path, hook: Hook, pinned: str
) -> None:
    hook("SessionStart", source="startup")
    with Memory.open(space) as memory:
        fresh = memory.observe("the blue cluster moved to Oslo").ref
        memory.journal.pin(fresh)
    context = hook("SessionStart", source="resume", seconds_since_last_response=90_000)
    assert fresh in context
    assert pinned not in context


@pytest.mark.parametrize("obstacle", ["folder", "garbage", "newer", "locked"])
def test_a_ledger_that_cannot_be_written_changes_nothing_for_the_agent(
    space: Path, hook: Hook, pinned: str, obstacle: str
) -> None:
    path = file_of(space)
    holder = None
    if obstacle == "folder":
        path.mkdir()
    elif obstacle == "garbage":
        path.write_bytes(b"no database at all" * 100)
    else:
        holder = ledger.connect(str(path.parent))
        if obstacle == "newer":
            holder.execute("PRAGMA user_version=99")
        else:
            holder.execute("BEGIN EXCLUSIVE")
    assert pinned in hook("SessionStart", source="startup")
    if holder:
        holder.close()


@pytest.mark.parametrize(("obstacle", "hint"), [("garbage", "move it away"), ("newer", "update")])
def test_a_ledger_that_cannot_be_read_is_explained(
    space: Path, kinen: Kinen, obstacle: str, hint: str
) -> None:
    path = file_of(space)
    if obstacle == "garbage":
        path.write_bytes(b"no database at all" * 100)
    else:
        holder = ledger.connect(str(path.parent))
        holder.execute("PRAGMA user_version=99")
        holder.close()
    run = kinen("ledger")
    assert run.code == 2
    assert hint in run.err
    assert "Traceback" not in run.err


def test_an_empty_ledger_says_how_it_is_filled(kinen: Kinen) -> None:
    run = kinen("ledger")
    assert run.code == 1
    assert "`kinen install` lists the agents" in run.err
    assert kinen("ledger", "totals").code == 1
    assert kinen("ledger", "impact").code == 1
    assert kinen("ledger", "show", "01AB").code == 2


def test_what_was_told_is_never_found_recalled_or_exported(
    space: Path, hook: Hook, pinned: str, kinen: Kinen
) -> None:
    hook("SessionStart", source="startup")
    assert "What kinen remembers" not in kinen("search", "--fulltext", "remembers", "space").out
    assert "What kinen remembers" not in kinen("export", "-").out
    files = [path.name for path in file_of(space).parent.iterdir()]
    assert "ledger.db" in files
    database = sqlite3.connect(file_of(space).parent / "journal.db")
    tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master")]
    database.close()
    assert "injections" not in tables


def test_secrets_in_what_was_told_are_masked_in_the_ledger(
    space: Path, hook: Hook, kinen: Kinen
) -> None:
    plans = space / ".memories" / "plans"
    plans.mkdir(parents=True)
    plan = f"---\nstatus: active\ntitle: Ship\n---\n- [ ] use {SECRET}\n"
    (plans / "ship.md").write_text(plan)
    (space / ".memories" / ".active-plan").write_text("ship")
    hook("SessionStart", source="startup")
    (line,) = listed(kinen)
    assert SECRET not in kinen("ledger", "show", line["id"], "--json").out
    data = b"".join(path.read_bytes() for path in file_of(space).parent.glob("ledger.db*"))
    assert SECRET.encode() not in data


def test_what_is_redacted_is_gone_from_the_ledger_too(
    space: Path, hook: Hook, pinned: str, kinen: Kinen
) -> None:
    hook("SessionStart", source="startup")
    assert kinen("redact", pinned).code == 0
    (line,) = listed(kinen)
    assert "blue cluster" not in kinen("ledger", "show", line["id"]).out
    data = b"".join(path.read_bytes() for path in file_of(space).parent.glob("ledger.db*"))
    assert b"blue cluster" not in data


def test_the_ledger_filters_by_session_agent_event_and_time(
    hook: Hook, pinned: str, kinen: Kinen
) -> None:
    hook("SessionStart", "alpha", source="startup")
    hook("SessionStart", "beta", source="startup")
    assert [line["session"] for line in listed(kinen)] == ["beta", "alpha"]
    assert [line["session"] for line in listed(kinen, "--session", "al")] == ["alpha"]
    assert len(listed(kinen, "--agent", "claude-code", "--event", "sessionstart")) == 2
    assert listed(kinen, "--since", "2999-01-01") == []
    assert len(listed(kinen, "--limit", "1")) == 1


def test_the_ledger_keeps_the_newest_and_nothing_old(tmp_path: Path) -> None:
    database = ledger.connect(str(tmp_path))
    now = 1_700_000_000_000
    for number in range(ledger.PRUNE_EVERY * 2):
        injection = ledger.Injection("mcp", "a", "s", now + number)
        if number < 10:
            injection.at = now - (ledger.MOST_DAYS + 1) * ledger.DAY_MS
        injection.text = f"text {number}"
        ledger.write(database, injection, 1)
    count = database.execute("SELECT COUNT(*) FROM injections").fetchone()[0]
    assert count == ledger.PRUNE_EVERY * 2 - 10
    database.execute("UPDATE injections SET seq = seq + ?", (ledger.MOST_ROWS,))
    ledger.write(database, injection, 1)
    ledger.prune(database, now)
    newest, oldest = database.execute("SELECT MAX(seq), MIN(seq) FROM injections").fetchone()
    assert newest - oldest < ledger.MOST_ROWS
    database.close()


def test_impact_compares_what_was_told_with_what_was_not(
    space: Path, hook: Hook, kinen: Kinen
) -> None:
    with Memory.open(space) as memory:
        output = memory.observe("the retry rule lives in src/retry_queue.py").ref
        memory.journal.pin(output)
        for number in range(60):
            ref = memory.observe(f"see docs/other_{number}.md " + "and more of it " * 60).ref
            memory.journal.pin(ref)
    hook("SessionStart", source="startup")
    hook(
        "PostToolUse",
        tool_name="Read",
        tool_input={"file_path": f"{space}/src/retry_queue.py"},
        tool_response={},
        tool_use_id="t1",
    )
    impact = json.loads(kinen("ledger", "impact", "--json").out)
    assert impact["told"]["used"] == impact["events"]["SessionStart"]["used"] == 1
    assert impact["lines"]["used"] == 1
    assert impact["dropped"]["entries"] > 0
    assert impact["dropped"]["used"] == 0
    assert impact["repeats"] == 0
    assert impact["tokens"] > 0
    assert not impact["enough"]
    assert "1 of" in kinen("ledger", "audit").out


def modules_after(code: str) -> set[str]:
    """The modules that a bare interpreter has after running some code."""
    program = f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{code}\n"
    program += "print(' '.join(sys.modules))"
    command = [sys.executable, "-S", "-c", program]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return set(run.stdout.split())


def test_the_ledger_of_hooks_loads_only_what_sqlite_needs() -> None:
    modules = {name.split(".")[0] for name in modules_after("import kinen.journal.ledger")}
    heavy = {"typing", "re", "json", "contextlib", "inspect", "subprocess", "hashlib"}
    assert modules & heavy == set()


def test_an_event_that_tells_nothing_does_not_touch_the_ledger(space: Path, pinned: str) -> None:
    payload = {"session_id": "s", "cwd": str(space), "hook_event_name": "PostToolUse"}
    payload |= {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {}}
    run = f"from kinen.hooks import command\ncommand.handled({payload!r}, 'claude-code')"
    assert "kinen.journal.ledger" not in modules_after(run)
    assert not file_of(space).exists()


refs = st.sampled_from([f"note:{letter}.md" for letter in "abcdef"])


@given(
    st.lists(st.builds(Candidate, ref=refs, text=st.just("x"), relevant=st.booleans())),
    st.sets(refs),
    st.integers(0, 4),
)
def test_every_candidate_is_told_or_dropped_with_a_reason(
    candidates: list[Candidate], known: set[str], most: int
) -> None:
    chosen, dropped = choose(candidates, known, most)
    output = [candidate.ref for candidate in chosen]
    left = [ref for ref, _ in dropped]
    assert len(output) <= most
    assert not known & set(output)
    assert sorted([*output, *left]) == sorted({candidate.ref for candidate in candidates})


HEARD = st.builds(Heard, st.text())


@given(st.lists(st.builds(Trial, st.text(), st.booleans(), st.builds(Moment, HEARD, HEARD, HEARD))))
def test_no_more_entries_are_used_than_there_are(trials: list[Trial]) -> None:
    result = estimate_use(trials, [(trial.text, trial.moment) for trial in trials])
    for share in (result.told, result.dropped, result.lines, *result.events.values()):
        assert 0 <= share.used <= share.entries <= len(trials)
    assert sum(share.used for share in result.events.values()) == result.told.used
    assert result.lines.used >= result.told.used + result.dropped.used


def test_a_fact_without_a_name_is_used_by_its_words_and_confirmed_by_the_user() -> None:
    said = "Der Export läuft ab jetzt nur noch nachts, damit niemand wartet"
    nothing, later = Heard(""), Heard("Gut, ab jetzt nur noch nachts also.")
    is_used = Common([]).used
    assert is_used(said, Moment(nothing, later, nothing))
    assert not is_used(said, Moment(nothing, nothing, later))
    assert is_used(said, Moment(nothing, nothing, later), confirmed=True)
    assert is_used(said, Moment(Heard(said), later, nothing)) is None


def test_what_every_entry_says_shows_nothing() -> None:
    texts = [f"`make test` passed; wrote src/part_{n}.py" for n in range(5)]
    after = Moment(Heard(""), Heard("$ make test\nedit src/part_3.py"), Heard(""))
    assert estimate_use(Trial(text, True, after) for text in texts).told == (5, 1)


def test_an_entry_told_twice_to_a_session_is_a_repeat_unless_it_lost_its_context() -> None:
    def told(seq: int, event: str = "SessionStart", session: str = "s1") -> Injection:
        entry = ("observation:1",)
        return Injection(seq, str(seq), 0, event, "", "codex", session, 9, "", entry, (), {})

    twice = [told(1), told(2)]
    assert repeats(twice, {}) == 1
    assert repeats(twice, {("codex", "s1"): 1}) == 0
    assert repeats([told(1), told(2, "mcp"), told(3, session="s2")], {}) == 0


def test_names_are_files_symbols_and_code_but_not_refs() -> None:
    text = "run `make lint`; src/a.py has retry_queue and RetryQueue [note:docs/b.md]"
    assert names_in(text) == {"make lint", "src/a.py", "retry_queue", "RetryQueue"}


# Before a tool is used


@pytest.fixture
def told_before(space: Path, kinen: Kinen) -> Path:
    """A space that asks before tools, with a lesson about a file and a command that fails here."""
    assert kinen("config", "set", "hooks.before_tools", "true").code == 0
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        capsule = memory.journal.open_capsule("push it", scope={"session": "s0"})
        lesson = (
            "`retry_queue.py` must not sleep: the scheduler drives it, decided after the outage"
        )
        memories.learn(
            memory.core.store.db, [Learned("a" * 32, "decision", lesson, 0.9, 1_700_000_000_000)]
        )
        for line, output, code in (
            ("git push", "fatal: The current branch has no upstream branch.", 128),
            ("git push -u origin main", "done", 0),
        ):
            memory.observe(
                f"$ {line}\n{output}",
                kind="error" if code else "command",
                scope={"session": "s0"},
                provenance={"command": line, "exitCode": code, "hasError": bool(code)},
            )
        memory.journal.close_capsule(capsule.id)
        assert memory.ledger.learn_remedies() == 1
        assert memory.ledger.learn_remedies() == 0
    return space


def test_before_an_edit_the_lesson_about_the_file_is_told_once(
    told_before: Path, hook: Hook, kinen: Kinen
) -> None:
    edit = {"file_path": f"{told_before}/src/retry_queue.py", "old_string": "a", "new_string": "b"}
    context = hook("PreToolUse", tool_name="Edit", tool_input=edit)
    assert "must not sleep" in context
    assert estimate(context) <= 80
    assert hook("PreToolUse", tool_name="Edit", tool_input=edit) == ""
    assert "must not sleep" in hook("PreToolUse", "s2", tool_name="Edit", tool_input=edit)
    other = {"file_path": f"{told_before}/src/queue.py", "old_string": "a", "new_string": "b"}
    assert hook("PreToolUse", "s3", tool_name="Edit", tool_input=other) == ""
    (line, _) = listed(kinen, "--event", "PreToolUse")
    assert line["subject"] == "src/retry_queue.py"


def test_before_a_command_that_fails_here_what_worked_is_told(
    told_before: Path, hook: Hook
) -> None:
    def run(command: str) -> str:
        return hook("PreToolUse", tool_name="Bash", tool_input={"command": command})

    assert "git push -u origin main" in run("git push 2>&1 | tail -3")
    assert run("git push") == ""
    assert run("git push --force") == ""


def test_what_a_session_start_told_is_not_told_before_a_tool(told_before: Path, hook: Hook) -> None:
    assert "must not sleep" in hook("SessionStart", source="startup")
    edit = {"file_path": f"{told_before}/src/retry_queue.py", "old_string": "a", "new_string": "b"}
    assert hook("PreToolUse", tool_name="Edit", tool_input=edit) == ""


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"tool_name": "Edit"},
        {"tool_name": "Edit", "tool_input": "text"},
        {"tool_name": "Bash", "tool_input": {"command": 7}},
        {"tool_name": "Edit", "tool_input": {"file_path": "\x00/../../etc"}},
    ],
)
def test_a_hook_before_a_tool_never_blocks_it(
    told_before: Path, hook: Hook, more: dict[str, Any]
) -> None:
    assert hook("PreToolUse", **more) == ""


def test_without_the_setting_nothing_is_told_before_a_tool(
    told_before: Path, hook: Hook, kinen: Kinen
) -> None:
    kinen("config", "set", "hooks.before_tools", "false")
    push = {"command": "git push"}
    assert hook("PreToolUse", tool_name="Bash", tool_input=push) == ""


def test_the_hook_before_tools_is_installed_only_where_it_is_wanted(
    space: Path, kinen: Kinen
) -> None:
    settings = Path(os.environ["HOME"]) / ".claude" / "settings.json"
    assert kinen("install", "claude-code").code == 0
    assert "PreToolUse" not in json.loads(settings.read_text())["hooks"]
    kinen("config", "set", "hooks.before_tools", "true")
    assert kinen("install", "claude-code").code == 0
    assert "PreToolUse" in json.loads(settings.read_text())["hooks"]
    kinen("config", "set", "hooks.before_tools", "false")
    assert kinen("install", "claude-code").code == 0
    assert "PreToolUse" not in json.loads(settings.read_text())["hooks"]


def test_a_redacted_failure_is_told_no_more(told_before: Path, hook: Hook, kinen: Kinen) -> None:
    (failure,) = json.loads(kinen("list", "observations", "--kind", "error", "--json").out)[
        "observations"
    ]
    assert kinen("redact", failure["ref"]).code == 0
    assert hook("PreToolUse", tool_name="Bash", tool_input={"command": "git push"}) == ""


def test_a_remedy_is_another_command_that_worked_without_an_edit() -> None:
    def run(number: int, command: str, code: int) -> Observation:
        return Observation(
            id=str(number),
            kind="error" if code else "command",
            content=f"$ {command}\nfatal: no",
            ts=number,
            provenance={"command": command, "exitCode": code},
        )

    edit = Observation(id="9", kind="file_diff", content="x", ts=9, files=("a.py",))
    fails, works = run(1, "npm start app", 1), run(3, "npm start app -- --port 3", 0)
    assert [remedy.instead for remedy in remedies([fails, works])] == ["npm start app -- --port 3"]
    assert remedies([fails, edit, works]) == []
    assert remedies([fails, run(2, "npm start app", 0)]) == []
    assert remedies([run(1, "cargo fmt --check", 1), run(2, "cargo fmt", 0)]) == []
    assert remedies([run(1, "docker compose up db", 1), run(2, "docker compose ps", 0)]) == []
    assert remedies([run(1, "npm run deploy", 1), run(2, "npm run start", 0)]) == []


TRIVIAL = [
    "yes",
    "continue",
    "thanks",
    "ok, commit it and push",
    "go ahead",
    "yes please do it",
    "",
]
REQUESTS = ["Why does the limiter sleep in its tests?", "Add a retry queue for failed parcels"]


@pytest.mark.parametrize("prompt", TRIVIAL)
def test_a_short_reply_asks_for_nothing(prompt: str) -> None:
    assert not asks_something(prompt)


@pytest.mark.parametrize("prompt", REQUESTS)
def test_a_request_names_its_subject(prompt: str) -> None:
    assert asks_something(prompt)


def test_a_prompt_gets_what_shares_its_rare_words_and_nothing_else(space: Path) -> None:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        (space / "limits.md").write_text("# Limits\n\nThe limiter sleeps because buckets refill.\n")
        for number in range(30):
            (space / f"note{number}.md").write_text(f"# Note {number}\n\nParcels are weighed.\n")
        memory.sync(embed=False)
        question = "why does the limiter sleep when buckets refill"
        related = memory.searcher.related(question, "s", 600)
        assert related.entries == ("note:limits.md",)
        assert memory.searcher.related("yes, continue", "s", 600).text == ""
        unrelated = memory.searcher.related(
            "rename the colours of the marketing homepage", "s", 600
        )
        assert unrelated.text == ""
        existing = memory.searcher.related(question, "s", 600, ["note:limits.md"])
        assert existing.text == ""
        assert ("note:limits.md", "told before") in existing.dropped
