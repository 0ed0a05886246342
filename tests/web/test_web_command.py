"""`kinen web` with a daemon of its own, as a person starts it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def stopped(kinen: Any) -> Iterator[None]:
    """Whatever a test starts is stopped after it."""
    yield
    kinen("daemon", "stop")


def test_a_link_works_once_and_its_browser_stays_signed_in_through_a_restart(
    space: Path, kinen: Any, stopped: None
) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    first = kinen("web", "--no-open")
    assert first.code == 0, first.err
    url = httpx.URL(first.out.strip())
    assert url.host == "127.0.0.1"
    origin = str(url.copy_with(path="/", query=None)).rstrip("/")
    with httpx.Client(base_url=origin, timeout=60, headers={"Origin": origin}) as browser:
        assert browser.get("/web/").status_code == 401
        welcome = browser.get(url)
        assert welcome.status_code == 200
        place = re.search(r"(/web/s/[^/\"]+/)today", welcome.text)
        assert place, welcome.text
        cookies = list(browser.cookies.jar)
        assert [cookie.path for cookie in cookies] == ["/web/"]
        assert all(cookie.has_nonstandard_attr("HttpOnly") for cookie in cookies)
        page = browser.get(f"{place[1]}search", params={"q": "kettle"})
        while page.status_code == 200 and "whistles" not in page.text:  # the daemon indexes
            page = browser.get(f"{place[1]}search", params={"q": "kettle"})
        assert page.status_code == 200, (place[0], page.text)
        assert str(url) not in page.text
        state = json.loads(kinen("daemon", "status", "--json").out)
        # it does not exit while a browser is signed in
        assert state["daemon"]["idle_seconds_left"] > 11 * 3600
        second = json.loads(kinen("web", "--no-open", "--json").out)
        assert httpx.URL(second["url"]).port == url.port  # the daemon that runs was asked
        assert second["url"] != str(url)
        assert second["opened"] is False
        check_restart(browser, f"{place[1]}health", kinen)
    assert httpx.get(url, timeout=60).status_code == 401


def check_restart(browser: httpx.Client, health: str, kinen: Any) -> None:
    """The button of Health restarts the daemon, with its port and this browser."""
    before = json.loads(kinen("daemon", "status", "--json").out)["daemon"]
    token = re.search(r'name="token" value="([^"]+)"', browser.get(health).text)
    assert token
    action = f"{health}/restart"
    data = {"token": token[1]}
    assert browser.post(action, data={"token": "wrong"}).status_code == 403
    foreign = {"Origin": "http://127.0.0.1:1"}
    assert browser.post(action, data=data, headers=foreign).status_code == 403
    again = browser.post(action, data=data, follow_redirects=True)
    assert again.status_code == 200
    assert "The daemon was restarted." in again.text
    after = None
    while after is None:  # its socket is opened after the port of the pages
        after = json.loads(kinen("daemon", "status", "--json").out)["daemon"]
    assert after["started"] > before["started"]
    assert (after["pid"], after["port"]) == (before["pid"], before["port"])
    assert browser.post(action, data=data).status_code == 403, "the token of before"
    log = kinen("daemon", "logs").out
    assert token[1] not in log
    assert "Traceback" not in log
