"""Machines and a team's server of different versions of kinen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from kinen.postgres.connection import Database
from kinen.team import replica, rows
from kinen.team.client import HttpTeam
from kinen.team.merge import PROTOCOL, change
from kinen.team.postgres import PostgresTeam
from kinen.team.schema import prepare
from kinen.team.sync import synchronize
from team_machines import Machine, template
from team_service import SPACE, ended, observation, start, token

TOP = Path(__file__).parents[2]
PREVIOUS = "a33a1996"
"""The release before this one."""
SECRET = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def ada(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "ada", "ada", template(tmp_path))


def held(database: Database, space: str) -> dict[str, object]:
    page = PostgresTeam(database, space, "x").pull(0, 1000, erased=False)
    return {version.ref: dict(version.fields) for version in page.versions}


def test_fields_of_a_newer_kinen_are_kept_masked_and_passed_on(
    server: str, database: Database, ada: Machine
) -> None:
    space = "newer-field"
    team = HttpTeam(server, space, token(database, "ada", space))
    extra = {"mood": {"word": "glad", "key": SECRET}, "weight": 3}
    newer = change(observation("future", "written by a newer kinen"), extra, "m2")
    assert team.push([newer, observation("plain", "beside it")]).invalid == {}
    report = synchronize(ada.replica(), team, space)
    assert (report.pulled, report.unread) == (2, {})
    found = rows.read(ada.db, "observation", "future")
    assert found
    assert (found.fields["weight"], found.fields["mood"]["word"]) == (3, "glad")
    assert SECRET not in ada.everything() + json.dumps(held(database, space))
    # a team that lost everything gets the fields back from a machine that does not know them
    other = HttpTeam(server, f"{space}-2", token(database, "ada", f"{space}-2"))
    synchronize(ada.replica(), other, f"{space}-2")
    again = held(database, f"{space}-2")["observation:future"]
    assert again == held(database, space)["observation:future"]
    ada.erase("observation:future", forget=False)
    synchronize(ada.replica(), other, f"{space}-2")
    assert "glad" not in ada.everything() + json.dumps(held(database, f"{space}-2"))
    team.close()
    other.close()


def test_an_unknown_noun_waits_and_is_fetched_again_after_an_upgrade(
    server: str, database: Database, ada: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    space = "newer-noun"
    team = HttpTeam(server, space, token(database, "ada", space))
    invoice = replace(observation("i1", "an invoice"), noun="invoice")
    pushed = team.push([invoice, observation("o1", "one"), observation("o2", "two")])
    assert pushed.invalid == {}
    report = synchronize(ada.replica(), team, space)
    assert report.pulled == 2
    assert report.unread == {"invoice:i1": "an unknown noun in an invoice of the team"}
    assert ada.replica().state.unread == ["invoice:i1"]
    assert not synchronize(ada.replica(), team, space).unread
    # an older kinen, which knows no observations, and its upgrade
    (tmp_path / "other").mkdir()
    bob = Machine(tmp_path / "bob", "bob", template(tmp_path / "other"))
    with monkeypatch.context() as older:
        older.delitem(rows.SECTION, "observation")
        older.setattr(replica, "READER", "older")
        assert len(synchronize(bob.replica(), team, space).unread) == 3
        assert synchronize(bob.replica(), team, space).pulled == 0
    report = synchronize(bob.replica(), team, space)
    assert (report.pulled, list(report.unread)) == (2, ["invoice:i1"])
    assert bob.replica().state.unread == ["invoice:i1"]
    team.close()


def test_every_request_has_a_protocol(server: str, database: Database) -> None:
    headers = {"Authorization": f"Bearer {token(database)}", "X-Kinen-Space": SPACE}
    for number, status in (("", 400), ("0", 400), ("x", 400), ("1", 200), ("99", 200)):
        answer = httpx.get(f"{server}/v1/team/me", headers={**headers, "X-Kinen-Protocol": number})
        assert answer.status_code == status, number
        assert answer.headers["X-Kinen-Protocol"] == str(PROTOCOL)
    assert httpx.get(f"{server}/v1/team/me", headers=headers).status_code == 200


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder where the wheel of the previous release is installed."""
    folder = tmp_path_factory.mktemp("previous")
    packed = subprocess.run(["git", "archive", PREVIOUS], cwd=TOP, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip("no history of the repository")
    tree = folder / "tree"
    tree.mkdir()
    subprocess.run(["tar", "-x"], input=packed.stdout, cwd=tree, check=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    for words in (["wheel", ".", "--wheel-dir", ".."], ["install", "--target", "../installed"]):
        wheels = [str(path) for path in folder.glob("*.whl")]
        line = [*pip, *words, "--no-deps", *wheels]
        done = subprocess.run(line, cwd=tree, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no wheel of {PREVIOUS}: {done.stderr.strip()[-200:]}")
    return str(folder / "installed")


def sync_of(folder: str, home: Path, url: str, secret: str, *, say: str = "") -> str:
    """A machine of some version sends what it has to say, and lists what it knows."""
    space = home / "shop"
    (space / ".kinen").mkdir(parents=True, exist_ok=True)
    (space / ".kinen" / "config.yml").write_text("space: {id: shop, name: shop}\n")
    env = {
        **os.environ,
        "PYTHONPATH": folder,
        "KINEN_HOME": str(home / "kinen"),
        "KINEN_TEAM_URL": url,
        "KINEN_TEAM_SHARE": "all",
        "KINEN_INDEX_EMBEDDING_PROVIDER": "none",
        "TEAM_TOKEN": secret,
    }

    def run(*words: str) -> str:
        line = [sys.executable, "-m", "kinen", *words]
        done = subprocess.run(line, cwd=space, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    if say:
        run("log", say)
    return run("sync") + run("list", "observations")


@pytest.mark.slow
def test_the_previous_release_and_this_one_share_a_team_both_ways(
    previous: str, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = str(TOP / "src")
    with monkeypatch.context() as old:
        old.setenv("PYTHONPATH", previous)
        older, address = start(postgres_url, "--workers", "1")
    with Database(postgres_url) as database:
        prepare(database)  # as `kinen team token create` does, below the running server
        secrets = {name: token(database, name, "shop") for name in ("ada", "bob")}
        sync_of(previous, tmp_path / "ada", address, secrets["ada"], say="said by the old one")
        text = sync_of(current, tmp_path / "bob", address, secrets["bob"], say="said by the new")
        assert "said by the old one" in text
        text = sync_of(previous, tmp_path / "ada", address, secrets["ada"])
        assert "said by the new" in text
        # the new server beside the old one, which still runs on the tables that were changed
        newer, second = start(postgres_url, "--workers", "1")
        sync_of(previous, tmp_path / "ada", address, secrets["ada"], say="through the old server")
        text = sync_of(current, tmp_path / "bob", second, secrets["bob"], say="through the new one")
        assert "through the old server" in text
        older.terminate()
        ended(older)
        text = sync_of(previous, tmp_path / "ada", second, secrets["ada"], say="old to new")
        assert "through the new one" in text
        # an upgrade of the machine in the same home
        text = sync_of(current, tmp_path / "ada", second, secrets["ada"])
        assert "old to new" in text
        assert "old to new" in sync_of(current, tmp_path / "bob", second, secrets["bob"])
        newer.terminate()
        assert ended(newer) == 0
        assert len(held(database, "shop")) >= 5
