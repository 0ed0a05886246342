"""What was redacted or forgotten is in no file that kinen wrote, and does not come back."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory, Query
from kinen.agents.tool_use import intent as intent_of
from kinen.errors import NotFound
from kinen.journal import queries, spool
from kinen.journal import write as append
from kinen.journal.erase import erase, quotes
from kinen.journal.queries import EntryFilter
from kinen.journal.store import Journal
from kinen.model.journal import Scope
from kinen.model.kinds import REDACTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Write = Callable[[str, str], Path]

T = 1_767_261_600_000
S = Scope(session="s")
WORD = "quixotryzephyrwombatflax"
TEXT = (
    f"Please repair the {WORD} in the hovercraft:\n\n"
    "the Tambourine keeps   rattling, says getMarzipanFlamingo() in harpsichord_tuning.py"
)
LONG = (WORD, "hovercraft", "tambourine", "marzipan", "flamingo", "harpsichord")
PLAIN = {"index.embedding_provider": "none"}
BOTH = pytest.mark.parametrize("forget", [False, True], ids=["redact", "forget"])


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(str(tmp_path / "data"), [str(tmp_path / "spool" / "a")])) as opened:
        yield opened


def say(journal: Journal, text: str, at: int = T, **more: str) -> Any:
    return journal.observe(append.row(text, "message", at, **more))


def now(journal: Journal, item: Any) -> Any:
    """An entry as it is now."""
    return queries.entry(journal.db, item.ref.partition(":")[0], item.id)


def holding(word: str) -> list[str]:
    """The files below kinen's home that contain a word, in any case."""
    home = Path(os.environ["KINEN_HOME"])
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    paths = [path for path in files if word.lower().encode() in path.read_bytes().lower()]
    return sorted({path.name.removesuffix("-wal") for path in paths})


def traces() -> dict[str, list[str]]:
    """What is left of the text anywhere: its long words, and what a stemmer makes of them."""
    pieces = {piece for word in LONG for piece in (word, word[:8], word[2:8])}
    return {piece: files for piece in sorted(pieces) if (files := holding(piece))}


# In the journal


@BOTH
def test_an_observation_is_emptied_and_keeps_what_it_belongs_to(
    journal: Journal, forget: bool
) -> None:
    opened = journal.open_capsule("boil water", "session", S, T)
    message = say(
        journal,
        TEXT,
        session="s",
        agent="a",
        provenance={"note": TEXT},
        files='["src/a.py"]',
        branch="main",
    )
    erased = erase(journal, message.ref, forget=forget, now=T + 5)
    assert (erased.refs, erased.also, erased.suppressed) == ((message.ref,), (), False)
    expected = message._replace(content=REDACTED, provenance={}, redacted=True)
    if forget:
        expected = message._replace(content="", provenance={}, files=(), forgotten_at=T + 5)
    assert now(journal, message) == expected
    assert expected.capsule == opened.id
    assert now(journal, opened) == opened


def test_a_tombstone_is_shown_by_audit_only(journal: Journal) -> None:
    first, two = say(journal, "one"), say(journal, "two")
    erase(journal, first.ref, forget=True, now=T)
    assert queries.entries(journal.db, "observations", EntryFilter()) == ([two], 1)
    assert queries.entries(journal.db, "observations", EntryFilter(audit=True))[1] == 2


def test_what_was_redacted_is_still_listed(journal: Journal) -> None:
    message = say(journal, "one")
    erase(journal, message.id[:20], forget=False, now=T)
    (results,), count = queries.entries(journal.db, "observations", EntryFilter())
    assert (results.content, results.redacted, count) == (REDACTED, True, 1)


