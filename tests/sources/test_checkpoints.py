"""Checkpoints and plans: what Goldfish wrote is read, and what is written reads back the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kinen.errors import Unreadable
from kinen.model.journal import Checkpoint, Plan
from kinen.text.frontmatter import dump_yaml, load_yaml
from kinen.worklog.checkpoints import (
    checkpoint_id,
    file_name,
    format_checkpoint,
    format_plan,
    read_checkpoint,
    read_plan,
    summary_of,
)

KETTLE = """\
---
id: checkpoint_ebc9c0ec
timestamp: 2026-03-05T09:07:41.042Z
tags:
  - kettle
  - "1.10"
  - no
git:
  branch: fix/boil
  commit: "123e456"
  files:
    - docs/tea time.md
    - src/kettle.ts
    - src/größe.ts
briefId: warm-water
type: incident
context: "The kettle was filled to the brim: the lid opened, and the switch
  never saw the steam that it waits for."
decision: Trust the sensor
alternatives:
  - "a timer: it's simple, but wrong"
  - "# nothing"
impact: |-
  One line less
  and no lid that opens
evidence:
  - "bun test: 12 pass"
  - yes
symbols:
  - boil
  - "@kettle/lid"
next: Descale it?
confidence: 4
unknowns:
  - why the lid opens
---

## The kettle boils twice

It said "done" and went on: the thermostat reports late.

---

- [x] read the sensor before the switch
"""
"""What Goldfish 7.6 writes, every field filled in."""
VALUES = json.loads(Path(__file__).with_name("yaml_values.json").read_text())
"""Values that are easily written so that some reader takes them for something else."""


class CoreLoader(yaml.SafeLoader):
    """Reads scalars by the core schema of YAML 1.2, as Goldfish does."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's attribute


for name, pattern, first in (
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
):
    CoreLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{name}", re.compile(f"^(?:{pattern})$"), list(first)
    )


def read(text: str, name: str = "a.md") -> Checkpoint:
    return read_checkpoint(text.encode(), name)


def with_head(**lines: str) -> Checkpoint:
    head = {"id": "checkpoint_1", "timestamp": "2026-03-05T09:07:41.042Z", **lines}
    return read(
        "---\n" + "\n".join(f"{key}: {message}" for key, message in head.items()) + "\n---\n\nx\n"
    )


def test_every_field_is_read() -> None:
    checkpoint = read(KETTLE)
    assert checkpoint._replace(text="") == Checkpoint(
        id="checkpoint_ebc9c0ec",
        at="2026-03-05T09:07:41.042Z",
        text="",
        tags=("kettle", "1.10", "no"),
        branch="fix/boil",
        commit="123e456",
        files=("docs/tea time.md", "src/kettle.ts", "src/größe.ts"),
        plan="warm-water",
        type="incident",
        context="The kettle was filled to the brim: the lid opened, and the switch never saw the "
        "steam that it waits for.",
        decision="Trust the sensor",
        alternatives=("a timer: it's simple, but wrong", "# nothing"),
        impact="One line less\nand no lid that opens",
        evidence=("bun test: 12 pass", "yes"),
        symbols=("boil", "@kettle/lid"),
        next="Descale it?",
        confidence=4,
        unknowns=("why the lid opens",),
    )
    assert checkpoint.text.startswith("## The kettle boils twice\n\nIt said")
    assert checkpoint.text.endswith("\n---\n\n- [x] read the sensor before the switch")


def test_what_goldfish_wrote_reads_the_same_after_it_is_written() -> None:
    text = format_checkpoint(read(KETTLE))
    assert read(text) == read(KETTLE)
    before, after = (yaml.load(value.split("---\n")[1], CoreLoader) for value in (KETTLE, text))
    assert after == before
    assert list(after) == list(before)


@pytest.mark.parametrize("values", VALUES, ids=lambda item: ascii(item)[:40])
def test_every_reader_of_yaml_gets_the_same_values(values: dict[str, Any]) -> None:
    text = dump_yaml(values)
    assert load_yaml(text) == values
    assert yaml.safe_load(text) == values  # YAML 1.1
    assert yaml.load(text, CoreLoader) == values  # YAML 1.2


def test_text_of_several_lines_is_a_block() -> None:
    assert dump_yaml({"impact": "one\n\ntwo: 2"}) == "impact: |-\n  one\n\n  two: 2\n"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t :#-'\"\\")))
def test_any_text_reads_as_it_was_written(text: str) -> None:
    text = text.strip()
    values = {"next": text, "git": {"files": [text]}}
    written = dump_yaml(values)
    assert load_yaml(written) == values
    assert yaml.safe_load(written) == values


