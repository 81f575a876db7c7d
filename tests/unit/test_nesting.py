"""How deeply JSON is nested, counted in its text."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowlock.errors import InvalidData
from rowlock.json_codec import MAX_LEVELS, TRUNCATE_LEVELS, check_levels, is_too_deep, levels, truncate

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
