"""The clock goes a day back and forward again, as on a machine with a wrong or corrected time."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from kinen.daemon import control
from kinen.ids import short_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONG = bool(os.environ.get("KINEN_STRESS"))
CLOCKS = ("+0", "-1d", "+0", "-400d", "+2d", "-1d") * 4 if LONG else ("+0", "-1d", "+0")
GUARD = 120.0
"""Seconds that only guard against waiting forever."""
FAKETIME = shutil.which("faketime")
SETTINGS = {"NO_FAKE_STAT": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
"""Only the wall clock is set: not times of files, nor the clock that only ever goes forward."""
FAULTS = ("sem_open: File exists", "kinen: the system: Invalid argument")
"""Messages of faketime, and of a sleep that it hands on with a moment in the past."""
NEGATIVE_AGE = re.compile(r"(?<![\w-])-\d+(\.\d+)? ?(ms|s|min|m|h|d|days?|hours?|seconds?)\b")

pytestmark = pytest.mark.skipif(FAKETIME is None, reason="the command `faketime` is not installed")


class Machine:
    """Runs kinen in one space, under whatever clock is asked for."""

    def __init__(self, space: Path) -> None:
        self.space = space
        self.printed: list[str] = []

    def process(self, clock: str, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command; again where faketime failed.

        It met the semaphore of a process that was killed, or a sleep until a moment.
        """
        end = time.monotonic() + GUARD
        while True:
            done = self._process(clock, *words, stdin=stdin)
            if not any(fault in done.stderr for fault in FAULTS) or time.monotonic() > end:
                return done
            time.sleep(0.2)

    def _process(
        self, clock: str, *words: str, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(FAKETIME), "-f", clock, sys.executable, "-m", "kinen", *words],
            cwd=self.space,
            env={**os.environ, **SETTINGS},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=GUARD,
            check=False,
        )

    def run(self, clock: str, *words: str, stdin: str = "") -> str:
        result = self.process(clock, *words, stdin=stdin)
        assert result.returncode == 0, (clock, words, result.stdout, result.stderr)
        assert "bug" not in result.stderr and "Traceback" not in result.stderr, result.stderr
        assert not NEGATIVE_AGE.search(result.stdout), (clock, words, result.stdout)
        self.printed.append(result.stdout)
        return result.stdout

    def json(self, clock: str, *words: str) -> Any:
        return json.loads(self.run(clock, *words, "--json"))

    def hook(self, clock: str, event: str, session: str = "s1", **more: Any) -> str:
        payload = {"session_id": session, "cwd": str(self.space), "hook_event_name": event, **more}
        return self.run(clock, "hook", "claude-code", stdin=json.dumps(payload))


@pytest.fixture
def machine(space: Path) -> Machine:
    return Machine(space)


def refs(answer: Any) -> list[str]:
    return [result["source"]["ref"] for result in answer["results"]]


def spooled(home: Path) -> list[Path]:
    files = (path for path in (home / "kinen" / "spool").rglob("*") if path.is_file())
    return [path for path in files if not path.name.startswith(".")]


def test_nothing_is_lost_and_what_was_written_last_is_found(machine: Machine, home: Path) -> None:
    expected = []
    for number, clock in enumerate(CLOCKS):
        word = f"kettle{number}"
        machine.hook(clock, "SessionStart", session=f"s{number}", source="startup")
        machine.hook(clock, "UserPromptSubmit", session=f"s{number}", prompt=f"about {word}")
        ref = machine.run(clock, "log", f"logged {word}").strip()
        expected += [f"about {word}", f"logged {word}"]
        assert ref in refs(machine.json(clock, "search", word)), clock
        assert short_id(ref) in machine.run(clock, "recall", word), clock
        note = machine.space / "tea.md"
        note.write_text(f"# Tea\n\nA samovar{number} hums.\n")
        machine.run(clock, "index", "--no-embed")
        assert refs(machine.json(clock, "search", f"samovar{number}"))[0] == "note:tea.md", clock
        gone = machine.json(clock, "search", f"samovar{number - 1}", "--mode", "fulltext")
        assert not number or f"samovar{number - 1}" not in json.dumps(gone["results"])
        machine.run(clock, "status")
        machine.run(clock, "doctor")
        machine.hook(clock, "SessionEnd", session=f"s{number}", reason="exit")
    entries = machine.json("+0", "list", "observations", "--limit", "0")["observations"]
    contents = [entry["content"] for entry in entries]
    assert [text for text in expected if contents.count(text) != 1] == []
    assert len({entry["id"] for entry in entries}) == len(entries)
    assert spooled(home) == []
    with closing(sqlite3.connect(next((home / "kinen").rglob("journal.db")))) as journal:
        assert journal.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        order = [row[0] for row in journal.execute("SELECT content FROM observations ORDER BY seq")]
    assert [text for text in order if text in expected] == expected


