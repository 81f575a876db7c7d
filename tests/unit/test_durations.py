"""Lengths of time as people write them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowlock.durations import MAX_MILLISECONDS, UNITS, delay_or_time, format_duration, milliseconds
from rowlock.errors import InvalidDuration


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0, 0),
        (90, 90_000),
        (0.25, 250),
        ("90", 90_000),
        ("1.5", 1_500),
        (" 90s ", 90_000),
        ("250ms", 250),
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("2d", 172_800_000),
        ("1w", 604_800_000),
        ("1.5h", 5_400_000),
        (timedelta(minutes=1, microseconds=600), 60_001),
        ("100w", 60_480_000_000),
    ],
)
def test_a_length_is_read(written: object, meant: int) -> None:
    assert milliseconds(written) == meant


@pytest.mark.parametrize(
    "wrong",
    [
        *["", "soon", "-1s", "1 h", "1h 30m", "1x", "s", ".", "1e3", "٣s", "²", "1_000", "9" * 400, "101y"],
        *[-1, -0.001, float("nan"), float("inf"), -float("inf"), 10**400, timedelta(-1), timedelta.max],
        *[True, None, [], b"1s"],
    ],
)
def test_what_is_no_length_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidDuration):
        milliseconds(wrong)


@given(st.integers(0, MAX_MILLISECONDS // 1000))
def test_whole_seconds_are_read_alike_in_every_spelling(seconds: int) -> None:
    assert {milliseconds(seconds), milliseconds(str(seconds)), milliseconds(f"{seconds}s")} == {seconds * 1000}


@given(st.integers(0, MAX_MILLISECONDS))
def test_what_is_spoken_is_no_longer_than_what_is_meant(length: int) -> None:
    heard = milliseconds(format_duration(length).replace(" ", ""))
    assert length - UNITS["d"] < heard <= length


@pytest.mark.parametrize(
    ("length", "said"), [(0, "0ms"), (999, "999ms"), (1_000, "1s"), (5_400_000, "1h 30m"), (90_061_000, "1d 1h")]
)
def test_a_length_is_spoken_in_its_two_largest_units(length: int, said: str) -> None:
    assert format_duration(length) == said


def test_a_moment_is_kept_as_a_moment() -> None:
    assert delay_or_time(datetime(2030, 1, 1, tzinfo=UTC)) == (0, 1_893_456_000_000)


def test_a_moment_is_kept_to_the_millisecond() -> None:
    assert delay_or_time(datetime(2030, 1, 1, 0, 0, 0, 1_000, tzinfo=UTC)) == (0, 1_893_456_000_001)


def test_a_moment_without_a_time_zone_is_refused() -> None:
    with pytest.raises(InvalidDuration, match="must have a time zone"):
        delay_or_time(datetime(2030, 1, 1))


def test_a_length_is_kept_as_a_delay() -> None:
    assert (delay_or_time("5m"), delay_or_time(None)) == ((300_000, None), (0, None))
