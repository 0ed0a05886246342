"""What a commit says: its head, its tags, its trailers, what it cites."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.index.git.lineage import tag_operations
from kinen.sources.git.messages import (
    LONGEST,
    read_message,
    readable_message,
    with_tags,
    without_trailers,
)

FULL = "0123456789abcdef0123456789abcdef01234567"


# The head


@pytest.mark.parametrize(
    ("subject", "type_", "scope", "breaking"),
    [
        ("feat: add", "feat", "", False),
        ("feat(auth): add", "feat", "auth", False),
        ("FIX(Auth): add", "fix", "auth", False),
        ("feat!: drop", "feat", "", True),
        ("feat(api)!: drop", "feat", "api", True),
        ("build-system: x", "build-system", "", False),
        ("fix(web/ui): x", "fix", "web/ui", False),
        ("fix(user session): x", "fix", "user-session", False),
        ("feat:x", "", "", False),
        ("feat : x", "", "", False),
        ("feat(): x", "", "", False),
        ("feat(a)(b): x", "", "", False),
        ("two words: x", "", "", False),
        ("feat:", "", "", False),
        ("Merge branch 'a: b'", "", "", False),
        ("12: x", "", "", False),
    ],
)
def test_the_head_of_a_conventional_commit_is_read(
    subject: str, type_: str, scope: str, breaking: bool
) -> None:
    for text in (subject, f"{subject}\n\nWords.\n"):
        message = read_message(text)
        assert message.subject == subject
        assert (message.type, message.scope, message.breaking) == (type_, scope, breaking)


@pytest.mark.parametrize("scope", ["net,io", "net, io", " Net ,IO ", "net,,io,"])
def test_several_scopes_are_several_tags(scope: str) -> None:
    message = read_message(f"fix({scope}): x")
    assert tag_operations(message.ops, message.scope, 2) == ["+net", "+io"]


@pytest.mark.parametrize(
    "body",
    [
        "BREAKING CHANGE: the old key is gone",
        "BREAKING-CHANGE: the old key is gone",
        "Words.\n\nBREAKING CHANGE: the old key\n  is gone\nRefs: #1",
        "Words.\n\nRefs: #1\nBREAKING CHANGE: gone\n\ntags: a",
    ],
)
def test_a_footer_tells_of_a_breaking_change(body: str) -> None:
    assert read_message(f"feat: x\n\n{body}").breaking
    assert not read_message("feat: x\n\nThis is no BREAKING CHANGE: only words").breaking


def test_line_breaks_that_a_shell_did_not_read_end_the_subject() -> None:
    message = read_message("Add tmux\\n\\nCo-authored-by: Mira <mira@example.org>")
    assert message.subject == "Add tmux"
    assert dict(message.trailers) == {"Co-authored-by": "Mira <mira@example.org>"}
    assert read_message("fix: print \\n at the end").subject == "fix: print \\n at the end"


@pytest.mark.parametrize(
    "body",
    [
        "BREAKING CHANGE: environment variables now take precedence over\nconfiguration files",
        "BREAKING CHANGE: the key is gone\n\nIt was deprecated a year ago.",
        "BREAKING CHANGE: the key is gone\n\nSigned-off-by: Ada <ada@example.org>",
    ],
)
def test_the_footer_of_a_breaking_change_may_go_on_and_need_not_be_last(body: str) -> None:
    assert read_message(f"feat: x\n\nWords.\n\n{body}").breaking


# Subject and body


def test_a_message_is_its_subject_and_the_rest() -> None:
    message = read_message("\n\n  subject  \nright below\n\n  indented\nlast\n\n")
    assert message.subject == "subject"
    assert message.body == "right below\n\n  indented\nlast"


@pytest.mark.parametrize("text", ["", "\n", "\n\n\n", " ", " \n \n"])
def test_nothing_said_is_nothing_read(text: str) -> None:
    message = read_message(text)
    assert (message.subject, message.body.strip(), message.ops, message.trailers) == (
        "",
        "",
        (),
        (),
    )


def test_lines_that_end_in_returns_are_read_like_others() -> None:
    text = (
        f"fix(auth)!: one\n\nBody.\nThis reverts commit {FULL}.\n\ntags: a, -b\n\n"
        "Signed-off-by: Ada <ada@example.org>\nFixes: 1234567 (old)\n"
    )
    plain, message = read_message(text), read_message(text.replace("\n", "\r\n"))
    assert message.subject == plain.subject
    assert message.ops == plain.ops == ("+a", "-b")
    assert message.cites == plain.cites
    assert message.trailers == plain.trailers
    assert (message.type, message.scope, message.breaking) == ("fix", "auth", True)


# Trailers


def test_trailers_are_the_last_paragraph_if_every_line_is_one() -> None:
    message = read_message(
        "fix: x\n\nNote: not a trailer here.\n\n"
        "Co-authored-by: Eve <eve@example.org>\n"
        "Co-authored-by: Bob <bob@example.org>\n"
        "Signed-off-by: Ada <ada@example.org>\n"
        "Reviewed-by: Someone with a\n long name\n\tand more\n"
        "Closes #12\n"
    )
    assert message.trailers == (
        ("Co-authored-by", "Eve <eve@example.org>"),
        ("Co-authored-by", "Bob <bob@example.org>"),
        ("Signed-off-by", "Ada <ada@example.org>"),
        ("Reviewed-by", "Someone with a long name and more"),
        ("Closes", "12"),
    )


@pytest.mark.parametrize(
    "body",
    [
        "It says: nothing\nand goes on without a colon",
        "See https://example.org/x",
        "Words.\n\nAcked-by: Eve\nand prose below it",
        " indented: first\nRefs: x",
        "key:value",
        "Words only.",
    ],
)
def test_prose_is_no_trailer(body: str) -> None:
    assert read_message(f"subject\n\n{body}").trailers == ()


@pytest.mark.parametrize(
    "body",
    [
        "Words.\n\nRefs: #1\nAcked-by: Eve\n\ntags: a, b",
        "Words.\n\ntags: a, b\n\nRefs: #1\nAcked-by: Eve",
        "Words.\n\nRefs: #1\ntags: a, b\nAcked-by: Eve",
        "tags: a, b\nRefs: #1\nAcked-by: Eve",
    ],
)
def test_the_line_of_tags_may_stand_below_above_or_among_trailers(body: str) -> None:
    message = read_message(f"subject\n\n{body}")
    assert message.trailers == (("Refs", "#1"), ("Acked-by", "Eve"))
    assert message.ops == ("+a", "+b")


# Tags


@pytest.mark.parametrize(
    ("lines", "ops"),
    [
        ("tags: auth, session", "+auth +session"),
        ("tags: +session, -auth, redis", "+session -auth +redis"),
        ("Tags: Auth", "+auth"),
        ("TAGS: ÜBER", "+über"),
        ("tags:auth", "+auth"),
        ("tags:\tauth", "+auth"),
        ("tags: two words, a  b", "+two-words +a-b"),
        ("tags: a,,b, ,", "+a +b"),
        ("tags: #hash, dot., semi;", "+hash +dot +semi"),
        ("tags: + plus, - minus", "+plus -minus"),
        ("tags: # hash, - # gone", "+hash -gone"),
        ("tags: rate-limiting, c++", "+rate-limiting +c++"),
        ("tags: a\n\ntags: -a, b", "+a -a +b"),
        ("tags: a\nWords between.\ntags: c", "+a +c"),
        ("tags: +, -, #, --", ""),
        ("tags:", ""),
        ("tags:   ", ""),
        (" tags: indented", ""),
        ("hashtags: x", ""),
        ("> tags: quoted", ""),
        ("The tags: were wrong", ""),
        ("tags are fine", ""),
        ("tags: " + "x" * LONGEST, "+" + "x" * LONGEST),
        ("tags: " + "prose that goes on and on about tags without ever naming any of them", ""),
        ("tags: " + "words " * 20 + ", short", "+short"),
    ],
)
def test_a_line_of_tags_is_operations_in_order(lines: str, ops: str) -> None:
    assert read_message(f"subject\n\n{lines}\n").ops == tuple(ops.split())


def test_a_subject_that_looks_like_tags_is_a_subject() -> None:
    assert read_message("tags: add a page").ops == ()
    assert read_message("tags: add a page\n\nWords.").ops == ()


def test_a_line_of_tags_right_below_the_subject_counts() -> None:
    assert read_message("subject\ntags: a").ops == ("+a",)


# What it cites


@pytest.mark.parametrize(
    ("body", "cites"),
    [
        (f"This reverts commit {FULL}.", [("reverts", FULL)]),
        (f"This reverts commit {FULL}, reversing\nchanges made to {FULL}.", [("reverts", FULL)]),
        ("This reverts commit 0123456 (old, 2024-01-01).", [("reverts", "0123456")]),
        ("reverts 0123456 and reverts abcdef0", [("reverts", "0123456"), ("reverts", "abcdef0")]),
        ("Reverts: 0123456", [("reverts", "0123456")]),
        (f'Fixes: ABCDEF012345 ("old")\nRefs: {FULL}', [("fixes", "abcdef012345"), ("refs", FULL)]),
        (f"This reverts commit {FULL * 2}.", []),
        (f"This reverts commit {(FULL * 2)[:64]}.", [("reverts", (FULL * 2)[:64])]),
        ("This reverts commit 012345.", []),
        ("Fixes: #123\nRefs: JIRA-1", []),
        ("It reverts the order.", []),
        ("Reviewed-by: 0123456", []),
    ],
)
def test_the_commits_that_it_cites_are_known(body: str, cites: list[tuple[str, str]]) -> None:
    assert list(read_message(f"Revert x\n\n{body}").cites) == cites


# Anything at all


PIECES = st.sampled_from(
    [
        *("tags:", "Tags: ", "\ntags: ", "+", "-", ",", "#", " ", "\t", "\n", "\n\n", "\r\n", ": "),
        *("feat", "(", ")", "!", "BREAKING CHANGE: ", "Refs: ", " #", "reverts commit ", FULL),
        *("\x85", "\u2028", "\u3000", "\x1c", "İ", "ß", ".", ";", "\ud800", "x" * 70),
    ]
)
TEXT = st.lists(PIECES | st.text(max_size=8), max_size=24).map("".join)


@given(TEXT)
def test_whatever_is_written_can_be_read(text: str) -> None:
    message = read_message(text)
    assert "\n" not in message.subject
    assert not message.body.startswith("\n")


@given(TEXT.map(lambda text: f"subject\n\ntags: {text}") | TEXT)
def test_operations_are_a_sign_and_one_tag(text: str) -> None:
    message = read_message(text)
    for op in tag_operations(message.ops, message.scope, 2):
        assert op[0] in "+-"
        assert 1 <= len(op[1:]) <= LONGEST
        assert op.split() == [op]
        assert "," not in op


# A message that is being written


def test_tags_go_below_the_body_and_above_what_git_remarks() -> None:
    remarks = "# Please enter the commit message.\n#\n#\tmodified:   a.py\n#\n"
    message = with_tags(f"fix: x\n\nWhy.\n\n{remarks}", "tags: a, b")
    assert message == f"fix: x\n\nWhy.\n\ntags: a, b\n\n{remarks}"
    assert with_tags("fix: x\n", "tags: a") == "fix: x\n\ntags: a\n"
    assert with_tags("fix: x", "tags: a") == "fix: x\n\ntags: a\n"


def test_another_comment_sign_is_known() -> None:
    message = with_tags("fix: x\n\n# kept\n\n; remark\n;\n", "tags: a", ";")
    assert message == "fix: x\n\n# kept\n\ntags: a\n\n; remark\n;\n"
    message = with_tags("fix: x\n// remark\n", "tags: a", "//")
    assert message == "fix: x\n\ntags: a\n\n// remark\n"


SCISSORS = "# ------------------------ >8 ------------------------\n"
DIFF = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-tags: old\n+tags: new\n"


@pytest.mark.parametrize("rest", [f"{SCISSORS}# Do not modify.\n{DIFF}", DIFF, f"#\n{SCISSORS}"])
def test_tags_stay_above_scissors_and_the_diff_of_a_verbose_commit(rest: str) -> None:
    assert with_tags(f"fix: x\n\n{rest}", "tags: a") == f"fix: x\n\ntags: a\n\n{rest}"


@pytest.mark.parametrize("own", ["tags: mine", "TAGS: x", "tags:", "tags: -a"])
def test_a_message_with_a_line_of_tags_keeps_its_own(own: str) -> None:
    for text in (f"fix: x\n\n{own}\n", f"fix: x\n\n{own}\n\n# remark\n"):
        assert with_tags(text, "tags: a") == text


def test_tags_in_remarks_are_not_the_messages_own() -> None:
    assert with_tags("fix: x\n# tags: no\n", "tags: a") == "fix: x\n\ntags: a\n\n# tags: no\n"


def test_a_message_that_begins_with_the_number_of_an_issue_is_no_remark() -> None:
    assert with_tags("#12 fix it\n", "tags: a") == "#12 fix it\n\ntags: a\n"


@pytest.mark.parametrize("text", ["", "\n", "\n# Please enter the commit message.\n#\n"])
def test_a_message_that_is_still_empty_stays_so_for_git_to_refuse(text: str) -> None:
    message = with_tags(text, "tags: a")
    lines = [line for line in message.split("\n") if line.strip() and not line.startswith("#")]
    assert lines == []


def test_trailers_stay_in_the_last_paragraph_where_git_looks_for_them() -> None:
    message = with_tags("fix: x\n\nWhy.\n\nChange-Id: I0123\nSigned-off-by: Ada\n", "tags: a")
    last = message.rstrip().rpartition("\n\n")[2].split("\n")
    assert {"Change-Id: I0123", "Signed-off-by: Ada"} <= set(last)
    assert read_message(message).ops == ("+a",)


@given(TEXT.filter(lambda text: with_tags(text, "tags: a").lstrip()[:1] != "#"))
def test_what_was_written_is_still_there_with_its_tags(text: str) -> None:
    message = with_tags(text, "tags: a")
    assert message.replace("tags: a", "").split() == text.replace("tags: a", "").split()


def test_trailers_are_left_out_and_nothing_else() -> None:
    assert (
        without_trailers("fix: a\n\nWhy.\n\nCo-Authored-By: B <b@c>\nRefs: #1") == "fix: a\n\nWhy."
    )
    for text in ("fix: a", "fix: a\n\nNote: this is prose\nand goes on", "fix: a\n\nWhy."):
        assert without_trailers(text) == text


def test_the_trailers_of_squashed_commits_are_left_out() -> None:
    text = "feat: a (#1)\n\n* one\n\nEntire-Checkpoint: 3f\n\n* two\n\nCause: a lock\n\nwas held"
    assert without_trailers(text) == text.replace("Entire-Checkpoint: 3f\n\n", "")


def test_a_squash_does_not_repeat_its_subject() -> None:
    text = "fix(battery): show 0% (#7)\n\n* fix(battery): show 0%\n\nIt was hidden.\n\nRefs: #1"
    assert readable_message(text) == "fix(battery): show 0% (#7)\n\nIt was hidden."
    assert readable_message("fix: a") == "fix: a"
    assert readable_message("fix: a\n\n* fix: b") == "fix: a\n\n* fix: b"
