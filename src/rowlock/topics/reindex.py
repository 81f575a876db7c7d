"""Reindexing: sample term frequencies and move index entries accordingly. Part of upkeep, in bounded steps."""

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

import msgspec

from rowlock import topics
from rowlock.db import Transaction
from rowlock.json_codec import encode_json
from rowlock.topics import commit_order, subscription_index, subscriptions
from rowlock.topics.statistics import SubscriptionSample, TopicStatistics
from rowlock.topics.subscription_index import IndexEntry
from rowlock.topics.subscriptions import EntryLocation
from rowlock.topics.terms import FieldLayout

MIN_GROWTH = 0.5
"""By what share a topic must have grown since its last sample to be sampled again."""
MIN_SUBSCRIPTIONS = 2_000
"""Subscriptions below which it does not matter where their entries are."""
SAMPLED_PLACES, SAMPLED_PER_PLACE = 100, 40
"""Places of a topic at which a sample is taken, and subscriptions that are read at each."""
MAX_PER_STEP = 500
MAX_ROWS_PER_KEY = 16
"""Entries under a key up to which it does not matter who else is there."""


class TopicGrowth(msgspec.Struct, frozen=True):
    """A topic, its statistics, and how far it has grown and has been reindexed since."""

    row: topics.TopicRow
    statistics: TopicStatistics
    reindexed_upto: int
    last: int

    @property
    def needs_sample(self) -> bool:
        """Whether the statistics no longer describe the topic, or lack what later versions count."""
        known = self.statistics
        grown = self.last - known.upto > MIN_SUBSCRIPTIONS + MIN_GROWTH * known.total
        return grown or (known.total > 0 and known.parts is None)


class Indexed(NamedTuple):
    """A subscription with its predicates as JSON, the locations of its entries, and how often it was reindexed."""

    number: int
    predicates: str
    locations: list[EntryLocation]
    version: int


class _Move(NamedTuple):
    """A subscription whose entries go to other places."""

    subscription: Indexed
    entries: list[IndexEntry]

    @property
    def first_part(self) -> int:
        """The number of the first new entry: old and new ones may be there at the same time."""
        return (self.subscription.version + 1) * subscriptions.PARTS_PER_VERSION


def reindex_some(tx: Transaction, *, chance: Random, after: str = "") -> int:
    """Sample topics that have grown, move a bounded number of subscriptions, and return how many were moved."""
    moved = 0
    for columns in tx.rows("topics/growth", after=after, limit=100):
        *row, statistics, reindexed_upto, last = columns
        known = msgspec.json.decode(statistics, type=TopicStatistics)
        growth = TopicGrowth(topics.decode_row(tuple(row)), known, reindexed_upto, last)
        if growth.needs_sample:
            take_sample(tx, growth.row, chance=chance)
        elif reindexed_upto < known.upto:
            moved += _reindex(tx, growth)
    return moved


def take_sample(tx: Transaction, row: topics.TopicRow, *, chance: Random) -> TopicStatistics:
    """Estimate the statistics of a topic from a sample of its subscriptions, and store them."""
    total, last = tx.value("subscriptions/count", topic=row.id), int(tx.value("subscriptions/last", topic=row.id) or 0)
    places = range(1, last + 1)
    starts = places if last <= SAMPLED_PLACES else chance.sample(places, SAMPLED_PLACES)
    seen = {
        number: asked
        for start in starts
        for number, asked in tx.rows("subscriptions/sample", topic=row.id, start=start, limit=SAMPLED_PER_PLACE)
    }
    conjunctions = [
        each
        for asked in seen.values()
        for each in subscription_index.conjunctions(row.layout, msgspec.json.decode(asked))
    ]
    sample = SubscriptionSample(conjunctions, scale=total / max(len(seen), 1))
    statistics = sample.statistics(row.layout, total=total, upto=last)
    tx.run("topics/set_statistics", topic=row.id, statistics=encode_json(statistics))
    return statistics


def _reindex(tx: Transaction, growth: TopicGrowth) -> int:
    topic, upto = growth.row.id, growth.statistics.upto
    which: dict[str, Any] = {"topic": topic, "after": growth.reindexed_upto, "upto": upto, "limit": MAX_PER_STEP}
    found = [
        Indexed(number, asked, subscriptions.decode_locations(locations), version)
        for number, asked, locations, version in tx.rows("subscriptions/to_reindex", **which)
    ]
    tx.run("topics/set_reindexed_upto", topic=topic, upto=found[-1].number if len(found) == MAX_PER_STEP else upto)
    crowded = _under_crowded_keys(tx, found)
    return _move(tx, _moves(tx, growth.row.layout, crowded)) if crowded else 0


def _under_crowded_keys(tx: Transaction, found: Sequence[Indexed]) -> list[Indexed]:
    keys = sorted({location.key for each in found for location in each.locations})
    rows = subscriptions.rows_per_key(tx, keys, limit=MAX_ROWS_PER_KEY + 1)
    return [each for each in found if any(rows[location.key] > MAX_ROWS_PER_KEY for location in each.locations)]


def _moves(tx: Transaction, layout: FieldLayout, found: Sequence[Indexed]) -> list[_Move]:
    built = subscriptions.build_entries(tx, layout, [msgspec.json.decode(each.predicates) for each in found])
    return [
        _Move(each, entries)
        for each, entries in zip(found, built, strict=True)
        if {location[:2] for location in each.locations} != {(entry.key, entry.sort) for entry in entries}
    ]


def _move(tx: Transaction, moves: Sequence[_Move]) -> int:
    if not moves:
        return 0
    at = commit_order.enter(tx, commit_order.SUBSCRIBES)
    ended, added, moved = [], [], []
    for move in moves:
        number = move.subscription.number
        ended += [location.of(number) for location in move.subscription.locations]
        added += subscriptions.entry_rows(number, move.entries, first_part=move.first_part)
        locations = subscriptions.encode_locations(move.entries, first_part=move.first_part)
        moved.append({"id": number, "filed": locations})
    tx.run("subscription_index/end", rows=encode_json(ended), moment=at)
    tx.run("subscription_index/add", rows=encode_json(added), moment=at)
    tx.run("subscriptions/set_index_entries", rows=encode_json(moved))
    return len(moves)
