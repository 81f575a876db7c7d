"""Subscriptions: stored queries of subscribers, and their entries in the index. Functions that take a transaction."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from rowlock import topics
from rowlock.db import Tx
from rowlock.errors import Invalid
from rowlock.group_commit import GroupKey, groupable
from rowlock.json_codec import encode_json
from rowlock.model import Subscription, TopicInfo
from rowlock.names import check_key, check_limit
from rowlock.topics import commit_order, predicates, subscription_index
from rowlock.topics.subscription_index import Conjunction, IndexEntry, Selectivity, TopicStatistics
from rowlock.topics.terms import FieldLayout, Signature, decode_signature, encode_signature

MAX_PER_CALL = 10_000
MAX_GROUPED = 100
"""Subscriptions of one call up to which other calls can wait for it in a group commit."""
MAX_ROWS_COUNTED_PER_TERM = 65
"""Rows that are counted of a term; what is more frequent is known from the topic's statistics, if at all."""
PARTS_PER_VERSION = 2_048
"""More than a subscription can have entries; reindexed, its entries are numbered from the next multiple."""

Entry = tuple[str, Mapping[str, Any]]
"""A subscriber and its predicates."""
Identity = tuple[str, str]
"""What makes two subscriptions the same: the subscriber and the digest of its predicates."""


class Subscribed(msgspec.Struct, frozen=True):
    """The number of a requested subscription, and whether it is new."""

    id: int
    new: bool


class NewSubscription(msgspec.Struct, frozen=True):
    """A requested subscription, with its predicates checked and in canonical form."""

    subscriber: str
    predicates: dict[str, Any]
    text: str
    digest: str

    @property
    def identity(self) -> Identity:
        """What makes it the same as another."""
        return self.subscriber, self.digest


class EntryLocation(NamedTuple):
    """Where an index entry of a subscription is stored."""

    key: int
    sort: int
    part: int

    def of(self, subscription: int) -> dict[str, int]:
        """Return the primary key of the entry, as statements take it."""
        return {"key": self.key, "sort": self.sort, "subscription": subscription, "part": self.part}


class TopicDetails(TopicInfo, frozen=True):
    """A topic, and how many subscriptions it has."""

    subscriptions: int


def show_topic(tx: Tx, topic: str) -> TopicDetails:
    """Return one topic: its fields, how long its history is kept, and how many subscriptions it has."""
    info = topics.show(tx, topic)
    return TopicDetails(info.name, info.fields, info.keep_for, count(tx, topic))


def _group_key(topic: str, entries: Sequence[Entry]) -> GroupKey:
    return GroupKey(topic, isolated=len(entries) > MAX_GROUPED, cost=len(entries))


@groupable(_group_key)
def subscribe(tx: Tx, topic: str, entries: Sequence[Entry]) -> list[Subscribed]:
    """Add subscriptions and return their numbers, in the order given. Those that exist already stay as they are."""
    if len(entries) > MAX_PER_CALL:
        raise Invalid(f"subscriptions must be at most {MAX_PER_CALL}, got {len(entries)}", "subscribe in several calls")
    row = topics.find(tx, topic)
    wanted = [_new_subscription(row.fields, subscriber, asked) for subscriber, asked in entries]
    distinct = {each.identity: each for each in wanted}
    numbers: dict[Identity, int] = {}
    added: dict[Identity, int] = {}
    # A loop, because others may add the same subscription and remove it again in between.
    while missing := [each for identity, each in distinct.items() if identity not in numbers]:
        numbers |= _existing(tx, row.id, missing)
        inserted = _insert(tx, row, [each for each in missing if each.identity not in numbers])
        added |= inserted
        numbers |= inserted
    return [Subscribed(numbers[each.identity], added.pop(each.identity, None) is not None) for each in wanted]


def _new_subscription(fields: predicates.Fields, subscriber: str, asked: Mapping[str, Any]) -> NewSubscription:
    check_key(subscriber)
    canonical = predicates.canonical(fields, asked)
    text = predicates.text(canonical)
    return NewSubscription(subscriber, canonical, text, blake2b(text.encode(), digest_size=16).hexdigest())


def _existing(tx: Tx, topic: int, wanted: Iterable[NewSubscription]) -> dict[Identity, int]:
    rows = encode_json([{"subscriber": each.subscriber, "digest": each.digest} for each in wanted])
    found = tx.rows("subscriptions/find", topic=topic, rows=rows)
    return {(subscriber, known): number for subscriber, known, number in found}


def _insert(tx: Tx, row: topics.TopicRow, wanted: Sequence[NewSubscription]) -> dict[Identity, int]:
    if not wanted:
        return {}
    born = commit_order.enter(tx, commit_order.SUBSCRIBES)
    built = build_entries(tx, row.layout, [each.predicates for each in wanted])
    rows = [
        {
            "subscriber": new.subscriber,
            "digest": new.digest,
            "predicates": new.text,
            "filed": encode_locations(entries),
        }
        for new, entries in zip(wanted, built, strict=True)
    ]
    inserted = tx.rows("subscriptions/add", topic=row.id, rows=encode_json(rows), moment=born)
    numbers = {(subscriber, known): number for subscriber, known, number in inserted}
    stored = [
        each
        for new, entries in zip(wanted, built, strict=True)
        if new.identity in numbers
        for each in entry_rows(numbers[new.identity], entries)
    ]
    tx.run("subscription_index/add", rows=encode_json(stored), moment=born)
    return numbers


