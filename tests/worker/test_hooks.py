"""Telling subscribers: a worker matches records, tells each who is to be told, and writes down who was."""

import asyncio
import threading
from typing import Any

import pytest
from tests.waiting import WAIT_SECONDS
from tests.worker.running import eventually, running, sound, work_off

from rowlock import Engine, Fail, Invalid, Item, Notification, Retry, Worker
from rowlock.engine import Topic

FIELDS = {"series": "text", "issue": "integer"}


@pytest.fixture
def comics(engine: Engine) -> Topic:
    topic = engine.topic("comics")
    topic.define(FIELDS)
    return topic


def delivered(topic: Topic) -> list[str]:
    return sorted(each.subscriber for each in topic.notifications(delivered=True))


def test_everybody_is_told_once(engine: Engine, comics: Topic) -> None:
    comics.subscribe("ann", series="Saga")
    comics.subscribe("ann", issue=1)
    comics.subscribe("bob", series="Maus")
    comics.subscribe("cat")
    told: list[Notification] = []
    worker = Worker(engine)
    comics.deliver(worker, told.append)
    number = comics.publish({"series": "Saga", "issue": 1, "cover": "blue"})
    work_off(worker)
    assert sorted(each.subscriber for each in told) == delivered(comics) == ["ann", "cat"]
    [of_cat] = [each for each in told if each.subscriber == "cat"]
    assert (of_cat.topic, of_cat.record_id, of_cat.predicates) == ("comics", number, {})
    assert of_cat.record == {"series": "Saga", "issue": 1, "cover": "blue"}
    assert engine[f"topics/comics/{number}"].info().state == "complete"
    assert sound(engine)


def test_an_async_function_tells_as_well(engine: Engine, comics: Topic) -> None:
    comics.subscribe_many([(f"{number}", {}) for number in range(40)])
    told: list[str] = []
    worker = Worker(engine)

    @comics.deliver(worker)
    async def tell(notification: Notification) -> None:
        await asyncio.sleep(0)
        told.append(notification.subscriber)

    comics.publish_many([{"issue": 1}, {"issue": 2}])
    work_off(worker)
    assert (len(told), len(set(told)), len(comics.notifications(delivered=True, limit=100))) == (80, 40, 80)


def test_who_cannot_be_told_is_tried_again(engine: Engine, comics: Topic) -> None:
    comics.subscribe_many([("ann", {}), ("bob", {})])
    keys: list[str] = []
    worker = Worker(engine)

    @comics.deliver(worker, backoff="1ms..2ms")
    def tell(notification: Notification) -> None:
        if notification.subscriber == "ann":
            keys.append(notification.key)
            if notification.attempts < 2:
                raise OSError("nobody answers")

    comics.publish({})
    work_off(worker)
    assert (delivered(comics), len(keys), len(set(keys))) == (["ann", "bob"], 3, 1)


def test_who_can_never_be_told_is_failed_and_the_others_are_told(engine: Engine, comics: Topic) -> None:
    comics.subscribe_many([("ann", {}), ("bob", {}), ("cat", {})])
    number = comics.publish({})
    worker = Worker(engine)
    comics.deliver(worker, lambda each: Fail("no such address") if each.subscriber == "bob" else None)
    work_off(worker)
    assert delivered(comics) == ["ann", "cat"]
    assert [each.subscriber for each in comics.notifications(delivered=False)] == ["bob"]
    [failed] = engine[f"topics/comics/{number}"].page(state="failed")
    assert failed.key == "bob"
    assert engine[f"topics/comics/{number}"].info().state == "open"


def test_what_failed_can_be_retried_for_the_whole_topic(engine: Engine, comics: Topic) -> None:
    comics.subscribe_many([("ann", {}), ("bob", {})])
    comics.publish_many([{"issue": 1}, {"issue": 2}])
    worker = Worker(engine)
    comics.deliver(worker, lambda _: Fail("the mail server is away"))
    work_off(worker)
    assert (comics.failed(), comics.retry(), comics.failed()) == (4, 4, 0)
    again = Worker(engine)
    comics.deliver(again, lambda _: None)
    work_off(again)
    assert delivered(comics) == ["ann", "ann", "bob", "bob"]


def test_a_receiver_that_hangs_delays_nobody_else(engine: Engine, comics: Topic) -> None:
    comics.subscribe_many([("hangs", {}), *((f"{number}", {}) for number in range(20))])
    let_go = threading.Event()
    worker = Worker(engine, concurrency=4)

    @comics.deliver(worker, timeout=None)
    def tell(notification: Notification) -> None:
        if notification.subscriber == "hangs":
            let_go.wait(WAIT_SECONDS)

    comics.publish({"issue": 1})
    comics.publish({"issue": 2})
    with running(worker):
        assert eventually(lambda: len(comics.notifications(delivered=True, limit=100)) == 40)
        assert [each.subscriber for each in comics.notifications(delivered=False)] == ["hangs", "hangs"]
        let_go.set()
        assert eventually(lambda: not comics.notifications(delivered=False))


