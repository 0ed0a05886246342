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


def test_a_link_of_a_new_daemon_works_once_and_leaves_a_cookie(
    space: Path, kinen: Any, stopped: None
) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    first = kinen("web", "--no-open")
    assert first.code == 0, first.err
    url = httpx.URL(first.out.strip())
    assert url.host == "127.0.0.1"
    with httpx.Client(base_url=str(url.copy_with(path="/", query=None)), timeout=60) as browser:
        assert browser.get("/web/").status_code == 401
        welcome = browser.get(url)
        assert welcome.status_code == 200
        search = re.search(r"/web/s/[^/\"]+/search", welcome.text)
        assert search, welcome.text
        cookies = list(browser.cookies.jar)
        assert [cookie.path for cookie in cookies] == ["/web/"]
        assert all(cookie.has_nonstandard_attr("HttpOnly") for cookie in cookies)
        page = browser.get(search[0], params={"q": "kettle"})
        assert page.status_code == 200, (search[0], page.text)
        assert "whistles" in page.text
        assert str(url) not in page.text
    assert httpx.get(url, timeout=60).status_code == 401
    second = json.loads(kinen("web", "--no-open", "--json").out)
    assert httpx.URL(second["url"]).port == url.port  # the daemon that runs was asked
    assert second["url"] != str(url)
    assert second["opened"] is False
