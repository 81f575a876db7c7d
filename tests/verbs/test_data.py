"""Data of items: what goes in comes out, or is refused."""

from typing import Any

import pytest

from rowlock import Engine, Then
from rowlock.errors import Invalid, InvalidData, InvalidRecord

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
    found: Any = "]"
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize("data", KEPT, ids=range(len(KEPT)))
def test_data_of_one_item_comes_out_as_it_went_in(engine: Engine, data: Any) -> None:
    engine["work"].add("a", data=data)
    assert repr(engine["work"].show("a").data) == repr(data)


def test_data_of_many_items_come_out_as_they_went_in(engine: Engine) -> None:
    engine["work"].add({"key": f"{number:02}", "data": data} for number, data in enumerate(KEPT))
    assert [repr(item.data) for item in engine["work"]] == [repr(data) for data in KEPT]


def test_data_nested_deeply_come_out_as_they_went_in(engine: Engine) -> None:
    engine["work"].add("a", data=nested(128))
    assert engine["work"].show("a").data == nested(128)


DEEP = "is nested 129 levels deep; at most 128 are allowed"


def test_data_nested_more_deeply_are_refused_by_an_add(engine: Engine) -> None:
    with pytest.raises(InvalidData, match=f"the data of 'a' {DEEP}"):
        engine["work"].add("a", data=nested(129))
    with pytest.raises(InvalidData, match="data is nested 500 levels deep; at most 128"):
        engine["work"].add(["a", "b"], data=nested(500))
    with pytest.raises(InvalidData, match=r"the data of 'b' is nested 129 levels .* \(line 2\)"):
        engine["work"].add(["a", {"key": "b", "data": nested(129)}])
    assert engine.lists() == []


def test_data_nested_too_deeply_are_refused_by_a_save(engine: Engine) -> None:
    engine["work"].add("a", data=1)
    with pytest.raises(InvalidData, match=f"the data of 'a' {DEEP}"):
        engine["work"].save("a", data=nested(129))
    assert engine["work"].show("a").data == 1


def test_data_nested_too_deeply_are_refused_by_a_settlement(engine: Engine) -> None:
    engine["work"].add(["a", "b"])
    engine["work"].settings(keep_results=True)
    with engine.session() as session:
        claim = session.take("work", limit=2)
        assert claim is not None
        claim.done(claim.items[0], nested(129))
        with pytest.raises(InvalidData, match=f"the data for 'a' {DEEP}"):
            claim.settle()
    assert engine["work"].counts().ready == 2
    with engine.session() as session:
        claim = session.take("work", limit=2)
        assert claim is not None
        claim.move(claim.items[0], data=nested(129))
        with pytest.raises(InvalidData, match=DEEP):
            claim.settle()
    assert engine["work"].counts().ready == 2


def test_data_nested_too_deeply_are_refused_wherever_they_are_kept(engine: Engine) -> None:
    with pytest.raises(Invalid, match=DEEP):
        engine.schedule("daily").set("work", every="1h", data=nested(129))
    with pytest.raises(Invalid, match=f"data of then {DEEP}"):
        Then("next", data=nested(129))
    with pytest.raises(Invalid, match=f"details {DEEP}"), engine.session(details={"deep": nested(128)}):
        pass
    engine.topic("comics").define(series="text")
    with pytest.raises(InvalidRecord, match="the record is nested 130 levels deep; at most 128"):
        engine.topic("comics").publish({"series": "Saga", "more": nested(129)})


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
    with pytest.raises(InvalidData, match="the data of 'a' must be at most 262144 bytes"):
        engine["work"].add("a", data="x" * (256 * 1024))
    with pytest.raises(InvalidData, match="data must be at most 262144 bytes"):
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
