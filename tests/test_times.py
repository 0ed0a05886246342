"""Times as users write them, and moments far beyond those that anybody means."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen import times
from kinen.errors import QueryError
from kinen.render.screen import when
from kinen.text import iso

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@given(st.integers(1, times.LONGEST_DURATION - 1), st.sampled_from(sorted(times.UNITS)))
def test_a_duration_lasts_its_number_of_units(number: int, unit: str) -> None:
    seconds = number * times.UNITS[unit]
    assert times.lifetime(f"{number}{unit}") == seconds
    assert times.lifetime(f"{number}{unit.upper()}") == seconds


def test_no_duration_means_for_good() -> None:
    assert times.lifetime("") == 0
    assert times.milliseconds("") == 0


@pytest.mark.parametrize("phrase", ["0d", f"{times.LONGEST_DURATION}s", "d", "-3d", "1.5h", "soon"])
def test_a_duration_that_nobody_can_mean_is_refused_with_examples(phrase: str) -> None:
    with pytest.raises(QueryError) as refused:
        times.lifetime(phrase)
    assert refused.value.parameter == "ttl"
    assert "7d" in refused.value.hint


def test_a_date_lasts_to_its_end() -> None:
    tomorrow = datetime.now(UTC).date() + timedelta(days=2)
    left = times.lifetime(tomorrow.isoformat())
    assert timedelta(days=1) < timedelta(seconds=left) < timedelta(days=4)


def test_a_date_in_the_past_is_refused() -> None:
    with pytest.raises(QueryError, match="is in the past"):
        times.lifetime("2001-09-09")


@given(st.integers(1, 4_000_000_000))
def test_an_iso_time_is_its_epoch_milliseconds(seconds: int) -> None:
    phrase = datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    assert times.milliseconds(phrase) == seconds * 1000


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**12), 10**12))
def test_every_moment_can_be_written_and_read_again(seconds: float) -> None:
    assert 1 <= datetime.fromisoformat(iso(seconds)).year <= 9999
    assert when(seconds, 1.8e9)


FAR_CLOCK = """
import time

def far():
    raise OverflowError("timestamp too large to convert to C _PyTime_t")

time.time = time.time_ns = far
"""
"""What Python does while the clock is beyond the year 2262."""


def test_a_clock_that_python_cannot_read_loses_nothing(
    space: Path, kinen: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(FAR_CLOCK)
    logged = kinen("log", "the kettle is on", PYTHONPATH=str(tmp_path))
    assert (logged.code, logged.err) == (0, "")
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "far", "cwd": str(space)}
    hook = kinen("hook", "claude-code", stdin=json.dumps(event), PYTHONPATH=str(tmp_path))
    assert hook.code == 0
    entries = json.loads(kinen("list", "observations", "--json").out)["observations"]
    assert {entry["content"] for entry in entries} == {"the kettle is on", "far"}
    refused = kinen("checkpoint", "save", "x", PYTHONPATH=str(tmp_path))  # `logging` needs the time
    assert "bug" not in refused.err


def test_files_of_any_time_are_found(space: Path, kinen: Callable[..., Any]) -> None:
    dates = {"first": "0001-01-01", "last": "9999-12-31T23:59:59", "odd": "-0044-03-15"}
    for name, date in dates.items():
        (space / f"{name}.md").write_text(f"---\ndate: {date}\n---\n# Tea of the {name}\n")
    for seconds in (-(2**31), 2**33):
        path = space / f"{seconds}.md"
        path.write_text("# Tea\n")
        os.utime(path, (seconds, seconds))
    found = kinen("search", "tea", "--json")
    assert found.code == 0, found.err
    hits = json.loads(found.out)["results"]
    assert {hit["chunk"]["ref"] for hit in hits} == {
        f"note:{path.name}" for path in space.glob("*.md")
    }
    assert kinen("recall", "tea").code == 0