@BOTH
@pytest.mark.parametrize(
    ("intent", "gone"),
    [
        (TEXT, True),
        (TEXT[:40] + "…", True),
        (" ".join(TEXT.split())[:100].rstrip() + "…", True),
        (f"{' '.join(TEXT.split())[:100]}...", True),
        ("Please", False),
        ("boil water for the tea", False),
    ],
    ids=["whole", "cut", "on one line", "with dots", "too short to tell", "its own"],
)
def test_an_intent_that_was_copied_from_the_prompt_goes_with_it(
    journal: Journal, intent: str, gone: bool, forget: bool
) -> None:
    opened = journal.open_capsule(intent, "session", S, T)
    other = journal.open_capsule("something else entirely", "session", Scope("t"), T)
    message = say(journal, TEXT, session="s")
    erase(journal, message.ref, forget=forget, now=T)
    assert now(journal, opened).intent == (REDACTED if gone else intent)
    assert now(journal, other).intent == "something else entirely"


@pytest.mark.parametrize("announced", ["Implement the following plan:", "Compare these plans:"])
@pytest.mark.parametrize("heading", ["# Plan: Tokens", "## Array fix and the tests of it"])
def test_the_title_of_a_plan_goes_with_the_prompt(announced: str, heading: str) -> None:
    prompt = f"{announced}\n\n{heading}\n\n## Context\nThree changes"
    assert quotes(intent_of(prompt), prompt)
    assert not quotes("another matter", prompt)


def test_a_short_prompt_takes_an_intent_that_is_the_same(journal: Journal) -> None:
    opened = journal.open_capsule("tea", "session", S, T)
    erase(journal, say(journal, " tea\n", session="s").ref, forget=False, now=T)
    assert now(journal, opened).intent == REDACTED


@BOTH
def test_an_automatic_summary_is_made_again_without_it(journal: Journal, forget: bool) -> None:
    opened = journal.open_capsule("boil water", "session", S, T)
    message = say(journal, "The kettle is on.", T + 1, session="s")
    gone = say(journal, TEXT, T + 2, session="s")
    _, summary = journal.close_capsule(opened.ref, "", T + 3)
    assert summary is not None
    assert WORD in summary.content
    assert gone.id in summary.evidence
    erase(journal, gone.ref, forget=forget, now=T + 4)
    after = now(journal, summary)
    assert WORD not in after.content
    assert "The kettle is on." in after.content
    assert after.evidence == (message.id,)
    assert not after.redacted


def test_a_summary_that_somebody_wrote_stays_and_is_told_of(journal: Journal) -> None:
    opened = journal.open_capsule("boil water", "session", S, T)
    message = say(journal, TEXT, session="s")
    _, summary = journal.close_capsule(opened.ref, f"I was asked: {TEXT}", T)
    assert summary is not None
    cells = (json.dumps([message.id, "other"]), summary.id)
    journal.db.execute("UPDATE summaries SET evidence_refs = ? WHERE id = ?", cells)
    erased = erase(journal, message.ref, forget=True, now=T)
    assert erased.also == (summary.ref,)
    assert now(journal, summary) == summary._replace(evidence=("other",))


def test_entries_that_say_the_same_are_told_of(journal: Journal) -> None:
    message = say(journal, TEXT)
    again = say(journal, f"> {TEXT}\n\nok")
    opened = journal.open_capsule(f"do: {TEXT}", "session", S, T)
    pin = journal.pin("note:a.md", TEXT, 0, Scope(), T)
    say(journal, "something else")
    erased = erase(journal, message.ref, forget=False, now=T)
    assert set(erased.also) == {again.ref, opened.ref, pin.ref}
    assert erase(journal, say(journal, "ok").ref, forget=False, now=T).also == ()


@BOTH
def test_pins_go_with_what_was_forgotten_and_stay_with_what_was_redacted(
    journal: Journal, forget: bool
) -> None:
    first, two = say(journal, "one"), say(journal, "two")
    journal.pin(first.ref, "first", 0, S, T)
    journal.pin(two.ref, "second", 0, S, T + 1)
    erase(journal, first.ref, forget=forget, now=T)
    pins = queries.pins_in(journal.db, S, T)
    assert [pin.note for pin in pins] == (["second"] if forget else ["first", "second"])


@BOTH
def test_a_pin_itself_can_be_erased(journal: Journal, forget: bool) -> None:
    message = say(journal, "one")
    pin = journal.pin(message.ref, TEXT, 0, S, T)
    assert erase(journal, pin.ref, forget=forget, now=T).refs == (pin.ref,)
    assert now(journal, pin) == (None if forget else pin._replace(note=REDACTED))
    assert now(journal, message) == message


