"""What all parts of a memory share: its space, its settings and its open files."""

from __future__ import annotations

import os

from kinen.errors import KinenError, NotFound
from kinen.ipc import extras
from kinen.model.kinds import BUILT_IN
from kinen.space import find as spaces
from kinen.storage import private
from kinen.storage.sqlite import sqlite3
from kinen.text import digest, path_bytes, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from kinen.config.keys import Config, IndexSection
    from kinen.index.cache import Cache
    from kinen.index.fence import Fence
    from kinen.index.reader import Reader
    from kinen.index.vectors import Scan
    from kinen.journal.mark import Erasures
    from kinen.journal.store import Journal as Store
    from kinen.journal.tally import Census
    from kinen.ports import Embedder
    from kinen.space.registry import Space

    Progress = Callable[[str, int, int], None]


BUILT_AGAIN = "move it away and run `kinen index`: kinen makes it again"
FILES = {
    **dict.fromkeys(("index.db", "cache.db", "vectors.bin", "sync.lock", "meta.json"), BUILT_AGAIN),
    "journal.db": "move it away and put the journal back, or `kinen import` an export of it;"
    " new observations wait in the spool",
    "ledger.db": "move it away: kinen begins a new ledger",
}
"""The files of a space, each with what to do where something else has its name."""


SHARED = ("journal.db", "ledger.db")
"""Files that all clones and worktrees of a repository share."""

if TYPE_CHECKING:
    from functools import cached_property as Opened  # noqa: N812
else:

    class Opened:
        """functools.cached_property without its lock: before Python 3.12 all memories share it."""

        def __init__(self, function):
            self._function = function

        def __get__(self, core, _):
            value = core.__dict__[self._function.__name__] = self._function(core)
            return value


