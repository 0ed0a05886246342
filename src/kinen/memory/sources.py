"""What is indexed of a space, as its configuration says: files, symbols, journal and history."""

from __future__ import annotations

import os

from kinen.text import spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from kinen.index.git.commits import Settings
    from kinen.memory.core import Core
    from kinen.ports import Past, Source
    from kinen.sources.files.layout import Hidden
    from kinen.sources.files.symbols import Symbols
    from kinen.sources.files.walk import Files
    from kinen.sources.git.log import Log
    from kinen.sources.git.stream import Steps
    from kinen.sources.git.tagging import Rules
    from kinen.sources.issues import Issues
    from kinen.sources.traces.documents import Traces

ISSUES = "issues"
"""The folder of a space's data that has imported issues."""


class Sources:
    """Makes the sources of an index."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._steps: Steps | None = None
        self._followed = False
        core.closers.append(self.close)

    def close(self) -> None:
        if self._steps is not None:
            self._steps.close()
            self._steps = None

    def everything(
        self, session: str = ""
    ) -> tuple[Files, list[Source], tuple[Past, Settings] | None]:
        """All that a sync reads: the files, every source, and the history.

        Of a session these are its files, and the journal.
        """
        has_journal = self._core.store.exists
        suppressed = self.hidden()
        files = self.files(session, suppressed)
        sources: list[Source] = [files]
        if not session:
            sources += [self.symbols(files, suppressed), self.issues(suppressed)]
            sources.append(self.traces(suppressed))
        if has_journal:
            sources.append(self.journal())
        return files, sources, None if session else self.history()

    def files(self, session: str, suppressed: Container[str]) -> Files:
        """Notes, rounds, resources and other documents; of one session if it is named."""
        from kinen.extract.child import Reader
        from kinen.sources.files.walk import Files

        settings = self._core.config.index
        return Files(
            self._core.space.root,
            size=settings.chunk_size,
            overlap=settings.chunk_overlap,
            max_bytes=settings.max_file_mb << 20,
            max_text=settings.max_text_mb << 20,
            reader=Reader(settings.file_seconds, settings.file_memory_mb),
            texts=lambda: self._core.cache.texts,
            only=session,
            suppressed=suppressed,
            masked=self._core.config.privacy.mask_index,
        )

    def symbols(self, walked: Files, suppressed: Container[str]) -> Symbols:
        """Functions and classes of the source files that a walk passes."""
        from kinen.sources.files.symbols import Symbols

        return Symbols(
            walked,
            enabled=self._core.config.index.symbols,
            suppressed=suppressed,
            masked=self._core.config.privacy.mask_index,
        )

    def issues(self, suppressed: Container[str]) -> Issues:
        """The issues of the space's tracker, and imported ones."""
        from kinen.sources.issues import Issues

        settings = self._core.config.index
        return Issues(
            self._core.space.root,
            os.path.join(self._core.data, ISSUES),
            size=settings.chunk_size,
            overlap=settings.chunk_overlap,
            suppressed=suppressed,
            masked=self._core.config.privacy.mask_index,
        )

    def traces(self, hidden: Hidden) -> Traces:
        """Sessions that travel with the repository, without those that the journal has."""
        from kinen.journal.queries import sessions
        from kinen.sources.traces.documents import Traces
        from kinen.space.repository import find

        settings = self._core.config.index
        return Traces(
            self._core.space.root,
            find(self._core.space.root),
            size=settings.chunk_size,
            overlap=settings.chunk_overlap,
            recorded=sessions(self._core.store.db) if self._core.store.exists else (),
            hidden=hidden,
        )

    def journal(self) -> Source:
        """Observations, capsules, summaries, pins and memories."""
        from kinen.sources.journal.documents import Entries

        settings = self._core.config.index
        return Entries(
            self._core.store.ready(),
            size=settings.chunk_size,
            overlap=settings.chunk_overlap,
            excluded=self._core.excluded,
        )

    def history(self, indexed: str = "") -> tuple[Past, Settings] | None:
        """The history to index, masked if the index is masked."""
        history = self.log(indexed)
        if history is None or not self._core.config.privacy.mask_index:
            return history
        from kinen.sources.masked import MaskedPast

        return MaskedPast(history[0]), history[1]

    def log(self, indexed: str = "") -> tuple[Log, Settings] | None:
        """The history of the repository around the space, and the rules that tag its files.

        With the last indexed commit, git starts at once to list the commits after it.
        """
        from kinen.index.git.commits import Hand, Settings
        from kinen.sources.git.log import Log
        from kinen.sources.git.tagging import Tagger
        from kinen.space.repository import find

        git = find(self._core.space.root)
        if git is None:
            return None
        settings = self._core.config.index
        log = Log(
            git, self._core.space.root, size=settings.chunk_size, overlap=settings.chunk_overlap
        )
        if indexed:
            # An open memory reuses its git process: the start takes the longest.
            if self._steps is not None or self._followed:
                self._steps = log.steps(self._steps)
            self._followed = True
            log.begin(indexed, self._steps)
        hands: list[Hand] = []
        if self._core.store.exists:
            from kinen.journal import queries

            hands = [Hand(*row) for row in queries.tag_ops(self._core.store.db)]
        rules = self.rules
        tagger = Tagger(rules)
        log.exclude(tagger.excluded, tagger.exclude_digest)
        return log, Settings(
            derived=tagger.derived,
            rules=tagger.digest,
            hands=hands,
            hidden=self.hidden(),
            excluded="\n".join(self._core.config.privacy.exclude),
            snapshot_frequency=rules.snapshot_frequency,
        )

    @property
    def rules(self) -> Rules:
        """The rules for the history, from the configuration and files of the repository."""
        from kinen.sources.git.tagging import read_rules

        return read_rules(self._core.space.root, self._core.config.git, self._core.config.sources)

    def new_files(self) -> int:
        """How many files should be indexed and are not, by the times of their folders."""
        from kinen.index import folders

        root = self._core.space.root
        file = os.path.join(self._core.folder, "folders")
        stamps = folders.load(file)
        suspects = folders.changed(root, stamps)
        if not suspects:
            return 0
        from pathlib import Path

        from kinen.sources.files.ignore import Ignore

        ignored = Ignore(Path(root)).ignored
        new, times = folders.new_files(root, suspects, stamps, self._unindexed, ignored)
        if not new:
            folders.save(file, {**stamps, **times})
        return len(new)

    def _unindexed(self, paths: list[str]) -> list[str]:
        """The files that should be indexed and are not."""
        from kinen.extract.languages import is_code
        from kinen.sources.files.layout import is_read

        code = self._core.config.index.symbols
        paths = [path for path in paths if is_read(path) or (code and is_code(path))]
        names = [spelled(path) for path in paths]
        known = self._core.reader.stamps(names)
        return [path for path, name in zip(paths, names, strict=True) if name not in known]

    def hidden(self) -> Hidden:
        """What is not indexed: refs that were forgotten or hidden, and paths that are excluded."""
        from kinen.sources.files.layout import Hidden

        return Hidden(self.suppressed(), self._core.config.privacy.exclude)

    def suppressed(self) -> set[str]:
        """Refs that are forgotten or hidden: they are not indexed."""
        if not self._core.store.exists:
            return set()
        from kinen.journal.queries import suppressed

        return suppressed(self._core.store.db)
