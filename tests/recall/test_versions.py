"""Versions of a file are rebuilt from edits, or said not to be known."""

from __future__ import annotations

from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from kinen.model.journal import Observation
from kinen.recall.versions import Hunk, State, Step, hunks_of, redo, steps, undo, versions

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\n"


def edit(text: str, ts: int = 1, tool: str = "Edit") -> Step:
    """The edit of one file that an event with a diff has."""
    about = {"toolName": tool}
    event = Observation(f"e{ts}", "file_diff", text, ts, files=("a.py",), provenance=about)
    ((path, step),) = steps(event)
    assert path == "a.py"
    return step


def texts(*rows: Step | State, now: str | None = None) -> list[str | None]:
    edits = [row for row in rows if isinstance(row, Step)]
    states = [row for row in rows if isinstance(row, State)]
    return [version.text for version in versions(edits, states, now)]


def test_an_edit_is_undone_in_the_file_as_it_is() -> None:
    first, second = edit("-two\n+2", 1), edit("-three\n+3", 2)
    now = "one\n2\n3\nfour\n"
    assert texts(first, second, now=now) == ["one\n2\nthree\nfour\n", "one\ntwo\nthree\nfour\n"]


def test_an_edit_is_made_in_a_commit_or_a_write_before_it() -> None:
    after = edit("-2\n+II", 3), edit("-II\n+zwei", 4)
    for known in (State(1, "one\n2\n", "c"), edit("+one\n+2", 1, "Write")):
        assert texts(known, *after, now="other\n") == ["one\nII\n", "one\n2\n"]


def test_what_is_reached_both_ways_and_differs_is_partial() -> None:
    version = versions([edit("-2\n+II", 2)], [State(1, "one\n2\n", "c")], "by hand\nII\n")[0]
    assert (version.text, version.passage) == (None, "2")


def test_an_edit_that_fits_twice_or_nowhere_is_partial() -> None:
    assert texts(edit("-a\n+b"), now="b\nb\n") == [None]
    assert texts(edit("-a\n+b"), now="c\n") == [None]
    assert texts(edit("@@ -2,1 +2,1 @@\n-a\n+b"), now="b\nb\n") == ["b\na\n"]
    assert texts(edit("@@ -1,1 +1,1 @@\n-a\n+b"), now="c\nb\n") == [None]


def test_masked_and_cut_edits_give_no_whole_version() -> None:
    assert texts(edit("-key = [masked:password]\n+key = 1"), now="key = 1\n") == [None]
    assert texts(edit("-key = 2\n+key = 1\n+more…"), now="key = 1\nmore\n") == [None]


def test_a_removed_line_without_a_place_is_not_guessed() -> None:
    assert texts(edit("-two"), now="one\nthree\n") == [None]


def test_tabs_that_are_told_as_spaces_are_tabs_where_nothing_else_can_be() -> None:
    told = edit("@@ -1,2 +1,2 @@\n if x:\n-  a()\n+  b()")
    assert texts(told, now="if x:\n\tb()\n") == ["if x:\n\ta()\n"]
    assert texts(told, now="if x:\n\tb()\n  c()\n") == [None]


def test_a_patch_of_several_files_and_several_edits_of_one_are_told_apart() -> None:
    patch = "*** Update File: a.py\n@@\n-1\n+2\n*** Update File: b.py\n@@\n-3\n+4\n-5\n+6"
    event = Observation("e", "file_diff", patch, 1, files=("a.py", "b.py"))
    assert [(path, len(step.hunks)) for path, step in steps(event)] == [("a.py", 1), ("b.py", 2)]


def test_a_removed_line_that_looks_like_a_header_is_a_line() -> None:
    (hunk,) = hunks_of(["--- a comment of SQL", "+SELECT 1"])
    assert hunk.old == ("-- a comment of SQL",)
    (hunk,) = hunks_of(["--- a/x", "+++ b/x", "@@ -1,1 +1,1 @@", "-1", "+2"])
    assert (hunk.old, hunk.new) == (("1",), ("2",))


def test_the_same_text_and_the_file_as_it_is_are_no_versions() -> None:
    there, back = edit("-one\n+1", 1), edit("-1\n+one", 2)
    assert texts(there, back, now="one\n") == ["1\n"]


lines = st.lists(st.sampled_from(["a", "b", "  c", "", "d = 1"]), max_size=12)


@given(lines, lines)
def test_a_unified_diff_is_undone_and_made_again(before: list[str], after: list[str]) -> None:
    diff = list(unified_diff(before, after, lineterm=""))[2:]
    hunks = list(hunks_of(diff))
    old, new = "\n".join([*before, ""]), "\n".join([*after, ""])
    if diff:
        assert undo(new, hunks) in (old, None)
        assert redo(old, hunks) in (new, None)
    if all(hunk.old and hunk.new for hunk in hunks):
        assert (undo(new, hunks), redo(old, hunks)) == (old, new)


def test_a_version_that_something_later_contradicts_is_not_whole() -> None:
    first = Step("a", 2, (Hunk(("one",), ("uno",), 1, 1),))
    second = Step("b", 4, (Hunk(("two",), ("dos",), 2, 2),))
    begin = State(1, "one\ntwo\nthree\n", "c1")
    end = "uno\ndos\nthree\n"
    rows = versions([first, second], [begin, State(5, end, "c2")], end)
    assert [row.text for row in rows] == ["uno\ntwo\nthree\n", "one\ntwo\nthree\n"]
    changed = "uno\ndos\nfour\n"  # a command changed the third line, nobody knows when
    rows = versions([first, second], [begin, State(5, changed, "c2")], changed)
    assert [row.text for row in rows] == [None, None]
    formatted = "uno\n  dos\nthree\n"
    rows = versions([first, second], [begin, State(5, formatted, "c2")], formatted)
    assert [row.text for row in rows] == ["uno\ntwo\nthree\n", "one\ntwo\nthree\n"]
