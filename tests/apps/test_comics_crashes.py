"""The shop's handlers, cut off after each persisted step in turn: the end is the same, everybody is recorded once."""

from collections import Counter
from itertools import count

import pytest
from tests.apps.shopping import C1, C2, Shopping, shopping
from tests.conftest import Clock
from tests.races.lives import Life

from rowlock import Engine, Worker
from rowlock.apps.comics import build
from rowlock.diagnostics import broken_rules

FOREVER = 1_000_000_000
WISHES = [{"email": "ann"}, {"email": "ann", "publisher": "marvel"}, {"email": "bob", "series": "x-men"}]
TOLD = {("ann", "ultimate spiderman"): 1, ("ann", "x-men"): 1, ("bob", "x-men"): 1}


def live(url: str, clock: Clock, steps: int) -> bool:
    """Handlers that are gone after so many steps; whether they were done before."""
    life = Life(FOREVER)
    with Engine(url, clock=clock, wrap=life.wrap, patience=0.01) as engine:
        application = build(engine, backoff="0s..0s")
        worker = Worker(engine, concurrency=2, grace="0s")
        assert application.worker is not None
        application.worker(worker)
        life.left = steps
        return life.work(worker)


def told(shop: Shopping, issue: int) -> Counter[tuple[str, str]]:
    found = [each for each in shop.get("/notifications") if each["comic"]["issue"] == issue]
    return Counter((each["email"], each["comic"]["series"]) for each in found)


@pytest.mark.parametrize("dialect", ["sqlite", pytest.param("postgres", marks=pytest.mark.torture)])
def test_the_end_is_the_same_after_whichever_step_the_handlers_die(url: str, clock: Clock) -> None:
    with Engine(url, clock=clock) as engine, shopping(engine) as shop:
        for wish in WISHES:
            shop.post("/subscriptions", wish)
        for steps in count(1):
            for comic in (C1, C2):
                shop.post("/comics", {**comic, "issue": steps})
            whole = live(url, clock, steps)
            clock.advance(60)
            engine.upkeep()  # the session of the dead has ended
            assert live(url, clock, FOREVER)
            assert told(shop, steps) == TOLD
            assert shop.get("/pending") == {"comics": [], "notifications": [], "failed": 0}
            if whole:
                break
        assert steps > 5
        assert sum(each["copies"] for each in shop.get("/comics?count=1000")) == 2 * steps
        assert engine.read(broken_rules) == []


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_what_the_dead_have_left_is_done_by_the_living(url: str, clock: Clock) -> None:
    with Engine(url, clock=clock) as engine, shopping(engine) as shop:
        shop.post("/subscriptions", {"email": "ann"})
        for issue in range(10):
            shop.post("/comics", {**C1, "issue": issue})
        assert not live(url, clock, 4)
        clock.advance(60)
        engine.upkeep()
        assert live(url, clock, FOREVER)
        assert sorted(each["comic"]["issue"] for each in shop.get("/notifications")) == list(range(10))
