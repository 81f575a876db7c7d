"""Ranges cut a list into equal parts; a snapshot of its keys stays while the list changes."""

import pytest

from rowlock import Engine
from rowlock.errors import Invalid, NoSuchList
from rowlock.key_ranges import MAX_PARTS, Range

ODD = ["B", "a", "aa", "e\u0301", "z", "\u00e9", "日本語", "\uffff", "🦊", "\U0010ffff"]


@pytest.fixture
def thousand(engine: Engine) -> Engine:
    engine["thousand"].add(f"key-{number:04}" for number in reversed(range(1000)))
    return engine


def listed(engine: Engine, name: str, cut: Range) -> list[str]:
    """The keys that a range holds."""
    return [item.key for item in engine[name].items(after=cut.after, upto=cut.upto, page=100)]


def test_a_thousand_keys_in_seven_ranges_differ_by_one_at_the_most(thousand: Engine) -> None:
    counts = [cut.count for cut in thousand["thousand"].ranges(7)]
    assert (len(counts), sum(counts), {*counts}) == (7, 1000, {142, 143})


def test_ranges_touch_and_hold_every_key_once(thousand: Engine) -> None:
    cuts = thousand["thousand"].ranges(7)
    held = [listed(thousand, "thousand", cut) for cut in cuts]
    assert [cut.after for cut in cuts] == ["", *[cut.upto for cut in cuts[:-1]]]
    assert [len(keys) for keys in held] == [cut.count for cut in cuts]
    assert [key for keys in held for key in keys] == [f"key-{number:04}" for number in range(1000)]


def test_ranges_are_those_of_a_snapshot(thousand: Engine) -> None:
    keys = thousand["thousand"].snapshot()
    assert [keys.rank(cut.upto) - keys.rank(cut.after) for cut in thousand["thousand"].ranges(7)[1:]] == [
        cut.count for cut in thousand["thousand"].ranges(7)[1:]
    ]


def test_one_range_holds_all(thousand: Engine) -> None:
    assert thousand["thousand"].ranges(1) == [Range("", "key-0999", 1000)]


def test_fewer_keys_than_parts_are_a_range_each(engine: Engine) -> None:
    engine["few"].add(["a", "b", "c"])
    assert engine["few"].ranges(7) == [Range("", "a", 1), Range("a", "b", 1), Range("b", "c", 1)]


def test_an_empty_list_has_no_ranges_and_no_keys(engine: Engine) -> None:
    engine["empty"].add("only")
    engine["empty"].done("only")
    assert engine["empty"].ranges(3) == []
    assert list(engine["empty"].snapshot()) == []


def test_other_lists_are_not_counted(thousand: Engine) -> None:
    thousand["few"].add(["a", "z"])
    assert thousand["few"].ranges(2) == [Range("", "a", 1), Range("a", "z", 1)]


def test_an_unknown_list_has_no_ranges_and_no_snapshot(engine: Engine) -> None:
    with pytest.raises(NoSuchList):
        engine["nowhere"].ranges(2)
    with pytest.raises(NoSuchList):
        engine["nowhere"].snapshot()


@pytest.mark.parametrize("parts", [0, -1, MAX_PARTS + 1, 1.5, "2", True, None])
def test_a_wrong_number_of_parts_is_refused(thousand: Engine, parts: object) -> None:
    with pytest.raises(Invalid, match="parts"):
        thousand["thousand"].ranges(parts)  # type: ignore[arg-type]


def test_keys_of_any_script_are_cut_in_byte_order(engine: Engine) -> None:
    engine["odd"].add(reversed(ODD))
    cuts = engine["odd"].ranges(4)
    assert [listed(engine, "odd", cut) for cut in cuts] == [ODD[:2], ODD[2:5], ODD[5:7], ODD[7:]]


def test_a_snapshot_has_all_keys_in_byte_order(engine: Engine) -> None:
    engine["odd"].add(reversed(ODD))
    keys = engine["odd"].snapshot()
    assert (list(keys), keys.nth(7), keys.rank("日本語")) == (ODD, "\uffff", 6)


def test_a_snapshot_stays_while_the_list_changes(thousand: Engine) -> None:
    before = thousand["thousand"].snapshot()
    thousand["thousand"].done(["key-0000", "key-0500"])
    thousand["thousand"].add("key-0500x")
    after = thousand["thousand"].snapshot()
    assert (len(before), before.rank("key-0501"), list(before - after)) == (1000, 501, ["key-0000", "key-0500"])
    assert (len(after), after.rank("key-0501"), list(after - before)) == (999, 500, ["key-0500x"])


@pytest.mark.parametrize(
    ("after", "upto", "found"),
    [("", "b", ["a", "b"]), ("a", "c", ["b", "c"]), ("a", "bb", ["b"]), ("b", "a", []), ("", "z", ["a", "b", "c"])],
)
@pytest.mark.parametrize("page", [1, 2, 1000])
def test_items_end_with_the_last_key_of_a_range(
    engine: Engine, after: str, upto: str, found: list[str], page: int
) -> None:
    engine["few"].add(["a", "b", "c"])
    assert [item.key for item in engine["few"].items(after=after, upto=upto, page=page)] == found
