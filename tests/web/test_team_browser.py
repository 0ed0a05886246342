"""The pages of a team's server in a real browser: signing in, searching, signing out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import postgres_server
from kinen.postgres.connection import Database
from kinen.team.postgres import PostgresTeam
from kinen.team.schema import prepare
from sign_in_service import SECRET, Missing, OpenProvider
from team_service import SPACE, ended, free_port, observation, start, token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from web.tab import CHROMIUM, SECONDS
from web.test_browser import chromium  # noqa: F401

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt-get install chromium")


@pytest.fixture
def service(postgres_server_url: str) -> Iterator[tuple[str, str]]:
    """The address of a server, and a token for it."""
    url = postgres_server.create_database(postgres_server_url)
    with Database(url) as database:
        prepare(database)
        PostgresTeam(database, SPACE, "ada").push([observation("k1", "we descaled the kettle")])
        secret = token(database)
    process, address = start(url, "--workers", "2")
    yield address, secret
    process.terminate()
    assert ended(process) == 0
    postgres_server.drop_database(postgres_server_url, url)


def test_a_colleague_signs_in_searches_and_signs_out(
    chromium: Any,  # noqa: F811
    service: tuple[str, str],
) -> None:
    address, secret = service
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(SECONDS)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "request",
        lambda request: request.url.startswith(address) or problems.append(request.url),
    )
    page.goto(address)
    page.fill("input[name=token]", "kinen_wrong_token")
    page.click("button[type=submit]")
    page.wait_for_selector("[role=alert]")
    page.fill("input[name=token]", secret)
    page.click("button[type=submit]")
    page.wait_for_url("**/today")
    page.fill("input[name=q]", "kettle")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits article")
    assert "ada: we descaled the kettle" in page.inner_text(".hits article")
    page.click(".hits article h2 a")
    page.wait_for_selector("h1 >> text=we descaled the kettle")
    for name, title in (("Today", "days"), ("Sessions", "Sessions"), ("Knowledge", "Knowledge")):
        page.click(f"nav >> text={name}")
        page.wait_for_selector(f"h1:has-text('{title}')")
    assert page.locator("nav a").count() == 3
    page.click("text=Sign out")
    page.wait_for_url("**/sign-in")
    page.goto(f"{address}/web/")
    page.wait_for_url("**/sign-in")
    context.close()
    assert problems == []


def test_somebody_signs_in_at_a_provider_and_out_again(
    chromium: Any,  # noqa: F811
    postgres_server_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = free_port()
    address = f"http://localhost:{port}"
    try:
        provider = OpenProvider(tmp_path, address)
    except Missing as error:
        pytest.skip(f"no OpenID provider: {error}")
    provider.set_groups(ada=["developers"])
    provider.start()
    settings = {"url": address, "issuer": provider.issuer, "client": "kinen"}
    settings |= {"groups": {"developers": {"spaces": [SPACE]}}}
    file = tmp_path / "sign-in.yml"
    file.write_text(json.dumps(settings))
    monkeypatch.setenv("KINEN_SIGN_IN_SECRET", SECRET)
    url = postgres_server.create_database(postgres_server_url)
    process, _ = start(url, "--sign-in", str(file), "--host", "localhost", port=port)
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(SECONDS)
    try:
        page.goto(address)
        page.click("text=Sign in with localhost")
        page.fill("input[name=login]", "ada")
        page.fill("input[name=password]", "any")
        page.click("button[type=submit]")
        page.click("button:has-text('Continue')")
        page.wait_for_url("**/today")
        page.click("text=Sign out")
        page.click("text=Sign out of localhost too")
        page.click("button:has-text('Yes, sign me out')")
        page.wait_for_url(f"{address}/web/sign-in")
        page.goto(f"{address}/web/")
        page.wait_for_url("**/sign-in")
        page.click("text=Sign in with localhost")
        page.wait_for_selector("input[name=login]")
    finally:
        context.close()
        provider.stop()
        process.terminate()
        ended(process)
        postgres_server.drop_database(postgres_server_url, url)
