"""The pages of `kinen serve --team`: signing in, what a token shows, and what it does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from kinen.team import tokens
from kinen.team.merge import redact
from kinen.team.postgres import PostgresTeam
from team_service import OTHER, SPACE, client, observation, token
from web.payloads import PAYLOADS

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

    from kinen.postgres.connection import Database

ORIGIN = {"Origin": "https://team.example"}


@pytest.fixture
def browser(database: Database, tmp_path: Path) -> TestClient:
    return client(database, str(tmp_path / "worker"))


def sign_in(browser: TestClient, text: str, target: str = "") -> Any:
    return browser.post("/web/sign-in", data={"token": text, "next": target}, headers=ORIGIN)


def place(page: str, space: str = SPACE) -> str:
    return f"/web/s/{space.replace('/', '%2F')}/{page}"


def test_a_token_signs_a_browser_in_to_its_own_spaces(
    browser: TestClient, database: Database
) -> None:
    hostile = observation("hostile", f"kettle {PAYLOADS[0]}")
    PostgresTeam(database, SPACE, "ada").push([observation("k1", "kettle is hot"), hostile])
    PostgresTeam(database, OTHER, "boss").push([observation("s1", "the salary is 7")])
    assert browser.get("/").headers["location"] == "/web/"
    assert browser.get("/web/").headers["location"] == "/web/sign-in"
    response = browser.get(place("search?q=kettle"))
    assert (response.status_code, "next=%2Fweb%2Fs%2F" in response.headers["location"]) == (
        303,
        True,
    )
    assert sign_in(browser, "kinen_wrong_token").status_code == 401
    secret = token(database)
    answer = sign_in(browser, secret, place("search?q=kettle"))
    assert (answer.status_code, answer.headers["location"]) == (303, place("search?q=kettle"))
    cookie = answer.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Secure", "Path=/web/"):
        assert part in cookie
    assert secret not in cookie
    pages = {
        "search?q=kettle": "kettle",
        "sessions": "Sessions",
        "timeline": "Last 7 days",
        "memories": "Knowledge",
        "record?ref=observation:k1": "by ada",
    }
    for page, text in pages.items():
        answer = browser.get(place(page))
        assert answer.status_code == 200, page
        assert text in answer.text
        assert PAYLOADS[0] not in answer.text
        assert "kinen-team-" not in answer.text
        assert answer.text.count("<form") - answer.text.count('method="get"') <= 1  # to sign out
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    for page in ("files", "health", "ledger", "graph", "budget", "nothing"):
        assert browser.get(place(page)).status_code == 404
    for page in pages:
        answer = browser.get(place(page, OTHER))
        assert answer.status_code == 403
        assert "salary" not in answer.text
    assert browser.get(place("search", "all")).status_code == 403
    # the cookie opens no endpoint, and the token no page
    assert browser.get("/v1/team/me", headers={"X-Kinen-Space": SPACE}).status_code == 401
    browser.cookies.clear()
    bearer = {"Authorization": f"Bearer {secret}"}
    assert browser.get(place("search"), headers=bearer).status_code == 303


def test_forms_are_refused_without_the_origin_and_the_token_of_the_session(
    browser: TestClient, database: Database
) -> None:
    secret = token(database)
    data = {"token": secret}
    for headers in (
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {**ORIGIN, "Sec-Fetch-Site": "cross-site"},
    ):
        assert browser.post("/web/sign-in", data=data, headers=headers).status_code == 403
    framed = browser.get("/web/sign-in", headers={"Sec-Fetch-Dest": "iframe"})
    assert framed.status_code == 403
    for target in ("https://evil.example", "//evil.example", "/web/\\evil.example"):
        answer = sign_in(browser, secret, target)
        assert answer.headers["location"] == "/web/"
    assert browser.get(place("search")).status_code == 200
    assert browser.post("/web/sign-out", data={}, headers=ORIGIN).status_code == 403
    assert browser.post(place("record/pin"), data={}, headers=ORIGIN).status_code == 405
    hits = re.search(r'name="token" value="([^"]+)"', browser.get(place("search")).text)
    assert hits
    jar = dict(browser.cookies)
    out = browser.post("/web/sign-out", data={"token": hits[1]}, headers=ORIGIN)
    assert out.headers["location"] == "/web/sign-in"
    for name, value in jar.items():  # the old cookie is worth nothing
        browser.cookies.set(name, value, domain="team.example", path="/web/")
    assert browser.get(place("search")).status_code == 303


def test_a_revoked_token_and_redacted_text_are_gone_from_the_pages(
    browser: TestClient, database: Database, tmp_path: Path
) -> None:
    team = PostgresTeam(database, "gone", "ada")
    entry = observation("secret", "the pancake is marzipan")
    team.push([entry])
    secret = token(database, "ada", "gone")
    sign_in(browser, secret)
    assert "marzipan" in browser.get(place("search?q=pancake", "gone")).text
    team.push([redact(entry)])
    other = client(database, str(tmp_path / "another"))
    sign_in(other, secret)
    assert "marzipan" not in other.get(place("search?q=pancake", "gone")).text
    while "marzipan" in browser.get(place("search?q=pancake", "gone")).text:
        pass
    files = [path for path in (tmp_path / "worker").rglob("*") if path.is_file()]
    assert files
    assert not any(b"marzipan" in path.read_bytes() for path in files)
    tokens.revoke(database, secret.split("_")[1])
    assert browser.get(place("search", "gone")).status_code == 303
