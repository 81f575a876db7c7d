"""A cursor goes both ways, stays at the ends, and notices when keys come or go."""

import pytest

from rowlock.trees import IntervalSet, RankedSet, SortedMap, SortedSet

WIDTHS = [2, 3, 4, 64, 512]


@pytest.fixture
def letters():
    return SortedMap({"a": 1, "b": 2, "c": 3}, leaf_width=2, inner_width=2).cursor()


@pytest.fixture(params=WIDTHS)
def evens(request):
    return SortedSet(range(0, 1025, 2), leaf_width=request.param, inner_width=request.param)


def place(cursor, *, found):
    return cursor.key if found else None


def test_seek_ge_finds_the_smallest_key_not_below(evens):
    cursor = evens.cursor()
    found = [place(cursor, found=cursor.seek_ge(n)) for n in range(1027)]
    assert found == [2 * ((n + 1) // 2) if n <= 1024 else None for n in range(1027)]


def test_seek_lt_finds_the_largest_key_below(evens):
    cursor = evens.cursor()
    found = [place(cursor, found=cursor.seek_lt(n)) for n in range(1027)]
    assert found == [2 * ((n - 1) // 2) if n > 0 else None for n in range(1027)]


def test_next_goes_through_all_keys(evens):
    cursor = evens.cursor()
    cursor.first()
    assert [cursor.key] + [cursor.key for _ in range(512) if cursor.next()] == list(evens)
    assert not cursor.next()


def test_prev_goes_back_through_all_keys(evens):
    cursor = evens.cursor()
    cursor.last()
    assert [cursor.key] + [cursor.key for _ in range(512) if cursor.prev()] == list(reversed(evens))
    assert not cursor.prev()


def test_one_step_back_from_after_the_last_is_the_last(letters):
    assert letters.last()
    assert not letters.next()
    assert letters.prev()
    assert letters.key == "c"


def test_one_step_on_from_before_the_first_is_the_first(letters):
    assert letters.first()
    assert not letters.prev()
    assert letters.next()
    assert letters.key == "a"


def test_the_ends_are_idempotent(letters):
    letters.last()
    assert [letters.next() for _ in range(5)] == [False] * 5
    assert letters.prev()
    assert letters.key == "c"
    letters.first()
    assert [letters.prev() for _ in range(5)] == [False] * 5
    assert letters.next()
    assert letters.key == "a"


def test_a_seek_past_an_end_stays_just_outside(letters):
    assert not letters.seek_ge("z")
    assert letters.prev()
    assert letters.key == "c"
    assert not letters.seek_lt("a")
    assert letters.next()
    assert letters.key == "a"


def test_a_fresh_cursor_is_nowhere_and_stays_there(letters):
    assert not letters.valid
    assert not letters.next()
    assert not letters.prev()
    assert not letters.valid


def test_reset_goes_back_to_nowhere(letters):
    letters.first()
    letters.reset()
    assert not letters.valid


@pytest.mark.parametrize("what", ["key", "value", "item"])
def test_a_cursor_on_no_entry_has_nothing_to_show(letters, what):
    with pytest.raises(LookupError, match="not on an entry"):
        getattr(letters, what)


def test_a_cursor_shows_key_and_value(letters):
    letters.seek_ge("b")
    assert (letters.key, letters.value, letters.item) == ("b", 2, ("b", 2))


def test_a_cursor_over_an_empty_tree_is_never_valid():
    cursor = SortedSet().cursor()
    assert not any([cursor.first(), cursor.last(), cursor.seek_ge(1), cursor.seek_lt(1), cursor.next(), cursor.prev()])


@pytest.mark.parametrize("change", [lambda tree: tree.add(1), lambda tree: tree.remove(4), SortedSet.clear])
@pytest.mark.parametrize("move", ["next", "prev", "valid", "key"])
def test_a_cursor_refuses_to_move_after_keys_came_or_went(evens, change, move):
    cursor = evens.cursor()
    cursor.first()
    change(evens)
    with pytest.raises(RuntimeError, match="since the cursor was placed"):
        getattr(cursor, move) if move in ("valid", "key") else getattr(cursor, move)()


def test_a_cursor_placed_anew_is_good_again(evens):
    cursor = evens.cursor()
    cursor.first()
    evens.add(1)
    assert cursor.seek_ge(1)
    assert cursor.key == 1


def test_a_cursor_shows_a_value_replaced_under_it():
    tree = SortedMap({1: "a", 2: "b"})
    twin, cursor = tree.clone(), tree.cursor()
    cursor.first()
    tree[1] = "new"
    assert cursor.value == "new"
    assert cursor.next()
    assert twin[1] == "a"


def test_a_seek_with_a_key_that_cannot_be_compared_leaves_the_cursor_where_it_is(letters):
    letters.first()
    with pytest.raises(TypeError):
        letters.seek_ge(5)
    assert letters.key == "a"


def test_a_ranked_cursor_knows_its_position():
    cursor = RankedSet([2, 3, 5, 4]).cursor()
    cursor.first()
    assert [cursor.rank] + [cursor.rank for _ in range(3) if cursor.next()] == [0, 1, 2, 3]


def test_a_ranked_cursor_seeks_a_position():
    cursor = RankedSet([2, 3, 5, 4]).cursor()
    assert cursor.seek_nth(2)
    assert cursor.key == 4


@pytest.mark.parametrize("position", [-1, 4, 5, 100_000])
def test_a_position_outside_leaves_a_ranked_cursor_nowhere(position):
    cursor = RankedSet([2, 3, 5, 4]).cursor()
    cursor.first()
    assert not cursor.seek_nth(position)
    assert not cursor.valid


def test_the_rank_of_a_cursor_on_no_entry_is_none():
    assert RankedSet([1]).cursor().rank is None


@pytest.fixture
def spans():
    return IntervalSet([(1, 2), (2, 3), (1, 5), (0, 6), (2, 7)]).cursor()


def test_an_interval_cursor_goes_from_overlap_to_overlap(spans):
    assert spans.first_overlap((4, 5))
    assert [spans.key] + [spans.key for _ in range(3) if spans.next_overlap()] == [(0, 6), (1, 5), (2, 7)]
    assert not spans.valid


def test_the_next_overlap_without_a_first_is_nowhere(spans):
    spans.first()
    assert not spans.next_overlap()
    assert not spans.valid


@pytest.mark.parametrize("move", ["first", "last"])
def test_moving_otherwise_ends_a_search_for_overlaps(spans, move):
    spans.first_overlap((4, 5))
    getattr(spans, move)()
    assert not spans.next_overlap()


def test_a_search_that_finds_nothing_leaves_the_cursor_nowhere(spans):
    spans.first()
    assert not spans.first_overlap((100, 200))
    assert not spans.valid
