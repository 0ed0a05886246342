"""Running a team's server: its figures, its containers, and a backup that is restored."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import yaml

import postgres_server
from kinen.postgres.connection import Database
from kinen.team.merge import to_json
from kinen.team.postgres import PostgresTeam
from kinen.team.tokens import verify
from team_service import SPACE, client, observation, start, token

if TYPE_CHECKING:
    from starlette.testclient import TestClient

TOP = Path(__file__).parents[2]
SAMPLE = re.compile(
    r'([a-z_]+)(?:\{((?:[a-z]+="[^"\\\n]*",?)*)\})? (\+Inf|NaN|-?[0-9.]+(?:e[+-]?[0-9]+)?)'
)


def test_metrics_are_in_the_text_format_of_prometheus(
    application: TestClient, database: Database
) -> None:
    headers = {"Authorization": f"Bearer {token(database, rights=('read', 'metrics'))}"}
    application.get("/v1/team/me", headers={**headers, "X-Kinen-Space": SPACE})
    answer = application.get("/metrics", headers=headers)
    assert answer.headers["content-type"].startswith("text/plain")
    kinds: dict[str, str] = {}
    samples: dict[tuple[str, str], float] = {}
    for line in answer.text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds
            kinds[name] = kind
        elif not line.startswith("# HELP "):
            match = SAMPLE.fullmatch(line)
            assert match, line
            family = re.sub(r"_(bucket|sum|count)$", "", match[1])
            assert (
                kinds.get(match[1]) in ("counter", "gauge") or kinds.get(family) == "histogram"
            ), line
            assert (match[1], match[2]) not in samples
            samples[match[1], match[2]] = float(match[3])
    path = 'path="/v1/team/me"'
    assert samples["kinen_team_requests_total", f'{path},status="2xx"'] == 1
    buckets = [
        value
        for (name, labels), value in samples.items()
        if name.endswith("_bucket") and path in labels
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] == samples["kinen_team_request_seconds_count", path] == 1
    assert set(kinds) == {
        "kinen_team_requests_total",
        "kinen_team_request_seconds",
        "kinen_team_entries_total",
        "kinen_team_pull_behind_changes",
        "kinen_team_requests_in_progress",
        "kinen_team_pool",
        "kinen_team_space_entries",
        "kinen_team_space_bytes",
    }
    assert samples["kinen_team_requests_in_progress", None] == 1


def test_a_worker_that_is_killed_leaves_its_counts_and_blocks_no_other(tmp_path: Path) -> None:
    program = f"""
import os, signal
from kinen.http.team_metrics import Metrics

metrics = Metrics({str(tmp_path)!r})
for _ in range(3):
    pid = os.fork()
    if not pid:
        metrics.count("/v1/search", 200, 0.01)
        metrics.add("pulled", 7)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
metrics.count("/v1/search", 303, 0.01)
metrics.count("/v1/search", 429, 0.01)
print(metrics.text(lambda: ()))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    lines = run.stdout.splitlines()
    assert 'kinen_team_requests_total{path="/v1/search",status="2xx"} 4.0' in lines
    assert 'kinen_team_requests_total{path="/v1/search",status="4xx"} 1.0' in lines
    assert 'kinen_team_requests_total{path="/v1/search",status="5xx"} 0.0' in lines
    assert 'kinen_team_request_seconds_bucket{le="0.02",path="/v1/search"} 5.0' in lines
    assert 'kinen_team_entries_total{direction="pulled"} 21.0' in lines


