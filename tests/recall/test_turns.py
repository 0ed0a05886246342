"""Turns, not messages: a prompt comes with its answer, a "yes" with what it accepts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kinen.recall.excerpts import Turn, turns
from kinen.recall.fuse import evidence
from tools.tool import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

    Runner = Callable[..., Ran]

facts = load("facts", "benchmarks")

PUSH = "what happens if a push is made by the agent in the middle of a turn?"
CONDENSED = "The hook condenses what is pending first. Nothing of the session is lost by it."
OPTIONS = """There are three ways to end the sessions that were left open:

- Option A: a timeout of ten minutes
- Option B: ask at the next start
- Option C: remove the session-end hook entirely

Which one do you prefer?"""


def imported(kinen: Runner, space: Path, *messages: tuple[str, str]) -> None:
    told = [facts.Message(*message) for message in messages]
    (path,) = facts.write_transcripts([told], space.parent, space)
    assert kinen("import", "transcripts", str(path)).code == 0


def test_a_prompt_is_shown_with_the_final_message_of_its_turn(kinen: Runner, space: Path) -> None:
    filler = [("assistant", f"Now I read file number {n} of the package.") for n in range(12)]
    imported(
        kinen,
        space,
        ("user", PUSH),
        *filler,
        ("assistant", CONDENSED),
        ("user", "Thanks, now the colours of the chart, please."),
        ("assistant", "The chart is blue."),
    )
    recalled = json.loads(kinen("recall", PUSH, "--budget", "300", "--json").out)
    shown = next(item for item in recalled["items"] if PUSH in item["text"])
    assert "→ [" in shown["text"]
    assert "condenses what is pending" in shown["text"]
    assert recalled["tokens"] <= 300


@pytest.mark.parametrize(
    ("reply", "accepts"),
    [
        ("option C", "remove the session-end hook entirely"),
        ("the second one", "ask at the next start"),
        ("die erste", "a timeout of ten minutes"),
    ],
)
def test_a_choice_is_shown_with_the_option_that_it_accepts(
    kinen: Runner, space: Path, reply: str, accepts: str
) -> None:
    imported(
        kinen,
        space,
        ("user", "How can we end sessions that were left open?"),
        ("assistant", OPTIONS),
        ("user", reply),
        ("assistant", "Done: the code and its tests are changed."),
    )
    recalled = kinen("recall", "ways to end sessions that were left open").out
    assert f"accepted by the user (“{reply}”): {accepts}" in recalled
    answer = kinen("ask", "ways to end sessions that were left open").out
    assert f"accepted by the user (“{reply}”): {accepts}" in answer
    assert "prefer?" not in answer


@pytest.mark.parametrize("reply", ["don't do A", "not option C", "A is wrong", "skip the first"])
def test_a_refusal_is_neither_told_nor_saved_as_a_decision(
    kinen: Runner, space: Path, reply: str
) -> None:
    imported(
        kinen,
        space,
        ("user", "How can we end sessions that were left open?"),
        ("assistant", OPTIONS),
        ("user", reply),
        ("assistant", "Then I ask at the next start."),
    )
    assert "no new memories" in kinen("consolidate").out
    assert "accepted by the user" not in kinen("recall", "ways to end open sessions").out


def test_a_choice_is_found_by_what_it_is_about(kinen: Runner, space: Path) -> None:
    imported(
        kinen,
        space,
        ("user", "We need a queue for mails."),
        ("assistant", "Two candidates:\n1. RabbitMQ\n2. SQS\n\nWhich do you prefer?"),
        ("user", "option 1 please, but keep cron for now"),
        ("assistant", "Done."),
    )
    assert kinen("consolidate").code == 0
    recalled = json.loads(kinen("recall", "which queue did we decide on for mails", "--json").out)
    assert (
        "We need a queue for mails: RabbitMQ (but keep cron for now)"
        in recalled["items"][0]["text"]
    )


@pytest.mark.parametrize(
    ("question", "reply", "decided"),
    [
        ("The cache is stale. Shall I delete the cache folder?", "yes", "delete the cache folder"),
        ("Der Cache ist alt. Soll ich den Cache löschen?", "ja, bitte", "ich den Cache löschen"),
        ("缓存已经过期。要删除缓存目录吗？", "好的", "要删除缓存目录吗"),
        (
            "I would delete the cache folder. Shall I do that?",
            "yes",
            "would delete the cache folder",
        ),
        ("Ich würde den Cache löschen.\n\nSoll ich das tun?", "ja", "würde den Cache löschen"),
        ("Left:\n- the cache\n- the log\n\nShall I do that?", "yes", "”): Shall I do that"),
    ],
)
def test_a_yes_is_shown_with_the_question_that_it_answers(
    kinen: Runner, space: Path, question: str, reply: str, decided: str
) -> None:
    imported(
        kinen,
        space,
        ("user", "Cache? 缓存"),
        ("assistant", question),
        ("user", reply),
        ("assistant", "Done."),
    )
    recalled = kinen("recall", question).out
    assert f"accepted by the user (“{reply}”): " in recalled
    assert decided in recalled.partition("accepted by the user")[2]


def test_ask_answers_with_a_statement_and_never_with_a_question(kinen: Runner, space: Path) -> None:
    imported(
        kinen,
        space,
        ("user", PUSH),
        ("assistant", CONDENSED),
        ("user", "And what happens if a push is made twice in a turn?"),
        ("assistant", "Does the second push matter? Is a turn of two pushes real?"),
    )
    answer = kinen("ask", PUSH)
    assert answer.code == 0
    assert "condenses what is pending" in answer.out
    statements = answer.out.partition("\n\n")[0]
    assert "?" not in statements
    assert statements.count("\n- ") == 0, "one right statement is better than five"


RETRIES = "I would put the retries into the HTTP client rather than each caller."


@pytest.mark.parametrize(
    "question",
    [
        "Shall I go ahead?",
        "Shall I go ahead? 🙂",
        "**Shall I go ahead?**",
        "要这样做吗？",
        "هل أبدأ؟",
        "Να συνεχίσω;",
        "Շարունակե՞մ",
    ],
)
def test_a_proposal_comes_with_the_reply_that_refused_it_and_what_came_of_it(
    kinen: Runner, space: Path, question: str
) -> None:
    imported(
        kinen,
        space,
        ("user", "Where do retries belong?"),
        ("assistant", f"{RETRIES} {question}"),
        ("user", "No, keep them where they are"),
        ("assistant", "Fine, each of the callers has its own."),
    )
    parts = (RETRIES, "] the user: No, keep them", "] Fine, each of the callers")
    for command in ("ask", "recall"):
        said = kinen(command, "where do retries belong").out
        assert -1 < said.find(parts[0]) < said.find(parts[1]) < said.find(parts[2])
    assert kinen("ask", "where do retries belong").out.startswith(f"- proposed: {RETRIES}")


def test_proposals_are_followed_until_one_is_settled(kinen: Runner, space: Path) -> None:
    imported(
        kinen,
        space,
        ("user", "Where do retries belong?"),
        ("assistant", f"{RETRIES} Shall I go ahead?"),
        ("user", "Not there"),
        ("assistant", "A decorator would hold the retries, too. Is that better?"),
        ("user", "yes"),
        ("assistant", "The decorator is in place."),
    )
    answer = kinen("ask", "where do retries belong").out.partition("\n\n")[0]
    assert "the user: Not there" in answer
    assert "accepted by the user (“yes”): A decorator would hold the retries" in answer
    assert answer.endswith("The decorator is in place.")
    assert "?" not in answer


def test_an_answer_has_what_was_said_later_in_the_session_about_the_same(
    kinen: Runner, space: Path
) -> None:
    imported(
        kinen,
        space,
        ("user", "Look at the importer."),
        ("assistant", "The importer overwrites old dates of the files."),
        ("user", "Change that."),
        ("assistant", "The importer leaves old dates alone."),
    )
    answer = kinen("ask", "does the importer overwrite old dates").out
    assert "The importer leaves old dates alone." in answer


def test_ask_has_no_answer_where_there_are_only_questions(kinen: Runner, space: Path) -> None:
    imported(kinen, space, ("user", PUSH), ("assistant", "¿Qué push? 哪一次推送？"))
    answer = kinen("ask", PUSH)
    assert answer.code == 1
    assert answer.out.strip() == ""


def test_what_a_session_says_in_several_messages_is_added_up() -> None:
    kettle, vinegar, schedule = {"spread": 1, "narrow": 3}, {"spread": 1}, {"spread": 1}
    scores = evidence([kettle, vinegar, schedule], {"spread": 6, "narrow": 6, "other": 6})
    assert scores["spread"] > scores["narrow"] > 0
    assert "other" not in scores


def test_turns_end_where_the_user_speaks_after_the_agent() -> None:
    roles = ["user", "assistant", "assistant", "user", "user", "assistant", "user"]
    messages = [(str(n), role) for n, role in enumerate(roles)]
    found = turns(messages)
    first, second = Turn("", ("0",), "2", "3"), Turn("2", ("3", "4"), "5", "6")
    assert [found[str(n)] for n in range(6)] == [first] * 3 + [second] * 3
    assert found["6"] == Turn("5", ("6",))
    assert turns([("0", "assistant"), ("1", "user")])["0"] == Turn("", (), "0", "1")


def test_a_handoff_has_a_choice_and_a_lesson_once(kinen: Runner, space: Path) -> None:
    imported(
        kinen,
        space,
        ("user", "Which cache should the catalogue use?"),
        (
            "assistant",
            "Three options:\n\nA) memcached\nB) a dict\nC) Valkey with a TTL\n\nWhich one?",
        ),
        ("user", "option C"),
        ("assistant", "The catalogue uses it.\n\nLesson: The old discount was rounded twice."),
    )
    kinen("consolidate")
    text = kinen("handoff").out
    decided = text.partition("## Decided\n")[2].partition("\n\n")[0]
    assert decided.startswith("- Which cache should the catalogue use? Valkey with a TTL")
    assert decided.count("Valkey") == 1
    assert text.count("rounded twice") == 1


def test_a_lesson_that_is_cut_leaves_the_outcome_whole(kinen: Runner, space: Path) -> None:
    fixed = (
        "**Fetch the blocking order on 409** (line ~425): In the catch block of `handleSubmit`,"
        ' when the error indicates "already exists", fetches the ID of the blocking order via'
        " `api.getOrderForCustomer()` so the delete button becomes available even if"
        " `loadExistingOrder` didn't fire."
    )
    imported(
        kinen,
        space,
        ("user", "The order page has no delete button after a conflict, please fix it."),
        ("assistant", f"All checks pass.\n\n1. **Button**: it is shown in config.\n2. {fixed}"),
    )
    kinen("consolidate")
    text = kinen("handoff").out
    assert "via…" in text.partition("## Learned\n")[2]
    assert "didn't fire" in text
