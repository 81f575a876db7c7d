"""What is wrong with a document is told in our words, whatever library found it."""

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from rowlock.json_codec import describe_syntax_error, describe_validation_error, json_pointer


class Form(msgspec.Struct, forbid_unknown_fields=True):
    """Something to be read."""

    key: str
    count: Annotated[int, Meta(ge=0)] = 0
    inner: list["str | Form"] = []
    numbers: dict[str, float] = {}
    state: Literal["ready", "failed"] = "ready"
    short: Annotated[str, Meta(min_length=2)] = "aa"
    pair: tuple[int, int] = (0, 0)
    moment: str | bool | None = None


@pytest.mark.parametrize(
    ("text", "words", "where"),
    [
        ('{"key": 1}', "key must be text, not a whole number", "/key"),
        ("[]", "the document must be an object, not an array", None),
        ("{}", "missing field 'key'", None),
        ('{"key": "a", "inner": [{}]}', "missing field 'key' in inner[0]", "/inner/0"),
        ('{"key": "a", "x`y": 1}', "unknown field 'x`y'", None),
        ('{"key": "a", "count": -1}', "count must be a whole number of at least 0", "/count"),
        ('{"key": "a", "inner": ["b", 2]}', "inner[1] must be text or an object, not a whole number", "/inner/1"),
        ('{"key": "a", "numbers": {"x": "y"}}', "numbers[...] must be a number, not text", "/numbers"),
        ('{"key": "a", "state": "done"}', "state cannot be 'done'", "/state"),
        ('{"key": "a", "short": "x"}', "short must be text of length at least 2", "/short"),
        ('{"key": "a", "pair": [1]}', "pair must be an array of length 2", "/pair"),
        ('{"key": "a", "moment": 1}', "moment must be true or false or text or null, not a whole number", "/moment"),
        ('{"key": "a", "count": 1e999}', "count: Number out of range", "/count"),
    ],
)
def test_a_wrong_shape_is_told_in_words(text: str, words: str, where: str | None) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(text, type=Form)
    assert (describe_validation_error(caught.value), json_pointer(caught.value)) == (words, where)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"key": "a",', "it ends too early"),
        (b'{"key" 1}', "expected ':', at byte 7"),
        (b"nope", "unexpected character, at byte 4"),
        (b'{"key": "a"} x', "more text follows its end, at byte 14"),
    ],
)
def test_what_is_no_json_is_told_in_words(text: bytes, words: str) -> None:
    with pytest.raises(msgspec.DecodeError) as caught:
        msgspec.json.decode(text, type=Form)
    assert describe_syntax_error(caught.value) == words


def test_what_is_no_text_is_told_in_words() -> None:
    with pytest.raises(UnicodeDecodeError) as caught:
        msgspec.json.decode(b'"\xff"')
    assert describe_syntax_error(caught.value) == "it is not UTF-8 text"
