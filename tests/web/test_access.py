"""Who may see a page or send a form: a browser that has opened a one-time link, and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from daemon.served import TOKEN
from kinen.http import routes_web
from kinen.http.guard import KEY_SECONDS, SESSION_SECONDS, Browsers
from kinen.web.site import ACTIONS, VIEWS

if TYPE_CHECKING:
    from web.conftest import Site


@pytest.fixture
def site(read_site: Site) -> Site:
    """No test here changes the space."""
    return read_site


def test_a_link_opens_the_pages_once(site: Site) -> None:
    link = site.link()
    first = httpx.get(link)
    assert first.status_code == 200
    assert "/web/s/parcelry/today" in first.text
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/web/" in cookie
    again = httpx.get(link)
    assert again.status_code == 401
    assert "run <code>kinen web</code> again" in again.text
    assert "set-cookie" not in again.headers


def test_keys_and_sessions_expire() -> None:
    now = [0.0]
    browsers = Browsers(lambda: now[0])
    assert browsers.end == 0
    late = browsers.issue("/web/")
    assert browsers.end == KEY_SECONDS
    cookie, place = browsers.redeem(browsers.issue("/web/s/a/search"))
    assert place == "/web/s/a/search"
    now[0] += KEY_SECONDS + 1
    assert browsers.redeem(late) == ("", "")
    session = browsers.session(cookie)
    assert session
    now[0] += SESSION_SECONDS - 1
    assert browsers.session(cookie) is session
    assert browsers.end == now[0] + SESSION_SECONDS
    now[0] += SESSION_SECONDS + 1
    assert browsers.session(cookie) is None
    assert browsers.end == 0


@pytest.mark.parametrize("path", ["/web/", "/web/s/parcelry/search", "/web/events", "/web/nothing"])
def test_pages_need_the_cookie(site: Site, path: str) -> None:
    refused = httpx.get(site.origin + path)
    assert refused.status_code == 401
    assert refused.headers["content-type"].startswith("text/html")
    with_token = httpx.get(site.origin + path, headers={"Authorization": f"Bearer {TOKEN}"})
    assert with_token.status_code == 401


def test_the_cookie_opens_no_endpoint_of_the_api(site: Site) -> None:
    assert site.client.get("/v1/health").status_code == 401
    assert site.client.get("/v1/search", params={"query": "redis"}).status_code == 401
    origin = {"Origin": site.origin}
    assert site.client.post("/v1/web", headers=origin).status_code == 401


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Host": "evil.example:80"}, "foreign Host"),
        ({"Origin": "http://evil.example"}, "another origin"),
        ({"Origin": "null"}, "another origin"),
        ({"Sec-Fetch-Site": "cross-site"}, "another origin"),
        ({"Sec-Fetch-Site": "same-site"}, "another origin"),
        ({"Sec-Fetch-Dest": "iframe"}, "frames"),
        ({"Sec-Fetch-Dest": "object"}, "frames"),
    ],
)
def test_pages_of_other_sites_and_frames_are_refused(
    site: Site, headers: dict[str, str], reason: str
) -> None:
    answer = site.client.get("/web/s/parcelry/search", headers=headers)
    assert answer.status_code == 403
    assert reason in answer.text


def test_a_page_of_another_port_is_refused(site: Site) -> None:
    headers = {"Origin": f"http://127.0.0.1:{site.port + 1}", "Sec-Fetch-Site": "same-site"}
    assert site.client.get("/web/s/parcelry/search", headers=headers).status_code == 403
    assert site.client.post("/web/s/parcelry/record/pin", headers=headers).status_code == 403


def test_every_response_has_the_policy(site: Site) -> None:
    answers = [
        site.get("search"),
        site.get("no-such-page"),
        httpx.get(f"{site.origin}/web/s/parcelry/search"),
        site.client.get("/web/static/pages.js"),
        site.client.get("/web/static/pages.css"),
    ]
    assert [answer.status_code for answer in answers] == [200, 404, 401, 200, 200]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
    assert "content-security-policy" not in site.client.get("/v1/health").headers


def test_forms_have_one_door() -> None:
    writing = [
        route
        for route in routes_web.pages.routes
        if set(getattr(route, "methods", ())) - {"GET", "HEAD"}
    ]
    assert [getattr(route, "path", "") for route in writing] == ["/web/s/{space}/{page}/{action}"]


@pytest.mark.parametrize("action", [*ACTIONS, "record/nothing"])
def test_a_form_without_the_token_changes_nothing(site: Site, action: str) -> None:
    for token in ("", "wrong"):
        answer = site.post(action, token=token, ref="notes/oncall.md")
        assert answer.status_code == 403
        assert "token of this session" in answer.text
    path = f"/web/s/parcelry/{action}"
    good = {"token": site.token(), "ref": "notes/oncall.md"}
    assert site.client.post(path, data=good).status_code == 403, "no Origin"
    foreign = {"Origin": "http://evil.example"}
    assert site.client.post(path, data=good, headers=foreign).status_code == 403
    own = {"Origin": site.origin}
    assert site.client.post(path, json=good, headers=own).status_code == 400
    with site.memory() as memory:
        assert memory.journal.entries("pins")[0] == []


def test_the_token_of_another_session_is_refused(site: Site) -> None:
    token = site.token()
    site.client.cookies.clear()
    site.sign_in()
    assert site.token() != token
    assert site.post("record/pin", token=token, ref="notes/oncall.md").status_code == 403


def test_two_cookies_of_one_name_are_no_session(site: Site) -> None:
    name, value = next(iter(site.client.cookies.items()))
    site.client.cookies.clear()
    headers = {"Cookie": f"{name}={value}; {name}={value}"}
    assert site.client.get("/web/s/parcelry/search", headers=headers).status_code == 401


def test_only_files_of_the_package_are_static(site: Site) -> None:
    for name in ("..%2fhtml.py", "%2e%2e/html.py", "html.py", "pages.css%00"):
        assert site.client.get(f"/web/static/{name}").status_code in (401, 404)


def test_every_page_has_landmarks_and_no_inline_code(site: Site) -> None:
    for name in VIEWS.keys() - {"injection"}:  # nothing was sent here
        note = "notes/oncall.md"
        page = site.page(name, ref=note, path=note, id="last", target=f"{note}:1")
        assert page.count("<main") == page.count("<h1") == 1, name
        assert '<nav aria-label="Pages">' in page
        assert "style=" not in page
        assert " on" not in page.partition("<main")[0].replace(" only", "")
        assert "<script>" not in page
