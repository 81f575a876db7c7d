"""Data of items: what goes in comes out, or is refused."""

from typing import Any

import pytest

from rowlock import Engine
from rowlock.errors import Invalid, InvalidData

KEPT = [
    0,
    False,
    True,
    "",
    [],
    {},
    -1.5,
    1e300,
    2**53 + 1,
    2**63,
    2**200,
    -(2**200),
    "é 🦊 日本語 e\u0301",
    "NUL \0 and \x1f and \u2028",
    "\\u0000 \"quoted\" 'too' \\",
    {"nested": [{"a": [[], {}, None, "null"]}], "": "empty", "é": 1},
]
LOST: list[Any] = [
    float("nan"),
    float("inf"),
    {"deep": [float("-inf")]},
    object(),
    {"a": object()},
    "\ud800",
    {1},
    {"a": [{2}]},
]


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else []


@pytest.mark.parametrize("data", KEPT, ids=range(len(KEPT)))
def test_data_of_one_item_comes_out_as_it_went_in(engine: Engine, data: Any) -> None:
    engine["work"].add("a", data=data)
    assert repr(engine["work"].show("a").data) == repr(data)


def test_data_of_many_items_come_out_as_they_went_in(engine: Engine) -> None:
    engine["work"].add({"key": f"{number:02}", "data": data} for number, data in enumerate(KEPT))
    assert [repr(item.data) for item in engine["work"]] == [repr(data) for data in KEPT]


def test_data_nested_deeply_come_out_as_they_went_in(engine: Engine) -> None:
    engine["work"].add("a", data=nested(200))
    assert engine["work"].show("a").data == nested(200)


def test_data_of_the_largest_size_are_kept(engine: Engine) -> None:
    largest = "x" * (256 * 1024 - 2)
    engine["work"].add("a", data=largest)
    assert engine["work"].show("a").data == largest


@pytest.mark.parametrize("character", ["x", "é", "\0"])
def test_data_larger_than_the_limit_are_refused(engine: Engine, character: str) -> None:
    with pytest.raises(InvalidData, match="262144"):
        engine["work"].add("a", data=character * (256 * 1024))
    assert engine.lists() == []


@pytest.mark.parametrize("data", LOST, ids=range(len(LOST)))
def test_data_that_would_not_come_out_as_they_went_in_are_refused(engine: Engine, data: Any) -> None:
    with pytest.raises(InvalidData):
        engine["work"].add("a", data=data)
    assert engine.lists() == []


def test_data_that_contain_themselves_are_refused(engine: Engine) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InvalidData):
        engine["work"].add("a", data=endless)


def test_wrong_data_say_whose_they_are(engine: Engine) -> None:
    with pytest.raises(InvalidData, match="the data of 'a' is larger"):
        engine["work"].add("a", data="x" * (256 * 1024))
    with pytest.raises(InvalidData, match="given as data of all is larger"):
        engine["work"].add(["a", "b"], data="x" * (256 * 1024))


def test_wrong_data_of_one_among_many_name_key_and_line(engine: Engine) -> None:
    with pytest.raises(InvalidData, match=r"'b'.*line 2"):
        engine["work"].add(["a", {"key": "b", "data": object()}])
    assert engine.lists() == []


def test_an_item_has_no_data_unless_given(engine: Engine) -> None:
    engine["work"].add("a", data=None)
    assert engine["work"].show("a").raw_data is None


def test_shared_data_go_to_each_item_that_has_none_of_its_own(engine: Engine) -> None:
    engine["work"].add(["a", {"key": "b", "data": 2}], data=1)
    assert [item.data for item in engine["work"]] == [1, 2]


def test_a_wrong_shared_value_is_refused_even_for_no_items(engine: Engine) -> None:
    with pytest.raises(Invalid):
        engine["work"].add([], data=object())
