"""The planner: how many items of which list a worker may claim, from numbers alone."""

from types import SimpleNamespace
from typing import Any

import pytest

from rowlock.model import Settings
from rowlock.worker.handlers import Handler, define
from rowlock.worker.planner import MAX_CLAIM_ITEMS, Load, Planner

CONCURRENCY = 16


def handler(batch: int | None = None, **options: Any) -> Handler:
    terms: dict[str, Any] = {"attempts": None, "backoff": None, "timeout": None, "processes": False, **options}
    return define("*", lambda item: None, batch=batch, **terms)


def claim(name: str = "work", unfinished: int = 1, **options: Any) -> Any:
    defaults = {"in_order": False, "ended": False, "must_run_alone": False, "handler": handler()}
    return SimpleNamespace(list=name, unfinished=unfinished, unsettled=unfinished, **{**defaults, **options})


@pytest.fixture
def planner() -> Planner:
    now = [0.0]
    planner = Planner(CONCURRENCY, monotonic=lambda: now[0])
    planner.advance = now  # type: ignore[attr-defined]
    return planner


def finish(planner: Planner, per_second: int) -> None:
    """Have so many items finished in a second."""
    planner.advance[0] += 1.0  # type: ignore[attr-defined]
    planner.count_finished(per_second)


def test_an_idle_worker_claims_one_item_for_each_slot(planner: Planner) -> None:
    assert planner.room("work", handler(), load=Load(), held=False) == CONCURRENCY


def test_a_busy_slot_is_not_claimed_for(planner: Planner) -> None:
    assert planner.room("work", handler(), load=Load(slots=10), held=False) == 6
    assert planner.room("work", handler(), load=Load(slots=16), held=False) == 0


def test_a_fast_worker_claims_a_tenth_of_a_second_ahead(planner: Planner) -> None:
    finish(planner, 1_000)
    assert planner.lookahead == 100
    assert planner.room("work", handler(), load=Load(), held=False) == CONCURRENCY + 100


def test_no_more_is_claimed_while_half_of_the_lookahead_is_left(planner: Planner) -> None:
    finish(planner, 1_000)
    assert planner.room("work", handler(), load=Load(slots=CONCURRENCY + 50), held=False) == 0
    assert planner.room("work", handler(), load=Load(slots=CONCURRENCY + 49), held=False) == 51
    assert planner.wake_below == CONCURRENCY + 49


def test_a_claim_is_bounded_however_fast_a_worker_is(planner: Planner) -> None:
    finish(planner, 10_000_000)
    assert planner.room("work", handler(), load=Load(), held=False) == MAX_CLAIM_ITEMS


def test_a_batch_handler_claims_whole_batches_while_a_slot_is_free(planner: Planner) -> None:
    assert planner.room("work", handler(batch=50), load=Load(batches=15), held=False) == 50
    assert planner.room("work", handler(batch=50), load=Load(batches=16), held=False) == 0


def test_of_a_held_list_one_claim_is_worked_at_a_time(planner: Planner) -> None:
    busy = Load(slots=1, lists=frozenset({"work"}))
    assert planner.room("work", handler(), load=busy, held=True) == 0
    assert planner.room("other", handler(), load=busy, held=True) == 1


def test_of_a_held_list_only_what_is_soon_done_is_claimed(planner: Planner) -> None:
    finish(planner, 50)
    assert planner.room("work", handler(), load=Load(), held=True) == 5


def test_an_exclusive_list_in_work_is_not_claimed_again(planner: Planner) -> None:
    busy = Load(slots=1, lists=frozenset({"work"}))
    assert planner.plan("work", handler(), settings=Settings(exclusive=True), load=busy, room=5) is None
    plan = planner.plan("work", handler(), settings=Settings(exclusive=True), load=Load(), room=5)
    assert plan is not None
    assert plan.limit == 5


def test_nothing_of_a_limited_list_is_claimed_ahead(planner: Planner) -> None:
    plan = planner.plan("work", handler(), settings=Settings(concurrency=100), load=Load(slots=12), room=50)
    assert plan is not None
    assert (plan.limit, plan.limited) == (4, True)
    assert planner.plan("work", handler(), settings=Settings(concurrency=100), load=Load(slots=16), room=50) is None


def test_a_worker_that_uses_up_a_limit_knows_it_without_asking(planner: Planner) -> None:
    settings = Settings(concurrency=3)
    plan = planner.plan("work", handler(), settings=settings, load=Load(unsettled={"work": 2}), room=5)
    assert plan is not None
    assert plan.limit == 1
    assert planner.plan("work", handler(), settings=settings, load=Load(unsettled={"work": 3}), room=5) is None
    assert planner.plan("work", handler(), settings=Settings(), load=Load(unsettled={"work": 3}), room=5) is not None


def test_a_worker_is_overbooked_when_its_handlers_become_slow(planner: Planner) -> None:
    finish(planner, 10_000)
    busy = Load(slots=CONCURRENCY + 1_000)
    assert not planner.is_overbooked(busy)
    for _ in range(5):
        finish(planner, 0)
    assert planner.is_overbooked(busy)


def test_a_claim_whose_results_are_kept_is_not_settled_by_one_statement(planner: Planner) -> None:
    kept = planner.plan("work", handler(), settings=Settings(keep_results=True), load=Load(), room=1)
    within = planner.plan("work", handler(within=lambda items, tx: None), settings=Settings(), load=Load(), room=1)
    plain = planner.plan("work", handler(), settings=Settings(), load=Load(), room=1)
    assert kept is not None
    assert within is not None
    assert plain is not None
    assert [kept.settles_whole, within.settles_whole, plain.settles_whole] == [False, False, True]


def test_a_load_adds_up_claims_that_have_not_ended() -> None:
    claims = [
        claim("a", 3),
        claim("b", 4, in_order=True),
        claim("c", 9, ended=True),
        claim("d", 5, handler=handler(batch=5)),
        claim("e", 0, must_run_alone=True),
    ]
    load = Load.of(claims)
    assert (load.slots, load.batches, load.must_run_alone) == (3 + 1 + 1, 1, True)
    assert (load.lists, load.unsettled) == ({"a", "b", "d"}, {"a": 3, "b": 4, "d": 5, "e": 0})
