"""The check sees each rule that stored rows could break."""

import pytest
from tests.verbs.claiming import Desk, broken

from rowlock import Engine

pytestmark = pytest.mark.parametrize("dialect", ["sqlite", "postgres"])

CLAIM = (
    "insert into rowlock_claims (token, session, list, gate, priority, low, high, taken, remaining, taken_at) "
    "select 'other', session, list, gate, priority, low, high + 5, taken, remaining, taken_at from rowlock_claims"
)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (CLAIM, "overlap"),
        ("update rowlock_claims set remaining = 9", "has 9 of 2 items left"),
        ("update rowlock_claims set remaining = -1", "has -1 of 2 items left"),
        ("update rowlock_items set due = 1, failed_at = 1 where key = 'c'", "both delayed and failed"),
        ("delete from rowlock_items where key = 'c'", "differ from its items by 1 items, 0 delayed, 0 failed"),
        ("update rowlock_items set failed_at = 1 where key = 'c'", "0 items, 0 delayed, -1 failed"),
        ("update rowlock_lists set gate = 1", "which is past it, at gate 1"),
        ("update rowlock_lists set lanes = 0", "which the list does not hand out"),
        ("delete from rowlock_lists", "of the list number 1, which does not exist"),
    ],
)
def test_damage_is_told_in_a_sentence(timed: Engine, damage: str, told: str) -> None:
    timed["work"].add(["a", "b", "c"])
    Desk(timed).got(2)
    before = broken(timed)
    with timed.transaction() as tx:
        tx.execute(damage)
    assert (before, any(told in each for each in broken(timed))) == ([], True)


def test_a_list_that_sleeps_past_a_free_item_is_told(timed: Engine) -> None:
    timed["work"].add("a")
    with timed.transaction() as tx:
        tx.execute("delete from rowlock_wakes")
        tx.execute("update rowlock_lists set wake_at = null")
    assert broken(timed) == ["the list 'work' sleeps although 'a' is free, or is due before the list wakes"]


def test_a_list_that_no_worker_would_find_is_told(timed: Engine) -> None:
    timed["work"].settings(exclusive=True)
    with timed.transaction() as tx:
        tx.execute("update rowlock_lists set leased = (1 = 1)")
    assert broken(timed) == ["the list 'work' is marked as leased but has no lease"]
