from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from kinen.distill.blocks import Block, blocks, sentences, stems, unwrapped
from kinen.distill.extract import choose, extract, listed_size
from kinen.embed import load
from kinen.errors import EmbedError, QueryError
from kinen.model.journal import Passage
from kinen.text import estimate, words

if TYPE_CHECKING:
    from kinen.ports import Embedder

LOCK = Passage(
    "checkpoint:.memories/2026-07-07/114513_bd42.md",
    """## Fixed the lock race, released as 7.4.3

While preparing the release the full suite had 11 failures. Two of them were bugs of the product.

### Product fixes
- **Lock steal race (`src/lock.ts`):** The file is made before its content lands. A waiter that
  reads in that window sees an empty lock, and steals it from its holder. Measured: 45 of 500 reads
  saw the window. Fix: a malformed lock gets a grace period of 1s before it can be stolen.
- **Atomic write (`src/file-io.ts`):** Windows refuses a rename while somebody reads the target.
  Fix: at most 10 tries, 5 ms apart.

### Impact
Nothing is lost by concurrent writes any more. Released in commit `3755ed6`.
""",
    at="2026-07-07T11:45:13.000Z",
)
RENAME = Passage(
    "note:docs/windows.md",
    """# Windows
Paths are compared without case.

| error | when |
|---|---|
| EPERM | a rename over a file that is open |
| EBUSY | an antivirus holds the file |

Decision: we retry, we do not wait for the other process. The team meets on Fridays.
""",
    at="2026-06-01T08:00:00.000Z",
)
TALK = Passage(
    "observation:01JD",
    "Ann: Hey! How was your weekend? I went climbing with my sister in Chamonix."
    " We were so lucky with the weather. Did you watch the game?\n"
    "Ben: Nice! I only fixed the sink.",
    at="2026-07-06T09:00:00.000Z",
)
ALL = [LOCK, RENAME, TALK]


@pytest.fixture(scope="module")
def model() -> Embedder:
    data = load("onnx")
    assert data is not None
    return data


# What is kept


def test_a_digest_reads_like_this() -> None:
    digest = extract("what was the fix for the lock steal race?", ALL, 160)
    assert digest.text == (
        "- [checkpoint:.memories/2026-07-07/114513_bd42.md]\n"
        "  ## Fixed the lock race, released as 7.4.3\n"
        "  ### Product fixes\n"
        "  **Lock steal race (`src/lock.ts`):** The file is made before its content lands. …"
        " Measured: 45 of 500 reads saw the window. Fix: a malformed lock gets a grace period of 1s"
        " before it can be stolen.\n"
        "  **Atomic write (`src/file-io.ts`):** Windows refuses a rename while somebody reads the"
        " target. Fix: at most 10 tries, 5 ms apart."
    )
    assert digest.by == "extract"
    assert digest.sources == (LOCK.ref,)
    assert digest.tokens_in == listed_size(ALL)
    assert digest.tokens_out == estimate(digest.text) <= 160
    assert digest.notes == ("left out: 16 of 22 sentences and lines, 2 of 3 records",)


def test_when_everything_fits_it_is_all_kept() -> None:
    digest = extract("what was the fix?", ALL, 1000)
    output = [line.strip() for line in digest.text.splitlines()]
    for entry in ALL:
        assert all(line.strip() in output for line in entry.text.splitlines())
    assert digest.sources == tuple(item.ref for item in ALL)
    assert digest.notes == ()


def test_no_digest_is_longer_than_what_it_digests() -> None:
    short = [
        Passage(f"checkpoint:{n}.md", f"Step {n}\n\n\n\n\ndone", f"Title {n}", "2026-03-01")
        for n in "ab"
    ]
    for question in ("", "when was step a done?"):
        for budget in (20, 40, 1000):
            digest = extract(question, short, budget)
            assert digest.tokens_out <= digest.tokens_in == listed_size(short)
    assert "Step a\n\n  done" in digest.text


