"""Records: published with their list in one transaction, matched in pages, told of once to each subscriber."""

import contextlib
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest
from tests.conftest import DATABASES

from rowlock import Engine, topics
from rowlock.diagnostics import broken_rules
from rowlock.engine import Topic
from rowlock.errors import Invalid, InvalidKey, InvalidRecord, NoSuchTopic
from rowlock.topics import maintenance, records

pytestmark = pytest.mark.parametrize("dialect", DATABASES)

FIELDS = {"series": "text", "issue": "integer", "price": "number"}


class Broken(Exception):
    """Something that ends a transaction."""


@pytest.fixture
def comics(engine: Engine) -> Topic:
    topic = engine.topic("comics")
    topic.define(FIELDS)
    return topic


def match(engine: Engine, record: int, *, limit: int = 2000) -> int:
    """Match a record to the end; in how many pages."""
    pages = 1
    while not engine.run(records.match_page, record, limit=limit):
        pages += 1
    return pages


def told(engine: Engine, record: int) -> list[str]:
    """Who stands on a record's list to be told."""
    return [item.key for item in engine[topics.list_of("comics", record)] if item.gate == records.NOTIFY]


def test_a_record_is_published_with_its_list(engine: Engine, comics: Topic) -> None:
    number = comics.publish({"series": "Saga", "cover": {"by": "Fiona"}})
    [found] = comics.records()
    assert (found.id, found.record, found.matched_at) == (number, {"series": "Saga", "cover": {"by": "Fiona"}}, None)
    assert [(item.key, item.gate) for item in engine[f"topics/comics/{number}"]] == [("match", 0)]


def test_a_malformed_record_among_good_ones_publishes_nothing(engine: Engine, comics: Topic) -> None:
    with pytest.raises(InvalidRecord, match="record 2: 'issue' must be integer") as caught:
        comics.publish_many([{"issue": 1}, {"issue": "1"}])
    assert (caught.value.fields["record"], comics.records(), engine.lists()) == (2, [], [])


def test_partial_publishing_says_what_is_wrong_with_each_record(comics: Topic) -> None:
    first, wrong, last = comics.publish_many([{"issue": 1}, {"issue": "1"}, {"issue": 3}], partial=True)
    assert (wrong.id, "'issue' must be integer" in wrong.error) == (None, True)
    assert [(found.id, found.record) for found in comics.records()] == [
        (last.id, {"issue": 3}),
        (first.id, {"issue": 1}),
    ]


def test_a_wrong_key_is_refused_with_its_record(comics: Topic) -> None:
    with pytest.raises(InvalidRecord, match="record 1: the key ''"):
        comics.publish({"issue": 1}, key="")
    with pytest.raises(Invalid, match="keys must be as many as the 2 records, got 1"):
        comics.publish_many([{}, {}], keys=["a"])


def test_too_many_records_at_once_are_refused(comics: Topic) -> None:
    with pytest.raises(Invalid, match="at most 1000, got 1001"):
        comics.publish_many([{"issue": 1}] * 1001)


def test_publishing_to_an_unknown_topic_is_refused(engine: Engine) -> None:
    with pytest.raises(NoSuchTopic):
        engine.topic("films").publish({})


def test_publishing_commits_with_its_transaction(engine: Engine, comics: Topic) -> None:
    with contextlib.suppress(Broken), engine.transaction() as tx:
        tx.topic("comics").publish({"issue": 1})
        raise Broken
    assert (comics.records(), engine.lists()) == ([], [])
    with engine.transaction() as tx:
        comics.publish({"issue": 2}, using=tx)
    assert len(comics.records()) == len(engine.lists()) == 1


def test_each_matching_subscriber_is_on_the_list_once(engine: Engine, comics: Topic) -> None:
    comics.subscribe("ann", series="Saga")
    comics.subscribe("ann", issue={"from": 1})
    comics.subscribe("bob", series="Maus")
    comics.subscribe("cat")
    number = comics.publish({"series": "Saga", "issue": 1})
    assert match(engine, number) == 1
    assert told(engine, number) == ["ann", "cat"]
    assert {each.subscriber: each.predicates for each in comics.notifications()} == {
        "ann": {"series": "Saga"},
        "cat": {},
    }
    assert engine.read(broken_rules) == []


def test_a_record_without_matches_is_complete_at_once(engine: Engine, comics: Topic) -> None:
    number = comics.publish({"series": "Saga"})
    match(engine, number)
    engine[f"topics/comics/{number}"].done("match")
    [found] = comics.records()
    assert (engine[f"topics/comics/{number}"].info().state, found.matched, comics.notifications()) == (
        "complete",
        0,
        [],
    )


