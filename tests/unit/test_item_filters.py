"""The filter box of the dashboard: a filter is read, or refused with what is wrong."""

import pytest

from rowlock.dashboard.item_filters import parse
from rowlock.errors import InvalidQuery
from rowlock.settings import Settings


def test_a_quoted_value_is_one_value() -> None:
    assert parse('error:"timed out" attempts:>2', Settings()).query == {"error": "timed out", "attempts": 3}


@pytest.mark.parametrize("text", ['error:"404', '"', "state:", "key: a"])
def test_a_value_that_is_missing_or_not_closed_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuery, match="lacks a value or a closing quotation mark"):
        parse(text, Settings())