class Core:
    """The files of one space, each opened when it is first used."""

    def __init__(
        self,
        space: Space,
        config: Config,
        models: dict[tuple[object, ...], Embedder | None] | None = None,
        on_repair: Callable[[str], None] | None = None,
    ) -> None:
        """Embedders in `models` are shared with other memories; `on_repair` gets repairs."""
        self.space = space
        self.config = config
        self.data = space.data
        """The folder of what all clones and worktrees of the space share."""
        self.folder = space.index_folder(config.index.path)
        """The folder of everything that is derived from this clone or worktree."""
        self.on_repair = on_repair
        self.words_first: Callable[[], None] | None = None
        """Called where words answer a question because the model is not loaded, to have it loaded
        for the next one; None if every question waits for the model."""
        self.on_vectors: Callable[[], None] | None = None
        """Called before vectors are put into memory, and with them numpy."""
        self.frozen = False
        """Whether questions are answered from the index as it is: nothing is indexed for them."""
        self.progress: Callable[[], AbstractContextManager[Progress]] | None = None
        """Shows how far indexing is, where nobody else does."""
        self.on_wait: Callable[[str], None] | None = None
        """Gets who indexes the space, if another process is waited for."""
        self.repairs: list[str] = []
        self.closers: list[Callable[[], None]] = []
        """What parts have to close besides the files here."""
        self.loaded_vectors: tuple[str, Scan | None] = ("", None)
        self._units = ("", 0)
        self._models = {} if models is None else models
        self._daemon = (space.home, space.root) if models is None else None
        self._reader_identity = (0, 0)
        self._versions: tuple[int, tuple[int, ...]] | None = None
        self._git_folders: tuple[str, str] | None = None

    def close(self) -> None:
        for close in self.closers:
            close()
        self.__dict__.pop("fence", None)
        self._versions = None
        # What writes to the journal last: the last connection to a database empties its log, if it
        # may write. A log of a large import would be read anew by each hook.
        for name in ("opened_reader", "cache", "erasures", "store"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()
        self.loaded_vectors = ("", None)

    def is_replaced(self) -> bool:
        """Whether another index was put in place of the one that is open."""
        if "opened_reader" not in self.__dict__:
            return False
        return private.identity(self.file("index.db")) != self._reader_identity

    @property
    def reader(self) -> Reader:
        """The index, without what was erased, hidden or excluded since it was written."""
        reader = self.opened_reader
        try:
            versions = (reader.version(), self.erasures.version())
            if versions == self._versions:
                return reader
            cleaned, globs = reader.cleaned()
            refs, _ = self.erasures.since(cleaned)
        except sqlite3.Error:
            return reader  # damaged: whoever needs it reports that
        new = tuple(glob for glob in self.excluded if glob not in globs)
        if refs or new or "fence" in self.__dict__:
            self.fence.put(refs, new)
        self._versions = versions
        return reader

    @Opened
    def opened_reader(self) -> Reader:
        """The index as it is; its texts may be of what was erased since."""
        from kinen.index.reader import Reader

        path = self.file("index.db")
        reader = Reader(path)
        self._reader_identity = private.identity(path)
        return reader

    @Opened
    def excluded(self) -> tuple[str, ...]:
        """The globs of `privacy.exclude` that were added to the defaults.

        An index may be older than these; of the defaults nothing was ever captured.
        """
        always = type(self.config.privacy)().exclude
        return tuple(glob for glob in self.config.privacy.exclude if glob not in always)

    @Opened
    def fence(self) -> Fence:
        """What the index still has and nobody is shown."""
        from kinen.index.fence import Fence

        return Fence(self.opened_reader.db)

    def hides(self) -> tuple[object, ...]:
        """What the index has and its reader does not show now."""
        return self.fence.hides if self.reader and "fence" in self.__dict__ else ()

    @Opened
    def erasures(self) -> Erasures:
        """What the journal erased and hid."""
        from kinen.journal.mark import Erasures

        return Erasures(self.file("journal.db"))

    @Opened
    def store(self) -> Store:
        """The journal."""
        from kinen.journal.store import Journal

        # Take in what happened in the folder before it was a space.
        places = self.early_places()
        if places:
            from kinen.agents.adopt import adopt

            self.register()
            repo = self.space.origin or self.space.name
            excluded = self.config.privacy.exclude
            adopt(places, self.spools[0], repo, excluded, self.space.root)
        self.file("journal.db")
        return Journal(self.data, self.spools, on_write=self.register, history=self._made_commits)

    def has_journal(self) -> bool:
        """Whether the journal has anything, or will once it is opened."""
        there = os.path.exists(self.file("journal.db"))
        return bool(there or self.waiting() or self.early_places())

    def _made_commits(
        self, before: str, heads: Sequence[str], since: int
    ) -> list[tuple[str, str]] | None:
        """The commits that git has of those that a session made: see `made_commits`."""
        from kinen.sources.git.recent import made_commits
        from kinen.space.repository import git_above

        git = git_above(self.space.root)
        return made_commits(git, before, heads, since) if git and git.folder else None

    def early_places(self) -> list[str]:
        """Where early events of the space are: see `space.early`."""
        return spaces.early_places(self.space.home, self.space.root)

    @Opened
    def census(self) -> Census:
        """The counts of the journal, which a memory that stays open follows."""
        from kinen.journal.tally import Census

        return Census()

    def register(self) -> None:
        """Add the space to the registry if it is missing; only what writes needs that."""
        if not self.space.registered:
            self.space = spaces.register(self.space)
            self.data = self.space.data
            self.folder = self.space.index_folder(self.config.index.path)

    def waiting(self) -> list[str]:
        """Files of observations that could not be written yet."""
        from kinen.journal.spool import waiting

        return waiting(self.spools)

    @property
    def spools(self) -> list[str]:
        """Folders in which observations wait, the first for new ones."""
        ids = (self.space.id, *(alias for alias in self.space.aliases if len(alias) == 64))
        return [os.path.join(self.space.home, "spool", id_[:16]) for id_ in ids]

    @property
    def git_folders(self) -> tuple[str, str]:
        """The git folder of the repository around the space, and what its worktrees share."""
        if not (self._git_folders and self._git_folders[0]):  # `git init` may run at any time
            from kinen.space.repository import git_above

            git = git_above(self.space.root)
            self._git_folders = (git.folder, git.common) if git else ("", "")
        return self._git_folders

    @property
    def worktree(self) -> str:
        """The top of another worktree of the same repository, if the current folder is in one."""
        from kinen.space.repository import git_above

        here = git_above(os.getcwd())
        folder, common = self.git_folders
        if here is None or not here.common or here.common != common or here.folder == folder:
            return ""
        return here.top

    @Opened
    def cache(self) -> Cache:
        """Vectors, extracted text and digests by content."""
        from kinen.index.cache import Cache

        return Cache(self.cache_file)

    @property
    def index_file(self) -> str:
        """The path of the index, whether it is there or not; no folder is made."""
        return os.path.join(self.folder, "index.db")

    @property
    def cache_file(self) -> str:
        """The cache: that of the first clone, whose vectors the others reuse.

        A clone has one of its own if either of them masks what is indexed.
        """
        own = self.file("cache.db")
        if not self.space.checkout or self.config.privacy.mask_index:
            return own
        from kinen.index.schema import MASKED

        first = Core(self.space._replace(checkout=""), self.config)
        return own if os.path.exists(first.file(MASKED)) else first.file("cache.db")

    def all_folders(self) -> list[str]:
        """The folders of the indexes of all clones and worktrees of this space."""
        from kinen import config
        from kinen.index.metafile import subfolders

        roots = filter(os.path.isdir, self.space.roots)
        places = {config.load(self.space.home, root).index.path for root in roots}
        folders = []
        for place in sorted({"", self.config.index.path, *places}):
            first = self.space._replace(checkout="").index_folder(place)
            folders.append(first)
            folders += subfolders(os.path.join(first, "checkouts"))
        return folders

    @property
    def embedder(self) -> Embedder | None:
        """The embedding model that answers questions; None if the settings say none.

        Where the space gets another built-in model, the one whose vectors are complete answers
        until those of the other are.
        """
        return self.load_model(self._answering_model())

    @property
    def next_embedder(self) -> Embedder | None:
        """The embedding model for new vectors, as far as is known without looking at the text."""
        return self.load_model(self._meta("model"))

    def load_model(self, name: str) -> Embedder | None:
        """The embedding model of the settings; `name` is a built-in one, if they name none."""
        settings = self._model_settings(name)
        key = self._model_key(settings)
        if key not in self._models:
            from kinen.embed import load_configured

            self._models[key] = load_configured(settings, self._daemon, light=bool(key[0]))
        return self._models[key]

    def _model_key(self, settings: IndexSection) -> tuple[object, ...]:
        """Whether questions are embedded without onnxruntime, and the settings of a model.

        Where no daemon may answer the next question the runtime is not worth loading for this one.
        The settings of the space decide it, so that a question has one vector in all processes.
        """
        may_start = self.config.daemon.auto_start and extras.installed("http")
        return (not may_start, *settings)

    @property
    def chooses_model(self) -> bool:
        """Whether the text of the space decides which of the built-in models it has."""
        index = self.config.index
        return index.embedding_provider == "onnx" and not (
            index.embedding_path or index.embedding_model
        )

    def _model_settings(self, name: str) -> IndexSection:
        index = self.config.index
        return index._replace(embedding_model=name or "english") if self.chooses_model else index

    def _answering_model(self) -> str:
        complete = self._meta("embedded").rpartition(":")[0]
        names = (name for name, fingerprint in BUILT_IN.items() if fingerprint == complete)
        return next(names, "") or self._meta("model")

    def _meta(self, key: str) -> str:
        """A value that the index keeps about its vectors; no index is made for it."""
        there = self.chooses_model and os.path.exists(self.index_file)
        return self.reader.meta(key) if there else ""

    @property
    def waits_for_model(self) -> bool:
        """Whether a search by meaning would have to load the model first."""
        if self.config.index.embedding_provider != "onnx":
            return False
        if not self._models:
            return True
        embedder = self._models.get(self._model_key(self._model_settings(self._answering_model())))
        return embedder is None or not getattr(embedder, "loaded", True)

    def scan(self, embedder: Embedder) -> Scan | None:
        """The vectors of a model, in memory; None where there are none."""
        from kinen.index import vectors

        model = embedder.fingerprint
        generation = self.reader.meta("generation")
        key = f"{model}:{generation}"
        if self.loaded_vectors[0] != key:
            file = self.file("vectors.bin")
            scan = vectors.load(
                file, self.reader.db, self.cache, model, generation, self.on_vectors
            )
            self.loaded_vectors = (key, scan)
        return self.loaded_vectors[1]

    def unit_count(self) -> int:
        """The number of chunks and segments that are embedded, counted once a generation."""
        generation = self.reader.meta("generation")
        if self._units[0] != generation:
            self._units = (generation, self.reader.unit_count())
        return self._units[1]

    def file(self, name: str) -> str:
        """The path of a file or folder of kinen's own for this space.

        Something else in the place of a file is refused here, with what to do about it.
        """
        folder = self.data if name in SHARED else self.folder
        return private.place(folder, name, FILES.get(name, ""))

    def untold(self, subject: str, notes: Sequence[str]) -> Sequence[str]:
        """Notes on a subject that change nothing, once; doctor has them always."""
        if not notes:
            return ()
        told = digest("\n".join(notes))
        try:
            file = self.file(f"told-{subject}")
            if os.path.exists(file) and private.read(file) == told.encode():
                return ()
            private.write(file, told)
        except (OSError, KinenError):  # a data folder that is read-only
            return notes
        return notes

    def inside(self, path: str) -> str:
        """A path relative to the space; one that leads outside is refused."""
        if "\0" in path:
            raise NotFound(f"no file has a NUL byte in its name: {path!r}", "give a path")
        from kinen.storage.inside import relative as relative_inside

        path = os.fsdecode(path_bytes(path))
        root = os.path.realpath(self.space.root)
        places = [path, os.path.join(root, path)]
        full = next((place for place in places if os.path.exists(place)), places[1])
        relative = relative_inside(root, full)
        if not relative:
            raise NotFound(f"{path} is outside the space {root}", "give a path inside it")
        return spelled(relative)
