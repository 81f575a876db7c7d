"""Marks: how old what waits is, told without a time in each item."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import EVERY, Desk

from rowlock import Engine, backlog
from rowlock.errors import NoSuchItem, NoSuchList
from rowlock.overview import ItemTimes

pytestmark = pytest.mark.parametrize("dialect", EVERY)


def waiting(engine: Engine) -> float:
    return engine.read(backlog.longest_wait_seconds, "work")


def test_an_item_grows_old_while_it_waits(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    timed.upkeep()
    clock.advance(60)
    timed["work"].add("b")
    timed.upkeep()
    assert waiting(timed) == 60


def test_what_is_claimed_does_not_count(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    timed.upkeep()
    clock.advance(10)
    timed["work"].add("b")
    timed.upkeep()
    ann = Desk(timed)
    clock.advance(5)
    ann.got(1)
    assert waiting(timed) == 5


def test_what_no_mark_has_passed_yet_is_new(timed: Engine) -> None:
    timed["work"].add("a")
    assert waiting(timed) == 0


def test_a_list_where_nothing_waits_has_no_age(timed: Engine) -> None:
    timed["work"].add("a", due="1h")
    timed.upkeep()
    assert (waiting(timed), timed.read(backlog.longest_wait_seconds, "nothing")) == (0, 0)


def test_old_marks_are_forgotten(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    timed.upkeep()
    clock.advance(31 * 24 * 3600)
    timed["work"].add("b")
    timed.upkeep()
    rows = timed.read(lambda tx: tx.execute("select count(*) from rowlock_marks").fetchone())
    assert rows[0] == 1


def test_the_times_of_an_item_are_since_a_watermark_and_since_its_claim(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"])
    unknown = timed["work"].item_overview("a").times
    timed.upkeep()
    clock.advance(60)
    session = timed.session(holder="ann").open()
    session.take("work", limit=1)
    clock.advance(5)
    assert unknown == ItemTimes(None, None, None)
    assert timed["work"].item_overview("a").times == ItemTimes(60, 5, "ann")
    assert timed["work"].item_overview("b").times == ItemTimes(65, None, None)
    with pytest.raises(NoSuchItem):
        timed["work"].item_overview("c")
    with pytest.raises(NoSuchList):
        timed["nothing"].item_overview("c")
