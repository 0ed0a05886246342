"""Posts JSON to a model service and reads its answer, within limits of time and size."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from kinen.distill.process import MOST, Failed
from kinen.ipc.endpoints import is_local
from kinen.text import excerpt


def post(
    url: str,
    payload: dict[str, Any],
    seconds: float,
    headers: Mapping[str, str] | None = None,
    on_block: Callable[[bytes], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The JSON object that a service answers with; raises Failed with the reason otherwise.

    `on_block` is given a streamed answer while it arrives; what it returns last is the whole.
    """
    import httpx

    end = time.monotonic() + seconds
    try:
        with (
            httpx.Client(timeout=seconds, trust_env=not is_local(url)) as client,
            client.stream(
                "POST", url, content=json.dumps(payload).encode(), headers=headers
            ) as response,
        ):
            data = b""
            body: dict[str, Any] | None = None
            for block in response.iter_bytes():
                data += block
                if on_block and response.is_success:
                    on_block(block)
                if time.monotonic() > end or len(data) > MOST:
                    raise Failed(f"no end of its answer within {seconds:g} s and {MOST:,} bytes")
            if on_block and response.is_success:
                body = on_block(b"\n")  # the last line may lack its end
    except httpx.TimeoutException:
        raise Failed(f"no answer within {seconds:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Failed(f"cannot be reached: {excerpt(str(error), 80)}") from None
    return _read(body or parsed(data), response.status_code, success=response.is_success)


def parsed(data: bytes) -> dict[str, Any] | None:
    """A JSON object, or nothing where it is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _read(body: dict[str, Any] | None, status: int, *, success: bool) -> dict[str, Any]:
    fault = body.get("error") if body else ""
    if isinstance(fault, dict):
        fault = fault.get("message") or "error"
    if not success or fault:
        # Services quote the key, or half of it, when they refuse it.
        reason = "" if status in (401, 403) else fault or ""
        raise Failed(excerpt(f"refused with status {status}: {reason}", 120))
    if body is None:
        raise Failed("its answer cannot be read")
    return body


def spoken(text: object) -> str:
    """The answer of a model without its thoughts; raises Failed where there is none."""
    if not isinstance(text, str):
        raise Failed("its answer cannot be read")
    answer = text.rpartition("</think>")[2].strip()
    if not answer:
        raise Failed("its answer is empty")
    return answer


def count(value: object) -> int:
    """A number of tokens as a service reports it; 0 where it does not."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
