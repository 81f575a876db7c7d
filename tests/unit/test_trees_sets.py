"""SortedSet has the manners of a set, in the order of its elements."""

import pickle
from collections.abc import MutableSet

import pytest

from rowlock.trees import IntervalSet, RankedSet, SortedSet


@pytest.fixture(params=[SortedSet, RankedSet])
def kind(request):
    return request.param


def test_elements_come_out_in_order(kind):
    numbers = kind()
    numbers.add(2)
    numbers.add(12)
    numbers.add(1)
    assert list(numbers) == [1, 2, 12]


def test_a_set_is_a_mutable_set(kind):
    assert isinstance(kind(), MutableSet)


def test_adding_what_is_there_changes_nothing(kind):
    numbers = kind([1, 2])
    numbers.add(1.0)
    assert repr(list(numbers)) == "[1, 2]"


def test_discard_does_not_mind_an_absent_element_but_remove_does(kind):
    numbers = kind([1])
    numbers.discard(2)
    with pytest.raises(KeyError, match="2"):
        numbers.remove(2)
    assert list(numbers) == [1]


def test_remove_removes(kind):
    numbers = kind([1, 2])
    numbers.remove(1)
    assert list(numbers) == [2]


def test_pop_takes_the_largest_or_the_smallest(kind):
    numbers = kind([3, 1, 2])
    assert (numbers.pop(), numbers.pop(last=False), list(numbers)) == (3, 1, [2])


def test_pop_of_an_empty_set_raises(kind):
    with pytest.raises(KeyError):
        kind().pop()


@pytest.mark.parametrize("other", [{2, 3, 9}, SortedSet([2, 3, 9]), frozenset([2, 3, 9])])
def test_operators_give_sets_of_the_left_kind(kind, other):
    numbers = kind([1, 2, 3])
    results = [numbers | other, numbers & other, numbers - other, numbers ^ other]
    assert [list(result) for result in results] == [[1, 2, 3, 9], [2, 3], [1], [1, 9]]
    assert {type(result) for result in results} == {kind}


def test_operators_work_from_the_right(kind):
    numbers = kind([1, 2, 3])
    assert [
        list({2, 9} | numbers),
        list({2, 9} & numbers),
        list({2, 9} - numbers),
        list({2, 9} ^ numbers),
    ] == [
        [1, 2, 3, 9],
        [2],
        [9],
        [1, 3, 9],
    ]


def test_operators_want_sets(kind):
    with pytest.raises(TypeError):
        kind([1]) | [2]


def test_methods_take_any_iterables(kind):
    numbers = kind([1, 2, 3])
    assert list(numbers.union([4], [5])) == [1, 2, 3, 4, 5]
    assert list(numbers.intersection([2, 3, 4], [3])) == [3]
    assert list(numbers.difference([1], [2])) == [3]
    assert list(numbers.symmetric_difference([3, 4])) == [1, 2, 4]


def test_operators_in_place_change_the_set_itself(kind):
    numbers = same = kind([1, 2, 3])
    numbers |= {4}
    numbers &= {2, 3, 4}
    numbers -= {3}
    numbers ^= {4, 5}
    assert list(same) == [2, 5]
    same.check()


def test_sets_compare_by_inclusion(kind):
    small, large = kind([1]), kind([1, 2])
    assert small < large
    assert large >= small
    assert small.issubset([1, 2])
    assert large.issuperset([1])
    assert small.isdisjoint([3])


def test_sets_are_equal_when_their_elements_are(kind):
    assert kind([1, 2]) == {1, 2} == kind([2, 1])
    assert kind([1, 2]) != {1, 3}
    assert kind([1]) != kind(["a"])


def test_a_key_function_orders_the_elements(kind):
    words = kind(["pear", "fig"], key=len)
    words.add("banana")
    assert list(words | {"kiwis"}) == ["fig", "pear", "kiwis", "banana"]
    assert "xxx" in words


def test_update_adds_all(kind):
    numbers = kind([1])
    numbers.update([3, 2], [5])
    assert list(numbers) == [1, 2, 3, 5]


@pytest.mark.parametrize("tree", [SortedSet("ba", key=str.upper), RankedSet("ba", hashed=True), IntervalSet([(1, 2)])])
def test_a_pickled_set_comes_back_with_its_options(tree):
    back = pickle.loads(pickle.dumps(tree))
    assert (back, type(back), back._options()) == (tree, type(tree), tree._options())


def test_repr_reads_like_the_call_that_makes_it():
    assert repr(SortedSet([2, 1])) == "SortedSet([1, 2])"


def test_a_hashed_set_keeps_its_hash_table_with_the_tree(kind):
    numbers = kind(range(50), hashed=True, leaf_width=2, inner_width=2)
    numbers.add(99)
    numbers.discard(3)
    numbers.update([100, 101])
    assert (99 in numbers, 3 in numbers, 100 in numbers) == (True, False, True)
    numbers.check()


def test_a_set_keeps_no_values(kind):
    assert kind([1, 2])._root.vals is None
