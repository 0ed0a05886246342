"""The key with which a home seals its exports, so that it knows them again.

Anybody can write a digest of a bundle; a seal needs the key. It is a private file of the home and
in no export. A home without it, or with a damaged one, has no bundles of its own.
"""

from __future__ import annotations

import contextlib
import hmac
import os

from kinen.ids import ulid
from kinen.storage import private

FILE = "seal.key"
BYTES = 32


def own_key(home: str) -> bytes:
    """The key of a home; empty if there is none, or if it is damaged or cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        key = bytes.fromhex(private.read(os.path.join(home, FILE)).decode("ascii"))
        if len(key) == BYTES:
            return key
    return b""


def sealing_key(home: str) -> bytes:
    """The key for an export, made on first use.

    Where there can be none, the export has a seal that fits no key.
    """
    path = os.path.join(home, FILE)
    if not os.path.lexists(path):
        draft = f"{path}.{ulid()}"
        with contextlib.suppress(OSError):  # a full disk, or a home that is read only
            private.write(draft, f"{os.urandom(BYTES).hex()}\n")
            try:
                os.link(draft, path)  # whole, and never over the key of another process
            except FileExistsError:
                pass
            except OSError:  # no links on this file system
                os.replace(draft, path)
            os.unlink(draft)
    return own_key(home) or os.urandom(BYTES)


def new_seal(key: bytes) -> hmac.HMAC:
    """A seal that is fed with the bytes of a bundle; its `hexdigest` is the last line."""
    return hmac.new(key, digestmod="sha256")
