"""The parts of a memory, each made when it is first needed."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from kinen import config as configuration
from kinen import paths
from kinen.errors import NotFound, SpaceError, StoreError
from kinen.space import find as spaces
from kinen.storage import inside, private
from kinen.text import path_bytes, spelled

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self, TypeVar

    from kinen.config.keys import Config
    from kinen.index.cache import Cache
    from kinen.index.reader import Reader
    from kinen.index.vectors import Scan
    from kinen.journal.store import Journal
    from kinen.ports import Embedder
    from kinen.space.registry import Space

    Progress = Callable[[str, int, int], None]
    T = TypeVar("T")


BUILT_AGAIN = "move it away and run `kinen index`: kinen makes it again"
FILES = {
    **dict.fromkeys(("index.db", "cache.db", "vectors.bin", "sync.lock", "meta.json"), BUILT_AGAIN),
    "journal.db": "move it away and put the journal back, or `kinen import` an export of it;"
    " new observations wait in the spool",
    "ledger.db": "move it away: kinen begins a new ledger",
}
"""The files of a space, each with what to do where something else has its name."""


class Parts:
    """What every memory is made of."""

    def __init__(
        self,
        space: Space,
        config: Config,
        *,
        models: dict[tuple[object, ...], Embedder | None] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """With `models`, those are shared with other memories; `tell` hears of repairs."""
        self.space = space
        self.config = config
        self._tell = tell
        self._index: Reader | None = None
        self._stored: Cache | None = None
        self._model: Embedder | None = None
        self._models = models
        self._opened = (0, 0)
        self._mendings: list[str] = []
        self._loaded: tuple[str, Scan | None] = ("", None)
        self._log: Journal | None = None
        self._repository: tuple[str, str] | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        space: str | None = None,
        home: str | os.PathLike[str] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> Self:
        """The memory of the space at a path, or of a named one; settings are dotted config keys."""
        data = os.fspath(home) if home else paths.default_home(os.environ)
        start = None if path is None else os.fspath(path)
        if start is not None and not os.path.isdir(start):
            raise SpaceError(f"no folder {start}", "give the folder of a space")
        named = start is not None and space is None
        found = spaces.find(start, name=space, home=data, anyway=named)
        return cls(found, configuration.load(data, found.root, os.environ, settings or {}))

    def close(self) -> None:
        for part in (self._index, self._stored, self._log):
            if part is not None:
                part.close()
        self._index = self._stored = self._log = None
        self._loaded = ("", None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Parts, each made when it is first needed

    @property
    def _reader(self) -> Reader:
        if self._index is None:
            from kinen.index.reader import Reader

            path = self._file("index.db")
            self._index = Reader(path)
            self._opened = private.identity(path)
        return self._index

    def renew(self) -> None:
        """Let go of an index that was put in place of another one since it was opened."""
        if self._index is not None and private.identity(self._file("index.db")) != self._opened:
            self.close()

    @property
    def _journal(self) -> Journal:
        if self._log is None:
            from kinen.journal.store import Journal

            if not self.space.roots:
                self.space = spaces.register(self.space)
            self._file("journal.db")
            self._log = Journal(self.space.data, self._spools)
        return self._log

    def _waiting(self) -> list[str]:
        """Files of observations that could not be written yet."""
        from kinen.journal.spool import waiting

        return waiting(self._spools)

    @property
    def _spools(self) -> list[str]:
        ids = (self.space.id, *(one for one in self.space.aliases if len(one) == 64))
        return [os.path.join(self.space.home, "spool", one[:16]) for one in ids]

    @property
    def _git(self) -> tuple[str, str]:
        """The folders of the repository around the space: its own, and what worktrees share."""
        if not (self._repository and self._repository[0]):  # one may be made at any time
            from kinen.space.repository import git_above

            git = git_above(self.space.root)
            self._repository = (git.folder, git.common) if git else ("", "")
        return self._repository

    @property
    def _cache(self) -> Cache:
        if self._stored is None:
            from kinen.index.cache import Cache

            self._stored = Cache(self._file("cache.db"))
        return self._stored

    @property
    def _embedder(self) -> Embedder | None:
        if self._models is not None:
            key = tuple(self.config.index)
            if key not in self._models:
                self._models[key] = self._load(None)
            return self._models[key]
        if self._model is None:
            self._model = self._load((self.space.home, self.space.root))
        return self._model

    def _load(self, daemon: tuple[str, str] | None) -> Embedder | None:
        from kinen.embed import load

        settings = self.config.index
        return load(
            settings.embedding_provider,
            model=settings.embedding_model,
            endpoint=settings.embedding_endpoint,
            api_key=os.environ.get(settings.embedding_key_env, ""),
            path=settings.embedding_path,
            timeout=settings.embedding_timeout,
            daemon=daemon,
        )

    def _scan(self, embedder: Embedder) -> Scan | None:
        from kinen.index import vectors

        model, generation = embedder.fingerprint, self._reader.meta("generation")
        if self._loaded[0] != f"{model}:{generation}":
            file = self._file("vectors.bin")
            scan = vectors.load(file, self._reader.db, self._cache, model, generation)
            self._loaded = (f"{model}:{generation}", scan)
        return self._loaded[1]

    def _file(self, name: str) -> str:
        """The path of a file or folder of kinen's own for this space.

        Something else in the place of a file is refused here, with what to do about it.
        """
        path = os.path.join(private.folder(self.space.data), name)
        if name in FILES:
            refuse_other_than_file(path, FILES[name])
        return path

    def _inside(self, path: str) -> str:
        """A path relative to the space; one that leads outside is refused."""
        if "\0" in path:
            raise NotFound(f"no file has a NUL byte in its name: {path!r}", "give a path")
        path = os.fsdecode(path_bytes(path))
        root = os.path.realpath(self.space.root)
        places = [path, os.path.join(root, path)]
        full = next((place for place in places if os.path.exists(place)), places[1])
        relative = inside.relative(root, full)
        if not relative:
            raise NotFound(f"{path} is outside the space {root}", "give a path inside it")
        return spelled(relative)


def refuse_other_than_file(path: str, hint: str) -> None:
    """Raise StoreError where a path is a folder, a pipe or a device."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise StoreError(f"{path} is {what}", hint)