@BOTH
def test_a_capsule_takes_all_of_it(journal: Journal, forget: bool) -> None:
    opened = journal.open_capsule("boil water", "session", S, T)
    inside = [say(journal, f"step {n}", T + n, session="s") for n in range(3)]
    outside = say(journal, "outside")
    _, summary = journal.close_capsule(opened.ref, "It boiled.", T + 9)
    assert summary is not None
    for value in (*inside, summary, opened, outside):
        journal.pin(value.ref, value.id, 0, S, T)
    erased = erase(journal, opened.ref, forget=forget, now=T + 10)
    assert set(erased.refs) == {opened.ref, summary.ref, *(entry.ref for entry in inside)}
    empty = "" if forget else REDACTED
    assert now(journal, opened).intent == empty
    assert {now(journal, item).content for item in (*inside, summary)} == {empty}
    assert now(journal, outside) == outside
    pinned = {pin.target for pin in queries.pins_in(journal.db, S, T)}
    assert pinned == ({outside.ref} if forget else {outside.ref, *erased.refs})
    assert queries.latest_summary(journal.db, Scope()) is None
    listed = queries.entries(journal.db, "capsules", EntryFilter())[1]
    assert listed == (0 if forget else 1)


def test_a_forgotten_capsule_is_over(journal: Journal) -> None:
    opened = journal.open_capsule("boil water", "session", S, T)
    erase(journal, opened.ref, forget=True, now=T + 5)
    assert say(journal, "later", T + 6, session="s").capsule == ""
    assert journal.open_capsule("next", "session", S, T + 7, resume=True).id != opened.id
    assert now(journal, opened).reason == ""


def test_erasing_twice_and_in_either_order_is_harmless(journal: Journal) -> None:
    opened = journal.open_capsule(TEXT, "session", S, T)
    message = say(journal, TEXT, session="s")
    for forget in (False, False, True, True, False):
        assert erase(journal, message.ref, forget=forget, now=T).refs == (message.ref,)
    assert now(journal, message).forgotten_at == T
    assert TEXT not in str(list(journal.db.iterdump()))
    assert now(journal, opened).intent == REDACTED


def test_what_is_not_there_cannot_be_erased(journal: Journal) -> None:
    with pytest.raises(NotFound):
        erase(journal, "observation:01KDWMA8G0AAAAAAAAAAAAAAAA", forget=True, now=T)


# Everywhere


class Erasing:
    """An observation with everything that kinen makes of one."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.scope = memory, {"session": "s"}
        Path(memory.space.root, "pot.md").write_text("# Pot\n\nIt has a lid.\n")
        memory.sync()
        self.capsule = memory.journal.open_capsule(" ".join(TEXT.split())[:60], scope=self.scope)
        memory.observe("The kettle is on.", scope=self.scope)
        about = {"role": "user", "note": TEXT}
        self.one = memory.observe(TEXT, scope=self.scope, provenance=about)
        memory.sync()
        memory.observe("ok", kind="tool_call", scope=self.scope)
        memory.sync()
        self.summary = memory.journal.close_capsule(self.capsule.ref)[1]
        assert self.summary
        assert WORD in self.summary.content
        memory.journal.pin(self.one.ref, "read this first")
        memory.sync()
        self.ask(matches=True)
        assert {"index.db", "journal.db"} <= set(holding(WORD))
        assert {"index.db", "journal.db"} <= set(holding("tambouri"))

    def ask(self, *, matches: bool) -> None:
        full = self.memory.search(Query(WORD, mode="fulltext"))
        assert (self.one.ref in {hit.record.ref for hit in full}) is matches
        assert bool(full) is matches
        for mode in ("hybrid", "semantic"):
            hits = self.memory.search(Query(TEXT, mode=mode, limit=50))
            assert any(WORD in hit.chunk.text for hit in hits) is matches
        recall = self.memory.recall(Query(WORD, session="s"))
        text = " ".join(item.text for item in recall.items)
        assert (WORD in text.lower()) is matches

    def check(self, *, forget: bool) -> None:
        """It is nowhere, and what stood beside it is still there."""
        assert traces() == {}
        self.ask(matches=False)
        assert traces() == {}
        self.memory.sync()
        kettle = self.memory.search(Query("kettle", mode="fulltext"))
        assert "observation" in {hit.record.kind for hit in kettle}
        listed, count = self.memory.journal.entries("observations", audit=True)
        assert count == 3
        assert [bool(item.forgotten_at) for item in listed if item.id == self.one.id] == [forget]
        assert self.memory.journal.entries("observations")[1] == (2 if forget else 3)
        assert bool(self.memory.journal.entries("pins")[1]) is not forget
        assert traces() == {}


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite as most build it: what is deleted is not overwritten by itself."""
    connect = sqlite3.connect

    def connected(*words: Any, **more: Any) -> sqlite3.Connection:
        db = connect(*words, **more)
        db.execute("PRAGMA secure_delete = OFF")
        return db

    monkeypatch.setattr(sqlite3, "connect", connected)


