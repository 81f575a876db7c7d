"""SortedMap has the manners of a dict, in the order of its keys."""

import copy
import pickle
import weakref
from collections.abc import MutableMapping

import pytest

from rowlock.trees import IntervalMap, RankedMap, SortedMap

NARROW = {"leaf_width": 2, "inner_width": 2}
LETTERS = {"c": 3, "a": 1, "b": 2}


@pytest.fixture(params=[SortedMap, RankedMap])
def kind(request):
    return request.param


def test_a_map_finds_what_was_put_and_nothing_else():
    letters = SortedMap()
    letters["foo"] = 1
    letters["bar"] = 2
    assert letters["foo"] == 1
    assert letters.get("baz") is None
    assert list(letters.items()) == [("bar", 2), ("foo", 1)]


def test_upsert_reports_what_it_replaced():
    letters = SortedMap()
    assert letters.upsert("k", 1) == (False, None)
    assert letters.upsert("k", 2) == (True, 1)
    assert len(letters) == 1


def test_deleting_an_absent_key_raises_and_changes_nothing(kind):
    letters = kind(LETTERS)
    with pytest.raises(KeyError):
        del letters["z"]
    assert len(letters) == 3
    letters.check()


def test_an_empty_map_is_empty_in_every_respect(kind):
    empty = kind()
    assert (len(empty), empty.height, empty.newick(), list(empty), empty.get(1)) == (0, 0, ";", [], None)
    assert not empty.cursor().first()
    assert not empty.cursor().last()


@pytest.mark.parametrize("edge", ["first", "last", "popitem"])
def test_an_empty_map_has_no_edges(kind, edge):
    with pytest.raises(KeyError):
        getattr(kind(), edge)()


def test_a_missing_key_raises_a_key_error_that_names_it(kind):
    with pytest.raises(KeyError, match="'z'"):
        kind(LETTERS)["z"]


def test_a_map_is_a_mutable_mapping(kind):
    assert isinstance(kind(), MutableMapping)


def test_views_are_in_the_order_of_the_keys(kind):
    letters = kind(LETTERS)
    assert list(letters.keys()) == ["a", "b", "c"]
    assert list(letters.values()) == [1, 2, 3]
    assert list(letters.items()) == [("a", 1), ("b", 2), ("c", 3)]


def test_views_can_be_walked_backwards(kind):
    letters = kind(LETTERS)
    assert list(reversed(letters)) == list(reversed(letters.keys())) == ["c", "b", "a"]
    assert list(reversed(letters.values())) == [3, 2, 1]
    assert list(reversed(letters.items())) == [("c", 3), ("b", 2), ("a", 1)]


def test_views_are_live(kind):
    letters = kind(LETTERS)
    keys, values, items = letters.keys(), letters.values(), letters.items()
    letters["d"] = 4
    assert "d" in keys
    assert 4 in values
    assert ("d", 4) in items
    assert len(keys) == len(values) == len(items) == 4


def test_views_of_keys_and_items_are_sets(kind):
    letters = kind(LETTERS)
    assert letters.keys() & {"a", "z"} == {"a"}
    assert letters.items() - {("a", 1), ("b", 2)} == {("c", 3)}


def test_pop_returns_the_value_and_removes_the_key(kind):
    letters = kind(LETTERS)
    assert letters.pop("b") == 2
    assert list(letters) == ["a", "c"]


def test_pop_of_an_absent_key_returns_the_default_or_raises(kind):
    letters = kind(LETTERS)
    assert letters.pop("z", None) is None
    with pytest.raises(KeyError):
        letters.pop("z")


def test_popitem_takes_the_largest_or_the_smallest(kind):
    letters = kind(LETTERS)
    assert letters.popitem() == ("c", 3)
    assert letters.popitem(last=False) == ("a", 1)
    assert list(letters) == ["b"]


def test_first_and_last_are_the_smallest_and_the_largest_key(kind):
    letters = kind(LETTERS)
    assert (letters.first(), letters.last()) == ("a", "c")