@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("mark", ["\ufeff", ""])
def test_a_byte_order_mark_and_other_line_ends_change_nothing(mark: str, end: str) -> None:
    assert read(mark + KETTLE.replace("\n", end)) == read(KETTLE)


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ("1770901662", "2026-02-12T13:07:42.000Z"),
        ("1770901662718", "2026-02-12T13:07:42.718Z"),
        ("1770901662.25", "2026-02-12T13:07:42.250Z"),
        ("'1770901662718'", "2026-02-12T13:07:42.718Z"),
        ("2026-02-12", "2026-02-12T00:00:00.000Z"),
        ("2026-02-12 13:07:42", "2026-02-12T13:07:42.000Z"),
        ("2026-02-12T23:07:42-05:00", "2026-02-13T04:07:42.000Z"),
        ("'2026-02-12T13:07:42.718Z'", "2026-02-12T13:07:42.718Z"),
    ],
)
def test_times_are_read_in_every_way_they_were_written(said: str, at: str) -> None:
    assert with_head(timestamp=said).at == at


@pytest.mark.parametrize(
    "said",
    ["2026-02-30T10:00:00Z", "2026-13-01", "yesterday", "99999999999999999", "-5", "true", "[1]"],
)
def test_an_impossible_time_is_refused(said: str) -> None:
    with pytest.raises(Unreadable, match=r"invalid timestamp|no timestamp"):
        with_head(timestamp=said)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (KETTLE.replace("id: checkpoint_ebc9c0ec\n", ""), "no id"),
        (KETTLE.replace("checkpoint_ebc9c0ec", "' '"), "no id"),
        (KETTLE.replace("timestamp: 2026-03-05T09:07:41.042Z\n", ""), "no timestamp"),
        (KETTLE.replace("next: D", "next: [D"), "frontmatter: "),
        ("no frontmatter at all\n", "no frontmatter"),
        ("---\nid: checkpoint_1\n", "no frontmatter"),
        ("", "no frontmatter"),
        ("---\n- a\n---\n", "no frontmatter"),
        ("\0\x01\x02", "binary file"),
    ],
)
def test_what_is_no_checkpoint_says_why(text: str, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(text)
    assert caught.value.message.startswith(reason)


@pytest.mark.parametrize("key", ["files", "files_changed", "filesChanged"])
def test_changed_files_have_had_three_names(key: str) -> None:
    checkpoint = with_head(git=f"{{branch: main, {key}: [a.ts, 'b c.ts'], dirty: true}}")
    assert (checkpoint.branch, checkpoint.files) == ("main", ("a.ts", "b c.ts"))


@pytest.mark.parametrize(
    ("said", "sure"),
    [("4", 4), ("'4'", 4), ("4/5", 4), ("3.6", 4), ("0", 0), ("6", 0), ("high", 0), ("true", 0)],
)
def test_confidence_is_a_number_from_1_to_5_or_nothing(said: str, sure: int) -> None:
    assert with_head(confidence=said).confidence == sure


def test_lists_may_be_json_in_a_string_or_one_line() -> None:
    checkpoint = with_head(
        tags='\'["a", "b, c"]\'', symbols="f, g", evidence="one, two", unknowns="7"
    )
    assert (checkpoint.tags, checkpoint.symbols) == (("a", "b, c"), ("f", "g"))
    assert (checkpoint.evidence, checkpoint.unknowns) == (("one, two",), ())


def test_the_older_name_of_a_plan_is_read_and_the_newer_written() -> None:
    old = KETTLE.replace("briefId", "planId")
    assert read(old).plan == "warm-water"
    assert "\nbriefId: warm-water\n" in format_checkpoint(read(old))


def test_an_unknown_type_is_none() -> None:
    assert (with_head(type="bugfix").type, with_head(type="Decision").type) == ("", "decision")


def test_signs_that_only_javascript_lets_stand_spoil_nothing() -> None:
    assert with_head(next='"del\x7f and \x9b"').next == "del and "


def test_a_checkpoint_of_json_is_read() -> None:
    old = {
        "id": "checkpoint_69a4",
        "timestamp": 1770901662,
        "description": "The kettle\r\nboils \ud83d",
        "tags": ["tea"],
        "git": {"branch": "main", "commit": "abc1234", "files_changed": ["a.ts"], "dirty": True},
    }
    checkpoint = read(json.dumps(old), "130742_69a4.json")
    assert checkpoint == Checkpoint(
        id="checkpoint_69a4",
        at="2026-02-12T13:07:42.000Z",
        text="The kettle\nboils \ufffd",  # half a character can be stored nowhere
        tags=("tea",),
        branch="main",
        commit="abc1234",
        files=("a.ts",),
    )
    for broken in ("{", "[]", "[" * 100_000):
        with pytest.raises(Unreadable):
            read(broken, "a.json")


def test_ids_and_names_are_those_of_goldfish() -> None:
    checkpoint = read(KETTLE)
    assert checkpoint_id(checkpoint.at, checkpoint.text) == checkpoint.id
    assert file_name(checkpoint) == "2026-03-05/090741_ebc9.md"
    assert file_name(checkpoint, 2) == "2026-03-05/090741_ebc9_2.md"


def test_an_id_from_elsewhere_leads_nowhere() -> None:
    for id_ in ("checkpoint_../../x", "..", "a/b", "日本語"):
        name = file_name(read(KETTLE)._replace(id=id_))
        assert name.startswith("2026-03-05/090741_")
        assert name.count("/") == 1
        assert name.isascii()


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("x" * 149, ""),
        ("🐟" * 74 + "x", ""),
        ("## Boil. twice " + "x" * 150, "Boil"),
        ("v7.4 is out\nand " + "x" * 150, "v7.4 is out"),
        ("x" * 151, "x" * 147 + "..."),
        ("🐟" * 80, "🐟" * 73 + "..."),
        ("##\n" + "x" * 150, ""),
    ],
)
def test_a_long_text_is_summed_up_by_its_first_sentence(text: str, summary: str) -> None:
    assert summary_of(text) == summary


