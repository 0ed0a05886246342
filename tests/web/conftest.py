"""A server with the demo space, and a client that has opened its link."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest

from daemon.served import TOKEN, Project, opened, serving, tcp_door
from kinen.http import guard
from kinen.http.app import create_app
from kinen.http.guard import Access
from kinen.http.space import Hub
from kinen.memory import Memory
from kinen.memory.pool import MemoryPool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Site:
    """A served project, as a browser sees it."""

    def __init__(self, project: Project, port: int) -> None:
        self.project = project
        self.port = port
        self.origin = f"http://127.0.0.1:{port}"
        self.client = httpx.Client(base_url=self.origin, timeout=300)
        self.space = "parcelry"

    def link(self) -> str:
        """A one-time link to the pages of the space."""
        headers = {"Authorization": f"Bearer {TOKEN}", "X-Kinen-Space": str(self.project.root)}
        answer = httpx.post(f"{self.origin}/v1/web", headers=headers, timeout=300)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["url"])

    def sign_in(self) -> None:
        assert self.client.get(self.link()).status_code == 200

    def path(self, page: str) -> str:
        """The path of a page of the space, or of one of all spaces: `all/search`."""
        return f"/web/s/{page}" if page.startswith("all/") else f"/web/s/{self.space}/{page}"

    def get(self, page: str, **query: Any) -> httpx.Response:
        return self.client.get(self.path(page), params=query)

    def page(self, page: str, **query: Any) -> str:
        answer = self.get(page, **query)
        assert answer.status_code == 200, answer.text
        return answer.text

    def token(self) -> str:
        """The token that forms of this session have."""
        session = Site.token_of(self.page("record", ref="notes/oncall.md"))
        assert session
        return session

    @staticmethod
    def token_of(page: str) -> str:
        match = re.search(r'name="token" value="([^"]+)"', page)
        return match[1] if match else ""

    def post(self, action: str, *, token: str | None = None, **fields: str) -> httpx.Response:
        data = {"token": self.token() if token is None else token, **fields}
        path = f"/web/s/{self.space}/{action}"
        return self.client.post(path, data=data, headers={"Origin": self.origin})

    def memory(self) -> Memory:
        return Memory.open(self.project.root)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    project = Project(tmp_path)
    project.enter(monkeypatch)
    (project.root / ".kinen").mkdir()
    return project


@pytest.fixture
def site(project: Project) -> Iterator[Site]:
    """A server for the project, signed in."""
    with project_memory(project) as memory:
        memory.sync()
    with served(project) as site:
        yield site


@pytest.fixture(scope="session")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server for tests that change nothing, one for all of them."""
    with pytest.MonkeyPatch.context() as patch:
        project = Project(tmp_path_factory.mktemp("shared"))
        project.enter(patch)
        (project.root / ".kinen").mkdir()
        with project_memory(project) as memory:
            memory.sync()
        with served(project) as site:
            patch.undo()
            yield site
            project.enter(patch)


@pytest.fixture
def read_site(shared_site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The shared server, and a client of this test alone that is signed in."""
    shared_site.project.enter(monkeypatch)
    site = Site(shared_site.project, shared_site.port)
    site.sign_in()
    yield site
    site.client.close()


@contextmanager
def served(project: Project) -> Iterator[Site]:
    """A server for a project, and a client that is signed in."""
    door, port = tcp_door()
    hub = Hub()
    pool = MemoryPool(opened)
    app = create_app(pool, hub=hub, state=lambda: {"pid": 1}, access=Access(TOKEN, port))
    with pytest.MonkeyPatch.context() as patch, serving(app, door):
        patch.setattr(guard, "RESPONSE_SECONDS", 300.0)  # of a busy machine
        site = Site(project, port)
        site.sign_in()
        yield site
        site.client.close()
        hub.close()
    with ThreadPoolExecutor(1) as thread:  # Playwright has a loop in this one
        thread.submit(anyio.run, pool.close).result()


def project_memory(project: Project) -> Memory:
    return Memory.open(project.root)
