"""The client of a call, as tools see it on every transport."""

from __future__ import annotations

from typing import Any, Protocol


class Client(Protocol):
    """Who calls a tool, and how to ask them something while the call is answered."""

    name: str
    capabilities: dict[str, Any]
    modern: bool
    """Whether it repeats a call with `responses`, instead of answering requests."""
    responses: dict[str, dict[str, Any]]

    async def request(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """What it answers; raises Refused or TimeoutError."""

    def report(self, progress: float, total: float, message: str) -> None:
        """Send the progress of the call; from any thread."""


class Refused(Exception):
    """The client answered a request with an error, or not in the form of the protocol."""


class InputRequired(Exception):
    """A modern client has to answer these requests, and to repeat the call with the answers."""

    def __init__(self, requests: dict[str, dict[str, Any]]) -> None:
        super().__init__(*requests)
        self.requests = requests
