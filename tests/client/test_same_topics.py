"""What the tests of the verbs say of topics holds over HTTP too: the same values, the same errors."""

import pytest
from tests.http.serving import Serving
from tests.verbs.test_subscriptions import (  # noqa: F401
    comics,
    test_a_subscription_of_another_topic_is_not_removed,
    test_all_subscriptions_of_a_subscriber_are_removed_at_once,
    test_an_invalid_subscriber_is_refused,
    test_one_invalid_subscription_among_many_adds_none,
    test_subscribing_again_changes_nothing,
    test_subscriptions_come_in_pages,
    test_too_many_subscriptions_in_one_call_are_refused,
)
from tests.verbs.test_topics import (  # noqa: F401
    test_a_field_keeps_its_kind,
    test_an_unknown_topic_is_refused_with_a_suggestion,
    test_invalid_fields_of_a_topic_are_refused,
    test_topics_are_ordered_by_name,
)

from rowlock import Client, Fail, Invalid, Worker
from rowlock.errors import InvalidPredicate, InvalidRecord


def test_records_are_published_told_and_looked_at(served: Serving, client: Client) -> None:
    topic = client.topic("comics")
    topic.define(issue="integer")
    topic.subscribe_many([("ann", {}), ("bob", {"issue": 1})])
    number = topic.publish({"issue": 1}, key="saga")
    first, bad = topic.publish_many([{"issue": 2}, {"issue": "two"}], partial=True)
    assert (first.id, bad.id, bad.error != "") == (number + 1, None, True)
    worker, there = Worker(served.service.engine), served.service.engine.topic("comics")
    there.deliver(worker, lambda each: Fail("away") if each.subscriber == "bob" else None)
    worker.run(until="done", signals=False)
    assert topic.notifications(limit=2) == there.notifications(limit=2)
    assert topic.notifications(subscriber="bob", delivered=False) == there.notifications(subscriber="bob")
    assert topic.records() == there.records()
    assert (topic.failed(), topic.retry(), topic.failed()) == (1, 1, 0)
    assert (topic.forget("ann", "saga"), topic.forget("ann", number)) == (True, False)


def test_the_newest_records_are_one_page(client: Client) -> None:
    topic = client.topic("comics")
    topic.define(issue="integer")
    topic.publish_many([{"issue": number} for number in range(60)])
    assert [each.record["issue"] for each in topic.records()] == list(range(59, 9, -1))


@pytest.mark.parametrize("wrong", [[1], {"issue": object()}, {"issue": 2**64}, {1: 1}, {"price": float("nan")}])
def test_what_cannot_be_sent_is_refused(client: Client, wrong: object) -> None:
    topic = client.topic("comics")
    topic.define(issue="integer", price="number")
    with pytest.raises(InvalidRecord):
        topic.publish(wrong)  # type: ignore[arg-type]
    with pytest.raises((InvalidPredicate, Invalid)):
        topic.subscribe_many([("ann", wrong)])  # type: ignore[list-item]
    assert (topic.count(), topic.records()) == (0, [])
