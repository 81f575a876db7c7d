"""A function of the user's own for many callers: one call, one transaction, an answer for each."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import pytest
from tests.conftest import DATABASES
from tests.races.faults import Faulty
from tests.verbs.group_commits import Commits, held

from rowlock import BatchedFunction, Engine, Transaction
from rowlock.errors import CounterSpent, Invalid, KeyReused


def put(tx: Transaction, keys: list[str]) -> list[int | Exception]:
    """Numbers and items for all that are given; blank ones are refused, `bad` raises, `torn` after it has written."""
    if "bad" in keys:
        raise LookupError("bad")
    good = [key for key in keys if key.strip()]
    numbers = iter(tx.numbers({"puts": len(good)})["puts"] if good else ())
    tx["put"].add(good)
    if "torn" in good:
        raise LookupError("torn")
    return [next(numbers) if key.strip() else Invalid("a blank key") for key in keys]


def asked(engine: Engine, work: BatchedFunction[str, int], keys: Sequence[str]) -> list[object]:
    with held(engine):
        futures = [work.ask(key) for key in keys]
    return [future.exception() or future.result() for future in futures]


def test_what_many_give_at_once_is_one_call_in_one_transaction(url: str) -> None:
    commits = Commits()
    with Engine(url, wrap=partial(Faulty, after_commit=commits)) as engine:
        work = engine.grouped.together(put)
        assert work("first") == 1
        commits.number = 0
        assert asked(engine, work, [f"{number:02}" for number in range(20)]) == list(range(2, 22))
        assert commits.number == 2  # that of the call which held the writer, and theirs
        assert engine["put"].counts().ready == 21


def test_who_is_refused_is_refused_alone(engine: Engine) -> None:
    work = engine.grouped.together(put)
    one, wrong, two = asked(engine, work, ["a", " ", "b"])
    assert ((one, two), type(wrong)) == ((1, 2), Invalid)
    with pytest.raises(Invalid):
        work(" ")


@pytest.mark.parametrize("word", ["torn", "bad"])
def test_a_function_that_raises_is_called_for_each_by_itself(engine: Engine, word: str) -> None:
    work = engine.grouped.together(put)
    one, wrong, two = asked(engine, work, ["a", word, "b"])
    assert ((one, two), type(wrong)) == ((1, 2), LookupError)
    assert ([item.key for item in engine["put"]], engine.counter("puts").show()) == (["a", "b"], 2)


def test_two_functions_of_one_name_stay_apart(engine: Engine) -> None:
    first, second = (engine.grouped.together(lambda _, given, n=n: [n] * len(given)) for n in (1, 2))
    with held(engine):
        futures = [work.ask("") for work in (first, second, first)]
    assert [future.result() for future in futures] == [1, 2, 1]


def test_coroutines_await_it(engine: Engine) -> None:
    work = engine.grouped.together(put)

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*map(work.awaited, "abc"))

    assert sorted(asyncio.run(all_of_them())) == [1, 2, 3]


def test_numbers_of_several_counters_are_taken_with_the_transaction(engine: Engine) -> None:
    with engine.transaction() as tx:
        assert tx.numbers({"b": 2, "a": 1}) == {"b": range(1, 3), "a": range(1, 2)}
        assert tx.numbers({}) == {}
    with suppress(ZeroDivisionError), engine.transaction() as tx:
        tx.numbers({"a": 5})
        raise ZeroDivisionError
    assert (engine.counter("a").next(), engine.counter("b").next()) == (2, 3)


def test_numbers_are_all_taken_or_none(engine: Engine) -> None:
    engine.counter("full").raise_to(2**63 - 1)
    with engine.transaction() as tx, pytest.raises(CounterSpent):
        tx.numbers({"a": 1, "full": 1})
    with engine.transaction() as tx, pytest.raises(Invalid):
        tx.numbers({"a": 1, "b": 0})
    assert engine.counter("a").show() == 0


def test_a_request_repeated_under_a_key_is_done_once(engine: Engine) -> None:
    for again in (False, True):
        with engine.transaction() as tx:
            assert tx.once("key", ["a"], do=tx.counter("done").next) == (1, again)
    with engine.transaction() as tx, pytest.raises(KeyReused):
        tx.once("key", ["b"], do=tx.counter("done").next)
    assert engine.counter("done").show() == 1


def test_what_was_rolled_back_is_not_remembered(engine: Engine) -> None:
    with suppress(ZeroDivisionError), engine.transaction() as tx:
        tx.once("key", "a", do=tx.counter("done").next)
        raise ZeroDivisionError
    with engine.transaction() as tx:
        assert tx.once("key", "a", do=tx.counter("done").next) == (1, False)


@pytest.mark.parametrize("dialect", DATABASES)
def test_an_engine_tells_which_sql_its_database_speaks(engine: Engine, dialect: str) -> None:
    assert engine.dialect == dialect


def test_an_audit_tells_of_it_by_the_name_of_the_function(engine: Engine) -> None:
    with engine.acting("ann"):
        engine.grouped.together(put)("a")
    assert [(each.who, each.verb) for each in engine.audit()] == [("ann", "test_batched_functions.put")]
