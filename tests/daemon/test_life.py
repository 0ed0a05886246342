"""The life of a daemon: one at a time, started and ended in every way there is."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from daemon.conftest import HANGING
from kinen.daemon import control, units
from kinen.errors import KinenError
from kinen.ipc import client
from kinen.render.daemon import daemon_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from daemon.conftest import Running

LONG = bool(os.environ.get("KINEN_STRESS"))


def left_over(home: Path) -> list[str]:
    """What only a running daemon has: processes, a socket, a held lock."""
    result = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)
    lines = [line for line in result.stdout.splitlines() if "kinen daemon run" in line]
    ours = [line for line in lines if _home_of(line.split()[0]) == str(home)]
    names = [name for name in (client.SOCKET, client.PORT) if (home / name).exists()]
    return [*ours, *names, *(["lock"] if home.exists() and client.running(str(home)) else [])]


def until(holds: Callable[[], Any]) -> None:
    """Wait for a fact."""
    end = time.monotonic() + HANGING
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def answered(home: str) -> int:
    """How much a daemon has answered; a busy one may be asked in vain and is not counted on."""
    return int(control.look(home).state.get("answered", 0))


def _home_of(pid: str) -> str:
    try:
        env = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    return next((item[11:].decode() for item in env if item.startswith(b"KINEN_HOME=")), "")


def test_it_starts_listens_to_its_owner_only_and_stops(home: Path, kinen: Any) -> None:
    data = home / "kinen"
    result = kinen("daemon", "status")
    assert (result.code, result.out) == (1, "has not run yet: the first search starts it\n")
    started = kinen("daemon", "start")
    assert started.code == 0 and started.out.startswith("started (pid ")
    assert kinen("daemon", "start").out.startswith("already running (pid ")
    assert stat.S_IMODE((data / "daemon.sock").stat().st_mode) == 0o600
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    output = json.loads(kinen("daemon", "status", "--json").out)["daemon"]
    assert f"pid {output['pid']}" in started.out
    second = kinen("daemon", "run")
    assert second.code == 2 and "a daemon is already running" in second.err
    assert "pid" in kinen("daemon", "logs").out
    assert kinen("daemon", "stop").out == f"stopped (pid {output['pid']})\n"
    assert left_over(data) == []
    assert "on request" in kinen("daemon", "status").out
    assert kinen("daemon", "stop").out == "not running\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order(daemon: Running, number: int) -> None:
    daemon.start()
    daemon.kill(number)
    assert left_over(daemon.home) == []
    assert control.last_run(str(daemon.home))["why"] == signal.Signals(number).name


def test_one_that_was_killed_leaves_nothing_in_the_way(daemon: Running) -> None:
    first = daemon.start()
    daemon.kill()
    assert (daemon.home / "daemon.sock").exists()
    assert client.ask(str(daemon.home), "GET /v1/health") is None
    assert daemon.start() != first
    assert f"pid {first}" in daemon.state()["happened"][-1]["what"]


def test_the_doctor_puts_a_dead_one_away_and_ends_one_that_hangs(
    daemon: Running, kinen: Any
) -> None:
    pid = daemon.start()
    daemon.kill()
    assert "was killed" in kinen("daemon", "status").out
    data = json.loads(kinen("doctor", "--json").out)["findings"]
    lines = [item for item in data if item["what"] == "daemon"]
    assert (
        lines[0]["fine"] and f"it was dead (pid {pid}); its files were removed" in lines[0]["said"]
    )
    assert left_over(daemon.home) == []
    hung = daemon.start()
    os.kill(hung, signal.SIGSTOP)
    lines = [line for line in kinen("doctor").out.splitlines() if "daemon" in line]
    assert f"did not answer (pid {hung}) and was ended" in lines[0]
    daemon.kill(signal.SIGCONT)
    assert left_over(daemon.home) == []


def test_a_search_starts_it_and_idleness_ends_it(space: Path, home: Path, kinen: Any) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    on = {"KINEN_DAEMON_AUTO_START": "true"}
    data = str(home / "kinen")
    assert kinen("search", "kettle", **on, KINEN_DAEMON_IDLE_SHUTDOWN_MINUTES="0").code == 0
    until(lambda: bool(control.look(data).state))
    until(lambda: answered(data) or not kinen("search", "kettle", **on).out.startswith("Tea\n"))
    assert answered(data)
    assert control.stop(data)
    (home / "kinen" / client.STARTED).unlink(missing_ok=True)  # or the next start has to wait
    assert kinen("search", "kettle", **on, KINEN_DAEMON_IDLE_SHUTDOWN_MINUTES="0.05").code == 0
    until(lambda: "idle for" in str(control.last_run(data).get("why")))
    until(lambda: not control.look(data).held)
    assert left_over(home / "kinen") == []
    assert "idle for 0.05 minutes" in kinen("daemon", "status").out


def test_at_rest_it_gives_its_memory_back_and_loads_the_model_for_the_next_question(
    space: Path, daemon: Running, kinen: Any
) -> None:
    (space / "lamp.md").write_text("# Lamp\n\nThe lighthouse keeper repaired the lamp.\n")
    kinen("index")
    pid = daemon.start(KINEN_DAEMON_MODEL_IDLE_SECONDS="0.2")
    until(lambda: daemon.log().count("at rest:") > 1)  # who asks for its state would be connected
    assert daemon.log().count("starts again at rest") == 1
    assert daemon.state()["pid"] == pid
    if sys.platform == "linux":
        assert "onnxruntime" not in Path(f"/proc/{pid}/maps").read_text()
    answer = json.loads(kinen("search", "--semantic", "--json", "who fixed the beacon").out)
    assert answer["results"][0]["source"]["path"] == "lamp.md"


def test_who_does_not_want_one_gets_none(space: Path, home: Path, kinen: Any) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    (space / ".kinen" / "config.yml").write_text("daemon:\n  auto_start: true\n")
    assert kinen("search", "kettle").code == 0  # a clone's own file does not overrule the user
    time.sleep(0.3)
    assert left_over(home / "kinen") == []


@pytest.mark.parametrize("crowd", [50 if LONG else 8])
def test_of_many_that_start_at_once_one_stays(
    space: Path, home: Path, kinen: Any, crowd: int
) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    kinen("index", "--no-embed")
    env = {**os.environ, "KINEN_DAEMON_AUTO_START": "true"}
    line = [sys.executable, "-m", "kinen", "search", "--fulltext", "kettle"]
    many = [
        subprocess.Popen(line, cwd=space, env=env, stdout=subprocess.PIPE) for _ in range(crowd)
    ]
    assert {b"tea.md:3" in process.communicate(timeout=HANGING)[0] for process in many} == {True}
    data = str(home / "kinen")
    try:
        until(lambda: len(left_over(home / "kinen")) == 3 and control.look(data).state)
    finally:
        control.stop(data)
    assert left_over(home / "kinen") == []


def test_two_hundred_lives_leave_nothing_behind(daemon: Running) -> None:
    data = str(daemon.home)
    for _ in range(200 if LONG else 4):
        state, fresh = control.start(data)
        assert fresh and state["pid"] == control.holder(data)
        assert control.stop(data) == state["pid"]
        assert left_over(daemon.home) == []


def test_it_keeps_to_no_embed_and_logs_at_the_level_that_is_set(
    daemon: Running, space: Path, kinen: Any
) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    kinen("index", "--no-embed")
    daemon.start(KINEN_LOG_LEVEL="debug")
    daemon.settled(space)
    (space / "pot.md").write_text("# Pot\n\nA pot of sencha.\n")
    until(lambda: kinen("search", "--fulltext", "sencha").code == 0)
    daemon.settled(space)
    counts = json.loads(kinen("index", "status", "--json").out)["counts"]
    assert (counts["chunks"] > 1, counts["vectors"]) == (True, 0)
    assert "DEBUG POST /v1/search" in daemon.log()
    kinen("daemon", "stop")
    (daemon.home / "daemon.log").unlink()
    daemon.start(KINEN_LOG_LEVEL="warning")
    kinen("index")
    assert json.loads(kinen("index", "status", "--json").out)["counts"]["vectors"] > 0
    assert kinen("daemon", "stop").code == 0
    assert daemon.log() == ""


def test_it_ends_with_its_home(daemon: Running) -> None:
    import shutil

    daemon.start()
    shutil.rmtree(daemon.home)
    until(lambda: not left_over(daemon.home))
    daemon.home.mkdir()


def test_where_a_path_is_too_long_for_a_socket_a_port_and_a_token_serve(
    tmp_path: Path, space: Path, kinen: Any
) -> None:
    deep = tmp_path / ("d" * 90) / "kinen"
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    env = {"KINEN_HOME": str(deep)}
    alone = kinen("search", "--hybrid", "kettle", **env)
    assert alone.code == 0
    try:
        assert kinen("daemon", "start", **env).code == 0
        assert stat.S_IMODE((deep / client.PORT).stat().st_mode) == 0o600
        assert not (deep / client.SOCKET).exists()
        until(
            lambda: (
                answered(str(deep)) or kinen("search", "--hybrid", "kettle", **env).out != alone.out
            )
        )
        state = control.look(str(deep)).state
        assert state["answered"] and state["port"]
        port, token = (deep / client.PORT).read_text().split()
        (deep / client.PORT).write_text(f"{port} {token[:-1]}x")
        refused = client.ask(str(deep), "POST /v1/stop", {}, sign=HANGING)
        assert refused is not None and refused.code == 401
        assert (
            kinen("search", "--hybrid", "kettle", **env).out == alone.out
        )  # refused, so found by itself
        (deep / client.PORT).write_text(f"{port} {token}")
    finally:
        control.stop(str(deep))
    assert left_over(deep) == []


def test_it_says_why_it_cannot_start(home: Path, kinen: Any) -> None:
    data = home / "kinen"
    (data / "http.token").mkdir(parents=True)
    ran = kinen("serve", "--port", "0")
    assert ran.code == 2 and len(ran.err.strip().splitlines()) <= 2
    assert "http.token" in ran.err
    config = home / "broken.yml"
    config.write_text("daemon: [")
    ran = kinen("daemon", "start", KINEN_CONFIG=str(config))
    assert ran.code == 2 and "the daemon did not start" in ran.err and "broken.yml" in ran.err


def test_the_clock_may_jump(tmp_path: Path) -> None:
    wall, steady = [1_000_000.0], [50.0]
    output = control.Diary(str(tmp_path), clock=lambda: wall[0], steady=lambda: steady[0])
    wall[0] += 100
    steady[0] += 100
    output.check_clock()
    assert output.happened == []
    wall[0] -= 7200
    output.check_clock()
    wall[0] += 86_400
    output.check_clock()
    message = [item["what"] for item in output.happened]
    assert message[0] == "the clock went back by 7,200 s"
    assert "forward" in message[1] and "86,400 s" in message[1]
    output.end("done")
    assert not control.killed(control.last_run(str(tmp_path)))


def test_a_diary_that_is_no_diary_is_begun_anew(tmp_path: Path) -> None:
    for text in ("", "[]", '{"happened": 3, "pid": "x", "ended": "then"}', "\0\0"):
        (tmp_path / control.FILE).write_text(text)
        assert control.Diary(str(tmp_path)).happened == []


def test_systems_can_start_it_at_login(tmp_path: Path, kinen: Any, home: Path) -> None:
    result = kinen("daemon", "install", "--print", KINEN_HOME="/data/100% $mine/kinen")
    assert 'Environment="KINEN_HOME=/data/100%% $$mine/kinen"' in result.out
    assert '"daemon" "run" "--stay"' in result.out
    assert kinen("daemon", "install").code == 0
    unit = home / ".config" / "systemd" / "user" / "kinen.service"
    assert "WantedBy=default.target" in unit.read_text()
    assert kinen("daemon", "install").out.startswith("unchanged")
    assert kinen("daemon", "install", "--remove").code == 0
    assert not unit.exists()
    import plistlib

    created = units.unit("/a & b/<kinen>", {"HOME": "/Users/ada"}, "darwin")
    data = plistlib.loads(created.text.encode())
    assert data["EnvironmentVariables"]["KINEN_HOME"] == "/a & b/<kinen>"
    assert data["ProgramArguments"][-2:] == ["run", "--stay"]
    assert created.path == "/Users/ada/Library/LaunchAgents/dev.kinen.daemon.plist"
    with pytest.raises(KinenError):
        units.unit("/x", {}, "win32")


def test_its_log_is_kept_small_and_followed(daemon: Running, tmp_path: Path) -> None:
    daemon.home.mkdir()
    (daemon.home / "daemon.log").write_text("x" * ((1 << 20) - 100) + "\n")
    daemon.start()
    daemon.until(lambda _: (daemon.home / "daemon.log.1").exists())
    assert (daemon.home / "daemon.log").stat().st_size < 10_000
    line = [sys.executable, "-m", "kinen", "daemon", "logs", "-n", "1", "-f"]
    following = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert following.stdout is not None
    try:
        assert following.stdout.readline()
        daemon.end()
        while "stopped: on request" not in (line_read := following.stdout.readline()):
            assert line_read
        following.send_signal(signal.SIGINT)
        following.communicate(timeout=HANGING)
        assert following.returncode == 130
    finally:
        following.kill()
        following.communicate()


def test_a_daemon_that_has_not_written_its_record_yet_is_starting() -> None:
    """A process holds the lock before it answers."""
    ended = {"pid": 1, "ended": "2026-01-01T00:00:00.000Z", "why": "idle"}
    for last in ({}, ended):
        assert daemon_text({}, last, held=True) == "is starting"
    assert "kinen doctor" in daemon_text({}, {"pid": 1}, held=True)
