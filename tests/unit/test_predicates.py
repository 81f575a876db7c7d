"""What a subscription asks for: read, checked, and always written the same way."""

from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests import random_predicates

from rowlock.errors import InvalidField, InvalidPredicate, InvalidRecord
from rowlock.topics import predicates
from rowlock.topics.predicates import canonical, checked, fits

FIELDS = random_predicates.FIELDS


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
def test_equal_predicates_have_one_canonical_form(written: dict[str, Any], stored: dict[str, Any]) -> None:
    assert predicates.text(canonical(FIELDS, written)) == predicates.text(stored)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"artst": "a"}, "did you mean 'artist'?"),
        ({7: "a"}, "the fields are artist"),
        ({"year": "2031"}, "'year' must be integer, got '2031'"),
        ({"year": True}, "got True"),
        ({"year": 2031.0}, "got 2031.0"),
        ({"year": 2**63}, "got 9223372036854775808"),
        ({"year": {"prefix": "20"}}, "prefix needs a text field, but 'year' is integer"),
        ({"mint": 1}, "give true or false"),
        ({"mint": {"from": False, "to": True}}, "a range needs an integer, number or date field"),
        ({"artist": {"from": "a", "to": "b"}}, "a range needs an integer, number or date field"),
        ({"artist": "\ud800"}, r"got '\ud800'"),
        ({"artist": b"a"}, "got b'a'"),
        ({"artist": {"prefix": ""}}, "must not be empty"),
        ({"artist": {"in": []}}, "must have 1 to 1000 values, got 0"),
        ({"artist": {"in": "ab"}}, "must be a list of values, got str"),
        ({"artist": {"in": [str(number) for number in range(1001)]}}, "got 1001"),
        ({"artist": {}}, "invalid predicate on 'artist'"),
        ({"artist": {"is": "a"}}, "invalid predicate on 'artist'"),
        ({"artist": {"in": ["a"], "prefix": "a"}}, "invalid predicate on 'artist'"),
        ({"year": {"from": 5, "to": 1}}, "is empty"),
        ({"year": {"above": 1, "below": 2}}, "is empty"),
        ({"year": {"above": 2**63 - 1}}, "is empty"),
        ({"year": {"from": 1, "above": 1}}, "two bounds on one side"),
        ({"price": {"above": 1, "to": 1}}, "is empty"),
        ({"price": float("nan")}, "got nan"),
        ({"price": float("inf")}, "got inf"),
        ({"price": 10**400}, "got 1000"),
        ({"seen": "2031-02-30"}, "got '2031-02-30'"),
        ({"seen": "20310201"}, "got '20310201'"),
        ({"seen": datetime(2031, 2, 1)}, "give a day"),
        ({"seen": {"below": "0001-01-01"}}, "is empty"),
        ({"artist": {"in": ["x" * 100 + str(number) for number in range(900)]}}, "at most 65536 bytes, got 9"),
    ],
)
def test_an_invalid_predicate_is_refused(written: Any, said: str) -> None:
    with pytest.raises(InvalidPredicate) as caught:
        canonical(FIELDS, written)
    assert said in str(caught.value)


@pytest.mark.parametrize("written", ["artist", [("artist", "a")], None, 7])
def test_predicates_must_be_a_mapping(written: Any) -> None:
    with pytest.raises(InvalidPredicate):
        canonical(FIELDS, written)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"": "text"}, "invalid field name ''"),
        ({"1st": "text"}, "invalid field name '1st'"),
        ({"a b": "text"}, "invalid field name 'a b'"),
        ({"a=b": "text"}, "invalid field name 'a=b'"),
        ({"x" * 65: "text"}, "invalid field name"),
        ({"a": "txt"}, "did you mean 'text'?"),
        ({"a": None}, "the kinds are boolean, date, integer, number, text"),
        ({f"f{number}": "text" for number in range(65)}, "at most 64 fields, got 65"),
        (["a"], "fields must be a mapping, got list"),
    ],
)
def test_invalid_fields_are_refused(fields: Any, said: str) -> None:
    with pytest.raises(InvalidField) as caught:
        predicates.check_fields(fields)
    assert said in str(caught.value)


def test_a_field_may_have_any_letters() -> None:
    fields = {"größe": "text", "名": "integer", "_a-b.c": "date"}
    assert predicates.check_fields(fields) == fields


def test_a_record_keeps_values_of_unknown_fields() -> None:
    given = {"artist": "ann", "price": 5.0, "seen": date(2031, 5, 1), "year": None, "cover": {"url": "x"}}
    kept = {"artist": "ann", "price": 5, "seen": "2031-05-01", "cover": {"url": "x"}}
    assert checked(FIELDS, given) == kept


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"year": "2031"}, "'year' must be integer, got '2031'"),
        ({"mint": 0}, "give true or false"),
        ({"seen": "yesterday"}, "give a day"),
        ({"cover": object()}, "the record is not JSON"),
        ({"cover": [float("nan")]}, "the record is not JSON"),
        ({"cover": "x" * 262_144}, "at most 262144 bytes, got 262156"),
        ({7: "x"}, "a record must be a mapping"),
        ("artist", "a record must be a mapping"),
        (None, "a record must be a mapping"),
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


def test_a_prefix_fits_what_begins_with_it() -> None:
    wanted = canonical(FIELDS, {"artist": {"prefix": "日"}})
    assert [name for name in ("日本", "日", "本", "") if fits(wanted, {"artist": name})] == ["日本", "日"]


def test_a_missing_field_fulfils_no_predicate() -> None:
    assert not fits(canonical(FIELDS, {"year": {"from": -(2**63)}}), {"artist": "ann"})


def test_no_predicates_fit_every_record() -> None:
    assert [fits({}, record) for record in ({}, {"artist": "ann"})] == [True, True]


@given(asked=random_predicates.predicates(), record=random_predicates.records())
def test_canonical_predicates_are_stable_and_mean_the_same(asked: dict[str, Any], record: Any) -> None:
    try:
        stored = canonical(FIELDS, asked)
    except InvalidPredicate as error:
        assume("is empty" not in str(error))
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
    asked = data.draw(random_predicates.predicates())
    turned = dict(data.draw(st.permutations(list(asked.items()))))
    assert stored(asked) == stored(turned)


def stored(asked: dict[str, Any]) -> str:
    try:
        return predicates.text(canonical(FIELDS, asked))
    except InvalidPredicate as error:
        return error.what.partition("nothing lies")[1]
