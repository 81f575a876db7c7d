"""Subscriptions: the same is the same, however it is written; what is taken back is gone for records to come."""

import contextlib
from typing import Any

import pytest

from rowlock import Engine
from rowlock.engine import Topic
from rowlock.errors import Invalid, InvalidKey, InvalidPredicate

FIELDS = {"series": "text", "issue": "integer", "price": "number", "mint": "boolean", "seen": "date"}


class Broken(Exception):
    """Something that ends a transaction."""


@pytest.fixture
def comics(engine: Engine) -> Topic:
    topic = engine.topic("comics")
    topic.define(FIELDS)
    return topic


def told(topic: Topic, **record: Any) -> list[str]:
    """Who would be told of a record."""
    return [each.subscriber for each in topic.matches(record)]


def test_a_subscription_matches_by_its_predicates(comics: Topic) -> None:
    number = comics.subscribe("ann@example.org", series="Saga", issue={"from": 1, "to": 3})
    assert [(each.id, each.subscriber) for each in comics.matches({"series": "Saga", "issue": 3})] == [
        (number, "ann@example.org")
    ]
    assert told(comics, series="Saga", issue=4) == []
    assert told(comics, series="Saga") == []


def test_subscribing_again_changes_nothing(comics: Topic) -> None:
    first = comics.subscribe("ann", series=["Saga"], issue={"above": 0, "below": 2})
    again = comics.subscribe("ann", {"issue": 1}, series="Saga")
    assert (first, comics.count()) == (again, 1)


def test_two_subscribers_may_have_equal_predicates(comics: Topic) -> None:
    assert comics.subscribe("ann", series="Saga") != comics.subscribe("bob", series="Saga")
    assert told(comics, series="Saga") == ["ann", "bob"]


def test_a_subscription_without_predicates_matches_every_record(comics: Topic) -> None:
    comics.subscribe("ann")
    assert told(comics) == told(comics, series="Saga") == ["ann"]


@pytest.mark.parametrize(
    ("asked", "record"),
    [
        ({"series": "日本"}, {"series": "日本"}),
        ({"series": ""}, {"series": ""}),
        ({"series": {"prefix": "Sag"}}, {"series": "Saga"}),
        ({"series": {"prefix": "Sagas of the"}}, {"series": "Sagas of the sea"}),
        ({"series": ["X", "Saga"]}, {"series": "Saga"}),
        ({"issue": -(2**63)}, {"issue": -(2**63)}),
        ({"issue": {"from": 2**63 - 1}}, {"issue": 2**63 - 1}),
        ({"price": {"above": 1.5}}, {"price": 1.5000000000000002}),
        ({"price": {"below": -1e300}}, {"price": -1.0000000000000002e300}),
        ({"price": 0.0}, {"price": -0.0}),
        ({"mint": False}, {"mint": False}),
        ({"seen": {"from": "2031-01-01", "to": "2031-12-31"}}, {"seen": "2031-12-31"}),
        ({"series": "Saga", "price": {"to": 3}, "mint": True}, {"series": "Saga", "price": 3, "mint": True}),
    ],
)
def test_predicates_of_every_kind_match(comics: Topic, asked: dict[str, Any], record: dict[str, Any]) -> None:
    comics.subscribe("ann", asked)
    assert told(comics, **record) == ["ann"]


@pytest.mark.parametrize(
    ("asked", "record"),
    [
        ({"series": "saga"}, {"series": "Saga"}),
        ({"series": {"prefix": "Saga"}}, {"series": "Sag"}),
        ({"series": {"prefix": "Sagas of the"}}, {"series": "Sagas of a sea"}),
        ({"series": ["X", "Y"]}, {"series": "Saga"}),
        ({"issue": {"from": 2, "to": 3}}, {"issue": 4}),
        ({"issue": {"to": 3}}, {"issue": 4}),
        ({"issue": {"from": 5}}, {"issue": 4}),
        ({"price": {"above": 1.5}}, {"price": 1.5}),
        ({"mint": False}, {"mint": True}),
        ({"seen": {"to": "2031-12-31"}}, {"seen": "2032-01-01"}),
        ({"series": "Saga", "mint": True}, {"series": "Saga", "mint": False}),
    ],
)
def test_a_record_that_does_not_fulfil_the_predicates_does_not_match(
    comics: Topic, asked: dict[str, Any], record: dict[str, Any]
) -> None:
    comics.subscribe("ann", asked)
    assert told(comics, **record) == []


def test_a_subscription_is_removed_by_its_number(comics: Topic) -> None:
    number = comics.subscribe("ann", series="Saga")
    assert (comics.unsubscribe(number), comics.unsubscribe(number)) == (1, 0)
    assert (told(comics, series="Saga"), comics.count(), comics.subscriptions()) == ([], 0, [])


def test_a_subscription_is_removed_by_its_predicates(comics: Topic) -> None:
    comics.subscribe("ann", series="Saga", issue=1)
    comics.subscribe("ann", series="Maus")
    assert comics.unsubscribe("ann", {"issue": {"from": 1, "to": 1}}, series="Saga") == 1
    assert [each.predicates for each in comics.subscriptions()] == [{"series": "Maus"}]


