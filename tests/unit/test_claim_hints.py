"""How often a list is searched for gaps: by what the last search took."""

import msgspec
import pytest
from tests.sample_items import claimed_item

from rowlock.claims import ClaimedItems
from rowlock.engine.claimer import ListHints


def claimed(position: int, *, priority: int = 5) -> ClaimedItems:
    item = msgspec.structs.replace(claimed_item("a"), position=position)
    return ClaimedItems("token", "work", 0, priority, position - 1, [item])


@pytest.mark.parametrize(("took", "fresh_for"), [(0.001, 1.0), (0.05, 1.0), (0.5, 10.0), (2.0, 40.0)])
def test_a_search_that_takes_long_is_repeated_less_often(took: float, fresh_for: float) -> None:
    hints = ListHints()
    hints.note_search(100.0 - took, 100.0)
    assert (hints.is_fresh(100 + 0.99 * fresh_for), hints.is_fresh(100 + 1.01 * fresh_for)) == (True, False)


@pytest.mark.parametrize(("took", "floors"), [(0.001, {2: 10}), (0.5, {0: 9, 1: 9, 2: 10})])
def test_where_a_search_takes_long_urgent_lanes_that_were_empty_are_not_walked_again(
    took: float, floors: dict[int, int]
) -> None:
    hints = ListHints()
    hints.note_search(0.0, took)
    hints.remember(claimed(10, priority=2))
    assert hints.floors == floors