def test_code_in_a_fence_is_quoted_where_the_question_names_it() -> None:
    form = "A checkpoint is a file.\n\n```yaml\nid: checkpoint_a1b2\ncommit: abc1234\n```\n"
    talk = "We rotate the tokens each hour because the phone keeps them too long. " * 3
    passages = [Passage("note:form.md", form * 4, "Form"), Passage("note:talk.md", talk, "Talk")]
    assert "abc1234" not in extract("what do we do with tokens?", passages, 60).text
    assert "abc1234" not in extract("", passages, 60).text
    assert "abc1234" in extract("which commit does the checkpoint name?", passages, 60).text


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("which commit was it released in?", "3755ed6"),
        ("how many tries does the write of a file have?", "at most 10 tries"),
        ("when do we get EPERM?", "| EPERM | a rename over a file that is open |"),
        ("what did we decide about the other process?", "Decision: we retry"),
        ("what changed in src/file-io.ts?", "**Atomic write (`src/file-io.ts`):**"),
        ("how long is the grace period of a lock?", "1s"),
        ("where did Ann go with her sister?", "Chamonix"),
        ("EBUSY", "an antivirus holds the file"),
    ],
)
def test_the_line_that_answers_is_kept_in_80_tokens(question: str, kept: str) -> None:
    for order in (ALL, ALL[::-1]):
        digest = extract(question, order, 80)
        assert kept in digest.text
        assert digest.tokens_out <= 80


def test_a_name_of_the_question_is_found_in_the_last_of_many() -> None:
    passages = [
        Passage(f"note:{n}.md", f"The server of team {n} restarts at night. It logs to disk.")
        for n in range(40)
    ]
    last = Passage("note:last.md", "The server was moved. `restart_all` needs the port 8443 open.")
    for question in ("why does the server fail at restart_all?", "what uses 8443 on the server?"):
        assert "note:last.md" in extract(question, [*passages, last], 120).sources


def test_no_question_gives_what_tells_the_most() -> None:
    text = (
        "# Session store\nWe talked for an hour.\nIt was warm.\nDecision: sessions go to SQLite.\n"
        "The room had a view.\nError: the migration failed on an empty table.\nLunch was late.\n"
        "Next: write the migration test."
    )
    digest = extract("", [Passage("round:1.md", text, at="2026-07-07T11:45:13.000Z")], 46)
    assert digest.text == (
        "- [round:1.md] 2026-07-07\n"
        "  # Session store\n"
        "  Decision: sessions go to SQLite.\n"
        "  Error: the migration failed on an empty table.\n"
        "  Next: write the migration test."
    )


def test_a_question_that_nothing_answers_gives_what_tells_the_most() -> None:
    text = "It was warm.\nDecision: sessions go to SQLite.\nThe room had a view of the sea.\n" * 2
    digest = extract("zebra quagga?", [Passage("round:1.md", text)], 30)
    assert "Decision: sessions go to SQLite." in digest.text


def test_what_was_said_already_is_not_said_again() -> None:
    same = "The cache is keyed by digest and model, so that a rebuild reuses all vectors."
    other = "The cache is emptied by hand only, as somebody may still need it for the vectors."
    passages = [Passage("note:a.md", same), Passage("note:b.md", same), Passage("note:c.md", other)]
    digest = extract("what is the cache of vectors keyed by?", passages, 66)
    assert digest.sources == ("note:a.md", "note:c.md")


def test_what_was_said_around_a_question_is_found_by_the_answer_that_follows_it() -> None:
    def turn(n: int, text: str, minute: int) -> Passage:
        return Passage(f"observation:{n}", text, at=f"2026-03-0{n}T10:{minute:02}:00.000Z")

    request = turn(1, "user: Which port does the metrics server use?", 0)
    answer = Passage("observation:9", "assistant: I looked, 9187 it is.", at="2026-03-01T10:01:00Z")
    others = [turn(n, f"user: The metrics page number {n} is slow.", 30) for n in range(2, 8)]
    digest = extract("metrics server port?", [request, *others, answer], 60)
    assert "observation:9" in digest.sources


