"""Running a team's server: its figures, its containers, and a backup that is restored."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import postgres_server
from kinen.postgres.connection import Database
from kinen.team.postgres import PostgresTeam
from kinen.team.tokens import verify
from team_service import SPACE, client, observation, token

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
            assert kinds.get(match[1]) == "counter" or kinds.get(family) == "histogram", line
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
    }


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
print(metrics.text())
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
    assert set(extras[1].split(",")) == {"http", "postgres"}
    entry = yaml.safe_load(text.partition("ENTRYPOINT ")[2])
    assert entry[0] == "kinen"
    assert ask(*entry[1:]).err.startswith("kinen: no database for the team")


def test_a_backup_is_restored_as_the_guide_says(
    url: str, postgres_server_url: str, database: Database, tmp_path: Path
) -> None:
    here = shutil.which("pg_dump") if "KINEN_TEST_POSTGRES" in os.environ else None
    pattern = "kinen-postgres-*/home/.pg0/installation/*/bin/pg_dump"
    program = Path(here) if here else next(Path(tempfile.gettempdir()).glob(pattern), None)
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
    try:
        for line in (dump[0], restore[1]):
            words = shlex.split(line.replace("kinen_new", copy))
            words = [word.replace("$DATABASE_URL", url) for word in words]
            words[0] = str(program.with_name(words[0]))
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
            if "loading shared libraries" in done.stderr:
                pytest.skip(done.stderr.strip())
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
