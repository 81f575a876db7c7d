"""What a subscription asks for: read, checked, and always written the same way."""

from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests import wishes

from rowlock.errors import InvalidField, InvalidPredicate, InvalidRecord
from rowlock.topics import predicates
from rowlock.topics.predicates import canonical, checked, fits

FIELDS = wishes.FIELDS


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ({}, {}),
        ({"artist": None}, {}),
        ({"year": 2031, "artist": "ann"}, {"artist": "ann", "year": 2031}),
        ({"artist": ["b", "a", "b"]}, {"artist": {"in": ["a", "b"]}}),
        ({"artist": {"in": ("b",)}}, {"artist": "b"}),
        ({"artist": {"in": ["b", "a"]}}, {"artist": {"in": ["a", "b"]}}),
        ({"artist": {"prefix": "a"}}, {"artist": {"prefix": "a"}}),
        ({"year": {"from": 1, "to": 5}}, {"year": {"from": 1, "to": 5}}),
        ({"year": {"to": 5, "from": 1}}, {"year": {"from": 1, "to": 5}}),
        ({"year": {"above": 0, "below": 6}}, {"year": {"from": 1, "to": 5}}),
        ({"year": {"above": 0, "below": 2}}, {"year": 1}),
        ({"year": {"from": 1, "to": None}}, {"year": {"from": 1}}),
        ({"year": {"from": 1}}, {"year": {"from": 1}}),
        ({"year": {"to": 1}}, {"year": {"to": 1}}),
        ({"price": {"above": 1}}, {"price": {"above": 1}}),
        ({"price": {"below": 2.50}}, {"price": {"below": 2.5}}),
        ({"price": 5.0}, {"price": 5}),
        ({"price": [5, 5.0, -0.0]}, {"price": {"in": [0, 5]}}),
        ({"price": {"from": 1, "to": 1.0}}, {"price": 1}),
        ({"seen": date(2031, 5, 1)}, {"seen": "2031-05-01"}),
        ({"seen": {"above": "2031-02-28"}}, {"seen": {"from": "2031-03-01"}}),
        ({"mint": True}, {"mint": True}),
        ({"mint": [True, False]}, {"mint": {"in": [False, True]}}),
    ],
)
def test_predicates_are_stored_in_one_way(written: dict[str, Any], stored: dict[str, Any]) -> None:
    assert predicates.text(canonical(FIELDS, written)) == predicates.text(stored)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"artst": "a"}, "did you mean 'artist'?"),
        ({7: "a"}, "the fields are artist"),
        ({"year": "2031"}, "'year' is integer: it cannot be '2031'"),
        ({"year": True}, "it cannot be True"),
        ({"year": 2031.0}, "it cannot be 2031.0"),
        ({"year": 2**63}, "it cannot be 9223372036854775808"),
        ({"year": {"prefix": "20"}}, "'year' is integer: it has no beginning"),
        ({"mint": 1}, "give true or false"),
        ({"mint": {"from": False, "to": True}}, "it has no range"),
        ({"artist": {"from": "a", "to": "b"}}, "it has no range"),
        ({"artist": "\ud800"}, r"it cannot be '\ud800'"),
        ({"artist": b"a"}, "it cannot be b'a'"),
        ({"artist": {"prefix": ""}}, "is empty"),
        ({"artist": {"in": []}}, "has 0 values"),
        ({"artist": {"in": "ab"}}, "takes values, not str"),
        ({"artist": {"in": [str(number) for number in range(1001)]}}, "has 1001 values"),
        ({"artist": {}}, "none that there is"),
        ({"artist": {"is": "a"}}, "none that there is"),
        ({"artist": {"in": ["a"], "prefix": "a"}}, "none that there is"),
        ({"year": {"from": 5, "to": 1}}, "nothing lies in the range"),
        ({"year": {"above": 1, "below": 2}}, "nothing lies in the range"),
        ({"year": {"above": 2**63 - 1}}, "nothing lies in the range"),
        ({"year": {"from": 1, "above": 1}}, "two ends on one side"),
        ({"price": {"above": 1, "to": 1}}, "nothing lies in the range"),
        ({"price": float("nan")}, "it cannot be nan"),
        ({"price": float("inf")}, "it cannot be inf"),
        ({"price": 10**400}, "it cannot be 1000"),
        ({"seen": "2031-02-30"}, "it cannot be '2031-02-30'"),
        ({"seen": "20310201"}, "it cannot be '20310201'"),
        ({"seen": datetime(2031, 2, 1)}, "give a day"),
        ({"seen": {"below": "0001-01-01"}}, "nothing lies in the range"),
        ({"artist": {"in": ["x" * 100 + str(number) for number in range(900)]}}, "larger than 65536 bytes"),
    ],
)
def test_what_cannot_be_meant_is_refused(written: Any, said: str) -> None:
    with pytest.raises(InvalidPredicate) as caught:
        canonical(FIELDS, written)
    assert said in str(caught.value)


