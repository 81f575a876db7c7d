"""One item by one statement: what happens between its begin, the lock that it waits for, and its commit."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from tests.waiting import eventually

from rowlock import Added, Engine
from rowlock.errors import DatabaseBusy, GatePassed, OutcomeUnknown

Connection = psycopg.Connection[tuple[Any, ...]]

AT_COMMIT = """
create function at_commit() returns trigger language plpgsql as $$ begin
    if new.key = 'conflict' then raise exception 'conflict' using errcode = '40001'; end if;
    if new.key = 'error' then raise exception 'error'; end if;
    if new.key = 'cut' then perform pg_terminate_backend(pg_backend_pid()); end if;
    return null;
end $$;
create constraint trigger at_commit after insert on rowlock_items deferrable initially deferred
    for each row execute function at_commit();
"""
WAITING = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
OURS = "application_name = 'rowlock' and datname = current_database()"


@pytest.fixture
def other(postgres_url: str) -> Iterator[Connection]:
    """A transaction that comes in between."""
    with psycopg.connect(postgres_url) as connection:
        yield connection


@pytest.fixture
def by_hand(postgres_url: str) -> Iterator[Connection]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    with Engine(postgres_url) as engine:
        engine["work"].add("first")
        yield engine


def requests(by_hand: Connection) -> int:
    [[number]] = by_hand.execute("select count(*) from rowlock_wakes").fetchall()
    return int(number)


class Meanwhile:
    """A call in a thread that waits for the lock of another transaction; its answer, or its error, comes afterwards."""

    def __init__(self, call: Callable[[], Any], by_hand: Connection) -> None:
        self._call = call
        self._answers: list[Any] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        eventually(lambda: by_hand.execute(WAITING).fetchall() == [(1,)])

    def _run(self) -> None:
        try:
            self._answers.append(self._call())
        except Exception as error:
            self._answers.append(error)

    def answer(self) -> Any:
        self._thread.join()
        return self._answers[0]


def test_a_wake_that_was_requested_is_not_requested_again(engine: Engine, by_hand: Connection) -> None:
    engine["work"].add("a")
    engine["work"].add("b")
    assert requests(by_hand) == 1


@pytest.mark.parametrize("isolation", ["read-committed", "serializable"])
def test_a_list_that_woke_and_slept_again_meanwhile_is_woken(
    engine: Engine, other: Connection, by_hand: Connection, postgres_url: str, isolation: str
) -> None:
    other.execute("delete from rowlock_wakes")
    other.execute("select from rowlock_lists for update")
    other.execute("update rowlock_lists set wake_at = null")
    with Engine(f"{postgres_url}&isolation={isolation}") as adder:
        added = Meanwhile(lambda: adder["work"].add("a"), by_hand)
        other.commit()
        assert (added.answer(), requests(by_hand)) == (Added(1, 0), 1)


def test_an_item_is_added_at_the_gate_that_opened_meanwhile(
    engine: Engine, other: Connection, by_hand: Connection
) -> None:
    other.execute("select from rowlock_lists for update")
    other.execute("update rowlock_lists set gate = 1")
    added = Meanwhile(lambda: engine["work"].add("a"), by_hand)
    other.commit()
    assert (added.answer(), engine["work"].show("a").gate) == (Added(1, 0), 1)


def test_a_gate_that_was_passed_meanwhile_is_refused(engine: Engine, other: Connection, by_hand: Connection) -> None:
    other.execute("select from rowlock_lists for update")
    other.execute("update rowlock_lists set gate = 2")
    added = Meanwhile(lambda: engine["work"].add("a", gate=1), by_hand)
    other.commit()
    assert isinstance(added.answer(), GatePassed)


@pytest.mark.parametrize(("end", "answer"), [("commit", Added(0, 1)), ("rollback", Added(1, 0))])
def test_a_key_that_another_transaction_adds_meanwhile_is_added_once(
    engine: Engine, other: Connection, by_hand: Connection, end: str, answer: Added
) -> None:
    other.execute("insert into rowlock_items (list, key, gate, priority) select id, 'a', 0, 5 from rowlock_lists")
    added = Meanwhile(lambda: engine["work"].add("a"), by_hand)
    other.execute(end)
    assert (added.answer(), [item.key for item in engine["work"]]) == (answer, ["a", "first"])


def test_a_key_that_another_transaction_adds_meanwhile_is_no_error_in_a_transaction(
    engine: Engine, other: Connection, by_hand: Connection
) -> None:
    def add() -> Added:
        with engine.transaction() as tx:
            return tx["work"].add("a")

    other.execute("insert into rowlock_items (list, key, gate, priority) select id, 'a', 0, 5 from rowlock_lists")
    added = Meanwhile(add, by_hand)
    other.commit()
    assert added.answer() == Added(0, 1)


def test_adds_of_different_keys_do_not_conflict_at_serializable(
    engine: Engine, other: Connection, by_hand: Connection, postgres_url: str
) -> None:
    other.execute("set transaction isolation level serializable")
    other.execute("select from rowlock_items where key = 'b'")
    with Engine(f"{postgres_url}&isolation=serializable") as adder:
        adder["work"].add("a")
    other.execute("insert into rowlock_items (list, key, gate, priority) select id, 'b', 0, 5 from rowlock_lists")
    other.commit()
    assert [item.key for item in engine["work"]] == ["a", "b", "first"]


def test_a_list_that_was_dropped_meanwhile_is_created_again(
    engine: Engine, other: Connection, by_hand: Connection
) -> None:
    for noun in ("lists", "items", "tallies", "wakes"):
        other.execute(f"delete from rowlock_{noun}")
    added = Meanwhile(lambda: engine["work"].add("a"), by_hand)
    other.commit()
    assert (added.answer(), [item.key for item in engine["work"]]) == (Added(1, 0), ["a"])


def test_a_conflict_at_the_commit_of_a_statement_is_run_again(postgres_url: str, by_hand: Connection) -> None:
    with Engine(postgres_url, patience=0.05) as engine:
        engine["work"].add("first")
        by_hand.execute(AT_COMMIT)
        with pytest.raises(DatabaseBusy):
            engine["work"].add("conflict")
        assert engine["work"].counts().ready == 1


def test_an_error_at_the_commit_of_a_statement_leaves_the_outcome_unknown(engine: Engine, by_hand: Connection) -> None:
    by_hand.execute(AT_COMMIT)
    with pytest.raises(OutcomeUnknown):
        engine["work"].add("error")


def test_a_connection_cut_at_the_commit_of_a_statement_leaves_the_outcome_unknown(
    engine: Engine, by_hand: Connection
) -> None:
    by_hand.execute(AT_COMMIT)
    with pytest.raises(OutcomeUnknown):
        engine["work"].add("cut")
    assert engine["work"].add("after").added == 1


def test_a_connection_cut_while_idle_is_replaced(engine: Engine, by_hand: Connection) -> None:
    [[pid]] = by_hand.execute(f"select pid from pg_stat_activity where {OURS}").fetchall()
    by_hand.execute("select pg_terminate_backend(%s, 10000)", [pid])
    assert engine["work"].add("a") == Added(1, 0)


def test_a_statement_cut_while_it_waits_is_run_again(engine: Engine, other: Connection, by_hand: Connection) -> None:
    other.execute("select from rowlock_lists for update")
    added = Meanwhile(lambda: engine["work"].add("a"), by_hand)
    by_hand.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where {OURS}")
    other.commit()
    assert added.answer() == Added(1, 0)


@pytest.mark.parametrize("keys", ["x/1", ["x/1", "x/2"]])
def test_an_item_added_while_families_are_set_up_belongs_to_its_own(
    engine: Engine, by_hand: Connection, keys: str | list[str]
) -> None:
    with engine.transaction() as tx:
        tx["work"].settings(concurrency_by={"separator": "/", "limit": 1})
        added = Meanwhile(lambda: engine["work"].add(keys), by_hand)
    added.answer()
    assert by_hand.execute("select distinct family from rowlock_items where key like 'x%'").fetchall() == [("x",)]
