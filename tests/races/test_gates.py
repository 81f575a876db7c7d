"""Lists whose gate is moved, or that are dropped, while somebody adds to them."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from tests.verbs.claiming import broken
from tests.worker.running import eventually

from rowlock import Engine, NewItem
from rowlock.errors import GatePassed, GateShut

servers = pytest.mark.parametrize("dialect", ["postgres", "serializable", "cockroach"])

TRIES = 1_000


@pytest.fixture
def serializable_url(postgres_url: str) -> str:
    """The same database for those who work at the strictest isolation."""
    return f"{postgres_url}&isolation=serializable"


def waits_for_a_lock(engine: Engine) -> bool:
    """Whether somebody waits for a row that another has locked."""
    with engine.transaction() as tx:
        waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        return bool(list(tx.execute(waiting)))


def during_an_add(engine: Engine, work: Callable[[], object]) -> object:
    """Do it while an add has not committed; what it gives, or the error."""
    with ThreadPoolExecutor(1) as beside:
        with engine.transaction() as tx:
            tx["work"].add("a")
            answer = beside.submit(work)
            assert eventually(lambda: answer.done() or waits_for_a_lock(engine))
            tx["work"].add(NewItem("b", priority=1))  # the list's row is written by who adds, too
        return answer.exception() or answer.result()


@servers
def test_a_gate_opened_by_hand_waits_for_adds_and_does_not_pass_them(engine: Engine) -> None:
    engine["work"].settings(manual=True)
    told = during_an_add(engine, lambda: engine["work"].open_gate(1))
    assert (type(told), engine["work"].info().gate, broken(engine)) == (GateShut, 0, [])


@servers
def test_a_list_that_is_dropped_waits_for_adds_and_takes_them_along(engine: Engine) -> None:
    engine["work"].add("before")
    dropped = during_an_add(engine, engine["work"].drop)
    assert (dropped, engine.lists(), broken(engine)) == (3, [], [])


@servers
def test_a_list_that_is_renamed_waits_for_adds_and_keeps_them(engine: Engine) -> None:
    engine["work"].add("before")
    during_an_add(engine, lambda: engine["work"].rename("other"))
    assert (engine["other"].counts().total, broken(engine)) == (3, [])


@pytest.mark.parametrize("dialect", ["postgres"])
def test_a_list_that_is_sealed_during_an_add_is_complete_only_after_its_item(engine: Engine) -> None:
    with engine.transaction() as tx:
        tx["work"].add("a")
        tx["work"].add("b")
    with engine.transaction() as tx:
        tx["work"].add("c")
        with ThreadPoolExecutor(1) as beside:
            beside.submit(finish, engine).result()
        assert engine["work"].info().state == "open"
    engine["work"].done("c")
    assert (engine["work"].info().state, broken(engine)) == ("complete", [])


def finish(engine: Engine) -> None:
    """Seal the list and do what can be seen of it."""
    engine["work"].seal()
    engine["work"].done(["a", "b"])


@pytest.mark.torture
@servers
def test_no_item_is_stranded_by_a_gate_that_is_opened_by_hand(engine: Engine) -> None:
    both = threading.Barrier(2)

    def add() -> None:
        for number in range(TRIES):
            both.wait()
            with suppress(GatePassed):
                engine[f"work-{number}"].add("a", gate=0)

    for number in range(TRIES):
        engine[f"work-{number}"].settings(manual=True)
    with ThreadPoolExecutor(1) as beside:
        adding = beside.submit(add)
        for number in range(TRIES):
            both.wait()
            with suppress(GateShut):
                engine[f"work-{number}"].open_gate(1)
        adding.result()
    assert broken(engine) == []