# How it is shown


def test_lines_of_a_record_stand_together_in_their_order() -> None:
    first = Passage("note:a.md", "The kettle whistles at 100 degrees.")
    second = Passage("note:b.md", "Tea needs 80 degrees.")
    third = Passage("note:a.md", "The kettle is made of steel and holds two litres of water.")
    filler = Passage("note:c.md", "Nobody knows when the kitchen was built, or by whom. " * 5)
    digest = extract("how hot is the kettle?", [third, second, first, filler], 60)
    assert digest.text == (
        "- [note:a.md]\n"
        "  The kettle is made of steel and holds two litres of water.\n"
        "  The kettle whistles at 100 degrees.\n"
        "- Tea needs 80 degrees. [note:b.md]"
    )


def test_a_long_turn_is_quoted_with_its_speaker_and_by_half_at_least() -> None:
    digest = extract("where did she go climbing with her sister?", [TALK, LOCK], 35)
    assert digest.text == (
        "- Ann: … I went climbing with my sister in Chamonix. We were so lucky with the weather. …"
        " [observation:01JD]"
    )


def test_the_day_is_told_where_it_matters() -> None:
    text = extract("when did she go climbing?", [TALK, LOCK], 60).text
    assert "[observation:01JD] 2026-07-06" in text
    relative = TALK._replace(text="Ann: I went climbing yesterday. " + "It was fun. " * 30)
    assert "[observation:01JD] 2026-07-06" in extract("who climbs?", [relative], 40).text
    assert "2026-07-06" not in extract("who climbs?", [TALK, LOCK], 60).text


def test_a_title_is_told_if_the_text_does_not_have_it() -> None:
    chunk = Passage("note:docs/a.md", "Tokens last 15 minutes. " + "So be it. " * 40, "Sign-in")
    assert extract("how long do tokens last?", [chunk], 40).text.startswith(
        "- [note:docs/a.md]\n  Sign-in\n  Tokens last 15 minutes."
    )
    assert "A" not in extract("how long?", [chunk._replace(title="A")], 40).text.split()


def test_a_budget_that_holds_no_line_holds_its_beginning() -> None:
    long = Passage("note:a.md", "The kettle " + "and the pot and the pan and the cup " * 9)
    digest = extract("where is the kettle?", [long], 20)
    assert digest.text == "- The kettle and the pot and the pan and … [note:a.md]"
    assert extract("where is the kettle?", [long], 5).text == ""
    assert extract("kettle", [Passage("note:a.md", "茶" * 500)], 30).text.startswith("- 茶茶")


def test_nothing_gives_nothing() -> None:
    empty = extract("why?", [Passage("note:a.md", " \n"), Passage("note:b.md", "")], 100)
    assert (empty.text, empty.sources, empty.notes) == ("", (), ())
    assert extract("why?", [], 1).tokens_in == 0
    assert extract("why?", [Passage("note:a.md", "--- *** ---\n" * 50)], 10).text == ""


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_for_nothing_is_refused(budget: int) -> None:
    with pytest.raises(QueryError, match="budget"):
        extract("why?", ALL, budget)


def test_every_process_makes_the_same_bytes() -> None:
    program = (
        "from kinen.model.journal import Passage\n"
        "from kinen.distill.extract import extract\n"
        f"passages = [Passage(*one) for one in {[tuple(item) for item in ALL]!r}]\n"
        "print(extract('what was the fix for the lock race on Windows?', passages, 150))"
    )
    stdouts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(stdouts) == 1


# Vectors


def test_meaning_brings_up_what_no_word_does(model: Embedder) -> None:
    text = (
        "The printer is on the second floor.\nOur lunch is at noon.\nThe lift is out of order.\n"
        "To sign in, employees enter their password and a code from their phone.\n"
        "Coffee is free for all of us.\nThe windows were cleaned."
    )
    passages = [Passage("note:a.md", text)]
    question = "authentication?"
    assert "password" not in extract(question, passages, 35).text
    assert "password" in extract(question, passages, 35, model.embed).text