@pytest.mark.parametrize("limit", [1, 3, 7, 50])
def test_many_subscribers_are_matched_in_pages(engine: Engine, comics: Topic, limit: int) -> None:
    crowd = [(f"{number:02}", {"series": "Saga"}) for number in range(9)]
    crowd += [(f"{number:02}", {"issue": {"from": number}}) for number in range(9, 15)]
    crowd += [(f"{number:02}", {"price": {"to": number}}) for number in range(15, 20)]
    crowd += [
        (f"{number:02}", {"series": {"prefix": "Sag"}, "issue": {"from": 0, "to": 20}}) for number in range(20, 25)
    ]
    crowd += [("25", {}), ("26", {"series": "Maus"}), ("27", {"series": {"prefix": "Saga of"}})]
    comics.subscribe_many(crowd)
    number = comics.publish({"series": "Saga", "issue": 12, "price": 17})
    pages = match(engine, number, limit=limit)
    assert told(engine, number) == [f"{each:02}" for each in (*range(13), *range(17, 26))]
    assert (pages == 1) == (limit == 50)
    assert pages >= 22 / limit


def test_matching_a_matched_record_again_does_nothing(engine: Engine, comics: Topic) -> None:
    comics.subscribe_many([(name, {}) for name in "abc"])
    number = comics.publish({})
    match(engine, number)
    engine[f"topics/comics/{number}"].done(["a", "match"])
    assert engine.run(records.match_page, number)
    assert told(engine, number) == ["b", "c"]


def test_a_subscription_after_the_record_is_not_notified(engine: Engine, comics: Topic) -> None:
    comics.subscribe("ann", series="Saga")
    number = comics.publish({"series": "Saga"})
    comics.subscribe("bob", series="Saga")
    comics.subscribe("cat")
    match(engine, number)
    assert told(engine, number) == ["ann"]


def test_a_subscription_that_is_removed_after_the_record_is_notified(engine: Engine, comics: Topic) -> None:
    comics.subscribe("ann", series="Saga")
    first = comics.publish({"series": "Saga"})
    comics.unsubscribe("ann")
    second = comics.publish({"series": "Saga"})
    match(engine, first)
    match(engine, second)
    assert (told(engine, first), told(engine, second)) == (["ann"], [])


@pytest.mark.parametrize("limit", [1, 2000])
def test_changes_between_pages_do_not_change_what_a_record_matches(engine: Engine, comics: Topic, limit: int) -> None:
    comics.subscribe_many([(f"{number}", {"series": "Saga"}) for number in range(5)])
    number = comics.publish({"series": "Saga"})
    engine.run(records.match_page, number, limit=limit)
    for each in range(5):
        comics.unsubscribe(f"{each}")
        comics.subscribe(f"{each}", series="Saga")
        comics.subscribe(f"{each} too", series="Saga")
        engine.run(maintenance.delete_ended)
    match(engine, number, limit=limit)
    assert told(engine, number) == ["0", "1", "2", "3", "4"]


def test_a_subscription_and_a_record_of_one_transaction_match(engine: Engine, comics: Topic) -> None:
    comics.subscribe("old", series="Saga")
    with engine.transaction() as tx:
        topic = tx.topic("comics")
        topic.subscribe("before", series="Saga")
        number = topic.publish({"series": "Saga"})
        topic.subscribe("after", series="Saga")
        topic.unsubscribe("old")
    match(engine, number)
    assert told(engine, number) == ["after", "before"]


def test_a_subscriber_is_notified_once_of_records_with_one_key(engine: Engine, comics: Topic) -> None:
    comics.subscribe("ann", series="Saga")
    first = comics.publish({"series": "Saga"}, key="saga-1")
    comics.subscribe("bob", series="Saga")
    second = comics.publish({"series": "Saga"}, key="saga-1")
    other = comics.publish({"series": "Saga"}, key="saga-2")
    for number in (second, first, other):
        match(engine, number)
    assert [told(engine, number) for number in (first, second, other)] == [[], ["ann", "bob"], ["ann", "bob"]]


def test_one_call_may_publish_several_records_with_one_key(comics: Topic) -> None:
    numbers = [each.id for each in comics.publish_many([{}, {}, {}, {}], keys=["a", None, "a", "b"])]
    subjects = {found.id: found.subject for found in comics.records()}
    assert [subjects[number or 0] for number in numbers] == [numbers[0], numbers[1], numbers[0], numbers[3]]