BRIEF = """\
---
id: warm-water
title: "Warm water: sooner"
status: active
created: 2026-03-01T08:00:00.000Z
updated: 2026-03-05T09:00:00.000Z
tags:
  - kettle
---

# Warm water

- [ ] descale

"""


def test_a_plan_reads_the_same_after_it_is_written() -> None:
    plan = read_plan(BRIEF.encode(), ".memories/briefs/warm-water.md")
    assert plan == Plan(
        id="warm-water",
        title="Warm water: sooner",
        text="# Warm water\n\n- [ ] descale\n",
        created="2026-03-01T08:00:00.000Z",
        updated="2026-03-05T09:00:00.000Z",
        tags=("kettle",),
        path=".memories/briefs/warm-water.md",
    )
    assert read_plan(format_plan(plan).encode(), plan.path) == plan
    assert format_plan(plan, BRIEF) == BRIEF
    bare = plan._replace(tags=(), text="")
    assert "\ntags: []\n---\n\n\n" in format_plan(bare)
    assert read_plan(format_plan(bare).encode(), plan.path) == bare


def test_a_plan_without_frontmatter_tells_what_it_can() -> None:
    plan = read_plan(b"\xef\xbb\xbf# Warm water #\r\n\r\nsoon\r\n", "plans/water.md")
    assert (plan.id, plan.title, plan.status) == ("water", "Warm water", "active")
    done = format_plan(plan._replace(status="completed"), "# Warm water #\n\nsoon\n")
    assert done == "---\nstatus: completed\n---\n\n# Warm water #\n\nsoon\n"


@pytest.mark.parametrize(
    "head",
    [
        "id: x  # mine\ntitle: 'T'\n# why\nowner: {name: ada}\nstatus: active # now\ntags: [a, b]",
        "id: x\ntitle: T\nstatus: active\nowner:\n- name: ada\n  since: 2026\ntags:\n- a\n- b\n",
        "{id: x, title: T, status: active, tags: [a, b], owner: {name: ada}}",
        "id: &x x\ntitle: T\nstatus: active\ntags: [a, b]\nowner: *x",
    ],
)
def test_what_a_user_added_to_a_plan_stays(head: str) -> None:
    before = f"---\n{head}\n---\n\nsoon\n"
    plan = read_plan(before.encode(), "plans/x.md")
    changed = plan._replace(status="completed", id="y", updated="2026-03-05T09:00:00.000Z")
    after = format_plan(changed, before)
    assert read_plan(after.encode(), "plans/x.md") == changed
    values = [load_yaml(text.split("---\n")[1]) for text in (before, after)]
    assert values[0]["owner"] == values[1]["owner"]
    assert after.endswith("---\n\nsoon\n")
    if "# why" in head:
        assert "title: 'T'\n# why\nowner: {name: ada}\nstatus: completed\ntags: [a, b]\n" in after


def test_a_broken_plan_says_why() -> None:
    for data in (b"---\nid: [x\n---\n", b"\0\1\2\3"):
        with pytest.raises(Unreadable):
            read_plan(data, "plans/x.md")
