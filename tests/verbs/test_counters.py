"""Counters hand out 1, 2, 3 …: no number twice, and none left out where they are taken in transactions."""

import asyncio
import random
import sqlite3
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import psycopg
import pytest
from tests.races.faults import Faulty
from tests.verbs.group_commits import Commits, together

from rowlock import AsyncEngine, CounterInfo, Engine, Invalid, Refused, counters
from rowlock.counters import MAX_NUMBER
from rowlock.errors import CounterSpent, InvalidName, InvalidTransaction


def test_a_counter_begins_with_one(engine: Engine) -> None:
    orders = engine.counter("orders")
    assert (orders.show(), [orders.next() for _ in range(3)], orders.show()) == (0, [1, 2, 3], 3)


def test_counters_do_not_know_each_other(engine: Engine) -> None:
    assert [engine.counter(name).next() for name in ("a", "b", "a", "ä", "a/1")] == [1, 1, 2, 1, 1]


def test_several_numbers_come_in_a_row(engine: Engine) -> None:
    orders = engine.counter("orders")
    assert (orders.take(3), orders.next(), orders.take(2)) == (range(1, 4), 4, range(5, 7))


@pytest.mark.parametrize("count", [0, -1, 1_000_000_001, True, 1.0, "1", None])
def test_an_invalid_count_is_refused(engine: Engine, count: Any) -> None:
    with pytest.raises(Invalid, match=r"must be (1 to|a whole number)"):
        engine.counter("orders").take(count)
    assert engine.counter("orders").show() == 0


def test_the_largest_amounts_are_given(engine: Engine) -> None:
    assert engine.counter("orders").take(1_000_000_000) == range(1, 1_000_000_001)
    assert engine.counter("others").raise_to(MAX_NUMBER) == MAX_NUMBER


def test_a_block_is_reserved_once_for_each_epoch_and_never_of_an_invalid_size(engine: Engine) -> None:
    engine.counter("orders").take(5)
    assert engine.run(counters.reserve, "orders", 10, epoch="a") == range(6, 16)
    assert engine.run(counters.reserve, "orders", 10, epoch="b") is None
    assert engine.run(counters.reserve, "orders", 10, epoch="b", instead="a") == range(16, 26)
    assert (engine.read(counters.epoch, "orders"), engine.read(counters.epoch, "others")) == ("b", None)
    with pytest.raises(Invalid):
        engine.run(counters.reserve, "orders", 0, epoch="c", instead="b")
    engine.counter("orders").raise_to(MAX_NUMBER - 9)
    with pytest.raises(CounterSpent):
        engine.run(counters.reserve, "orders", 10, epoch="c")
    assert engine.run(counters.reserve, "orders", 9, epoch="c") == range(MAX_NUMBER - 8, MAX_NUMBER + 1)


def test_several_counters_advance_by_one_statement_or_none_of_them(engine: Engine) -> None:
    engine.counter("orders").take(5)
    taken = engine.run(counters.take_each, {"orders": 3, "bills": 2})
    assert taken == {"orders": range(6, 9), "bills": range(1, 3)}
    engine.counter("orders").raise_to(MAX_NUMBER - 1)
    with pytest.raises(CounterSpent):
        engine.run(counters.take_each, {"bills": 1, "orders": 2})
    with pytest.raises(Invalid):
        engine.run(counters.take_each, {"bills": 1, "orders": 0})
    assert (engine.counter("bills").show(), engine.counter("orders").show()) == (2, MAX_NUMBER - 1)


@pytest.mark.parametrize("name", ["", " a", "a*", "a\nb", "x" * 201])
def test_a_name_that_cannot_be_is_refused(engine: Engine, name: str) -> None:
    with pytest.raises(InvalidName, match="the counter name"):
        engine.counter(name)


def test_a_number_of_a_transaction_that_fails_is_given_again(engine: Engine) -> None:
    with suppress(ValueError), engine.transaction() as tx:
        assert tx.counter("orders").take(3) == range(1, 4)
        raise ValueError("thought better of it")
    with engine.transaction() as tx:
        assert (tx.counter("orders").next(), tx.counter("orders").next()) == (1, 2)
    assert engine.counter("orders").next() == 3


def test_a_number_and_its_row_commit_together(engine: Engine) -> None:
    with engine.transaction() as tx:
        tx.execute("create table orders (number bigint primary key)")
    sign = "?" if engine.database.address.dialect == "sqlite" else "%s"
    insert = f"insert into orders values ({sign})"

    def order(number: int) -> None:
        try:
            with engine.transaction() as tx:
                tx.execute(insert, [engine.counter("orders").next(using=tx)])
                if number % 3 == 0:
                    raise ValueError("thought better of it")
        except ValueError:
            pass

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(retrying(order), range(60)))
    stored = engine.read(lambda tx: tx.execute("select number from orders order by number").fetchall())
    assert [number for (number,) in stored] == list(range(1, 41))


def retrying(work: Any) -> Any:
    def again(number: int) -> None:
        while True:
            try:
                return work(number)
            except Exception as error:
                # At SERIALIZABLE the database says which of two came second.
                if getattr(error, "code", "") != "database-busy":
                    raise

    return again


def test_a_transaction_of_the_callers_own_is_joined(engine: Engine, url: str) -> None:
    engine.counter("orders").next()
    sqlite = engine.database.address.dialect == "sqlite"
    connection: Any = (
        sqlite3.connect(url) if sqlite else psycopg.connect(url.replace("cockroachdb://", "postgresql://"))
    )
    assert engine.counter("orders").take(2, using=connection) == range(2, 4)
    assert engine.counter("orders").raise_to(9, using=connection) == 9
    connection.rollback()
    assert engine.counter("orders").next(using=connection) == 2
    connection.commit()
    connection.close()
    assert engine.counter("orders").show() == 2


