from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen import times
from kinen.errors import QueryError


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
