"""Addresses of model services."""

from __future__ import annotations

from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def is_local(url: str) -> bool:
    """Whether a service is on this machine, and is reached without a proxy."""
    return urlsplit(url).hostname in LOOPBACK


def with_version(url: str, resource: str) -> str:
    """The base address of a service that speaks OpenAI's protocol.

    `resource` is removed from its end, and `/v1` is added if there is no version.
    """
    base = url.rstrip("/").removesuffix(resource)
    segments = urlsplit(base).path.split("/")
    versioned = any(part[:1] == "v" and part[1:2].isdigit() for part in segments)
    return base if versioned else f"{base}/v1"