def test_setdefault_sets_only_what_is_missing(kind):
    letters = kind(LETTERS)
    assert letters.setdefault("a", 9) == 1
    assert letters.setdefault("d", 9) == 9
    assert letters["d"] == 9


def test_a_value_may_be_none(kind):
    letters = kind({"a": None})
    assert letters.setdefault("a", 1) is None
    assert letters.pop("a", 1) is None
    assert letters.upsert("b", None) == (False, None)
    assert letters.upsert("b", 1) == (True, None)


@pytest.mark.parametrize("more", [{"b": 20, "d": 4}, [("b", 20), ("d", 4)], SortedMap({"b": 20, "d": 4})])
def test_update_takes_mappings_and_pairs(kind, more):
    letters = kind(LETTERS)
    letters.update(more, e=5)
    assert dict(letters) == {"a": 1, "b": 20, "c": 3, "d": 4, "e": 5}
    letters.check()


def test_a_small_update_of_a_large_map_writes_into_it(kind):
    numbers = kind.fromkeys(range(1000), 0)
    numbers.update({5: 1, 2000: 2})
    assert (numbers[5], numbers[2000], len(numbers)) == (1, 2, 1001)
    numbers.check()


def test_union_prefers_the_right_hand_side(kind):
    letters = kind(LETTERS)
    assert letters | {"a": 10, "z": 26} == {"a": 10, "b": 2, "c": 3, "z": 26}
    assert {"a": 10, "z": 26} | letters == {"a": 1, "b": 2, "c": 3, "z": 26}
    assert letters == LETTERS


def test_union_is_of_the_same_kind(kind):
    assert type(kind(LETTERS) | {}) is type({} | kind(LETTERS)) is kind


def test_union_in_place_changes_the_map_itself(kind):
    letters = same = kind(LETTERS)
    letters |= {"d": 4}
    assert same["d"] == 4


def test_union_with_something_else_is_refused(kind):
    with pytest.raises(TypeError):
        kind(LETTERS) | 5


def test_maps_are_equal_when_their_items_are(kind):
    assert kind(LETTERS) == LETTERS
    assert kind(LETTERS) == SortedMap(LETTERS)
    assert kind(LETTERS) != {"a": 1, "b": 2, "c": 4}
    assert kind(LETTERS) != {"a": 1, "b": 2}


def test_maps_with_keys_that_cannot_be_compared_are_unequal(kind):
    assert kind({1: 1}) != kind({"a": 1})
    assert kind({1: 1}) != 5


def test_a_map_cannot_be_hashed(kind):
    with pytest.raises(TypeError):
        hash(kind())


def test_repr_reads_like_the_call_that_makes_it():
    assert repr(SortedMap({2: "b", 1: "a"})) == "SortedMap({1: 'a', 2: 'b'})"


def test_repr_of_a_map_that_holds_itself_ends():
    loop = SortedMap()
    loop["self"] = loop
    assert repr(loop) == "SortedMap({'self': ...})"


@pytest.mark.parametrize(
    "tree",
    [
        SortedMap(LETTERS, key=str.upper, **NARROW),
        RankedMap(LETTERS, hashed=True),
        IntervalMap({(1, 2): "x"}),
    ],
)
def test_a_pickled_map_comes_back_with_its_options(tree):
    back = pickle.loads(pickle.dumps(tree))
    assert back == tree
    assert type(back) is type(tree)
    assert back._options() == tree._options()


def test_copies_are_independent(kind):
    letters = kind({"a": [1]})
    twins = [letters.copy(), copy.copy(letters), copy.deepcopy(letters)]
    letters["b"] = [2]
    letters["a"].append(3)
    assert [dict(twin) for twin in twins] == [{"a": [1, 3]}, {"a": [1, 3]}, {"a": [1]}]


def test_a_map_can_be_referred_to_weakly(kind):
    letters = kind()
    assert weakref.ref(letters)() is letters