def build_entries(tx: Tx, layout: FieldLayout, asked: Sequence[predicates.Predicates]) -> list[list[IndexEntry]]:
    """Return the index entries of each of these predicates, and register the signatures that are new."""
    alternatives = [subscription_index.conjunctions(layout, each) for each in asked]
    selectivity = _selectivity(tx, layout.topic, [each for group in alternatives for each in group])
    known = set(selectivity.signatures)
    built = []
    for group in alternatives:
        entries = [
            entry
            for conjunction in group
            for entry in subscription_index.index_entries(layout, conjunction, selectivity=selectivity)
        ]
        selectivity.signatures |= {entry.signature for entry in entries}
        built.append(entries)
    if new := selectivity.signatures - known:
        tx.run(
            "subscription_index/add_signatures",
            topic=layout.topic,
            keys=encode_json(sorted(map(encode_signature, new))),
        )
    return built


def signatures(tx: Tx, topic: int) -> list[Signature]:
    """Return the signatures of a topic that are in use."""
    return [decode_signature(text) for (text,) in tx.rows("subscription_index/signatures_of_topic", topic=topic)]


def _selectivity(tx: Tx, topic: int, conjunctions: Sequence[Conjunction]) -> Selectivity:
    statistics = msgspec.json.decode(tx.value("topics/statistics", topic=topic), type=TopicStatistics)
    terms = Counter(term for each in conjunctions for term in each.terms.values())
    counted = rows_per_key(tx, list(terms), limit=MAX_ROWS_COUNTED_PER_TERM)
    rows = {term: max(count, counted[term]) for term, count in terms.items()}
    selectivity = statistics.selectivity(rows, signatures(tx, topic))
    selectivity.total = max(selectivity.total, len(conjunctions))
    return selectivity


def rows_per_key(tx: Tx, keys: Sequence[int], *, limit: int) -> dict[int, int]:
    """Count the entries under each key, but none beyond the limit."""
    return dict(tx.rows("subscription_index/rows_per_key", keys=encode_json(keys), enough=limit))


def encode_locations(entries: Sequence[IndexEntry], *, first_part: int = 0) -> str:
    """Return the locations of a subscription's entries as they are stored with it."""
    return encode_json([EntryLocation(each.key, each.sort, part) for part, each in enumerate(entries, first_part)])


def decode_locations(text: str) -> list[EntryLocation]:
    """Read the locations that are stored with a subscription."""
    return msgspec.json.decode(text, type=list[EntryLocation])


def entry_rows(subscription: int, entries: Sequence[IndexEntry], *, first_part: int = 0) -> list[dict[str, Any]]:
    """Return the rows that store a subscription's entries."""
    return [
        {**EntryLocation(each.key, each.sort, part).of(subscription), **each.columns}
        for part, each in enumerate(entries, first_part)
    ]


def unsubscribe(tx: Tx, topic: str, subscription: int) -> int:
    """Remove a subscription by its number and return how many existed."""
    row = topics.find(tx, topic)
    active = tx.rows("subscriptions/active_ids", topic=row.id, ids=encode_json([subscription]))
    return _end(tx, row.id, [number for (number,) in active])


def unsubscribe_from(tx: Tx, topic: str, subscriber: str, *, asked: Mapping[str, Any] | None = None) -> int:
    """Remove a subscriber's subscription to these predicates, or all it has if None; return how many existed."""
    row = topics.find(tx, topic)
    check_key(subscriber)
    found = tx.rows("subscriptions/of_subscriber", topic=row.id, subscriber=subscriber)
    if asked is not None:
        wanted = _new_subscription(row.fields, subscriber, asked).digest
        found = [each for each in found if each[1] == wanted]
    return _end(tx, row.id, [number for number, _ in found])


def _end(tx: Tx, topic: int, ids: Sequence[int]) -> int:
    if not ids:
        return 0
    gone = commit_order.enter(tx, commit_order.SUBSCRIBES)
    ended = tx.rows("subscriptions/end", topic=topic, ids=encode_json(ids), moment=gone)
    entries = [location.of(number) for number, stored in ended for location in decode_locations(stored)]
    tx.run("subscription_index/end", rows=encode_json(entries), moment=gone)
    return len(ended)


def page(tx: Tx, topic: str, *, subscriber: str | None = None, after: int = 0, limit: int = 1000) -> list[Subscription]:
    """Return subscriptions in the order of their numbers, strictly after one; all of them, or one subscriber's."""
    check_limit(limit, "subscriptions")
    row = topics.find(tx, topic)
    if subscriber is None:
        return tx.structs(Subscription, "subscriptions/page", topic=row.id, after=after, limit=limit)
    which = {"topic": row.id, "subscriber": subscriber, "after": after, "limit": limit}
    return tx.structs(Subscription, "subscriptions/page_of_subscriber", **which)


def by_ids(tx: Tx, ids: Sequence[int]) -> list[Subscription]:
    """Return the subscriptions with these numbers, in the order of their numbers."""
    return tx.structs(Subscription, "subscriptions/by_ids", ids=encode_json(ids))


def predicates_by_id(tx: Tx, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the predicates of the subscriptions with these numbers."""
    return {each.id: each.predicates for each in by_ids(tx, ids)}


def count(tx: Tx, topic: str) -> int:
    """Return how many subscriptions a topic has."""
    return int(tx.value("subscriptions/count", topic=topics.find(tx, topic).id))
