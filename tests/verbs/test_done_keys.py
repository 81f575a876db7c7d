"""Lists with the setting `once`: a key that was done is not added again, until it is forgotten."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import Desk, broken
from tests.waiting import WAIT_SECONDS, until

from rowlock import Added, Counts, Done, Engine, Fail, Invalid, NotFound, Refused, Worker, transfers


@pytest.fixture
def once(timed: Engine) -> Engine:
    """A list `work` that remembers, of three items."""
    timed["work"].settings(once=True)
    timed["work"].add(["a", "b", "c"])
    return timed


def test_a_key_that_was_done_is_not_added_again(once: Engine) -> None:
    once["work"].done(["a", "b"])
    assert once["work"].add(["a", "b", "c", "d"]) == Added(1, 1, 2)
    assert ([item.key for item in once["work"]], broken(once)) == (["c", "d"], [])


def test_rows_that_differ_are_not_added_again_either(once: Engine) -> None:
    once["work"].done("a")
    assert once["work"].add([{"key": "a", "data": 1}, {"key": "d", "priority": 0}]) == Added(1, 0, 1)


def test_each_way_to_settle_an_item_as_done_is_remembered(once: Engine) -> None:
    ann = Desk(once)
    ann.done(ann.got(1))
    ann.settle(ann.got(1), Done({"size": 3}))
    with once.session() as session:
        for claim in session.claim(once["work"]):
            claim.done(claim.items[0])
    assert (once["work"].remembered(), once["work"].add(["a", "b", "c"])) == (3, Added(0, 0, 3))


def test_a_worker_remembers_what_it_did(once: Engine) -> None:
    worker = Worker(once)
    worker.on("work")(lambda item: None)
    worker.run(until="done")
    assert once["work"].add(["a", "b", "c"]) == Added(0, 0, 3)


def test_what_failed_or_was_abandoned_can_be_added_again(once: Engine) -> None:
    ann = Desk(once)
    ann.settle(ann.got(1), Fail("bad"))
    once["work"].abandon(["a", "b"])
    assert once["work"].add(["a", "b"]) == Added(2, 0)


def test_a_list_without_the_setting_remembers_nothing(timed: Engine) -> None:
    timed["work"].add("a")
    timed["work"].done("a")
    assert (timed["work"].remembered(), timed["work"].add("a")) == (0, Added(1, 0))


def test_the_setting_holds_for_a_claim_that_was_taken_before_it(timed: Engine) -> None:
    timed["work"].add(["a", "b"])
    ann = Desk(timed)
    taken = ann.got()
    timed["work"].settings(once=True)
    ann.done(taken)
    assert timed["work"].add(["a", "b"]) == Added(0, 0, 2)


def test_a_strict_add_refuses_a_key_that_was_done(once: Engine) -> None:
    once["work"].done("a")
    with pytest.raises(Refused, match="'a' was done already on the list 'work'"):
        once["work"].add(["d", "a"], strict=True)
    assert once["work"].counts() == Counts(ready=2)


def test_adds_in_one_group_are_told_apart(once: Engine) -> None:
    once["work"].done("a")
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(once.grouped["work"].add, ["a", "b", "d", "a"]))
    assert answers == [Added(0, 0, 1), Added(0, 1), Added(1, 0), Added(0, 0, 1)]


def test_the_item_that_a_completed_list_adds_is_added_once(once: Engine) -> None:
    once["first"].add("x")
    once["first"].seal(then="work")
    once["first"].done("x")
    once["work"].done("first")
    once["first"].reopen()
    once["first"].add("y")
    once["first"].seal()
    once["first"].done("y")
    assert (once["first"].info().state, "first" in once["work"]) == ("complete", False)


def test_the_item_that_a_completed_list_adds_is_there_if_it_was_not_done(once: Engine) -> None:
    once["first"].add([])
    once["first"].seal(then="work")
    assert "first" in once["work"]


def test_keys_are_forgotten_by_name(once: Engine) -> None:
    once["work"].done(["a", "b"])
    assert (once["work"].forget("a"), once["work"].forget(["a", "x"])) == (1, 0)
    assert once["work"].add(["a", "b"]) == Added(1, 0, 1)


def test_keys_are_forgotten_by_age(once: Engine, clock: Clock) -> None:
    once["work"].done("a")
    clock.advance(3600)
    once["work"].done("b")
    assert (once["work"].forget(older="1h"), once["work"].remembered()) == (1, 1)
    assert (once["work"].forget(older=0), once["work"].remembered()) == (1, 0)


def test_what_to_forget_must_be_said(once: Engine) -> None:
    with pytest.raises(Invalid, match="either keys or older"):
        once["work"].forget()
    with pytest.raises(NotFound):
        once["wrok"].forget("a")


def test_upkeep_forgets_what_is_older_than_the_setting(once: Engine, clock: Clock) -> None:
    once["work"].settings(once_for="1d")
    once["work"].done("a")
    clock.advance(24 * 3600 - 1)
    kept = (once.upkeep().pruned, once["work"].remembered())
    clock.advance(1)
    assert (kept, once.upkeep().pruned, once["work"].remembered()) == ((0, 1), 1, 0)


def test_a_renamed_list_remembers_and_a_dropped_one_does_not(once: Engine) -> None:
    once["work"].done("a")
    once["work"].rename("other")
    assert once["other"].add("a") == Added(0, 0, 1)
    once["other"].drop()
    once["other"].settings(once=True)
    assert once["other"].add("a") == Added(1, 0)


@pytest.mark.parametrize("dialect", ["postgres", "serializable"])
def test_an_add_that_waits_for_a_settlement_finds_the_key_done(engine: Engine, url: str) -> None:
    engine["work"].settings(once=True)
    engine["work"].add(["a", "b"])
    with ThreadPoolExecutor(1) as threads, Engine(url) as other:
        with engine.transaction() as tx:
            tx["work"].done("a")
            adding = threads.submit(partial(other["work"].add, ["a", "c"]))
            until(lambda: waiting(engine))
        assert adding.result(WAIT_SECONDS) == Added(1, 0, 1)
    assert ([item.key for item in engine["work"]], broken(engine)) == (["b", "c"], [])


@pytest.mark.parametrize("dialect", ["postgres", "serializable"])
def test_an_import_that_waits_for_a_settlement_finds_the_key_done(engine: Engine, url: str) -> None:
    engine["work"].settings(once=True)
    engine["work"].add(["a", "b"], due="1h")
    records = [engine.read(transfers.show, "work"), *engine.read(transfers.page, "work")]
    with ThreadPoolExecutor(1) as threads, Engine(url) as other:
        with engine.transaction() as tx:
            tx["work"].done("a")
            loading = threads.submit(partial(other.run, transfers.load, records))
            until(lambda: waiting(engine))
        assert loading.result(WAIT_SECONDS).added == 0
    assert ([item.key for item in engine["work"]], broken(engine)) == (["b"], [])


def waiting(engine: Engine) -> bool:
    """Whether another connection waits for a lock."""
    with engine.transaction() as tx:
        waits = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        return bool(tx.execute(waits).fetchone()[0])


def test_adders_and_workers_at_once_do_each_key_once(engine: Engine) -> None:
    engine["work"].settings(once=True)
    keys = [f"{number:03}" for number in range(60)]

    def work(_: int) -> list[str]:
        done: list[str] = []
        desk = Desk(engine)
        for _ in range(8):
            engine["work"].add(keys)
            if taken := desk.look(7):
                done += [item.key for item in taken.items]
                desk.done(taken)
        return done

    with ThreadPoolExecutor(4) as threads:
        done = [key for each in threads.map(work, range(4)) for key in each]
    assert (sorted(done), broken(engine)) == (keys, [])
