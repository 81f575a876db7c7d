"""Upkeep: one bounded pass of housekeeping that changes no count and loses no item."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import EVERY, Desk, broken, keys, numbered, states

from rowlock import Counts, Done, Engine, Fail
from rowlock.upkeep import UpkeepReport

pytestmark = pytest.mark.parametrize("dialect", EVERY)


def test_a_pass_over_nothing_does_nothing(timed: Engine) -> None:
    assert timed.upkeep() == UpkeepReport(expired=0, promoted=0, opened=0, folded=0, pruned=0)


def test_due_items_are_put_in_line_where_nobody_claims(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"], due="1m")
    clock.advance(61)
    assert (timed.upkeep().promoted, broken(timed)) == (2, [])
    assert keys(Desk(timed).take()) == ["a", "b"]


def test_items_that_are_not_due_stay_where_they_are(timed: Engine) -> None:
    timed["work"].add("a", due="1m")
    assert (timed.upkeep().promoted, states(timed)) == (0, {"a": "delayed"})


def test_old_tallies_are_folded_and_the_sums_stay(timed: Engine, clock: Clock) -> None:
    for key in numbered(30):
        timed["work"].add(key)
    ann = Desk(timed)
    ann.settle(ann.got(10), *[Done()] * 9, Fail("bad"))
    before = timed["work"].info()
    clock.advance(2 * 3600)
    folded = timed.upkeep().folded
    assert (folded, timed["work"].info(), broken(timed)) == (31, before, [])


def test_errors_and_results_are_forgotten_after_their_time(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"])
    timed["work"].settings(keep_results=True, keep_for="1d")
    ann = Desk(timed)
    ann.settle(ann.got(), Done(1), Fail("bad"))
    clock.advance(24 * 3600)
    kept = timed.upkeep().pruned
    clock.advance(0.001)
    assert (kept, timed.upkeep().pruned, timed["work"].counts()) == (0, 2, Counts(failed=1))
