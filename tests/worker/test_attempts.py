"""How often a worker tries an item: up to its limit, for ever without one."""

from typing import Any

import pytest
from tests.worker.running import sound, work_off

from rowlock import Counts, Engine, Item, Move, Retry, Worker


@pytest.mark.parametrize(
    ("of_list", "of_handler"), [({}, {"attempts": 0}), ({"attempts": 0}, {}), ({"attempts": 2}, {"attempts": 0})]
)
def test_without_a_limit_an_item_is_tried_until_it_is_done(
    engine: Engine, of_list: dict[str, Any], of_handler: dict[str, Any]
) -> None:
    engine["work"].settings(backoff="0s", **of_list)
    engine["work"].add("a")
    worker = Worker(engine, concurrency=1)

    @worker.on("work", **of_handler)
    def handle(item: Item) -> None:
        if item.attempts < 7:
            raise OSError("down")

    work_off(worker)
    assert (engine["work"].counts(), engine["work"].progress().retried, sound(engine)) == (Counts(), 7, True)


def test_an_item_that_fails_and_moves_in_turn_uses_up_its_attempts(engine: Engine) -> None:
    engine["work"].add("a")
    seen: list[int] = []
    worker = Worker(engine, concurrency=1)

    @worker.on("work", attempts=3, backoff="0s")
    def handle(item: Item) -> Move:
        seen.append(item.attempts)
        if len(seen) % 2:
            return Move(data=len(seen))
        raise OSError("down")

    work_off(worker)
    assert (seen, engine["work"].counts()) == ([0, 0, 1, 1, 2, 2], Counts(failed=1))


def test_a_worker_goes_by_the_count_of_now(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine, concurrency=1)

    @worker.on("work", attempts=3, backoff="0s")
    def handle(item: Item) -> None:
        engine["work"].increment(["a"])
        raise OSError("down")

    heard: list[str] = []
    worker.on_failed(lambda item, outcome, verdict: heard.append(f"{item.attempts} {verdict}"))
    work_off(worker)
    assert (engine["work"].show("a").attempts, heard) == (4, ["2 failed"])


def test_a_failing_item_is_tried_again_until_its_attempts_are_used_up(engine: Engine) -> None:
    engine["work"].add("a")
    seen: list[int] = []
    worker = Worker(engine)

    @worker.on("work", attempts=4, backoff="1ms..2ms")
    def handle(item: Item) -> None:
        seen.append(item.attempts)
        raise OSError("down")

    work_off(worker)
    assert (seen, engine["work"].counts(), len(engine["work"].failures("a"))) == ([0, 1, 2, 3], Counts(failed=1), 4)


def test_the_waiting_between_attempts_is_that_of_the_handler(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine)
    worker.on("work", lambda _: Retry("no"), backoff="1h..2h")
    worker.run(until="idle", signals=False)
    assert engine["work"].show("a").state == "delayed"


def test_the_attempts_of_the_list_count_where_the_handler_has_none(engine: Engine) -> None:
    engine["work"].add("a")
    engine["work"].settings(attempts=2, backoff="1ms")
    worker = Worker(engine)
    worker.on("work", lambda _: Retry("no"))
    work_off(worker)
    assert engine["work"].show("a").attempts == 2
