"""Addresses of model services."""

from __future__ import annotations

from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def is_local(url: str) -> bool:
    """Is a service on this machine? Then it is not the proxy's business."""
    return urlsplit(url).hostname in LOOPBACK


def with_version(url: str, resource: str) -> str:
    """The base address of a service that speaks OpenAI's protocol.

    `resource` is cut off its end, and `/v1` is added where no version is named.
    """
    base = url.rstrip("/").removesuffix(resource)
    segments = urlsplit(base).path.split("/")
    versioned = any(part[:1] == "v" and part[1:2].isdigit() for part in segments)
    return base if versioned else f"{base}/v1"
