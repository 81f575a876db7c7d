"""Subscriptions: who wants to be told of which records, filed so that a record finds them. Verbs of a transaction."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from rowlock import topics
from rowlock.db import Transaction
from rowlock.errors import Invalid
from rowlock.model import Subscription, to_datetime
from rowlock.names import check_key, check_limit
from rowlock.topics import commit_order, predicates, subscription_index
from rowlock.topics.statistics import TopicStatistics
from rowlock.topics.subscription_index import ColumnLayout, IndexEntry, Selectivity

MOST_AT_ONCE = 10_000
ENOUGH = 65
"""So many are counted of a term: more than that are known from a sample, if at all."""
PARTS = 2_048
"""More than a subscription can have rows; filed anew, it goes on with the next so many numbers."""

Entry = tuple[str, Mapping[str, Any]]
"""A subscriber and what it asks for."""


class Subscribed(msgspec.Struct, frozen=True):
    """What became of a subscription that was asked for: its number, and whether it is new."""

    id: int
    new: bool


Known = tuple[str, str]
"""A subscriber and the digest of its predicates."""


class NewSubscription(msgspec.Struct, frozen=True):
    """A subscription that was asked for, checked."""

    subscriber: str
    predicates: dict[str, Any]
    text: str
    digest: str

    @property
    def known_by(self) -> Known:
        """What makes it the same as another."""
        return self.subscriber, self.digest


def subscribe(tx: Transaction, topic: str, entries: Sequence[Entry]) -> list[Subscribed]:
    """Subscribe each to what it asks for, in the order given; who has subscribed to the same already stays as it is."""
    if len(entries) > MOST_AT_ONCE:
        raise Invalid(f"{len(entries)} subscriptions are too many at once", f"give up to {MOST_AT_ONCE}")
    row = topics.find(tx, topic)
    wanted = [_wanted(row.fields, subscriber, asked) for subscriber, asked in entries]
    new = {each.known_by: each for each in wanted}
    numbers: dict[Known, int] = {}
    added: dict[Known, int] = {}
    # More than once, if others subscribe to the same and take it back in between.
    while missing := [each for known_by, each in new.items() if known_by not in numbers]:
        numbers |= _known(tx, row.id, missing)
        landed = _add(tx, row, [each for each in missing if each.known_by not in numbers])
        added |= landed
        numbers |= landed
    return [Subscribed(numbers[each.known_by], added.pop(each.known_by, None) is not None) for each in wanted]


def _wanted(fields: predicates.Fields, subscriber: str, asked: Mapping[str, Any]) -> NewSubscription:
    check_key(subscriber)
    found = predicates.canonical(fields, asked)
    text = predicates.text(found)
    return NewSubscription(subscriber, found, text, digest(text))


def digest(text: str) -> str:
    """What canonical predicates are known by."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _known(tx: Transaction, topic: int, wanted: Iterable[NewSubscription]) -> dict[Known, int]:
    rows = _json([{"subscriber": each.subscriber, "digest": each.digest} for each in wanted])
    return {(who, what): number for who, what, number in tx.rows("subscriptions/find", topic=topic, rows=rows)}


def _add(tx: Transaction, row: topics.TopicRow, wanted: Sequence[NewSubscription]) -> dict[Known, int]:
    if not wanted:
        return {}
    born = commit_order.enter(tx, commit_order.SUBSCRIBES)
    filed = file_all(tx, row.layout, [each.predicates for each in wanted])
    rows = [
        {
            "subscriber": one.subscriber,
            "digest": one.digest,
            "predicates": one.text,
            "filed": written(filings),
        }
        for one, filings in zip(wanted, filed, strict=True)
    ]
    landed = tx.rows("subscriptions/add", topic=row.id, rows=_json(rows), moment=born)
    added = {(who, what): number for who, what, number in landed}
    stored = [
        each
        for one, filings in zip(wanted, filed, strict=True)
        if one.known_by in added
        for each in columns(added[one.known_by], filings)
    ]
    tx.run("subscription_index/add", rows=_json(stored), moment=born)
    return added


def file_all(tx: Transaction, layout: ColumnLayout, asked: Sequence[predicates.Predicates]) -> list[list[IndexEntry]]:
    """Where each of these is to be filed; shapes that are new are made known."""
    spread = [subscription_index.rows(layout, each) for each in asked]
    weights = _weights(tx, layout.topic, [row for rows in spread for row in rows])
    known = set(weights.shapes)
    filed = []
    for rows in spread:
        filed.append([each for row in rows for each in subscription_index.file(layout, row, weights=weights)])
        weights.shapes |= {each.shape for each in filed[-1]}
    if new := weights.shapes - known:
        tx.run("subscription_index/add_signatures", topic=layout.topic, keys=_json(sorted(new)))
    return filed