def test_the_model_is_not_asked_when_there_is_nothing_to_choose(model: Embedder) -> None:
    request: list[Any] = []

    def embed(texts: list[str]) -> Any:
        request.append(texts)
        return model.embed(texts)

    extract("what was the fix?", ALL, 1000, embed)
    extract("", ALL, 100, embed)
    assert request == []
    extract("what was the fix?", ALL, 100, embed)
    (texts,) = request
    assert texts[0] == "what was the fix?"
    assert sum(map(estimate, texts)) < 450


def test_without_an_answer_of_the_model_words_decide() -> None:
    def embed(_: list[str]) -> Any:
        raise EmbedError("the service is away", "start it")

    digest = extract("what was the fix?", ALL, 100, embed)
    assert digest.text == extract("what was the fix?", ALL, 100).text
    assert digest.notes[0] == "by words only: the service is away · start it"


# Cutting


@pytest.mark.parametrize(
    "text",
    [
        "It is in src/lock.ts. It works.",
        "We use v7.4.3. It is new.",
        "See https://example.com/a.b?c=d. It helps.",
        "Tools, e.g. Git, i.e. Linus' one, etc. are here. Yes.",
        "Dr. Who met J. R. R. Tolkien. They spoke.",
        "See Fig. 3 and p. 5 in No. 7. It is there.",
        "Run `git add . Now` first. Then commit.",
        'He said "stop." Then he went.',
        "It takes 2.5 s... That is long.",
        "Really?! Yes.",
        "これは文です。次の文です。",
    ],
)
def test_two_sentences_are_two(text: str) -> None:
    (start, middle), (other, end) = sentences(text)
    assert (start, end) == (0, len(text))
    assert text[middle:other].strip() == ""


@pytest.mark.parametrize(
    "text", ["1. Do it now", "a.b.c", "Yahoo! is a name", "wait... for it", "no full stop"]
)
def test_one_sentence_is_one(text: str) -> None:
    assert sentences(text) == [(0, len(text))]


def kinds(text: str) -> list[tuple[str, list[str]]]:
    return [(block.kind, block.pieces) for block in blocks(text)]


def test_blocks_of_markdown_stay_what_they_are() -> None:
    text = (
        "# Title\n\nA paragraph that is broken by the margin of eighty\ncolumns. One. Two.\n"
        "- an item. And more.\n- [x] **Option A:** chosen\n  because it is small\n1. first\n"
        "Key points:\n| a | b |\n|---|:-:|\n| 1 | 2 |\n---\n```py\ndef f():\n    return 1\n```\n"
        "> [!note] Decision\n> We use SQLite.\n\n    indented code\n**Bold lead-in**\n"
        "Ann: Hi. Bye.\nBen: Hi."
    )
    assert kinds(text) == [
        ("heading", ["# Title"]),
        (
            "prose",
            ["A paragraph that is broken by the margin of eighty columns.", "One.", "Two."],
        ),
        ("prose", ["an item. And more."]),
        ("prose", ["[x] **Option A:** chosen because it is small"]),
        ("prose", ["1. first"]),
        ("heading", ["Key points:"]),
        ("row", ["| a | b |"]),
        ("row", ["| 1 | 2 |"]),
        ("fenced", ["def f():"]),
        ("fenced", ["    return 1"]),
        ("heading", ["[!note] Decision"]),
        ("prose", ["We use SQLite."]),
        ("code", ["    indented code"]),
        ("heading", ["**Bold lead-in**"]),
        ("prose", ["Ann: Hi. Bye."]),
        ("prose", ["Ben: Hi."]),
    ]


def test_lines_of_a_log_are_not_joined() -> None:
    text = (
        "PASS a.test.ts\nFAIL b.test.ts\n2026-07-16 13:31:26 ERROR the index could not be opened\n"
    )
    assert [pieces for _, pieces in kinds(text * 2)] == [[line] for line in text.splitlines()] * 2


