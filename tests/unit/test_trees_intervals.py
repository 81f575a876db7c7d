"""Interval trees find all that overlaps an interval or a point, in order."""

import random

import pytest

from rowlock.trees import IntervalMap, IntervalSet

NAN = float("nan")
FIVE = [(1, 2), (2, 3), (1, 5), (0, 6), (2, 7)]
LADDER = [(0, 3), (1, 4), (2, 5), (3, 6), (4, 7)]


def test_overlaps_come_in_order_of_start_then_end():
    assert IntervalSet(FIVE).overlaps((4, 5)) == [(0, 6), (1, 5), (2, 7)]


def test_intervals_that_only_touch_do_not_overlap():
    assert IntervalSet(LADDER).overlaps((7, 8)) == []
    assert IntervalSet(LADDER).overlaps((6, 9)) == [(4, 7)]


def test_a_point_is_in_the_intervals_that_begin_at_it_but_not_in_those_that_end_there():
    assert IntervalSet(LADDER).overlaps(4) == [(2, 5), (3, 6), (4, 7)]


def test_ends_at_zero_and_below_are_ends():
    assert IntervalSet([(-5, 0), (-4, -1)]).overlaps((-3, -2)) == [(-5, 0), (-4, -1)]


def test_a_stored_point_is_found_at_itself_and_from_around():
    points = IntervalSet([(3, 3)])
    assert (
        points.overlaps(3) == points.overlaps((3, 3)) == points.overlaps((3, 4)) == points.overlaps((1, 9)) == [(3, 3)]
    )


def test_a_stored_point_is_not_found_from_beside():
    points = IntervalSet([(3, 3)])
    assert points.overlaps(2) == points.overlaps((1, 3)) == points.overlaps((4, 9)) == []


def test_an_interval_without_an_end_reaches_everything_after_its_start():
    spans = IntervalSet([(5, None), (1, 2)])
    assert spans.overlaps(10**9) == [(5, None)]
    assert spans.overlaps((0, 5)) == [(1, 2)]
    assert spans.overlaps((5, None)) == [(5, None)]


def test_an_interval_without_a_start_reaches_everything_before_its_end():
    spans = IntervalSet([(None, 5), (7, 8)])
    assert spans.overlaps(-(10**9)) == [(None, 5)]
    assert spans.overlaps(5) == []
    assert spans.overlaps((None, 8)) == [(None, 5), (7, 8)]


def test_an_interval_without_either_reaches_everything():
    spans = IntervalSet([(None, None), (3, 4), (None, 1), (8, None)])
    assert spans.overlaps(5) == [(None, None)]
    assert spans.overlaps((None, None)) == list(spans) == [(None, 1), (None, None), (3, 4), (8, None)]


def test_open_ends_sort_after_all_others():
    assert list(IntervalSet([(1, None), (1, 5), (1, 9)])) == [(1, 5), (1, 9), (1, None)]


def test_a_query_of_an_empty_tree_finds_nothing():
    assert IntervalSet().overlaps((1, 2)) == []


def test_overlap_items_come_with_their_values():
    spans = IntervalMap({(1, 5): "a", (4, 9): "b", (9, 12): "c"})
    assert spans.overlap_items((4, 5)) == [((1, 5), "a"), ((4, 9), "b")]


def test_a_map_finds_the_value_of_exactly_one_interval():
    spans = IntervalMap({(1, 5): "a", (1, None): "b"})
    assert (spans[1, 5], spans[1, None], spans.get((1, 6))) == ("a", "b", None)


def test_a_longer_interval_with_the_same_start_is_found_beyond_the_shorter():
    spans = IntervalSet([(1, 5)])
    assert spans.overlaps(7) == []
    spans.add((1, 10))
    assert spans.overlaps(7) == [(1, 10)]
    spans.check()


def test_strings_can_be_bounds():
    assert IntervalSet([("a", "f"), ("g", "k")]).overlaps("ghost") == [("g", "k")]


@pytest.mark.parametrize("interval", [(2, 1), (NAN, 1), (1, NAN), (NAN, NAN), (NAN, None), (None, NAN)])
def test_an_interval_that_is_none_is_refused(interval):
    spans = IntervalSet([(1, 2)])
    with pytest.raises(ValueError, match="an interval"):
        spans.add(interval)
    with pytest.raises(ValueError, match="an interval"):
        spans.overlaps(interval)
    with pytest.raises(ValueError, match="an interval"):
        IntervalSet([interval])
    assert list(spans) == [(1, 2)]
    spans.check()


@pytest.mark.parametrize("interval", [5, "ab", (1,), (1, 2, 3), [1, 2]])
def test_what_is_not_a_pair_is_refused(interval):
    with pytest.raises(TypeError, match=r"a tuple \(start, end\)"):
        IntervalSet().add(interval)


def test_bounds_that_cannot_be_compared_are_refused_and_nothing_happens():
    spans = IntervalSet([(1, 2)])
    with pytest.raises(TypeError):
        spans.add(("a", "b"))
    with pytest.raises(TypeError):
        spans.add((1, "b"))
    assert list(spans) == [(1, 2)]
    spans.check()


def overlapping(intervals, query):
    low, high = query
    return sorted(
        (start, end) for start, end in intervals if (start < high or start == low) and (low < end or start >= low)
    )


def some_interval(rnd, longest):
    start = rnd.randrange(2000)
    return start, start + rnd.randrange(longest)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("width", [2, 4, 128])
def test_overlaps_are_those_of_brute_force(width, seed):
    rnd = random.Random(seed)
    intervals = {some_interval(rnd, rnd.choice([2, 20, 400])) for _ in range(1000)}
    spans = IntervalSet(intervals, leaf_width=width, inner_width=width)
    queries = [some_interval(rnd, 50) for _ in range(100)]
    assert [spans.overlaps(query) for query in queries] == [overlapping(intervals, query) for query in queries]


@pytest.mark.parametrize("width", [2, 3, 4, 128])
def test_overlaps_are_right_while_they_alternate_with_writes(width):
    rnd = random.Random(3)
    spans, model = IntervalSet(leaf_width=width, inner_width=width), set()
    for _ in range(1200):
        come, gone, query = (some_interval(rnd, 300) for _ in range(3))
        spans.add(come)
        model.add(come)
        gone = gone if rnd.random() < 0.3 else rnd.choice(sorted(model))
        spans.discard(gone)
        model.discard(gone)
        assert spans.overlaps(query) == overlapping(model, query)
    spans.check()


def test_overlaps_of_a_clone_and_of_its_original_go_their_own_ways():
    spans = IntervalSet([(n, n + 3) for n in range(100)], leaf_width=3, inner_width=3)
    assert len(spans.overlaps(50)) == 3
    twin = spans.clone()
    spans.add((0, 1000))
    twin.discard((50, 53))
    assert (len(spans.overlaps(50)), len(twin.overlaps(50))) == (4, 2)
    spans.check()
    twin.check()