def test_the_containers_start_what_the_command_line_knows(ask: Any) -> None:
    compose = yaml.safe_load((TOP / "deploy" / "compose.yml").read_text())
    server = compose["services"]["server"]
    build = server["build"]
    assert (TOP / "deploy" / build["context"] / build["dockerfile"]).is_file()
    assert server["depends_on"]["database"]["condition"] == "service_healthy"
    assert "DATABASE_URL" in server["environment"]
    text = (TOP / "deploy" / "Containerfile").read_text()
    copies = [line.split()[1:-1] for line in text.splitlines() if line.startswith("COPY ")]
    assert all((TOP / name).exists() for names in copies for name in names)
    install = next(line for line in text.splitlines() if line.startswith("RUN pip install"))
    extras = re.search(r"/src\[([a-z,]+)\]", install)
    assert extras
    assert set(extras[1].split(",")) == {"team"}
    entry = yaml.safe_load(text.partition("ENTRYPOINT ")[2])
    assert entry[0] == "kinen"
    assert ask(*entry[1:]).err.startswith("kinen: no database for the team")


def test_a_backup_is_restored_as_the_guide_says(
    url: str, postgres_server_url: str, database: Database, tmp_path: Path
) -> None:
    here = shutil.which("pg_dump") if "KINEN_TEST_POSTGRES" in os.environ else None
    folder = postgres_server.folder_of(postgres_server.run_id())
    own = (
        *folder.glob("install/bin/pg_dump"),
        *folder.glob("home/.pg0/installation/*/bin/pg_dump"),
    )
    program = Path(here) if here else next(iter(own), None)
    if program is None:
        pytest.skip("no pg_dump of this server")
    PostgresTeam(database, SPACE, "ada").push([observation("saved", "worth a backup")])
    secret = token(database)
    guide = (TOP / "docs" / "guides" / "team.md").read_text()
    dump = re.search(r"^pg_dump .*$", guide, re.MULTILINE)
    restore = re.search(r"&& (pg_restore .*)$", guide, re.MULTILINE)
    assert dump
    assert restore
    copy = postgres_server.create_database(postgres_server_url)
    libraries = {**os.environ, "LD_LIBRARY_PATH": str(folder / "libs")}  # of a wheel's programs
    try:
        for line in (dump[0], restore[1]):
            words = shlex.split(line.replace("kinen_new", copy))
            words = [word.replace("$DATABASE_URL", url) for word in words]
            words[0] = str(program.with_name(words[0]))
            done = subprocess.run(
                words, cwd=tmp_path, env=libraries, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        with Database(copy) as restored:
            page = PostgresTeam(restored, SPACE, "ada", "kinen_team").pull(0, 10, erased=False)
            assert [entry.fields["content"] for entry in page.versions] == ["worth a backup"]
            assert verify(restored, secret)
    finally:
        postgres_server.drop_database(postgres_server_url, copy)


def test_a_server_is_ready_while_its_database_answers(
    application: TestClient, url: str, tmp_path: Path
) -> None:
    assert application.get("/healthz").status_code == 200
    assert application.get("/readyz").json() == {"status": "ready"}
    with Database(url.rpartition("/")[0] + "/nothing_here") as gone:
        other = client(gone, str(tmp_path / "copies"))
        assert other.get("/healthz").status_code == 200
        assert other.get("/readyz").status_code == 503


def test_the_audit_is_read_and_shortened(database: Database, url: str, ask: Any) -> None:
    person = "auditor"
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO kinen.team_audit (at, person, token, action, space, entries, status)"
            " VALUES (now(), %(p)s, 't', 'push', 'shop', 2, 200),"
            " (now() - interval '40 days', %(p)s, 't', 'push', 'shop', 1, 200)",
            {"p": person},
        )
    words = ["team", "audit", "--name", person, "--last-days", "99", "--database", url]
    assert "push  shop  2 entries" in ask(*words).out
    assert len(ask(*words).out.splitlines()) == 2
    shorter = ask(*words, "--keep-days", "30")
    assert len(shorter.out.splitlines()) == 1
    assert "removed 1 request" in shorter.err