def test_columns_and_paths_are_not_joined() -> None:
    text = (
        "src/one/module_with_a_long_name.py          49      4    92%   46-47\n"
        "src/two/module_with_a_long_name.py          34      0   100%\n"
        "src/three/folder/another_folder/module_with_a_long_name.py\n"
        "src/four.py"
    )
    assert len(list(blocks(text))) == 4
    assert unwrapped(text) == text


def test_unwrapped_text_has_its_sentences_on_one_line() -> None:
    text = (
        "This line of prose was broken by a margin of an editor, and\nends here.\n\n"
        "- an item of a list that was broken by the margin of an editor\n  and ends here\n"
        "- the next\n```\nsome long line of code with a number of words, not a sentence\nend\n```"
    )
    assert unwrapped(text).splitlines() == [
        "This line of prose was broken by a margin of an editor, and ends here.",
        "",
        "- an item of a list that was broken by the margin of an editor and ends here",
        "- the next",
        "```",
        "some long line of code with a number of words, not a sentence",
        "end",
        "```",
    ]


def test_a_small_excerpt_has_room_for_several_windows() -> None:
    line = "retry " + "because the lock is held by another process of the same user " * 6
    passages = [Passage(f"note:{name}.md", f"{name} {line}") for name in ("one", "two", "three")]
    heads = {passage.ref: [f"[{passage.ref}]"] for passage in passages}
    lines = choose("why retry the lock?", passages, heads, 100)
    assert len({ref for ref, _ in lines}) > 1


def test_a_line_without_end_is_cut_into_windows() -> None:
    for text in ("word " * 50_000, "x" * 200_000, "日本語" * 50_000):
        (block,) = blocks(text)
        assert all(estimate(piece) <= 110 for piece in block.pieces)
        assert "".join("".join(block.pieces).split()) == "".join(text.split())


def test_a_quotation_shows_what_it_leaves_out() -> None:
    (block,) = blocks("**Cause:** One is this. Two is that. Three is there. Four is here.")
    assert isinstance(block, Block)
    assert block.quoted({1}) == "**Cause:** … Two is that. …"
    assert block.quoted({0, 1}) == "**Cause:** One is this. Two is that. …"
    assert block.quoted({0, 2, 3}) == "**Cause:** One is this. … Three is there. Four is here."
    assert block.quoted({0, 1, 2, 3}) == block.text


def test_words_meet_whatever_their_ending() -> None:
    for item, other in (
        ("deleted", "deletion"),
        ("registries", "registry"),
        ("caching", "caches"),
        ("stopped", "stop"),
        ("getUserName", "name"),
        ("user_id", "userId"),
        ("日本語", "日本"),
    ):
        assert set(stems(item)) & set(stems(other))
    assert stems("what is it?") == []


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        (
            "When did Ann finish the writing of her book?",
            "Ann: the book, the writing of it, until Friday.",
            "Ann: the book, the writing of it, is completed.",
        ),
        (
            "What did the agent offer to do about the branch?",
            "Should I delete the old branch of the release as well?",
            "Is the old branch of the release the branch of the agent as well?",
        ),
    ],
)
def test_a_question_gets_what_it_asks_for(question: str, answer: str, other: str) -> None:
    passages = [Passage("note:b.md", other), Passage("note:a.md", answer)]
    assert answer in extract(question, passages, 25).text


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "The index is derived from 42 files. It works, e.g. in src/a.py! " * 32_000,
        "x" * 2_000_000,
        "a.\n" * 700_000,
        "日本語です。" * 100_000,
        "`" * 1_000_000 + "." * 1_000_000,
        "# a\n**b\n- c: d\n" * 150_000,
    ],
    ids=["prose", "word", "lines", "cjk", "marks", "markdown"],
)
def test_two_megabytes_take_in_proportion_to_reading_their_words(text: str) -> None:
    began = time.process_time()
    for _ in range(3):
        words(text + " a b c" * 50_000)
    read = time.process_time() - began
    began = time.process_time()
    digest = extract("what is derived from files in src/a.py?", [Passage("note:a.md", text)], 500)
    assert digest.tokens_out <= 500
    assert time.process_time() - began < 40 * read


