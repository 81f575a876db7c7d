"""Ranges go both ways with open and closed bounds; a walk notices when keys come or go."""

from itertools import islice

import pytest

from rowlock.trees import RankedMap, RankedSet, SortedMap, SortedSet, ranges

EVENS = range(0, 100, 2)
WIDTHS = [2, 3, 4, 512]


@pytest.fixture(params=WIDTHS)
def evens(request):
    return SortedMap(((n, -n) for n in EVENS), leaf_width=request.param, inner_width=request.param)


BELONGS = {
    "[)": lambda low, n, high: low <= n < high,
    "[]": lambda low, n, high: low <= n <= high,
    "(]": lambda low, n, high: low < n <= high,
    "()": lambda low, n, high: low < n < high,
}


@pytest.mark.parametrize("bounds", list(BELONGS))
@pytest.mark.parametrize(("low", "high"), [(10, 20), (9, 21), (10, 10), (11, 11), (-5, 200), (30, 10), (98, 98)])
def test_a_range_shows_exactly_the_keys_within_its_bounds(evens, low, high, bounds):
    wanted = [n for n in EVENS if BELONGS[bounds](low, n, high)]
    assert list(evens.range(low, high, bounds=bounds)) == wanted
    assert list(evens.range(low, high, bounds=bounds, reverse=True)) == wanted[::-1]


@pytest.mark.parametrize("bounds", list(BELONGS))
def test_a_range_without_limits_shows_all(evens, bounds):
    assert list(evens.range(bounds=bounds)) == list(EVENS)
    assert list(evens.range(bounds=bounds, reverse=True)) == list(EVENS)[::-1]


def test_a_range_with_one_limit_goes_to_the_end(evens):
    assert list(evens.range(90)) == [90, 92, 94, 96, 98]
    assert list(evens.range(None, 6)) == [0, 2, 4]
    assert list(evens.range(90, reverse=True)) == [98, 96, 94, 92, 90]
    assert list(evens.range(None, 6, reverse=True)) == [4, 2, 0]


def test_a_range_of_items_shows_values_too(evens):
    assert list(evens.range_items(3, 8)) == [(4, -4), (6, -6)]
    assert list(evens.range_items(3, 8, reverse=True, bounds="[]")) == [(8, -8), (6, -6), (4, -4)]


def test_a_range_of_an_empty_tree_is_empty():
    assert list(SortedMap().range(1, 2)) == list(SortedMap().range(1, 2, reverse=True)) == []


def test_unknown_bounds_are_refused(evens):
    with pytest.raises(ValueError, match=r"got '\[\['"):
        evens.range(1, 2, bounds="[[")


@pytest.mark.parametrize("start", [iter, reversed, lambda tree: tree.range(2, 90), lambda tree: iter(tree.items())])
@pytest.mark.parametrize("key", [0, 2, 4, 50, 98])
def test_a_walk_raises_at_the_step_after_a_key_was_removed(evens, start, key):
    walk = start(evens)
    next(walk)
    del evens[key]
    with pytest.raises(RuntimeError, match="during iteration"):
        next(walk)
    evens.check()
    assert list(evens.items()) == [(n, -n) for n in EVENS if n != key]


@pytest.mark.parametrize("start", [iter, reversed, lambda tree: iter(tree.values()), lambda tree: tree.range_items(1)])
@pytest.mark.parametrize("key", [-1, 1, 3, 51, 99])
def test_a_walk_raises_at_the_step_after_a_key_was_added(evens, start, key):
    walk = start(evens)
    next(walk)
    evens[key] = -key
    with pytest.raises(RuntimeError, match="during iteration"):
        next(walk)
    evens.check()
    assert list(evens.items()) == sorted([(n, -n) for n in EVENS] + [(key, -key)])


@pytest.mark.parametrize(
    "change", [SortedMap.clear, SortedMap.popitem, lambda tree: tree.update({n: n for n in range(999)})]
)
def test_a_walk_raises_after_any_other_change_of_keys(evens, change):
    walk = iter(evens)
    next(walk)
    change(evens)
    with pytest.raises(RuntimeError):
        next(walk)
    evens.check()


def test_all_walks_over_a_leaf_notice(evens):
    one, other = iter(evens), iter(evens.items())
    next(one), next(other)
    del evens[2]
    with pytest.raises(RuntimeError):
        next(one)
    with pytest.raises(RuntimeError):
        next(other)


def test_removing_the_last_key_at_its_step_is_noticed(evens):
    walk = reversed(evens)
    assert list(islice(walk, 50))[-1] == 0
    del evens[0]
    with pytest.raises(RuntimeError):
        next(walk)


def test_values_may_be_replaced_during_a_walk(evens):
    for key in evens:
        evens[key] = key * 10
    assert list(evens.values()) == [n * 10 for n in EVENS]


def test_values_may_be_replaced_in_a_shared_tree_during_a_walk(evens):
    twin = evens.clone()
    for key in evens:
        evens[key] = key * 10
    assert list(evens.values()) == [n * 10 for n in EVENS]
    assert list(twin.values()) == [-n for n in EVENS]


def test_a_walk_over_a_clone_does_not_mind_writes_to_the_original(evens):
    walk = iter(evens.clone())
    next(walk)
    evens.clear()
    assert list(walk) == list(EVENS)[1:]


def test_a_clone_made_during_a_walk_is_whole_after_the_walk_was_ended(evens):
    walk = iter(evens)
    next(walk)
    twin = evens.clone()
    del evens[0]
    with pytest.raises(RuntimeError):
        next(walk)
    assert list(twin.items()) == [(n, -n) for n in EVENS]
    twin.check()
    evens.check()


def test_a_walk_goes_on_after_a_clone_was_made(evens):
    walk = iter(evens)
    next(walk)
    evens.clone()[1] = 1
    assert list(walk) == list(EVENS)[1:]


def test_a_walk_that_is_dropped_is_forgotten(evens):
    next(iter(evens))
    assert not evens._readers


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 999, 1000])
def test_ranges_are_disjoint_equal_and_cover_all(parts):
    keys = RankedSet(range(1000), leaf_width=4, inner_width=4)
    found = [list(keys.range(low, high, bounds="(]")) for low, high in ranges(keys, parts)]
    sizes = {len(part) for part in found}
    assert len(found) == parts
    assert max(sizes) - min(sizes) <= 1
    assert [key for part in found for key in part] == list(keys)


def test_ranges_of_fewer_keys_than_parts_are_one_for_each_key():
    assert ranges(RankedMap.fromkeys("ab", 0), 5) == [(None, "a"), ("a", "b")]


def test_ranges_of_nothing_are_none():
    assert ranges(RankedSet(), 3) == []


def test_ranges_sort_keys_that_are_not_ranked():
    assert ranges([3, 1, 2, 4], 2) == ranges(SortedSet([3, 1, 2, 4]), 2) == [(None, 2), (2, 4)]


def test_ranges_want_at_least_one_part():
    with pytest.raises(ValueError, match="got 0"):
        ranges([1], 0)
