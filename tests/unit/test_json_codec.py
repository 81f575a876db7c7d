"""JSON: the limit of its nesting depth, and descriptions of what is wrong with a document."""

from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from rowlock.errors import InvalidData
from rowlock.json_codec import (
    MAX_LEVELS,
    TRUNCATE_LEVELS,
    check_levels,
    describe_syntax_error,
    describe_validation_error,
    is_too_deep,
    json_pointer,
    levels,
    truncate,
)

TEXT = st.text('[]{}"\\a')
DOCUMENTS = st.recursive(
    TEXT | st.integers() | st.none(), lambda some: st.lists(some, max_size=3) | st.dictionaries(TEXT, some, max_size=3)
)


def depth(value: object) -> int:
    """The same, counted in the value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def nested(count: int) -> str:
    """A document of so many levels."""
    return '{"a":' * (count // 2) + "[" * (count - count // 2) + "]" * (count - count // 2) + "}" * (count // 2)


@given(DOCUMENTS)
def test_levels_are_counted_as_in_the_value(value: object) -> None:
    assert levels(msgspec.json.encode(value).decode()) == depth(value)


@pytest.mark.parametrize(("count", "deep"), [(1, False), (MAX_LEVELS, False), (MAX_LEVELS + 1, True), (100_000, True)])
def test_the_bound_holds_beside_much_that_is_flat(count: int, deep: bool) -> None:
    flat = ",".join(['{"a": "]]]"}'] * 200)
    assert (is_too_deep(nested(count)), is_too_deep(f"[{flat},{nested(count - 1)}]")) == (deep, deep)


def test_the_error_names_what_is_wrong() -> None:
    with pytest.raises(InvalidData) as wrong:
        check_levels(nested(970), "data")
    assert wrong.value.what == "data is nested 970 levels deep; at most 128 are allowed"


@given(DOCUMENTS)
def test_a_flat_document_is_not_cut(value: object) -> None:
    document = msgspec.json.encode(value)
    assert truncate(document) == document


def test_a_document_is_cut_where_it_is_deep_and_the_rest_stays() -> None:
    document = f'{{"deep": {nested(5_000)}, "flat": [1, "["], "again": {nested(5_000)}}}'.encode()
    found = msgspec.json.decode(truncate(document), type=dict[str, msgspec.Raw])
    assert (levels(bytes(found["deep"]).decode()), bytes(found["flat"])) == (TRUNCATE_LEVELS - 1, b'[1, "["]')


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
def test_a_validation_error_is_described_in_plain_words(text: str, words: str, where: str | None) -> None:
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
def test_a_syntax_error_is_described_in_plain_words(text: bytes, words: str) -> None:
    with pytest.raises(msgspec.DecodeError) as caught:
        msgspec.json.decode(text, type=Form)
    assert describe_syntax_error(caught.value) == words


def test_bytes_that_are_not_utf8_are_described_in_plain_words() -> None:
    with pytest.raises(UnicodeDecodeError) as caught:
        msgspec.json.decode(b'"\xff"')
    assert describe_syntax_error(caught.value) == "it is not UTF-8 text"