def test_each_request_has_an_id_and_one_line_in_the_log(url: str, database: Database) -> None:
    options = ("--log", "json", "--forwarded", "127.0.0.1", "--quota", "2", "--workers", "1")
    process, address = start(url, *options)
    space = "logged"
    headers = {
        "Authorization": f"Bearer {token(database, 'ada', space)}",
        "X-Kinen-Space": space,
        "X-Forwarded-For": "203.0.113.9",
        "X-Request-Id": "proxy-17",
    }
    try:
        with httpx.Client(base_url=address, headers=headers) as asked:
            assert asked.get("/v1/team/me").headers["x-request-id"] == "proxy-17"
            strange = asked.get("/v1/team/me", headers={"X-Request-Id": 'x"\x01'})
            assert re.fullmatch("[0-9a-f]{32}", strange.headers["x-request-id"])
            entries = [to_json(observation(f"q{n}", f"quota {n}")) for n in range(3)]
            pushed = asked.post("/v1/team/push", json={"versions": entries[:2]}).json()
            assert (pushed["entries"], pushed["invalid"]) == (2, {})
            pushed = asked.post("/v1/team/push", json={"versions": entries[2:]}).json()
            full = "the quota of this space is reached: 2 entries"
            assert (pushed["entries"], pushed["invalid"]) == (0, {"observation:q2": full})
    finally:
        process.send_signal(signal.SIGTERM)
        lines = [json.loads(line) for line in process.communicate(timeout=30)[0].splitlines()]
    first = next(line for line in lines if line.get("request_id") == "proxy-17")
    assert {key: first[key] for key in ("person", "space", "path", "status", "address")} == {
        "person": "ada",
        "space": space,
        "path": "/v1/team/me",
        "status": 200,
        "address": "203.0.113.9",
    }
    assert "quota 0" not in str(lines), "no text of an entry is in the log"
    assert headers["Authorization"].split("_")[-1] not in str(lines)


def test_an_operator_sees_spaces_and_people_and_changes_them(
    database: Database, url: str, ask: Any
) -> None:
    def team(*words: str) -> Any:
        done = ask("team", *words, "--database", url, "--json")
        assert done.code == (1 if done.out == '{\n  "spaces": []\n}\n' else 0), done.err
        return json.loads(done.out)

    def space(name: str) -> Any:
        return next((row for row in team("space", "list")["spaces"] if row["name"] == name), None)

    for person, id_ in (("zoe", "z1"), ("yan", "y1")):
        PostgresTeam(database, "old", person).push([observation(id_, f"words of {person}")])
    secret = token(database, "zoe", "old")
    assert (space("old")["entries"], space("old")["people"]) == (2, 2)
    assert team("space", "rename", "old", "new")["entries"] == 2
    assert space("old") is None
    allowed = verify(database, secret)
    assert allowed
    assert allowed.spaces == ("new",)
    assert ask("team", "space", "rename", "new", "new", "--database", url).code != 0

    fresh = team("token", "rotate", allowed.id, "--keep-hours", "0")
    assert verify(database, secret) is None
    assert verify(database, fresh["token"]).spaces == ("new",)  # type: ignore[union-attr]

    assert team("person", "erase", "zoe")["erased"] is False
    assert team("person", "erase", "zoe", "--yes")["entries"] == 1
    versions = PostgresTeam(database, "new", "x").pull(0, 10, erased=False).versions
    assert {entry.id: entry.withdrawn for entry in versions} == {"z1": True, "y1": False}
    assert verify(database, fresh["token"]) is None
    person = next(row for row in team("person", "list")["people"] if row["name"] == "zoe")
    assert (person["entries"], person["tokens"]) == (0, 0)

    assert team("space", "delete", "new")["deleted"] is False
    assert team("space", "delete", "new", "--yes")["entries"] == 2
    assert space("new") is None
    actions = [row["action"] for row in team("audit", "--limit", "0")["requests"]]
    assert [name for name in actions if name in ("delete", "erase", "rename")] == [
        "delete",
        "erase",
        "rename",
    ]
