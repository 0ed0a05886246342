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
from kinen.journal import ledger
from kinen.recall.prompts import Candidate, choose
from kinen.recall.usefulness import Trial, estimate_use, names_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ran

    Hook = Callable[..., str]
    Kinen = Callable[..., Ran]

SECRET = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def hook(space: Path) -> Hook:
    """Runs the real hook on an event of a session; the context that the client would add."""

    def run(event: str, session: str = "s1", **more: Any) -> str:
        payload = {"session_id": session, "cwd": str(space), "hook_event_name": event, **more}
        process = subprocess.run(
            [sys.executable, "-m", "kinen", "hook", "claude-code"],
            input=json.dumps(payload).encode(),
            cwd=os.environ["HOME"],
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert (process.returncode, process.stderr) == (0, b"")
        printed = process.stdout.decode()
        if not printed.startswith("{"):
            return printed
        return str(json.loads(printed)["hookSpecificOutput"]["additionalContext"])

    return run


@pytest.fixture
def pinned(space: Path) -> str:
    """A space where one observation is pinned; its ref."""
    with Memory.open(space) as memory:
        ref = memory.observe("deploys go through the blue cluster").ref
        memory.pin(ref)
    return ref


def file_of(space: Path) -> Path:
    with Memory.open(space) as memory:
        folder = Path(memory.space.data)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / ledger.FILE


def listed(kinen: Kinen, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(kinen("ledger", *words, "--json").out)["injections"]
    return found


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
    assert whole["text"] == context
    assert whole["entries"] == [pinned]
    totals = json.loads(kinen("ledger", "totals", "--json").out)
    assert totals["tokens"] == line["tokens"] > 0


def test_what_did_not_fit_is_recorded_with_the_reason(
    space: Path, hook: Hook, kinen: Kinen
) -> None:
    with Memory.open(space) as memory:
        for number in range(40):
            ref = memory.observe(f"note {number}: " + "a rule of the house " * 30).ref
            memory.pin(ref)
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
        memory.pin(fresh)
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
    assert "kinen install claude-code" in run.err
    assert kinen("ledger", "totals").code == 1
    assert kinen("ledger", "audit").code == 1
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


def test_an_audit_compares_what_was_told_with_what_was_not(
    space: Path, hook: Hook, kinen: Kinen
) -> None:
    with Memory.open(space) as memory:
        shown = memory.observe("the retry rule lives in src/retry_queue.py").ref
        memory.pin(shown)
        for number in range(60):
            ref = memory.observe(f"see docs/other_{number}.md " + "and more of it " * 60).ref
            memory.pin(ref)
    hook("SessionStart", source="startup")
    hook(
        "PostToolUse",
        tool_name="Read",
        tool_input={"file_path": f"{space}/src/retry_queue.py"},
        tool_response={},
        tool_use_id="t1",
    )
    estimate = json.loads(kinen("ledger", "audit", "--json").out)
    assert estimate["told"]["used"] == 1
    assert estimate["dropped"]["entries"] > 0
    assert estimate["dropped"]["used"] == 0
    assert not estimate["enough"]


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
    run = f"from kinen.agents import hook\nhook.handled({payload!r}, 'claude-code')"
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
    told = [candidate.ref for candidate in chosen]
    left = [ref for ref, _ in dropped]
    assert len(told) <= most
    assert not known & set(told)
    assert sorted([*told, *left]) == sorted({candidate.ref for candidate in candidates})


@given(st.lists(st.builds(Trial, st.text(), st.booleans(), st.text(), st.text())))
def test_no_more_entries_are_used_than_there_are(trials: list[Trial]) -> None:
    estimate = estimate_use(trials)
    for share in (estimate.told, estimate.dropped):
        assert 0 <= share.used <= share.entries <= len(trials)


def test_names_are_files_symbols_and_code_but_not_refs() -> None:
    text = "run `make lint`; src/a.py has retry_queue and RetryQueue [note:docs/b.md]"
    assert names_in(text) == {"make lint", "src/a.py", "retry_queue", "RetryQueue"}