def _weights(tx: Transaction, topic: int, rows: Sequence[subscription_index.Conjunction]) -> Selectivity:
    statistics = msgspec.json.decode(tx.value("topics/statistics", topic=topic), type=TopicStatistics)
    here = Counter(term for row in rows for term in row.terms.values())
    crowds: dict[int, int] = dict(tx.rows("subscription_index/rows_per_key", keys=_json(list(here)), enough=ENOUGH))
    known = statistics.terms
    found = {term: max(count, crowds[term], known.get(str(term), 0)) for term, count in here.items()}
    shapes = {shape for (shape,) in tx.rows("subscription_index/signatures_of_topic", topic=topic)}
    weights = statistics.weights(found, shapes)
    weights.total = max(weights.total, len(rows))
    return weights


def written(filings: Sequence[IndexEntry], *, first: int = 0) -> str:
    """Where a subscription lies, as it is stored with it."""
    return _json([(each.key, each.sort, part) for part, each in enumerate(filings, first)])


def columns(subscription: int, filings: Sequence[IndexEntry], *, first: int = 0) -> list[dict[str, Any]]:
    """Filings as they are stored."""
    return [
        {"key": each.key, "sort": each.sort, "subscription": subscription, "part": part, **each.columns}
        for part, each in enumerate(filings, first)
    ]


def unsubscribe(tx: Transaction, topic: str, ids: Sequence[int]) -> int:
    """Take subscriptions back by their numbers; how many were there."""
    row = topics.find(tx, topic)
    live = [number for (number,) in tx.rows("subscriptions/active_ids", topic=row.id, ids=_json(list(ids)))]
    return _end(tx, row.id, live)


def unsubscribe_from(tx: Transaction, topic: str, subscriber: str, *, asked: Mapping[str, Any] | None = None) -> int:
    """Take back what a subscriber asked for, or, without predicates, all that it did; how many were there."""
    row = topics.find(tx, topic)
    check_key(subscriber)
    found = tx.rows("subscriptions/of_subscriber", topic=row.id, subscriber=subscriber)
    if asked is not None:
        same = _wanted(row.fields, subscriber, asked).digest
        found = [each for each in found if each[1] == same]
    return _end(tx, row.id, [number for number, _ in found])


def _end(tx: Transaction, topic: int, ids: Sequence[int]) -> int:
    if not ids:
        return 0
    gone = commit_order.enter(tx, commit_order.SUBSCRIBES)
    ended = tx.rows("subscriptions/end", topic=topic, ids=_json(ids), moment=gone)
    rows = [place for number, filed in ended for place in places(number, msgspec.json.decode(filed))]
    tx.run("subscription_index/end", rows=_json(rows), moment=gone)
    return len(ended)


def places(subscription: int, filed: Sequence[Sequence[int]]) -> list[dict[str, int]]:
    """Where a subscription lies, to be looked up."""
    return [{"key": key, "sort": sort, "subscription": subscription, "part": part} for key, sort, part in filed]


def page(
    tx: Transaction, topic: str, *, subscriber: str | None = None, after: int = 0, limit: int = 1000
) -> list[Subscription]:
    """Subscriptions in the order in which they were made, strictly after one; all of them, or one subscriber's."""
    check_limit(limit, "subscriptions")
    row = topics.find(tx, topic)
    if subscriber is None:
        found = tx.rows("subscriptions/page", topic=row.id, after=after, limit=limit)
    else:
        whose = {"topic": row.id, "subscriber": subscriber}
        found = tx.rows("subscriptions/page_of_subscriber", after=after, limit=limit, **whose)
    return [Subscription(number, who, msgspec.json.decode(asked), to_datetime(at)) for number, who, asked, at in found]


def among(tx: Transaction, numbers: Sequence[int]) -> list[Subscription]:
    """The subscriptions of these numbers, in their order."""
    found = tx.rows("subscriptions/by_ids", ids=_json(numbers))
    return [Subscription(number, who, msgspec.json.decode(asked), to_datetime(at)) for number, who, asked, at in found]


def asked(tx: Transaction, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What these asked for, by their numbers."""
    found = tx.rows("subscriptions/by_ids", ids=_json(numbers))
    return {number: msgspec.json.decode(text) for number, _, text, _ in found}


def count(tx: Transaction, topic: str) -> int:
    """How many subscriptions there are."""
    return int(tx.value("subscriptions/count", topic=topics.find(tx, topic).id))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
