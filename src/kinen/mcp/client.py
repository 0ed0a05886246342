"""How a client ends a request of the server while a call is answered."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """The client answered a request with an error, or not in the form of the protocol."""


class InputRequired(Exception):
    """A modern client has to answer these requests, and to repeat the call with the answers."""

    def __init__(self, requests: dict[str, dict[str, Any]]) -> None:
        super().__init__(*requests)
        self.requests = requests
