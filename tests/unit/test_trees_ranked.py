"""Ranked trees know the position of every key and the key at every position."""

import random

import pytest

from rowlock.trees import RankedMap, RankedSet

WIDTHS = [2, 3, 4, 512]


def shuffled(size, seed=1):
    keys = list(range(size))
    random.Random(seed).shuffle(keys)
    return keys


def test_nth_is_the_key_at_a_position():
    numbers = RankedSet(shuffled(100))
    assert (len(numbers), numbers.nth(90)) == (100, 90)


def test_rank_counts_the_keys_below_one_that_need_not_be_there():
    numbers = RankedSet([10, 20, 30])
    assert [numbers.rank(n) for n in (5, 10, 15, 30, 35)] == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("width", [2, 3, 4])
def test_every_rank_is_right_in_a_high_tree(width):
    numbers = RankedSet(leaf_width=width, inner_width=width)
    numbers.update([])
    for n in shuffled(2000):
        numbers.add(n)
    assert numbers.height >= 4
    assert [numbers.rank(n) for n in range(2000)] == list(range(2000))
    assert [numbers.nth(n) for n in range(2000)] == list(range(2000))


def test_every_rank_is_right_in_a_tree_of_default_width_and_three_levels():
    numbers = RankedSet(range(100_000))
    assert numbers.height == 3
    assert [numbers.rank(n) for n in range(0, 100_000, 7)] == list(range(0, 100_000, 7))


@pytest.mark.parametrize("width", WIDTHS)
def test_ranks_are_right_while_they_alternate_with_writes(width):
    numbers, model = RankedSet(leaf_width=width, inner_width=width), set()
    rnd = random.Random(2)
    for _ in range(1500):
        n = rnd.randrange(500)
        numbers.add(n)
        model.add(n)
        gone = rnd.randrange(500)
        numbers.discard(gone)
        model.discard(gone)
        assert numbers.rank(n) == sum(m < n for m in model)
        assert numbers.rank(250) == sum(m < 250 for m in model)
    assert numbers.nth(len(model) // 2) == sorted(model)[len(model) // 2]
    numbers.check()


def test_ranks_of_a_clone_and_of_its_original_go_their_own_ways():
    numbers = RankedSet(range(100), leaf_width=3, inner_width=3)
    assert numbers.rank(99) == 99
    twin = numbers.clone()
    numbers.discard(0)
    twin.add(-1)
    assert (numbers.rank(99), twin.rank(99)) == (98, 100)
    numbers.check()
    twin.check()


def test_replacing_a_value_does_not_change_ranks():
    numbers = RankedMap(((n, 0) for n in range(100)), leaf_width=3, inner_width=3)
    assert numbers.rank(50) == 50
    numbers[10] = 1
    assert numbers.rank(50) == 50
    numbers.check()


@pytest.mark.parametrize("position", [-1, 3, 4, 65536 + 1])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_position_outside_is_an_index_error(width, position):
    with pytest.raises(IndexError, match="must be 0 to 2, got"):
        RankedSet("abc", leaf_width=width, inner_width=width).nth(position)


def test_an_empty_set_has_no_positions():
    with pytest.raises(IndexError):
        RankedSet().nth(0)


SLICES = [
    slice(None),
    slice(3, 7),
    slice(-5, None),
    slice(None, -5),
    slice(2, 40, 3),
    slice(None, None, -1),
    slice(40, 2, -7),
    slice(7, 3),
    slice(90, 200),
    slice(-200, 2),
]


@pytest.mark.parametrize("cut", SLICES, ids=str)
@pytest.mark.parametrize("width", WIDTHS)
def test_slices_go_by_position_as_in_a_list(width, cut):
    numbers = RankedMap(((n * 2, -n) for n in range(50)), leaf_width=width, inner_width=width)
    assert numbers.keys()[cut] == list(numbers)[cut]
    assert numbers.values()[cut] == list(numbers.values())[cut]
    assert numbers.items()[cut] == list(numbers.items())[cut]


def test_a_set_is_indexed_by_position_as_a_list():
    numbers = RankedSet(range(0, 100, 2))
    assert (numbers[0], numbers[3], numbers[-1], numbers[10:13]) == (0, 6, 98, [20, 22, 24])


def test_the_views_of_a_map_are_indexed_by_position():
    letters = RankedMap({"b": 2, "a": 1})
    assert (letters.keys()[0], letters.values()[-1], letters.items()[1]) == ("a", 2, ("b", 2))


@pytest.mark.parametrize("position", [3, -4])
def test_an_index_outside_is_an_index_error(position):
    with pytest.raises(IndexError):
        RankedSet("abc")[position]


def test_a_rank_goes_by_the_key_function():
    assert RankedSet(["pear", "fig", "banana"], key=len).rank("four") == 1


def test_the_summary_of_a_ranked_tree_counts_its_entries():
    assert RankedSet(range(1000)).summary().total == RankedSet(range(1000), leaf_width=2).summary().total == 1000
