"""A real OpenID provider, `oidc-provider` from npm, and a person in front of its pages."""

from __future__ import annotations

import fcntl
import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
from joserfc.jwk import RSAKey

from team_service import free_port

VERSION = "9.13.3"
TOP = Path(__file__).parents[1]
SECRET = "the secret of the client at the provider"
QUICKLY = ("--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--fetch-retries=1")


class Missing(Exception):
    """There is no provider here, and why."""


def modules() -> Path:
    """The folder where the provider is installed, once."""
    place = Path(os.environ.get("KINEN_OIDC_PROVIDER") or TOP / "build" / "oidc-provider")
    if not shutil.which("npm") or not shutil.which("node"):
        raise Missing("npm is not installed")
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        about = place / "node_modules" / "oidc-provider" / "package.json"
        if not about.exists() or json.loads(about.read_text())["version"] != VERSION:
            line = ["npm", "install", *QUICKLY, "--prefix", str(place), f"oidc-provider@{VERSION}"]
            done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
            if done.returncode:
                raise Missing(f"npm does not answer: {done.stderr.strip()[-200:]}")
    return place


def signing_key(name: str) -> dict[str, Any]:
    return dict(
        RSAKey.generate_key(2048, {"kid": name, "use": "sig", "alg": "RS256"}).as_dict(True)
    )


class OpenProvider:
    """The provider as a process; its people have any password."""

    def __init__(self, folder: Path, url: str, *, userinfo: bool = False) -> None:
        self._port = free_port()
        self.issuer = f"http://localhost:{self._port}"
        self._file = folder / "provider.json"
        self._settings: dict[str, Any] = {
            "modules": str(modules()),
            "port": self._port,
            "url": url,
            "secret": SECRET,
            "userinfo": userinfo,
            "keys": [signing_key("first")],
            "people": {},
        }
        self.process: subprocess.Popen[str] | None = None

    def set_groups(self, **people: list[str] | None) -> None:
        """Say who is in which groups; None is no account."""
        known = self._settings["people"]
        for name, groups in people.items():
            known[name] = {"preferred_username": name, "groups": groups}
            if groups is None:
                del known[name]
        self._write()

    def rotate(self) -> None:
        """Sign with another key, as a provider that was started again."""
        self.stop()
        self._settings["keys"] = [signing_key("second")]
        self.start()

    def _write(self) -> None:
        draft = self._file.with_suffix(".new")
        draft.write_text(json.dumps(self._settings))
        draft.replace(self._file)

    def start(self) -> None:
        self._write()
        line = ["node", str(TOP / "tests" / "team" / "provider.mjs"), str(self._file)]
        self.process = subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout
        text = ""
        while not text.endswith("ready\n"):
            line_ = self.process.stdout.readline()
            text += line_
            assert line_, text

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.communicate()


class Visitor:
    """A browser of somebody who fills in the provider's forms."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._client = httpx.Client(timeout=30, limits=httpx.Limits(max_keepalive_connections=0))

    def sign_in(self, address: str, until: str, *, follow: bool = True) -> httpx.Response:
        """Follow links and fill in forms up to the first answer from an address, or its text.

        Without `follow` up to the redirect that leads to that address.
        """
        answer = self._client.get(address)
        for _ in range(30):
            place = str(answer.url)
            if place.startswith(until) if until.startswith("http") else until in answer.text:
                return answer
            if answer.is_redirect:
                place = urljoin(str(answer.url), answer.headers["location"])
                if not follow and place.startswith(until):
                    return answer
                answer = self._client.get(place)
                continue
            form = re.search(r"<form.*?</form>", answer.text, re.DOTALL)
            assert form, answer.text
            action = re.search(r'action="([^"]*)"', form[0])
            fields = dict(re.findall(r'name="([^"]+)"[^>]*value="([^"]*)"', form[0]))
            fields |= {"login": self._name, "password": "x"} if "password" in form[0] else {}
            target = urljoin(str(answer.url), html.unescape(action[1]) if action else "")
            answer = self._client.post(target, data=fields)
        raise AssertionError(answer.text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)