def test_all_subscriptions_of_a_subscriber_are_removed_at_once(comics: Topic) -> None:
    for issue in range(3):
        comics.subscribe("ann", issue=issue)
    comics.subscribe("bob")
    assert (comics.unsubscribe("ann"), told(comics, issue=1)) == (3, ["bob"])


def test_a_number_takes_no_predicates(comics: Topic) -> None:
    with pytest.raises(Invalid, match="a number and predicates"):
        comics.unsubscribe(1, series="Saga")


def test_a_removed_subscription_can_be_added_again(comics: Topic) -> None:
    first = comics.subscribe("ann", series="Saga")
    comics.unsubscribe(first)
    assert comics.subscribe("ann", series="Saga") > first
    assert told(comics, series="Saga") == ["ann"]


def test_a_subscription_of_another_topic_is_not_removed(engine: Engine, comics: Topic) -> None:
    films = engine.topic("films")
    films.define(FIELDS)
    number = comics.subscribe("ann", series="Saga")
    assert (films.unsubscribe(number), told(films, series="Saga"), told(comics, series="Saga")) == (0, [], ["ann"])


def test_many_subscriptions_are_added_at_once(comics: Topic) -> None:
    entries = [("ann", {"issue": 1}), ("bob", {"issue": 1}), ("ann", {"issue": [1]})]
    first, second, third = comics.subscribe_many(entries)
    assert (first == third, first != second, comics.count()) == (True, True, 2)


def test_one_invalid_subscription_among_many_adds_none(comics: Topic) -> None:
    with pytest.raises(InvalidPredicate, match="did you mean 'series'"):
        comics.subscribe_many([("ann", {"issue": 1}), ("bob", {"serie": "Saga"})])
    assert comics.count() == 0


def test_too_many_subscriptions_in_one_call_are_refused(comics: Topic) -> None:
    with pytest.raises(Invalid, match="at most 10000, got 10001"):
        comics.subscribe_many([("ann", {"issue": number}) for number in range(10_001)])


@pytest.mark.parametrize("subscriber", ["", "a\nb", "x" * 513, 7])
def test_an_invalid_subscriber_is_refused(comics: Topic, subscriber: Any) -> None:
    with pytest.raises(InvalidKey):
        comics.subscribe_many([(subscriber, {})])


def test_subscriptions_come_in_pages(comics: Topic) -> None:
    numbers = [comics.subscribe(name, issue=issue) for issue in range(3) for name in ("ann", "bob")]
    page = comics.subscriptions(after=numbers[1], limit=2)
    assert [(each.id, each.subscriber, each.predicates) for each in page] == [
        (numbers[2], "ann", {"issue": 1}),
        (numbers[3], "bob", {"issue": 1}),
    ]
    of_bob = comics.subscriptions(subscriber="bob", after=numbers[1])
    assert [each.predicates for each in of_bob] == [{"issue": 1}, {"issue": 2}]


def test_a_new_field_can_be_used_in_predicates_at_once(comics: Topic) -> None:
    comics.subscribe("ann", series="Saga")
    assert told(comics, series="Saga") == ["ann"]
    comics.define(artist="text", weight="number")
    comics.subscribe("bob", series="Saga", artist="Fiona Staples")
    comics.subscribe("cat", series="Saga", weight={"to": 3})
    assert told(comics, series="Saga", artist="Fiona Staples") == ["ann", "bob"]
    assert told(comics, series="Saga", weight=3) == ["ann", "cat"]


def test_a_topic_with_more_fields_than_columns_matches_by_all_of_them(engine: Engine) -> None:
    wide = engine.topic("wide")
    fields = {f"t{number}": "text" for number in range(20)} | {f"n{number}": "integer" for number in range(12)}
    wide.define(fields)
    record = {name: "x" if kind == "text" else 5 for name, kind in fields.items()}
    wide.subscribe("all", record)
    for name, kind in fields.items():
        wide.subscribe(f"all but {name}", record | {name: "y" if kind == "text" else 6})
        wide.subscribe(f"only {name}", {name: record[name]})
    assert sorted(told(wide, **record)) == sorted(["all", *(f"only {name}" for name in fields)])


def test_a_subscription_commits_with_its_transaction(engine: Engine, comics: Topic) -> None:
    with contextlib.suppress(Broken), engine.transaction() as tx:
        tx.topic("comics").subscribe("ann", series="Saga")
        raise Broken
    with engine.transaction() as tx:
        comics.subscribe("bob", series="Saga", using=tx)
    assert told(comics, series="Saga") == ["bob"]


def test_a_refused_subscription_does_not_end_the_transaction(engine: Engine, comics: Topic) -> None:
    with engine.transaction() as tx:
        with pytest.raises(InvalidPredicate):
            tx.topic("comics").subscribe_many([("ann", {}), ("bob", {"issue": "one"})])
        tx.topic("comics").subscribe("cat")
    assert told(comics) == ["cat"]