def test_a_lead_in_is_quoted_with_what_it_leads_in_to() -> None:
    text = (
        "Every deployment of the service failed before it began:\n\n"
        "```text\nUnable to locate the executable file: pnpm\n```\n\n"
        + "Nothing else was looked at in this review of the logs. "
        * 12
    )
    passage = Passage("message:a", text, "", "")
    lines = choose("why did every deployment fail", [passage], {passage.ref: ["[a]"]}, 60)
    assert [line for _, line in lines][:2] == [
        "Every deployment of the service failed before it began:",
        "Unable to locate the executable file: pnpm",
    ]


def test_a_lead_in_brings_the_first_item_of_its_list() -> None:
    text = "Local calls of the page reach the worker by a **proxy:**\n\n- target `127.0.0.1:8787`\n"
    passage = Passage("message:a", text + "\n" + "The rest of the page is as it was. " * 30)
    lines = choose("how do calls of the page reach the worker", [passage], {"message:a": []}, 45)
    assert [line for _, line in lines][1:2] == ["target `127.0.0.1:8787`"]


def test_what_explains_goes_before_a_step_that_was_found_just_before_it() -> None:
    other = Passage("message:a", "Nothing of that is here.")
    step = Passage("message:b", "The audience of the token is checked.")
    told = Passage("message:c", "The audience of the token is cyspbot.")
    heads: dict[str, list[str]] = {passage.ref: [] for passage in (other, step, told)}

    def first(message: Passage) -> str:
        return choose("audience of the token", [other, step, message], heads, 12)[0][0]

    assert first(told) == step.ref
    assert first(told._replace(worth=1.0)) == told.ref


def test_a_question_why_gets_the_cause_and_not_the_test_of_it() -> None:
    cause = "The tree reused a stale load after the selection changed, so it waited for the old one"
    tested = "Added `rows.test.ts`, which selects A, then B, and verifies that A cannot be shown"
    passage = Passage("message:a", f"{cause}.\n\n{tested}.\n\n" + "The rest is unchanged. " * 20)
    lines = choose("why did the tree hang after selecting", [passage], {passage.ref: ["[a]"]}, 45)
    assert lines[0][1].startswith(cause[:40])


def test_long_output_leaves_room_for_messages() -> None:
    words = ("app", "scope", "policy", "caller", "worker", "secret", "branch", "header", "cache")
    lines = [
        f"docs/{word}.md: the {word} of the requested token has an audience for {word[::-1]}"
        f" and no other {word[1:]}x."
        for word in words
    ]
    printed = Passage("observation:out", "\n\n".join(lines))
    told = [
        Passage(f"observation:{name}", f"GitHub refused the audience of {name}, so we waited.")
        for name in ("Ann", "Ben", "Cleo", "Dan", "Eve")
    ]
    question = "What does GitHub answer when the token for that audience is requested?"

    def messages(output: Passage) -> int:
        passages = [*told[:2], output, *told[2:]]
        heads = {passage.ref: [f"[{passage.ref}]"] for passage in passages}
        return len({ref for ref, _ in choose(question, passages, heads, 200)} - {output.ref})

    assert messages(printed._replace(output=True)) > messages(printed)


def test_a_whole_sentence_comes_before_one_that_was_cut() -> None:
    cut = Passage("observation:cut", "The lock was stolen because the waiter read an empty…")
    whole = Passage("observation:whole", "The lock was stolen because the waiter read no owner.")
    heads = {passage.ref: [f"[{passage.ref}]"] for passage in (cut, whole)}
    chosen = choose("Why was the lock stolen?", [cut, whole], heads, 24)
    assert [ref for ref, _ in chosen] == [whole.ref]