@pytest.mark.parametrize("way", ["thread", "loop"])
def test_a_receiver_that_hangs_with_much_to_hear_delays_nobody_else(engine: Engine, comics: Topic, way: str) -> None:
    comics.subscribe_many([("hangs", {}), ("well", {})])
    let_go, worker = threading.Event(), Worker(engine, concurrency=4)

    def tell(notification: Notification) -> None:
        if notification.subscriber == "hangs":
            let_go.wait(WAIT_SECONDS)

    async def notify_async(notification: Notification) -> None:
        while notification.subscriber == "hangs" and not let_go.is_set():
            await asyncio.sleep(0.01)

    comics.deliver(worker, tell if way == "thread" else notify_async, timeout=None)
    comics.publish_many([{"issue": number} for number in range(8)])
    with running(worker):
        assert eventually(lambda: len(comics.notifications(subscriber="well", delivered=True)) == 8)
        assert comics.notifications(subscriber="hangs", delivered=True) == []
        let_go.set()
        assert eventually(lambda: not comics.notifications(delivered=False))
    assert all(not engine[f"topics/comics/{number}"].info().counts.failed for number in range(1, 9))


def test_a_receiver_that_hangs_too_long_is_tried_later(engine: Engine, comics: Topic) -> None:
    comics.subscribe("slow")
    let_go = threading.Event()
    worker = Worker(engine, concurrency=2)
    tries: list[int] = []

    @comics.deliver(worker, timeout="50ms", backoff="1ms..2ms")
    def tell(notification: Notification) -> None:
        tries.append(notification.attempts)
        if notification.attempts == 0:
            let_go.wait(WAIT_SECONDS)

    comics.publish({})
    work_off(worker)
    let_go.set()
    assert (tries[:2], delivered(comics)) == ([0, 1], ["slow"])


def test_a_worker_may_match_in_memory(engine: Engine, comics: Topic) -> None:
    comics.subscribe_many([(f"{number}", {"issue": number % 5}) for number in range(50)])
    worker = Worker(engine)
    comics.deliver(worker, lambda _: None, in_memory=True)
    comics.publish({"issue": 1})
    comics.unsubscribe("1")
    comics.publish({"issue": 1})
    work_off(worker)
    assert len(comics.notifications(delivered=True, limit=100)) == 19


def test_no_one_is_told_before_all_are_found(engine: Engine, comics: Topic) -> None:
    comics.subscribe_many([(f"{number:05}", {}) for number in range(5_000)])
    number = comics.publish({})
    matched: list[int] = []
    worker = Worker(engine)

    @comics.deliver(worker)
    def tell(notification: Notification) -> None:
        if not matched:
            [record] = comics.records()
            matched.append(record.matched if record.matched_at else 0)

    work_off(worker)
    assert (matched[0], engine[f"topics/comics/{number}"].progress().done) == (5_000, 5_001)
    assert sound(engine)


def test_topics_have_workers_of_their_own(engine: Engine, comics: Topic) -> None:
    films = engine.topic("comics on film")
    films.define(FIELDS)
    told: list[str] = []
    for topic in (comics, films):
        topic.subscribe(topic.name)
        topic.publish({})
    worker = Worker(engine)
    comics.deliver(worker, lambda each: told.append(each.subscriber))
    work_off(worker)
    assert told == ["comics"]


def test_an_answer_that_is_no_outcome_fails_nobody_else(engine: Engine, comics: Topic) -> None:
    comics.subscribe_many([("ann", {}), ("bob", {})])
    comics.publish({})
    worker = Worker(engine)
    comics.deliver(worker, lambda each: "sent" if each.subscriber == "ann" else None, attempts=1)
    work_off(worker)
    assert delivered(comics) == ["bob"]


def test_what_goes_with_a_settlement_is_written_in_its_transaction(engine: Engine) -> None:
    with engine.transaction() as tx:
        tx.execute("create table sent (key text)")
    engine["mail"].add(["a", "b", "c"])
    sign = "?" if engine.database.address.dialect == "sqlite" else "%s"

    def record(items: list[Item], tx: Any) -> None:
        tx.executemany(f"insert into sent values ({sign})", [(item.key,) for item in items])

    worker = Worker(engine)
    worker.on("mail", lambda item: Retry() if item.key == "b" else None, within=record, attempts=1)
    work_off(worker)
    with engine.transaction() as tx:
        assert sorted(tx.execute("select key from sent").fetchall()) == [("a",), ("c",)]


def test_an_item_whose_writing_fails_is_failed_alone(engine: Engine) -> None:
    engine["mail"].add(["a", "b"])

    def record(items: list[Item], _: Any) -> None:
        if any(item.key == "a" for item in items):
            raise KeyError("no column")

    worker = Worker(engine)
    worker.on("mail", lambda _: None, within=record)
    work_off(worker)
    assert ([item.key for item in engine["mail"]], engine["mail"].progress().done) == (["a"], 1)
    assert "no column" in engine["mail"].failures("a")[0].message


def test_a_batch_handler_takes_no_within(engine: Engine) -> None:
    with pytest.raises(Invalid, match="has the settling transaction already"):
        Worker(engine).on("mail", lambda items: None, batch=10, within=lambda items, tx: None)
