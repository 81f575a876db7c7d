"""Lists that are claimed, go to sleep or are given back while others hold or wake them."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.waiting import until

from rowlock import Engine, claims, leases, lists
from rowlock.claims import ClaimRequest
from rowlock.db import Tx
from rowlock.diagnostics import broken_rules

pytestmark = pytest.mark.parametrize("dialect", ["postgres", "postgres16"])

WAITING = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"


def someone_waits(tx: Tx) -> bool:
    return bool(tx.execute(WAITING).fetchall())


def test_a_list_that_is_given_back_while_another_wakes_it_is_free(engine: Engine) -> None:
    engine["work"].settings(exclusive=True)
    engine["work"].add("a")
    found = engine.read(lists.find, "work")
    assert found is not None
    with engine.session(beats=False) as session, ThreadPoolExecutor(1) as threads:
        engine.run(leases.take, session.id, [found.id])
        engine.run(lambda tx: tx.run("lists/request_wake", list=found.id))
        with engine.transaction() as tx:
            tx.read(lists.lock, "work")
            tx.run(leases.release, found.id, session.id)
            waking = threads.submit(engine.run, lists.apply_wakes)
            until(lambda: engine.read(someone_waits))
        waking.result()
        assert (engine.read(broken_rules), [each.name for each in engine.read(leases.free)]) == ([], ["work"])


def test_a_claim_of_several_lists_leaves_out_those_that_another_has_locked(engine: Engine) -> None:
    for name in ("a", "b", "c"):
        engine[name].add("x")
    with engine.session(beats=False) as session:
        requests = [ClaimRequest(session.id, name, 10, f"token {name}") for name in ("a", "b", "c")]
        with engine.transaction() as tx:
            tx.read(lists.lock, "b")
            taken = engine.run(claims.take_of_several, requests)
    assert [*taken] == ["a", "c"]


def test_a_list_that_somebody_adds_to_is_not_put_to_sleep_with_others(engine: Engine) -> None:
    for name in ("a", "b"):
        engine[name].add("x")
        engine[name].done("x")
    with engine.transaction() as tx:
        tx["a"].add("y")
        assert engine.run(claims.sleep_empty, ["a", "b"]) == ["b"]
