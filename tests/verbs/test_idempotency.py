"""Asked again under the same key, something is done once and answered twice."""

import pytest
from tests.conftest import Clock

from rowlock import Engine, idempotency, items
from rowlock.db import Tx
from rowlock.errors import KeyReused


def increment(tx: Tx) -> int:
    return items.increment(tx, "work", ["a"])


def test_it_is_done_once_and_answered_twice(engine: Engine) -> None:
    engine["work"].add("a")
    asked = [engine.run(idempotency.run_once, "key", "same", do=increment) for _ in range(2)]
    assert asked == [(1, False), (1, True)]
    assert engine["work"].show("a").attempts == 1


def test_something_else_under_the_same_key_is_refused(engine: Engine) -> None:
    engine["work"].add("a")
    engine.run(idempotency.run_once, "key", "one", do=increment)
    with pytest.raises(KeyReused):
        engine.run(idempotency.run_once, "key", "other", do=increment)
    assert engine["work"].show("a").attempts == 1


def test_what_was_refused_may_be_asked_again(engine: Engine) -> None:
    def refuse(tx: Tx) -> int:
        increment(tx)
        raise KeyReused("no", "no")

    engine["work"].add("a")
    with pytest.raises(KeyReused):
        engine.run(idempotency.run_once, "key", "same", do=refuse)
    assert engine.run(idempotency.run_once, "key", "same", do=increment) == (1, False)


def test_it_is_forgotten_after_a_day(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    timed.run(idempotency.run_once, "key", "same", do=increment)
    clock.advance(24 * 3600 - 1)
    timed.upkeep()
    assert timed.run(idempotency.run_once, "key", "same", do=increment) == (1, True)
    clock.advance(2)
    timed.upkeep()
    assert timed.run(idempotency.run_once, "key", "same", do=increment) == (1, False)


def test_a_digest_tells_parts_apart() -> None:
    assert idempotency.digest("ab", "c") != idempotency.digest("a", "bc")
    assert idempotency.digest("a", b"b") == idempotency.digest("a", "b")