def test_a_pin_with_a_ttl_ends_by_the_clock_and_never_before_its_time(machine: Machine) -> None:
    ref = machine.run("+0", "log", "the kettle is descaled on Mondays").strip()
    machine.run("+0", "pin", ref, "--ttl", "2h")

    def pinned(clock: str) -> bool:
        return "## Pinned" in machine.run(clock, "recall", "kettle")

    assert pinned("+0")
    assert pinned("-1d")
    assert not pinned("+1d")
    assert pinned("-1d")  # the clock was wrong, the pin is not gone
    machine.run("-1d", "pin", ref, "--ttl", "30m")
    assert pinned("-1d")
    assert not pinned("+0")
    machine.run("+0", "pin", ref, "--ttl", "2h")
    assert pinned("+0")
    pins = machine.json("+0", "list", "pins", "--audit")["pins"]
    assert len({pin["id"] for pin in pins}) == len(pins)


def test_a_capsule_that_ends_before_it_began_has_no_negative_duration(machine: Machine) -> None:
    opened = machine.run("+0", "capsule", "open", "--session", "z", "--intent", "descale").split()[
        0
    ]
    machine.run("-1d", "log", "the boiler was emptied", "--session", "z")
    machine.run("-1d", "capsule", "close", opened)
    data = machine.json("+0", "capsule", "show", opened)
    assert "the boiler was emptied" in json.dumps(data)
    text = json.dumps(data)
    assert not re.search(r'"[a-z_]*(duration|seconds|age|ms)[a-z_]*": -', text), text
    machine.run("+0", "capsule", "show", opened)
    machine.run("+0", "list", "capsules")
    again = machine.run("-1d", "capsule", "open", "--session", "z", "--intent", "again").split()[0]
    assert again != opened


def test_a_daemon_serves_whatever_clock_those_have_who_ask(
    machine: Machine, home: Path, kinen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(home / "kinen")
    (machine.space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    machine.run("+0", "index", "--no-embed")
    try:
        assert kinen("daemon", "start").code == 0
        pid = control.look(folder).state["pid"]
        monkeypatch.setenv("KINEN_DAEMON_AUTO_START", "true")
        for clock in CLOCKS:
            assert refs(machine.json(clock, "search", "kettle")) == ["note:tea.md"]
            machine.run(clock, "daemon", "status")
        assert control.look(folder).state["pid"] == pid
    finally:
        control.stop(folder)


def test_a_daemon_whose_own_clock_goes_back_goes_on(
    machine: Machine, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searches, events and syncs go on, with what was written before and after."""
    folder = str(home / "kinen")
    clock = tmp_path / "clock"
    clock.write_text("+0\n")
    (machine.space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    machine.run("+0", "index", "--no-embed")
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    preload = subprocess.run(
        [
            str(FAKETIME),
            "-f",
            "+0",
            sys.executable,
            "-c",
            "import os; print(os.environ['LD_PRELOAD'])",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    settings = {"FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1", **SETTINGS}
    with (tmp_path / "log").open("w") as log:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "kinen", "serve", "--port", "0"],
            cwd=machine.space,
            env={**os.environ, **settings, "LD_PRELOAD": preload},
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(lambda: bool(control.look(folder).state), "the daemon answers")
        monkeypatch.setenv("KINEN_DAEMON_AUTO_START", "true")
        for number, offset in enumerate(CLOCKS):
            clock.write_text(f"{offset}\n")
            (machine.space / f"note{number}.md").write_text(f"# Note\n\nunheard{number} words\n")
            machine.hook("+0", "UserPromptSubmit", prompt=f"prompt{number}", prompt_id=str(number))
            ref = f"note:note{number}.md"
            search = ("search", f"unheard{number}", "--json")
            wait_for(
                lambda search=search, ref=ref: ref in machine.process("+0", *search).stdout,
                f"{ref} is found under the clock {offset}",
            )
            assert "note:tea.md" in refs(machine.json("+0", "search", "kettle"))
            result = machine.run("+0", "list", "observations")
            assert all(f"prompt{earlier}" in result for earlier in range(number + 1))
            assert control.look(folder).state["pid"] == daemon.pid
        assert daemon.poll() is None
        assert "Traceback" not in (tmp_path / "log").read_text()
    finally:
        control.stop(folder)
        daemon.wait(GUARD)


def wait_for(fact: Callable[[], bool], what: str) -> None:
    """Wait until something is so; the limit only guards against waiting forever."""
    end = time.monotonic() + GUARD
    while not fact():
        assert time.monotonic() < end, f"{what}: still not so"
        time.sleep(0.1)
