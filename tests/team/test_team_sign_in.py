"""Signing in to a team's server at a real OpenID provider: on the page and at a command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from subprocess import DEVNULL, PIPE, STDOUT
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import postgres_server
from sign_in_service import SECRET, Missing, OpenProvider, Visitor
from team_service import OTHER, SPACE, ended, free_port, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Service:
    """A team's server whose people sign in at a provider."""

    def __init__(self, provider: OpenProvider, folder: Path, port: int) -> None:
        self.provider = provider
        self.url = f"http://127.0.0.1:{port}"
        self.file = folder / "sign-in.yml"
        settings = {
            "url": self.url,
            "issuer": provider.issuer,
            "client": "kinen",
            "hours": 1,
            "groups": {
                "developers": {"spaces": [SPACE]},
                "auditors": {"spaces": [OTHER, SPACE], "rights": ["read"]},
                "leads": {"spaces": ["*"], "rights": ["read", "write", "admin"]},
            },
        }
        self.file.write_text(json.dumps(settings))

    def enter(self, name: str, page: str = "/web/") -> tuple[Visitor, httpx.Response]:
        visitor = Visitor(name)
        address = f"{self.url}/web/sign-in/provider?next={page}"
        return visitor, visitor.sign_in(address, f"{self.url}/web/signed-in")

    def post(self, path: str, **body: Any) -> httpx.Response:
        return httpx.post(f"{self.url}/v1/team/sign-in/{path}", json=body, timeout=30)

    def device(self, name: str) -> dict[str, Any]:
        """What a command line has after somebody typed its code."""
        device = self.post("device").json()
        assert self.post("token", device_code=device["device_code"]).json()["pending"]
        Visitor(name).sign_in(device["verification_uri_complete"], "Sign-in Success")
        answer = self.post("token", device_code=device["device_code"])
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def status(self, token: str, space: str = SPACE) -> int:
        headers = {"Authorization": f"Bearer {token}", "X-Kinen-Space": space}
        return httpx.get(f"{self.url}/v1/team/me", headers=headers).status_code

    def pushes(self, token: str, space: str) -> int:
        headers = {"Authorization": f"Bearer {token}", "X-Kinen-Space": space}
        address = f"{self.url}/v1/team/push"
        return httpx.post(address, headers=headers, json={"versions": []}).status_code


@pytest.fixture(scope="module", params=[False, True], ids=["id token", "userinfo"])
def service(
    postgres_server_url: str,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Service]:
    url = postgres_server.create_database(postgres_server_url)
    folder = tmp_path_factory.mktemp("sign-in")
    port = free_port()
    try:
        provider = OpenProvider(folder, f"http://127.0.0.1:{port}", userinfo=request.param)
    except Missing as error:
        pytest.skip(f"no OpenID provider: {error}")
    service = Service(provider, folder, port)
    provider.set_groups(ada=["developers"], bob=["auditors"], eve=[], cem=["developers"])
    provider.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINEN_SIGN_IN_SECRET", SECRET)
        process, _ = start(url, "--sign-in", str(service.file), "--workers", "2", port=port)
    yield service
    process.terminate()
    assert ended(process) == 0
    service.provider.stop()
    postgres_server.drop_database(postgres_server_url, url)


def test_a_browser_signs_in_with_the_spaces_of_its_groups(service: Service) -> None:
    text = httpx.get(f"{service.url}/web/sign-in").text
    assert "Sign in with localhost" in text
    visitor, answer = service.enter("ada", f"/web/s/{SPACE.replace('/', '%252F')}/search")
    assert answer.status_code == 200
    assert 'url=/web/s/github.com%2Facme%2Fshop/search"' in answer.text
    assert "SameSite=strict" in answer.headers["set-cookie"]
    page = f"{service.url}/web/s/{SPACE.replace('/', '%2F')}/search"
    shown = visitor.get(page)
    assert shown.status_code == 200
    assert visitor.get(page.replace("shop", "payroll")).status_code == 403
    form = re.search(r'name="token" value="([^"]+)"', shown.text)
    assert form
    origin = {"Origin": service.url}
    out = visitor.post(f"{service.url}/web/sign-out", data={"token": form[1]}, headers=origin)
    text = visitor.get(f"{service.url}{out.headers['location']}").text
    assert re.search(rf'href="{service.provider.issuer}/session/end\?client_id=kinen', text)
    assert visitor.get(page).status_code == 303
    assert service.enter("eve")[1].status_code == 403  # in no group that opens a space


def test_a_device_gets_a_token_and_renews_it(service: Service) -> None:
    service.provider.set_groups(cem=["developers", "auditors"])
    given = service.device("cem")
    assert (given["person"], given["hours"]) == ("cem", 1)
    assert (service.status(given["token"]), service.status(given["token"], OTHER)) == (200, 200)
    # rights of one group do not leak into the spaces of another
    assert service.pushes(given["token"], SPACE) == 200
    assert service.pushes(given["token"], OTHER) == 403
    second = service.device("cem")
    service.provider.set_groups(cem=["developers"])
    renewed = service.post("renew", renewal=given["renewal"]).json()
    for token in (renewed["token"], given["token"], second["token"]):
        assert (service.status(token), service.status(token, OTHER)) == (200, 403)
    service.provider.set_groups(cem=["nothing"])
    refused = service.post("renew", renewal=renewed["renewal"])
    assert refused.status_code == 403
    assert "your groups open no space here" in refused.text
    assert service.status(renewed["token"]) == service.status(second["token"]) == 401
    service.provider.set_groups(cem=None)  # the account is gone
    gone = service.post("renew", renewal=second["renewal"])
    assert gone.status_code == 401
    assert "expired or was ended" in gone.text