def test_fromkeys_gives_every_key_the_same_value(kind):
    assert kind.fromkeys("ba", 0) == {"a": 0, "b": 0}


def test_clear_leaves_an_empty_map(kind):
    letters = kind(LETTERS)
    letters.clear()
    assert not letters
    letters.check()


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 7, 16, 100, 1000])
@pytest.mark.parametrize("width", [2, 3, 4, 5, 8, 512])
def test_a_map_built_at_once_is_in_good_shape(width, size):
    numbers = SortedMap(((n, -n) for n in range(size)), leaf_width=width, inner_width=width)
    numbers.check()
    assert list(numbers.items()) == [(n, -n) for n in range(size)]


def test_building_from_unsorted_pairs_sorts_them(kind):
    numbers = kind([(3, "c"), (1, "a"), (2, "b")])
    assert list(numbers.items()) == [(1, "a"), (2, "b"), (3, "c")]


def test_building_from_repeated_keys_keeps_the_first_key_and_the_last_value(kind):
    numbers = kind([(2, "x"), (1, "a"), (2.0, "y"), (1, "b")])
    assert repr(list(numbers.items())) == "[(1, 'b'), (2, 'y')]"


def test_keys_need_not_be_hashable(kind):
    lists = kind([([2], "b"), ([1], "a"), ([2], "c")])
    lists[[0]] = "z"
    assert list(lists.items()) == [([0], "z"), ([1], "a"), ([2], "c")]


def test_writing_an_equal_key_keeps_the_first_one(kind):
    numbers = kind({1: "a"})
    numbers[1.0] = "b"
    assert repr(list(numbers.items())) == "[(1, 'b')]"


def test_a_key_function_orders_the_keys(kind):
    words = kind({"pear": 1, "fig": 2, "banana": 3}, key=len)
    assert list(words) == ["fig", "pear", "banana"]
    words.check()


def test_keys_with_equal_marks_are_one_key(kind):
    names = kind({"Ann": 1}, key=str.lower)
    names["ANN"] = 2
    assert list(names.items()) == [("Ann", 2)]
    assert "ann" in names
    del names["aNN"]
    assert not names


def test_ranges_go_by_the_key_function(kind):
    names = kind(dict.fromkeys("aBcD"), key=str.lower)
    assert list(names.range("b", "D")) == ["B", "c"]


@pytest.mark.parametrize("width", ["leaf_width", "inner_width"])
def test_a_node_is_at_least_two_wide(kind, width):
    with pytest.raises(ValueError, match="at least 2, got 1"):
        kind(**{width: 1})


def test_a_hashed_map_keeps_its_hash_table_with_the_tree(kind):
    numbers = kind({n: n for n in range(100)}, hashed=True, **NARROW)
    numbers[5] = -5
    numbers.update({6: -6, 1000: 1})
    del numbers[7]
    assert (numbers[5], numbers[6], numbers[1000], numbers.get(7), 7 in numbers) == (-5, -6, 1, None, False)
    numbers.check()


def test_a_hashed_map_with_a_key_function_looks_up_by_mark(kind):
    names = kind({"Ann": 1}, key=str.lower, hashed=True)
    assert (names["ANN"], names.get("ann"), "aNN" in names, names.pop("anN")) == (1, 1, True, 1)
    names.check()


def test_the_clone_of_a_hashed_map_reads_its_own_tree(kind):
    numbers = kind({1: "a"}, hashed=True)
    twin = numbers.clone()
    numbers[1] = "b"
    twin[2] = "c"
    assert (dict(numbers), dict(twin)) == ({1: "b"}, {1: "a", 2: "c"})


def test_newick_draws_nodes_and_the_marks_between_them():
    assert SortedMap.fromkeys([1, 2, 3], 0).newick() == "(1,2,3);"
    assert SortedMap(((n, n) for n in range(3)), **NARROW).newick() == "((0)1(1)2(2));"
