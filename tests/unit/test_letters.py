"""What subscribers read in their mail."""

import pytest

from rowlock.delivery.mail import _describe


@pytest.mark.parametrize(
    ("predicate", "words"),
    [
        ("Blue", "Blue"),
        (7, "7"),
        ({"in": ["Blue", "Green"]}, "Blue or Green"),
        ({"prefix": "Bl"}, "beginning with Bl"),
        ({"from": 1970, "below": 1980}, "from 1970 below 1980"),
    ],
)
def test_a_predicate_is_described_in_words(predicate: object, words: str) -> None:
    assert _describe(predicate) == words
