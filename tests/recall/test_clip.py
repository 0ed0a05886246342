from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from kinen.model.journal import Plan
from kinen.recall.clip import (
    HEAD,
    REPEATED,
    compact,
    cut,
    cut_output,
    plan_text,
    readable_output,
    said_once,
)
from kinen.text import estimate

lines = st.lists(st.text("abc déf 日本 ", max_size=60), max_size=12)
texts = lines.map("\n".join)


@given(texts, st.integers(2, 200))
def test_a_cut_fits_and_is_marked(text: str, tokens: int) -> None:
    short = cut(text, tokens)
    if estimate(text) <= tokens:
        assert short == text
    else:
        assert estimate(short) <= tokens
        assert short.endswith("…")


@given(texts, st.integers(2, 200))
def test_whole_lines_are_kept_from_the_beginning(text: str, tokens: int) -> None:
    short = cut(text, tokens)
    *whole, last = short.split("\n")
    if last == "…":
        assert text.splitlines()[: len(whole)] == whole


def test_the_line_that_matches_the_question_is_shown() -> None:
    text = "\n".join([*(f"line {number} about nothing" for number in range(50)), "redis was lost"])
    short = compact(text, "when was redis lost", 20)
    assert "redis was lost" in short
    assert short.startswith("…")
    assert estimate(short) <= 20


def test_a_plan_shows_its_open_tasks_and_counts_the_done_ones() -> None:
    plan = _plan("Move", "# Move\n\nIntro\n\n- [x] first\n- [ ] second\n- [ ] third\n")
    assert plan_text(plan, 100) == "Move (1 of 3 done)\n- [ ] second\n- [ ] third"


def test_a_plan_without_tasks_shows_its_beginning() -> None:
    assert plan_text(_plan("Move", "# Move\n\nStep by step."), 100) == "Move\nStep by step."


def _plan(title: str, text: str) -> Plan:
    return Plan(id="move", title=title, text=text)


@given(texts)
@example(f"{'a' * REPEATED} \n{'a' * REPEATED} ")
@example(f"{'a' * REPEATED}…\n{'a' * REPEATED}…")
def test_repeated_long_lines_are_shown_once(text: str) -> None:
    lines = text.splitlines()
    once = said_once(text).split("\n")
    assert set(once) <= {*lines, ""}
    assert set(lines[HEAD:]) <= set(once)
    shortened = (line.strip("#").strip().rstrip("….") for line in lines)
    assert all(any(line in other for other in once) for line in shortened)
    long = [line for line in once if len(line) >= REPEATED]
    assert len(long) == len(set(long))


def test_a_title_and_a_summary_that_the_text_repeats_are_left_out() -> None:
    body = "The outage came from an expired certificate on the load balancer. We renewed it."
    title = "The outage came from an expired certificate…"
    summary = "The outage came from an expired certificate on the load balancer"
    text = f"{title}\n{summary}\nsymbols: renew_certs\n{body}"
    assert said_once(text) == f"symbols: renew_certs\n{body}"
    assert said_once(f"{title}\nIt was long ago.") == f"{title}\nIt was long ago."


def test_a_short_result_stands_behind_its_command() -> None:
    assert readable_output("$ python --version\nPython 3.11.7\n") == (
        "$ python --version → Python 3.11.7"
    )


def test_more_output_stays_below_its_command() -> None:
    text = "$ ls\na.py\nb.py"
    assert readable_output(text) == text


def test_lines_inside_json_are_lines_again() -> None:
    text = r'log.json:3: "# Title\n\n- one\n- two"'
    assert readable_output(text).splitlines() == ['log.json:3: "# Title', "", "- one", '- two"']


def test_an_escape_in_code_stays() -> None:
    text = r'print("a\nb")'
    assert readable_output(text) == text


@given(st.text())
def test_no_word_is_lost(text: str) -> None:
    output = readable_output(text).replace("→", " ")
    assert output.split() == text.replace("→", " ").replace("\\n", " ").split() or "\\n" in text


def test_a_long_command_is_cut_before_its_short_result() -> None:
    text = f"$ cd /srv/app/{'deeper/' * 20} && python -c 'print(version)'\n1.62.0"
    short = cut_output(text, 30)
    assert short.endswith(" → 1.62.0")
    assert estimate(short) <= 30
    longer = "$ make\n" + "a line of output\n" * 40
    assert cut_output(longer, 30) == cut(longer, 30)