@pytest.mark.parametrize("by", ["number", "key"])
def test_a_forgotten_notification_is_sent_again(engine: Engine, comics: Topic, by: str) -> None:
    comics.subscribe("ann")
    first = comics.publish({}, key="saga-1")
    match(engine, first)
    known: Any = first if by == "number" else "saga-1"
    assert (comics.forget("ann", known), comics.forget("ann", known)) == (True, False)
    second = comics.publish({}, key="saga-1")
    match(engine, second)
    assert told(engine, second) == ["ann"]
    assert [each.record_id for each in comics.notifications()] == [second]


def test_notifications_are_paged_newest_first(engine: Engine, comics: Topic) -> None:
    comics.subscribe_many([("ann", {}), ("bob", {})])
    for issue in range(3):
        match(engine, comics.publish({"issue": issue}))
    page = comics.notifications(limit=4)
    assert [each.record["issue"] for each in page] == [2, 2, 1, 1]
    assert [each.record["issue"] for each in comics.notifications(before=page[-1].number)] == [0, 0]
    assert [each.record["issue"] for each in comics.notifications(subscriber="bob", limit=2)] == [2, 1]
    assert (len(comics.notifications(delivered=False)), comics.notifications(delivered=True)) == (6, [])
    with pytest.raises(InvalidKey):
        comics.notifications(subscriber="")


def test_a_complete_record_leaves_no_list(timed: Engine, clock: Any) -> None:
    comics = timed.topic("comics")
    comics.define(FIELDS)
    comics.subscribe("ann")
    number = comics.publish({})
    match(timed, number)
    timed[f"topics/comics/{number}"].done(["match", "ann"])
    timed.upkeep()
    assert len(timed.lists()) == 1
    clock.advance(61)
    timed.upkeep()
    assert (timed.lists(), comics.records()[0].finished_at is not None) == ([], True)


def test_of_two_concurrent_clean_ups_the_slower_finds_nothing_to_do(timed: Engine, clock: Any) -> None:
    topic = timed.topic("comics")
    topic.define(FIELDS)
    number = topic.publish({})
    match(timed, number)
    timed[f"topics/comics/{number}"].done(["match"])
    timed.upkeep()
    clock.advance(61)
    with ThreadPoolExecutor(1) as pool:
        with timed.transaction() as tx:
            tx[f"topics/comics/{number}"].drop()
            slower = pool.submit(timed.run, maintenance.finish_records)
            wait([slower], timeout=0.2)  # on a server it has seen the list by now, and waits for us
        assert slower.result() == 1


def test_a_list_with_failed_items_stays(timed: Engine, clock: Any) -> None:
    comics = timed.topic("comics")
    comics.define(FIELDS)
    comics.subscribe("ann")
    match(timed, comics.publish({}))
    clock.advance(1_000_000)
    timed.upkeep()
    assert (len(timed.lists()), comics.records()[0].finished_at) == (1, None)


def test_history_is_kept_as_long_as_the_topic_says(timed: Engine, clock: Any) -> None:
    comics = timed.topic("comics")
    comics.define(FIELDS, keep_for="1d")
    comics.subscribe("ann")
    for key in ("a", "a", "b"):
        number = comics.publish({}, key=key)
        match(timed, number)
        timed[f"topics/comics/{number}"].done(["match", "ann"])
    clock.advance(3600)
    timed.upkeep()
    clock.advance(23 * 3600)
    timed.upkeep()
    assert len(comics.records()) == 3
    clock.advance(2 * 3600)
    for _ in range(3):
        timed.upkeep()
    assert (comics.records(), comics.notifications()) == ([], [])


def test_removed_subscriptions_are_deleted_when_no_record_needs_them(engine: Engine, comics: Topic) -> None:
    comics.subscribe("ann", series="Saga")
    number = comics.publish({"series": "Saga"})
    comics.unsubscribe("ann")
    engine.upkeep()
    assert stored(engine) == (1, 1)
    match(engine, number)
    engine.upkeep()
    assert stored(engine) == (1, 0)
    engine.run(maintenance.delete_ended, keep=0)
    assert stored(engine) == (0, 0)
    assert told(engine, number) == ["ann"]


def stored(engine: Engine) -> tuple[int, int]:
    with engine.transaction() as tx:
        counts = [
            tx.execute(f"select count(*) from rowlock_{noun}").fetchone()[0] for noun in ("subscriptions", "filings")
        ]
    return counts[0], counts[1]


def test_a_record_whose_list_was_dropped_is_finished(timed: Engine, clock: Any) -> None:
    comics = timed.topic("comics")
    comics.define(FIELDS)
    number = comics.publish({})
    timed[f"topics/comics/{number}"].drop()
    clock.advance(61)
    timed.upkeep()
    assert comics.records()[0].finished_at is not None
    assert timed.run(records.match_page, number)
