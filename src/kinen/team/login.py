"""Signing in to a team's server from a command line, and renewing what the server gave."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kinen.errors import Busy, ConfigError, KinenError, StoreError
from kinen.ipc.client import hold
from kinen.storage import private

if TYPE_CHECKING:
    from kinen.team.client import Server

SIGN_IN = "/v1/team/sign-in"
RENEWAL = ".renewal"
"""Ends the name of the file beside a token's: what renews it, and when."""
LOCK = "team.lock"
SLOWER_SECONDS = 5
"""What a provider that asks for patience gets (RFC 8628)."""


def provider(server: Server) -> str:
    """Where people sign in to a server; empty if it takes tokens only."""
    try:
        return str(server.request("GET", SIGN_IN).get("provider") or "")
    except Busy:
        raise
    except StoreError:  # an older server
        return ""


def sign_in(
    server: Server, file: str, show: Callable[[str, str], None], sleep: Callable[[float], None]
) -> str:
    """Show an address and a code, wait until somebody typed it there, and keep the token.

    Returns the person's name in the team.
    """
    device = server.request("POST", f"{SIGN_IN}/device", json={})
    code = device.get("device_code")
    address = device.get("verification_uri_complete") or device.get("verification_uri")
    if type(code) is not str or type(address) is not str or not address.startswith("http"):
        raise StoreError("the team's server sent no code", "check team.url")
    show(address, str(device.get("user_code", "")))
    pause = _number(device, "interval", 5)
    end = time.monotonic() + _number(device, "expires_in", 600)
    while time.monotonic() < end:
        sleep(pause)
        answer = server.request("POST", f"{SIGN_IN}/token", json={"device_code": code})
        if not answer.get("pending"):
            return _keep(file, answer)
        pause += SLOWER_SECONDS * bool(answer.get("slow_down"))
    raise ConfigError("nobody signed in in time", "run `kinen team login` again")


def renewed(file: str, connect: Callable[[], Server]) -> None:
    """Renew the token of a file where half of its time is over; raises what the server refuses.

    While the server or its provider cannot be reached, the token goes on to its end.
    """
    try:
        state = json.loads(private.read(file + RENEWAL))
    except (OSError, ValueError):
        return  # a token that was pasted
    if time.time() < state["renew_at"] or not state["renewal"]:
        return
    lock = hold(os.path.dirname(file), LOCK)
    if lock is None:
        return  # another process renews it
    server = connect()
    try:
        answer = server.request("POST", f"{SIGN_IN}/renew", json={"renewal": state["renewal"]})
        _keep(file, answer)
    except Busy:
        return
    finally:
        server.close()
        os.close(lock)


def sign_out(file: str, connect: Callable[[], Server]) -> bool:
    """Remove the token of a file; whether the server has ended it, too."""
    values = {}
    with suppress(OSError, ValueError):
        values["renewal"] = json.loads(private.read(file + RENEWAL))["renewal"]
    with suppress(OSError):
        values["token"] = private.read(file).decode("ascii", "replace").strip()
    forget(file)
    if not values.get("token"):
        return False
    server = connect()
    try:
        return bool(server.request("POST", f"{SIGN_IN}/end", json=values).get("ended"))
    except KinenError:
        return False
    finally:
        server.close()


def forget(file: str) -> None:
    """Remove a token and what renews it."""
    for path in (file, file + RENEWAL):
        with suppress(FileNotFoundError):
            os.unlink(path)


def _keep(file: str, answer: dict[str, Any]) -> str:
    token = answer.get("token")
    person = answer.get("person")
    if type(token) is not str or not token.startswith("kinen_") or type(person) is not str:
        raise StoreError("the team's server sent no token", "check team.url")
    half = _number(answer, "hours", 1) * 3600 / 2
    state = {"renewal": str(answer.get("renewal") or ""), "renew_at": time.time() + half}
    # first: without the token that comes with it, it is still good for another
    private.write(file + RENEWAL, json.dumps(state))
    private.write(file, token + "\n")
    return person


def _number(body: dict[str, Any], name: str, usual: float) -> float:
    value = body.get(name)
    fits = isinstance(value, int | float) and 0 < value < 1e6
    return float(value) if fits else usual  # type: ignore[arg-type]
