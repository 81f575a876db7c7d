"""What a traceparent is, and what is as good as none."""

import pytest

from rowlock import Invalid
from rowlock.tracing import check_traceparent, parse_traceparent

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize("flags", ["00", "01", "03"])
def test_one_of_this_version_is_read_as_it_is(flags: str) -> None:
    assert parse_traceparent(f" 00-{TRACE}-{SPAN}-{flags} ") == f"00-{TRACE}-{SPAN}-{flags}"


def test_one_of_a_later_version_is_read_as_far_as_it_is_known() -> None:
    assert parse_traceparent(f"01-{TRACE}-{SPAN}-ff-more") == f"00-{TRACE}-{SPAN}-01"
    assert parse_traceparent(f"cc-{TRACE}-{SPAN}-02") == f"00-{TRACE}-{SPAN}-00"


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "",
        "00",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01-more",
        f"01-{TRACE}-{SPAN}-01more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-0g",
        f"00-{TRACE}-{SPAN}-01\n00-{TRACE}-{SPAN}-01",
    ],
)
def test_what_is_wrong_is_as_good_as_none(wrong: str | None) -> None:
    assert parse_traceparent(wrong) is None


@pytest.mark.parametrize("wrong", ["", "x", 7, f"00-{'0' * 32}-{SPAN}-01"])
def test_by_hand_it_is_refused(wrong: str) -> None:
    with pytest.raises(Invalid, match="trace must be a W3C traceparent"):
        check_traceparent(wrong)
