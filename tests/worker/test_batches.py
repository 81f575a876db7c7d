"""Batch handlers: all items of a claim, and the transaction that settles them."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.worker.running import said, sound, work_off

from rowlock import Counts, Done, Engine, Fail, Item, Move, Progress, Retry, Transaction, Worker


@pytest.fixture
def filled(engine: Engine) -> Engine:
    engine["work"].add(["a", "b", "c"])
    return engine


def work(engine: Engine, answer: Any) -> None:
    worker = Worker(engine, concurrency=1)
    worker.on("work", lambda items: answer(items), batch=10, attempts=1)
    work_off(worker)


def test_no_answer_means_that_all_are_done(filled: Engine) -> None:
    work(filled, lambda items: None)
    assert (filled["work"].counts(), sound(filled)) == (Counts(), True)


def test_one_outcome_is_for_all(filled: Engine) -> None:
    work(filled, lambda items: Fail("bad"))
    assert (filled["work"].counts(), sound(filled)) == (Counts(failed=3), True)


def test_a_list_of_outcomes_is_for_each_in_order(filled: Engine) -> None:
    work(filled, lambda items: [Fail("no") if item.key == "b" else None for item in items])
    assert ([item.key for item in filled["work"]], filled["work"].progress().done) == (["b"], 2)


def test_a_mapping_is_by_key_and_who_is_left_out_is_done(filled: Engine) -> None:
    work(filled, lambda items: {"b": Fail("no"), "c": Done()})
    assert ([item.key for item in filled["work"]], filled["work"].progress().done) == (["b"], 2)


def test_a_generator_gives_outcomes_one_by_one(filled: Engine) -> None:
    def outcomes(items: list[Item]) -> Iterator[Any]:
        for item in items:
            yield Move(1) if item.key == "a" else Done()

    filled["work"].settings(manual=True)
    work(filled, outcomes)
    assert (filled["work"].counts(), filled["work"].progress().done) == (Counts(gated=1), 2)


@pytest.mark.parametrize("answer", [[Done()], [Done()] * 4, [], iter(())], ids=["few", "many", "none", "spent"])
def test_a_wrong_number_of_outcomes_fails_them_all_and_says_so(filled: Engine, answer: Any) -> None:
    work(filled, lambda items: answer)
    assert (filled["work"].counts(), said(filled, "a")[0]) == (Counts(failed=3), "InvalidOutcome")


@pytest.mark.parametrize("answer", ["done", 3, [1, 2, 3], {"a": 1}], ids=repr)
def test_nonsense_fails_them_all_and_says_so(filled: Engine, answer: Any) -> None:
    work(filled, lambda items: answer)
    assert (filled["work"].counts(), said(filled, "a")[0]) == (Counts(failed=3), "InvalidOutcome")


def test_a_batch_is_no_larger_than_asked_for(engine: Engine) -> None:
    engine["work"].add(f"{number:03}" for number in range(25))
    sizes: list[int] = []
    worker = Worker(engine, concurrency=1)
    worker.on("work", lambda items: sizes.append(len(items)), batch=10)
    work_off(worker)
    assert (max(sizes), sum(sizes)) == (10, 25)


def test_what_a_handler_writes_commits_with_the_settlement(filled: Engine) -> None:
    worker = Worker(filled)

    @worker.on("work", batch=10)
    def handle(items: list[Item], tx: Transaction) -> None:
        tx["done"].add([item.key for item in items])

    work_off(worker)
    assert (filled["done"].counts(), filled["work"].counts(), sound(filled)) == (Counts(ready=3), Counts(), True)


def test_what_a_handler_writes_before_it_raises_does_not_stay(filled: Engine) -> None:
    worker = Worker(filled)

    @worker.on("work", batch=10, attempts=1)
    def handle(items: list[Item], tx: Transaction) -> None:
        tx["done"].add([item.key for item in items])
        raise ValueError("bad")

    work_off(worker)
    assert ([info.name for info in filled.lists()], filled["work"].counts()) == (["work"], Counts(failed=3))


def test_what_a_handler_writes_does_not_stay_when_its_answer_cannot_be_written(filled: Engine) -> None:
    worker = Worker(filled)

    @worker.on("work", batch=10, attempts=1)
    def handle(items: list[Item], tx: Transaction) -> Any:
        tx["done"].add([item.key for item in items])
        return [Done(), Move(1, data=object()), Done()]

    work_off(worker)
    assert ([info.name for info in filled.lists()], filled["work"].counts()) == (["work"], Counts(failed=3))


def test_what_a_handler_writes_commits_with_retries_too(filled: Engine) -> None:
    worker = Worker(filled)

    @worker.on("work", batch=10)
    def handle(items: list[Item], tx: Transaction) -> Any:
        tx["seen"].add([item.key for item in items])
        return [Retry("later", after=3600) for _ in items]

    worker.run(until="idle", signals=False)
    assert (filled["seen"].counts(), filled["work"].counts()) == (Counts(ready=3), Counts(delayed=3))


def test_an_item_abandoned_meanwhile_is_gone_and_the_others_are_done(filled: Engine) -> None:
    heard: dict[str, str] = {}
    worker = Worker(filled)
    worker.after(lambda item, _, verdict: heard.update({item.key: str(verdict)}))
    worker.on("work", lambda items: filled["work"].abandon("b") and None, batch=10)
    work_off(worker)
    assert heard == {"a": "done", "b": "gone", "c": "done"}
    assert filled["work"].progress() == Progress(added=3, done=2, abandoned=1)


@pytest.mark.parametrize("answer", [None, {"c": Fail("bad")}], ids=["all done", "uneven"])
def test_what_a_handler_writes_does_not_stay_if_one_of_its_items_has_gone(filled: Engine, answer: Any) -> None:
    worker, seen = Worker(filled, concurrency=1), []

    @worker.on("work", batch=10, attempts=1)
    def handle(items: list[Item], tx: Transaction) -> Any:
        seen.append([item.key for item in items])
        filled["work"].abandon("b")
        tx["done"].add([f"{item.key}-{len(seen)}" for item in items])
        return answer

    work_off(worker)
    assert ([sorted(keys) for keys in seen], [item.key for item in filled["done"]]) == (
        [["a", "b", "c"], ["a", "c"]],
        ["a-2", "c-2"],
    )
    assert (filled["work"].failures("a"), filled["work"].progress().retried, sound(filled)) == ([], 2, True)
