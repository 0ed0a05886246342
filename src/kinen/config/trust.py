"""Which config files of spaces the user trusts, each with the digest of its bytes; and which
spaces, each with its id.

A file that came by `git clone` may not choose endpoints or models until the user trusts it, and no
agent is told at its start what the repository says. These are two decisions.
"""

from __future__ import annotations

import os

from kinen.config.file import content, digest_of
from kinen.storage import tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Path = str | os.PathLike[str]


def trust(home: Path, file: Path) -> None:
    """Trust a file as it is now; after any change it is no longer trusted."""
    key = os.path.realpath(file)
    digest = digest_of(content(file))
    tables.update(os.fspath(home), "trust", lambda table: table.update({key: digest}))


def revoke(home: Path, path: Path) -> None:
    """Trust a file, or what the space in a folder says, no longer."""
    key = os.path.realpath(path)
    tables.update(os.fspath(home), "trust", lambda table: table.pop(key, None))


def is_trusted(home: Path, file: Path) -> bool:
    """Whether a file is trusted as it is now."""
    return os.path.isfile(file) and trusts(home, file, digest_of(content(file)))


def trusts(home: Path, file: Path, digest: str) -> bool:
    """Whether a file was trusted when its bytes had this digest."""
    return bool(tables.read(os.fspath(home), "trust").get(os.path.realpath(file)) == digest)


def trust_memory(home: Path, root: Path, id_: str) -> None:
    """Trust what the files, commits and issues of a space say, now and later."""
    key = os.path.realpath(root)
    tables.update(os.fspath(home), "trust", lambda table: table.update({key: id_}))


def trusts_memory(home: Path, root: Path, ids: Iterable[str]) -> bool:
    """Whether a space is trusted; another repository in the same folder has another id."""
    return tables.read(os.fspath(home), "trust").get(os.path.realpath(root)) in {*ids}
