"""Links that are resolved after each change lead where resolving all of them would."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.index.graph import relink
from kinen.index.writer import Writer
from kinen.model.documents import Change, Document, Link, State
from kinen.model.records import Record
from kinen.text.links import Names

PATHS = ("a.md", "b.md", "x/a.md", "x/README.md", "x/y/b.markdown", "X/A.md", "sessions/s/init.md")
TARGETS = (
    *("a", "a.md", "A", "./a", "../a", "x/a", "x", "x/", "..", ".", "../", "x/..", "y/b", "/b"),
    *(" a ", "first", "First note", "s", "", "é", "pic.png", "missing", "x//a", "sessions/s"),
)
ALIASES = st.lists(st.sampled_from(("first", "First note", " é ", "a")), max_size=2, unique=True)
LINKS = st.lists(st.tuples(st.sampled_from(TARGETS), st.booleans()), max_size=4)
NOTE = st.tuples(ALIASES, LINKS)
STEP = st.dictionaries(st.sampled_from(PATHS), st.none() | NOTE, min_size=1, max_size=3)
FILES = st.sets(st.sampled_from(("pic.png", "x/pic.png", "x/data.csv")))


def change(path: str, note: tuple[list[str], list[tuple[str, bool]]] | None) -> Change:
    if note is None:
        return Change(path, None, removed=True)
    aliases, links = note
    record = Record(f"note:{path}", "note", path, path=path)
    written = tuple(Link(target, wiki=wiki) for target, wiki in links)
    return Change(
        path, State("1", path), Document(record, (), links=written, aliases=tuple(aliases))
    )


def targets(writer: Writer) -> list[tuple[int, int, str]]:
    query = "SELECT record, n, target FROM links ORDER BY record, n"
    return writer.db.execute(query).fetchall()


@given(st.lists(st.tuples(STEP, FILES), min_size=2, max_size=6))
@settings(max_examples=60)
def test_links_after_each_change_are_those_of_a_whole_pass(
    steps: list[tuple[dict[str, tuple[list[str], list[tuple[str, bool]]] | None], set[str]]],
) -> None:
    with TemporaryDirectory() as folder:
        writer = Writer(str(Path(folder) / "index.db"))
        for notes, files in steps:

            def resolver(names, only, files=files):  # type: ignore[no-untyped-def]
                return Names(names, files, only).resolve

            changes = iter([change(path, note) for path, note in notes.items()])
            writer.apply("files", changes, anew=False, bulk=False, done=lambda _: None)
            relink(writer, f"links:{sorted(files)}", resolver)
            after = targets(writer)
            with writer.db:
                writer.set("linked", "")
                writer.set("links_of", "")
            relink(writer, f"links:{sorted(files)}", resolver)
            assert after == targets(writer)
        writer.close()


def test_only_what_a_change_concerns_is_resolved(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path / "index.db"))
    resolved: list[str] = []

    def resolver(names, only):  # type: ignore[no-untyped-def]
        every = Names(names, (), only)

        def resolve(link: Link, path: str) -> str:
            resolved.append(f"{path} → {link.target}")
            return every.resolve(link, path)

        return resolve

    def write(path: str, *links: str) -> list[str]:
        resolved.clear()
        note = change(path, ([], [(link, True) for link in links]))
        writer.apply("files", iter([note]), anew=False, bulk=False, done=lambda _: None)
        relink(writer, "links:", resolver)
        return sorted(resolved)

    write("hub.md", "tea", "milk", "sugar")
    assert write("tea.md", "hub") == ["hub.md → tea", "tea.md → hub"]
    assert write("tea.md", "milk") == ["tea.md → milk"]  # its name is the same
    assert write("tea.md") == []
    assert [target for _, _, target in targets(writer)] == ["note:tea.md", "", ""]
