"""A transaction that has ended refuses to be used: what it wrote would belong to no transaction, or to another one."""

from collections.abc import Callable
from typing import Any

import pytest

from rowlock import Engine, Item, Transaction, Worker
from rowlock.errors import InvalidTransaction

Use = Callable[[Transaction], Any]
USES: list[Any] = [
    pytest.param(lambda tx: tx["work"].add("late"), id="add"),
    pytest.param(lambda tx: tx["work"].counts(), id="read"),
    pytest.param(lambda tx: tx.counter("numbers").next(), id="counter"),
    pytest.param(lambda tx: tx.execute("select 1"), id="execute"),
    pytest.param(lambda tx: tx.executemany("select ?", [(1,)]), id="executemany"),
]


@pytest.mark.parametrize("use", USES)
def test_a_transaction_that_was_committed_is_refused(engine: Engine, use: Use) -> None:
    with engine.transaction() as tx:
        tx["work"].add("early")
    with pytest.raises(InvalidTransaction, match="has ended"):
        use(tx)
    assert [item.key for item in engine["work"]] == ["early"]


@pytest.mark.parametrize("use", USES)
def test_a_transaction_that_was_rolled_back_is_refused(engine: Engine, use: Use) -> None:
    engine["work"].add("first")
    with pytest.raises(ZeroDivisionError), engine.transaction() as tx:
        tx["work"].add(f"early-{1 / 0}")
    with pytest.raises(InvalidTransaction, match="has ended"):
        use(tx)
    assert [item.key for item in engine["work"]] == ["first"]


def test_an_ended_transaction_does_not_write_in_another_one(engine: Engine) -> None:
    with engine.transaction() as ended:
        ended["work"].add("early")
    with engine.transaction() as tx:
        tx["work"].add("right")
        with pytest.raises(InvalidTransaction, match="has ended"):
            ended["work"].add("late")
    assert sorted(item.key for item in engine["work"]) == ["early", "right"]


@pytest.mark.parametrize("used", [True, False], ids=["used in its turn", "not used in its turn"])
def test_the_transaction_of_a_batch_is_refused_after_its_turn(engine: Engine, used: bool) -> None:
    kept: list[Transaction] = []

    def handle(items: list[Item], tx: Transaction) -> None:
        kept.append(tx)
        if used:
            tx["results"].add([item.key for item in items])

    engine["work"].add("a")
    worker = Worker(engine)
    worker.on("work", handle, batch=10)
    worker.run(until="done", signals=False)
    with pytest.raises(InvalidTransaction, match="has ended"):
        kept[0]["work"].add("late")


def test_the_transaction_of_a_grouped_function_is_refused_after_its_call(engine: Engine) -> None:
    kept: list[Transaction] = []

    def note(tx: Transaction, keys: list[str]) -> list[int]:
        kept.append(tx)
        return [tx["work"].add(key).added for key in keys]

    assert engine.grouped.together(note)("early") == 1
    with pytest.raises(InvalidTransaction, match="has ended"):
        kept[0]["work"].add("late")
