"""Your rows and ours in one transaction: `engine.transaction()`."""

import contextlib
import sqlite3
import threading

import psycopg
import pytest

from rowlock import Added, Engine, Transaction
from rowlock.errors import AlreadyThere, DatabaseFull, DatabaseReadOnly, GatePassed, InvalidTransaction


class Broken(Exception):
    """Something in the caller's own code."""


@pytest.fixture
def shop(engine: Engine) -> Engine:
    """An engine whose database has a table of the caller's own."""
    with engine.transaction() as tx:
        tx.execute("create table orders (id integer)")
    engine["shipments"].add([])
    return engine


def rows(engine: Engine) -> tuple[list[tuple[int]], list[str]]:
    with engine.transaction() as tx:
        orders = tx.execute("select id from orders order by id").fetchall()
    return orders, [item.key for item in engine["shipments"]]


def test_rows_and_items_commit_together(shop: Engine) -> None:
    with shop.transaction() as tx:
        tx.execute("insert into orders values (7)")
        tx["shipments"].add("7")
    assert rows(shop) == ([(7,)], ["7"])


def test_rows_and_items_roll_back_together(shop: Engine) -> None:
    with contextlib.suppress(Broken), shop.transaction() as tx:
        tx.execute("insert into orders values (7)")
        tx["shipments"].add("7")
        raise Broken
    assert rows(shop) == ([], [])


def test_many_rows_commit_with_items(shop: Engine) -> None:
    mark = "?" if shop.database.address.dialect == "sqlite" else "%s"
    with shop.transaction() as tx:
        tx.executemany(f"insert into orders values ({mark})", [(1,), (2,)])
        tx["shipments"].add(["1", "2"])
    assert rows(shop) == ([(1,), (2,)], ["1", "2"])


def test_a_transaction_sees_what_it_wrote_and_others_do_not(shop: Engine) -> None:
    with shop.transaction() as tx:
        tx["shipments"].add("7")
        inside = [item.key for item in tx["shipments"].page()]
        outside = shop["shipments"].page()
    assert (inside, outside) == (["7"], [])


def test_every_verb_of_a_list_works_inside(shop: Engine) -> None:
    with shop.transaction() as tx:
        work = tx["shipments"]
        work.settings(attempts=3)
        work.add(["a", "b", "c"])
        work.increment("a")
        work.done("b")
        work.abandon("c")
        work.pause()
        work.rename("sent")
    info = shop["sent"].info()
    assert (info.state, info.counts.ready, info.settings.attempts) == ("paused", 1, 3)


def test_a_refused_add_leaves_no_part_of_itself_in_the_transaction(shop: Engine) -> None:
    with shop.transaction() as tx:
        with pytest.raises(AlreadyThere):
            tx["shipments"].add(["7", "8", "7"], strict=True)
        tx.execute("insert into orders values (7)")
    assert rows(shop) == ([(7,)], [])


def test_a_long_refused_add_leaves_no_part_of_itself_in_the_transaction(shop: Engine) -> None:
    shop["shipments"].add("a")
    with shop.transaction() as tx:
        tx.execute("update rowlock_lists set gate = 1")
    with shop.transaction() as tx:
        with pytest.raises(GatePassed):
            tx["shipments"].add([*map(str, range(20_000)), {"key": "late", "gate": 0}])
        tx.execute("insert into orders values (7)")
    assert rows(shop) == ([(7,)], ["a"])


def test_a_list_of_a_transaction_takes_no_other_one(shop: Engine) -> None:
    with shop.transaction() as tx, pytest.raises((TypeError, InvalidTransaction)):
        tx["shipments"].add("7", using=object())


def test_using_the_transaction_itself_is_the_same_as_its_lists(shop: Engine) -> None:
    with contextlib.suppress(Broken), shop.transaction() as tx:
        shop["shipments"].add("7", using=tx)
        raise Broken
    assert rows(shop) == ([], [])


def test_an_error_in_the_callers_own_sql_is_the_drivers(shop: Engine) -> None:
    with pytest.raises(Exception, match="nowhere") as error, shop.transaction() as tx:
        tx.execute("select * from nowhere")
    assert type(error.value).__module__.partition(".")[0] in ("sqlite3", "psycopg")


def test_writing_by_the_engine_within_its_own_transaction_is_refused_at_once(sqlite_url: str) -> None:
    with Engine(sqlite_url) as engine:
        engine["work"].add("a")
        with engine.transaction() as tx:
            tx["work"].add("b")
            with pytest.raises(InvalidTransaction, match="using"):
                engine["work"].add("c")
        assert [item.key for item in engine["work"]] == ["a", "b"]


def test_writers_in_many_threads_take_turns(sqlite_url: str) -> None:
    engine = Engine(sqlite_url)

    def work(number: int) -> None:
        for each in range(20):
            with engine.transaction() as tx:
                added.append(tx["work"].add(f"{number}-{each}"))

    added: list[Added] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (added, engine["work"].counts().ready) == ([Added(1, 0)] * 80, 80)
    engine.close()


def test_what_is_wrong_with_the_database_is_told_in_our_words_and_wrong_sql_in_the_driver_s(shop: Engine) -> None:
    full = "pragma max_page_count = 1", DatabaseFull, sqlite3.Error
    shut = "set transaction read only", DatabaseReadOnly, psycopg.Error
    spoil, trouble, theirs = full if shop.dialect == "sqlite" else shut
    with pytest.raises(theirs), shop.transaction() as tx:
        tx.execute("insert into nowhere values (1)")
    with pytest.raises(trouble), shop.transaction() as tx:
        fill(tx, spoil)


def fill(tx: Transaction, spoil: str) -> None:
    tx.execute(spoil)
    for _ in range(1_000):
        tx.execute("insert into orders values (7)")