def test_a_command_line_signs_in_renews_and_signs_out(service: Service, tmp_path: Path) -> None:
    service.provider.set_groups(dora=["developers"])
    home = tmp_path / "kinen"
    shop = tmp_path / "shop"
    (shop / ".kinen").mkdir(parents=True)
    (shop / ".kinen" / "config.yml").write_text("space: {id: shop, name: shop}\n")
    env = {
        **os.environ,
        "KINEN_HOME": str(home),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "KINEN_TEAM_SPACE": SPACE,
        "KINEN_DAEMON_AUTO_START": "false",
    }

    def run(*words: str, code: int = 0) -> str:
        line = [sys.executable, "-m", "kinen", *words]
        done = subprocess.run(
            line, cwd=shop, env=env, capture_output=True, text=True, check=False, stdin=DEVNULL
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    line = [sys.executable, "-m", "kinen", "team", "join", service.url]
    with subprocess.Popen(
        line, cwd=shop, env=env, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, text=True
    ) as process:
        assert process.stdout
        shown = process.stdout.readline()
        found = re.search(r"open (\S+) and enter (\S+)", shown)
        assert found, shown
        Visitor("dora").sign_in(found[1], "Sign-in Success")
        text = process.stdout.read()
    assert process.returncode == 0, text
    assert f"team.url is {service.url}" in text
    assert "signed in as dora" in text
    tokens = next(home.glob("team-*.token"))
    renewal = tokens.with_name(f"{tokens.name}.renewal")
    assert (tokens.stat().st_mode | renewal.stat().st_mode) & 0o077 == 0
    assert "sent 0" in run("sync")
    first = tokens.read_text()
    run("sync")
    assert tokens.read_text() == first  # not due yet
    renewal.write_text(json.dumps({**json.loads(renewal.read_text()), "renew_at": 0}))
    run("sync")
    assert tokens.read_text() != first
    service.provider.set_groups(dora=[])
    renewal.write_text(json.dumps({**json.loads(renewal.read_text()), "renew_at": 0}))
    assert "your groups open no space here" in run("sync", code=2)
    service.provider.set_groups(dora=["developers"])
    assert "sent 0" in run("sync")
    last = tokens.read_text().strip()
    assert "signed out" in run("team", "logout")
    assert not [*home.glob("team-*.token*")]
    assert service.status(last) == 401
    assert "no token for the team" in run("sync", code=2)


def test_signing_out_ends_the_token_and_the_renewal(service: Service) -> None:
    service.provider.set_groups(ada=["developers"])
    given = service.device("ada")
    assert service.post("end", token=given["token"], renewal=given["renewal"]).json()["ended"]
    assert service.status(given["token"]) == 401
    assert service.post("renew", renewal=given["renewal"]).status_code == 401


def test_a_state_counts_once_and_in_one_browser(service: Service) -> None:
    visitor = Visitor("ada")
    began = visitor.get(f"{service.url}/web/sign-in/provider")
    back = visitor.sign_in(began.headers["location"], f"{service.url}/web/signed-in")
    assert back.status_code == 200
    address = str(back.url)
    cookies = [value for value in began.headers.get_list("set-cookie") if "kinen-sign-in" in value]
    cookie = cookies[0].partition(";")[0]
    again = httpx.get(address, headers={"Cookie": cookie})
    assert again.status_code == 401
    assert "has expired, or was used before" in again.text
    # a link that somebody else got for themselves
    other = Visitor("bob")
    began = other.get(f"{service.url}/web/sign-in/provider")
    on_the_way = other.sign_in(
        began.headers["location"], f"{service.url}/web/signed-in", follow=False
    )
    for browser in (httpx, visitor):
        answer = browser.get(on_the_way.headers["location"])
        assert answer.status_code == 401
        assert "kinen-team=" not in answer.headers.get("set-cookie", "")
    assert other.get(on_the_way.headers["location"]).status_code == 200


def test_keys_are_fetched_again_after_a_rotation(service: Service) -> None:
    service.provider.set_groups(ada=["developers"])
    assert service.device("ada")["token"]
    service.provider.rotate()
    assert service.device("ada")["token"]


def test_a_provider_that_is_down_is_said(service: Service) -> None:
    given = service.device("ada")
    service.provider.stop()
    for answer in (
        service.post("device"),
        service.post("renew", renewal=given["renewal"]),
        httpx.get(f"{service.url}/web/signed-in?state=x&code=y"),
        Visitor("ada").get(f"{service.url}/web/sign-in/provider"),
    ):
        assert answer.status_code in (303, 401, 503)
    assert "the sign-in provider does not answer" in service.post("device").text
    assert service.status(given["token"]) == 200  # who is signed in stays so
    service.provider.start()