def test_the_last_number_is_the_last(engine: Engine) -> None:
    orders = engine.counter("orders")
    orders.raise_to(MAX_NUMBER - 3)
    with pytest.raises(CounterSpent, match="'orders' has no 4 numbers left"):
        orders.take(4)
    assert (orders.take(2), orders.next()) == (range(MAX_NUMBER - 2, MAX_NUMBER), MAX_NUMBER)
    with pytest.raises(Refused, match="no 1 numbers left"):
        orders.next()
    assert (orders.show(), orders.raise_to(MAX_NUMBER)) == (MAX_NUMBER, MAX_NUMBER)


def test_of_those_who_come_together_as_many_as_can_have_the_last_numbers(engine: Engine) -> None:
    engine.counter("orders").raise_to(MAX_NUMBER - 5)
    answers = together(engine, *((counters.take, "orders", count) for count in (3, 4, 2, 1)))
    assert [answers[0], answers[2]] == [range(MAX_NUMBER - 4, MAX_NUMBER - 1), range(MAX_NUMBER - 1, MAX_NUMBER + 1)]
    assert [type(answers[1]), type(answers[3])] == [CounterSpent, CounterSpent]


def test_a_counter_is_raised_and_never_lowered(engine: Engine) -> None:
    orders = engine.counter("orders")
    assert [orders.raise_to(100), orders.next(), orders.raise_to(50), orders.next()] == [100, 101, 101, 102]
    assert engine.counter("other").raise_to(0) == 0


@pytest.mark.parametrize("number", [-1, MAX_NUMBER + 1, True, 1.5, "7"])
def test_a_counter_cannot_be_raised_beyond_its_bounds(engine: Engine, number: Any) -> None:
    with pytest.raises(Invalid, match=r"must be (0 to|a whole number)"):
        engine.counter("orders").raise_to(number)


def test_counters_are_listed_page_by_page(engine: Engine) -> None:
    for name in ("c", "a", "b", "B", "ä"):
        engine.counter(name).next()
    first = engine.counters(limit=2)
    assert first == [CounterInfo("B", 1), CounterInfo("a", 1)]
    assert [each.name for each in engine.counters(after="a")] == ["b", "c", "ä"]
    assert engine.counters(limit=0) == []
    with pytest.raises(Invalid):
        engine.counters(limit=-1)
    with pytest.raises(Invalid):
        engine.counters(after="a\0")


def test_what_many_ask_at_once_is_one_statement(url: str) -> None:
    commits, statements = Commits(), Commits()
    with Engine(url, wrap=partial(Faulty, after_commit=commits, after_query=statements)) as engine:
        engine.make_ready()
        commits.number = statements.number = 0
        names = [f"counter {number % 7}" for number in range(50)]
        answers = together(engine, *((counters.take, name) for name in names))
        assert (commits.number, statements.number) == (2, 1)
        given = defaultdict(list)
        for name, numbers in zip(names, answers, strict=True):
            given[name] += numbers
        assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in given.values())


def test_numbers_follow_the_order_in_which_callers_came(engine: Engine) -> None:
    counts = [random.Random(3).randrange(1, 9) for _ in range(30)]
    answers = together(engine, *((counters.take, "orders", count) for count in counts))
    assert [number for numbers in answers for number in numbers] == list(range(1, sum(counts) + 1))


def test_one_bad_call_among_many_good_ones_is_alone_with_it(engine: Engine) -> None:
    asked = [(counters.take, "a"), (counters.take, "a", 0), (counters.take, "*"), (counters.take, "a")]
    first, second, third, fourth = together(engine, *asked)
    assert (first, fourth) == (range(1, 2), range(2, 3))
    assert (type(second), type(third)) == (Invalid, InvalidName)


def test_many_threads_leave_no_gap(engine: Engine) -> None:
    with ThreadPoolExecutor(16) as threads:
        numbers = list(threads.map(lambda _: engine.counter("orders").next(), range(400)))
    assert sorted(numbers) == list(range(1, 401))


def test_coroutines_leave_no_gap(url: str) -> None:
    async def count() -> list[int]:
        async with AsyncEngine(url) as engine:
            orders = engine.counter("orders")
            numbers = await asyncio.gather(*(orders.next() for _ in range(100)))
            async with engine.transaction() as tx:
                return [*numbers, await tx.counter("orders").next()]

    assert sorted(asyncio.run(count())) == list(range(1, 102))


def test_within_an_open_transaction_on_a_file_a_number_outside_of_it_is_refused(sqlite_url: str) -> None:
    with Engine(sqlite_url) as engine, engine.transaction() as tx:
        tx.counter("orders").next()
        with pytest.raises(InvalidTransaction):
            engine.counter("orders").next()


def test_an_older_database_gets_its_counters(sqlite_url: str) -> None:
    with Engine(sqlite_url) as engine:
        engine["work"].add("a")
    connection = sqlite3.connect(sqlite_url)
    connection.execute("drop table rowlock_counters")
    connection.execute("delete from rowlock_migrations where number = 7")
    connection.commit()
    connection.close()
    with Engine(sqlite_url) as engine:
        assert (engine.counter("orders").next(), "a" in engine["work"]) == (1, True)