@BOTH
@pytest.mark.usefixtures("careless")
def test_what_was_erased_is_in_no_file(space: Path, forget: bool) -> None:
    with Memory.open(space) as memory:
        story = Erasing(memory)
        erased = (memory.journal.forget if forget else memory.journal.redact)(story.one.ref)
        assert erased.also == ()
        story.check(forget=forget)
        vectors = {row[0] for row in memory.core.cache._db.execute("SELECT digest FROM vectors")}
        assert vectors
        assert vectors <= set(memory.core.reader.digests()), "vectors of what was erased are kept"
        memory.sync(rebuild=True)
        story.ask(matches=False)
    assert traces() == {}


OTHER = """
import sys
from kinen import Memory, Query
word, root = sys.argv[1:]
with Memory.open(root) as memory:
    def found():
        hits = [*memory.search(Query(word, mode="fulltext")), *memory.search(word)]
        return sum(word in hit.chunk.text for hit in hits)
    print(found(), flush=True)
    for _ in sys.stdin:
        print(found(), flush=True)
"""


@BOTH
def test_what_was_erased_is_in_no_file_though_another_process_has_them_open(
    space: Path, forget: bool
) -> None:
    with Memory.open(space) as memory:
        story = Erasing(memory)
        other = subprocess.Popen(
            [sys.executable, "-c", OTHER, WORD, str(space)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert other.stdin
        assert other.stdout
        try:
            assert int(other.stdout.readline()) > 0
            (memory.journal.forget if forget else memory.journal.redact)(story.one.ref)
            assert traces() == {}
            print(file=other.stdin, flush=True)
            assert int(other.stdout.readline()) == 0
            assert traces() == {}
            story.check(forget=forget)
        finally:
            other.communicate()
    assert other.returncode == 0
    assert traces() == {}


READING = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN")
db.execute("SELECT * FROM observations").fetchall()
print("reading", flush=True)
sys.stdin.read()
"""


@BOTH
def test_while_another_process_reads_the_journal_its_log_is_left_to_the_next_run(
    space: Path, forget: bool
) -> None:
    with Memory.open(space, settings=PLAIN) as memory:
        entry = memory.observe(TEXT)
        memory.search(WORD)
        before = memory.core.store
        memory.close()
        memory.core.store = Journal(os.path.dirname(before.path), before.spools, patience_ms=50)
        command = [sys.executable, "-c", READING, before.path]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        other = subprocess.Popen(command, **pipes)
        try:
            assert other.stdout.readline() == "reading\n"
            erased = (memory.journal.forget if forget else memory.journal.redact)(entry.ref)
            assert "another process reads" in erased.waiting
            assert not memory.search(Query(WORD, mode="fulltext"))
        finally:
            other.communicate()
        memory.sync()
        assert traces() == {}


@BOTH
def test_a_capsule_that_was_erased_is_in_no_file(space: Path, forget: bool) -> None:
    with Memory.open(space) as memory:
        story = Erasing(memory)
        (memory.journal.forget if forget else memory.journal.redact)(story.capsule.ref)
        assert traces() == {}
        assert holding("kettle") == []
        assert not memory.search(Query("kettle", mode="fulltext"))
        memory.sync()
    assert traces() == {}


def test_a_summary_that_was_redacted_before_keeps_no_title(space: Path) -> None:
    """A summary is indexed under the intent of its capsule, which is the prompt."""
    with Memory.open(space, settings=PLAIN) as memory:
        opened = memory.journal.open_capsule(" ".join(TEXT.split()), scope={"session": "s"})
        entry = memory.observe(TEXT, scope={"session": "s"})
        summary = memory.journal.close_capsule(opened.ref)[1]
        assert summary
        memory.search("kettle")
        memory.journal.redact(summary.ref)
        memory.journal.redact(entry.ref)
        assert traces() == {}


def test_what_a_crash_left_in_the_spool_goes_too(space: Path) -> None:
    with Memory.open(space, settings=PLAIN) as memory:
        entry = memory.observe(TEXT)
        (folder,) = memory.core.spools
        file = Path(spool.put(folder, append.row(TEXT, "message", id=entry.id)))
        for suffix in (".77.tmp", ".bad"):
            file.with_name(file.name + suffix).write_text(TEXT)
        spool.put(folder, append.row("The kettle is on.", "message"))
        memory.journal.redact(entry.ref)
        assert traces() == {}
        assert os.listdir(folder) == []
        assert memory.journal.entries("observations")[1] == 2


def test_what_was_never_indexed_is_erased_from_the_journal(space: Path) -> None:
    with Memory.open(space, settings=PLAIN) as memory:
        entry = memory.observe(TEXT)
        memory.journal.forget(entry.ref)
        assert traces() == {}
        assert not memory.search(Query(WORD, mode="fulltext"))


# Coming back


@BOTH
@pytest.mark.parametrize("conflict", ["skip", "overwrite"])
def test_an_import_does_not_bring_it_back(space: Path, forget: bool, conflict: Any) -> None:
    with Memory.open(space, settings=PLAIN) as memory:
        opened = memory.journal.open_capsule(" ".join(TEXT.split())[:60], scope={"session": "s"})
        entry = memory.observe(TEXT, scope={"session": "s"}, provenance={"note": TEXT})
        memory.observe("The kettle is on.", scope={"session": "s"})
        memory.journal.close_capsule(opened.ref)
        memory.journal.pin(entry.ref, "read this first")
        out = io.StringIO()
        memory.transfer.export(out)
        assert WORD in out.getvalue()
        (memory.journal.forget if forget else memory.journal.redact)(entry.ref)
        pins = memory.journal.entries("pins")[1]
        memory.transfer.load(io.BytesIO(out.getvalue().encode()), on_conflict=conflict)
        assert memory.journal.entries("pins")[1] == pins
        assert not memory.search(Query(WORD, mode="fulltext"))
    assert traces() == {}


# Files are not kinen's to empty


@BOTH
def test_a_file_is_only_hidden_until_it_is_restored(
    space: Path, write: Write, forget: bool
) -> None:
    path = write("tea.md", f"# Tea\n\nThe {WORD} is on.\n")
    write("pot.md", "# Pot\n\nThe kettle is on.\n")

    def matches() -> list[str]:
        return [hit.record.path for hit in memory.search(Query(WORD, mode="fulltext"))]

    with Memory.open(space) as memory:
        assert matches() == ["tea.md"]
        erased = (memory.journal.forget if forget else memory.journal.redact)("tea.md")
        assert erased == (("note:tea.md",), (), True, "")
        assert matches() == []
        assert WORD in path.read_text()
        memory.sync(rebuild=True)
        assert matches() == []
        path.write_text(f"# Tea\n\nThe {WORD} is on again.\n")
        memory.sync()
        assert matches() == []
        assert len(memory.search(Query("kettle", mode="fulltext"))) == 1
    with Memory.open(space) as memory:
        assert memory.journal.restore("tea.md") == "note:tea.md"
        assert matches() == ["tea.md"]
        with pytest.raises(NotFound, match="is not hidden"):
            memory.journal.restore("tea.md")