@pytest.mark.parametrize("written", ["artist", [("artist", "a")], None, 7])
def test_predicates_are_given_by_field(written: Any) -> None:
    with pytest.raises(InvalidPredicate):
        canonical(FIELDS, written)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"": "text"}, "a field cannot be called ''"),
        ({"1st": "text"}, "cannot be called '1st'"),
        ({"a b": "text"}, "cannot be called 'a b'"),
        ({"a=b": "text"}, "cannot be called 'a=b'"),
        ({"x" * 65: "text"}, "cannot be called"),
        ({"a": "txt"}, "did you mean 'text'?"),
        ({"a": None}, "the kinds are boolean, date, integer, number, text"),
        ({f"f{number}": "text" for number in range(65)}, "a topic cannot have 65 fields"),
        (["a"], "fields are given by name"),
    ],
)
def test_fields_that_cannot_be_are_refused(fields: Any, said: str) -> None:
    with pytest.raises(InvalidField) as caught:
        predicates.check_fields(fields)
    assert said in str(caught.value)


def test_a_field_may_have_any_letters() -> None:
    fields = {"größe": "text", "名": "integer", "_a-b.c": "date"}
    assert predicates.check_fields(fields) == fields


def test_a_record_keeps_what_is_no_field() -> None:
    given = {"artist": "ann", "price": 5.0, "seen": date(2031, 5, 1), "year": None, "cover": {"url": "x"}}
    kept = {"artist": "ann", "price": 5, "seen": "2031-05-01", "cover": {"url": "x"}}
    assert checked(FIELDS, given) == kept


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"year": "2031"}, "'year' is integer: it cannot be '2031'"),
        ({"mint": 0}, "give true or false"),
        ({"seen": "yesterday"}, "give a day"),
        ({"cover": object()}, "cannot be written as JSON"),
        ({"cover": [float("nan")]}, "cannot be written as JSON"),
        ({"cover": "x" * 262_144}, "larger than 262144 bytes"),
        ({7: "x"}, "by the names of their fields"),
        ("artist", "by the names of their fields"),
        (None, "by the names of their fields"),
    ],
)
def test_a_malformed_record_is_refused(record: Any, said: str) -> None:
    with pytest.raises(InvalidRecord) as caught:
        checked(FIELDS, record)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "fitting", "others"),
    [
        ({"year": {"from": 1, "to": 3}}, [1, 2, 3], [0, 4]),
        ({"year": {"above": 1, "below": 3}}, [2], [1, 3]),
        ({"year": {"to": 1}}, [1, -(2**63)], [2]),
        ({"year": [1, 3]}, [1, 3], [2]),
        ({"year": 2}, [2], [1]),
    ],
)
def test_a_record_fits_or_not(asked: Any, fitting: list[int], others: list[int]) -> None:
    wanted = canonical(FIELDS, asked)
    assert [year for year in fitting + others if fits(wanted, {"year": year})] == fitting


def test_open_ends_of_numbers_are_open() -> None:
    wanted = canonical(FIELDS, {"price": {"above": 1, "below": 2}})
    assert [price for price in (1, 1.0000001, 1.9999999, 2) if fits(wanted, {"price": price})] == [1.0000001, 1.9999999]


def test_a_beginning_fits_what_begins_so() -> None:
    wanted = canonical(FIELDS, {"artist": {"prefix": "日"}})
    assert [name for name in ("日本", "日", "本", "") if fits(wanted, {"artist": name})] == ["日本", "日"]


def test_a_field_that_is_not_there_fits_nothing_that_is_asked_of_it() -> None:
    assert not fits(canonical(FIELDS, {"year": {"from": -(2**63)}}), {"artist": "ann"})


def test_who_asks_for_nothing_gets_everything() -> None:
    assert [fits({}, record) for record in ({}, {"artist": "ann"})] == [True, True]


@given(asked=wishes.predicates(), record=wishes.records())
def test_to_store_predicates_changes_neither_them_nor_their_meaning(asked: dict[str, Any], record: Any) -> None:
    try:
        stored = canonical(FIELDS, asked)
    except InvalidPredicate as error:
        assume("nothing lies" not in str(error))
        raise
    assert canonical(FIELDS, stored) == stored
    assert fits(stored, checked(FIELDS, record)) == plainly_fits(asked, record)


def plainly_fits(asked: dict[str, Any], record: dict[str, Any]) -> bool:
    return all(name in record and holds(each, record[name]) for name, each in asked.items())


def holds(asked: Any, value: Any) -> bool:
    tests = {
        "in": lambda end: value in end,
        "prefix": lambda end: value.startswith(end),
        "from": lambda end: value >= end,
        "above": lambda end: value > end,
        "to": lambda end: value <= end,
        "below": lambda end: value < end,
    }
    if isinstance(asked, dict):
        return all(tests[form](end) for form, end in asked.items())
    return bool(value == asked)


@given(st.data())
def test_the_order_in_which_predicates_are_given_does_not_matter(data: st.DataObject) -> None:
    asked = data.draw(wishes.predicates())
    turned = dict(data.draw(st.permutations(list(asked.items()))))
    assert stored(asked) == stored(turned)


def stored(asked: dict[str, Any]) -> str:
    try:
        return predicates.text(canonical(FIELDS, asked))
    except InvalidPredicate as error:
        return error.what.partition("nothing lies")[1]
