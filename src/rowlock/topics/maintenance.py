"""Maintenance of topics: delete what nothing needs any more, and reindex. Part of upkeep, in bounded steps."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from random import Random
from typing import Any, NamedTuple

import msgspec

from rowlock import lists, topics
from rowlock.db import Tx
from rowlock.durations import milliseconds
from rowlock.errors import NoSuchList
from rowlock.json_codec import encode_json
from rowlock.topics import commit_order, subscription_index, subscriptions
from rowlock.topics.subscription_index import Conjunction, Selectivity, TopicStatistics
from rowlock.topics.subscriptions import EntryLocation
from rowlock.topics.terms import FieldLayout, Signature, TermSpec, encode_signature, encode_spec, signature_of

COMPLETE_LIST_KEPT_MS = 60_000
"""How long the list of a record is kept when it is complete, so that a settlement can be sent again."""
MIN_GROWTH = 0.5
"""By what share a topic must have grown since its last sample to be sampled again."""
MIN_SUBSCRIPTIONS = 2_000
"""Subscriptions below which it does not matter where their entries are."""
SAMPLED_PLACES, SAMPLED_PER_PLACE = 100, 40
"""Places of a topic at which a sample is taken, and subscriptions that are read at each."""
MAX_PER_STEP = 500
MAX_ROWS_PER_KEY = 16
"""Entries under a key up to which it does not matter which others are there."""
MIN_ROWS_SAVED = 16.0
"""Entries that a signature must save every record: a look-up of a key costs a server as much as reading so many."""
MIN_OCCURRENCES = 3
"""How often a term must occur in a sample to be called frequent."""
MAX_TERMS = 2_000
RANGE_SHARE = 0.5
"""The share of the entries under a key that are left, about, when a range narrows it."""


def finish_records(tx: Tx, *, limit: int = 100, age: int = COMPLETE_LIST_KEPT_MS) -> int:
    """Drop the lists of records whose notifications are all settled, and return how many records were finished."""
    finished = tx.rows("records/to_finish", limit=limit, age=age)
    for _, _, name in finished:
        if name is not None:
            with suppress(NoSuchList):  # upkeep of another process was faster
                lists.drop(tx, name)
    if finished:
        tx.run("records/finish", ids=encode_json([number for number, _, _ in finished]))
    return len(finished)


def delete_ended(tx: Tx, *, limit: int = 1000, keep: int = commit_order.MOMENTS_KEPT) -> int:
    """Delete removed subscriptions that no record and no copy in memory needs any more; return how many rows."""
    deleted = tx.run("subscription_index/delete_ended", limit=limit)
    deleted += tx.run("subscriptions/delete_ended", limit=limit, keep=keep)
    return deleted + tx.run("commit_order/delete_old", limit=limit, keep=keep)


def prune(tx: Tx, *, limit: int = 1000) -> int:
    """Delete records that are older than their topic keeps them, with their notifications; return how many rows."""
    pruned = 0
    for info in topics.page(tx):
        topic, keep = topics.find(tx, info.name).id, milliseconds(info.keep_for)
        if expired := [number for (number,) in tx.rows("records/expired", topic=topic, keep=keep, limit=10)]:
            ids = encode_json(expired)
            deleted = tx.run("notifications/delete_by_records", topic=topic, ids=ids, limit=limit)
            if deleted < limit:
                deleted += tx.run("records/delete", ids=ids)
            pruned += deleted
    return pruned


class SampledTopic(topics.TopicRow, frozen=True):
    """A topic with its statistics, how far it has been reindexed by these, and its last subscription."""

    statistics: TopicStatistics
    reindexed_upto: int
    last: int


def reindex_some(tx: Tx, *, chance: Random) -> int:
    """Sample topics that have grown, move a bounded number of subscriptions, and return how many were moved."""
    moved = 0
    for row in tx.structs(SampledTopic, "topics/page_with_statistics", limit=100):
        statistics = row.statistics
        grown = row.last - statistics.upto > MIN_SUBSCRIPTIONS + MIN_GROWTH * statistics.total
        if grown or (statistics.total > 0 and statistics.parts is None):
            take_sample(tx, row, chance=chance)
        elif row.reindexed_upto < statistics.upto:
            moved += _reindex(tx, row, after=row.reindexed_upto, upto=statistics.upto)
    return moved


def take_sample(tx: Tx, row: topics.TopicRow, *, chance: Random) -> TopicStatistics:
    """Estimate the statistics of a topic from a sample of its subscriptions, and store them."""
    total, last = (
        tx.value("subscriptions/count", topic=row.id),
        int(tx.value("subscriptions/max_id", topic=row.id) or 0),
    )
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


class SubscriptionSample:
    """Conjunctions of a few subscriptions, each of which stands for `scale` others."""

    def __init__(self, conjunctions: Sequence[Conjunction], *, scale: float) -> None:
        self._conjunctions = conjunctions
        self._scale = scale
        self._terms = Counter(term for each in conjunctions for term in each.terms.values())
        self._specs = Counter(spec for each in conjunctions for spec in each.terms)

    def statistics(self, layout: FieldLayout, *, total: int, upto: int) -> TopicStatistics:
        """Estimate the statistics of all subscriptions."""
        common = ((term, count) for term, count in self._terms.most_common(MAX_TERMS) if count >= MIN_OCCURRENCES)
        frequent = {term: round(count * self._scale) for term, count in common}
        specs = {spec: round(count * self._scale) for spec, count in self._specs.items()}
        pairs = _worthwhile(self._rows_saved_by_pairs())
        selectivity = Selectivity(frequent, total, set(pairs), specs, pairs)
        ranges = _worthwhile(self._rows_saved_by_ranges(layout, selectivity))
        return TopicStatistics(
            total,
            {str(term): count for term, count in frequent.items()},
            upto,
            {encode_spec(spec): count for spec, count in specs.items()},
            sorted(map(encode_signature, pairs | ranges)),
        )

    def _share(self, conjunction: Conjunction, spec: TermSpec) -> float:
        # The share of the others that have it: a term that occurred once may be as rare as can be.
        return (self._terms[conjunction.terms[spec]] - 1) / max(self._specs[spec] - 1, 1)

    def _rows_saved_by_pairs(self) -> Iterable[tuple[Signature, float]]:
        for each in self._conjunctions:
            shares = sorted((self._share(each, spec), spec) for spec in each.terms)
            if len(shares) > 1:
                (first, one), (second, two) = shares[:2]
                yield signature_of((one, two)), self._scale * first * (1 - second)

    def _rows_saved_by_ranges(self, layout: FieldLayout, selectivity: Selectivity) -> Iterable[tuple[Signature, float]]:
        for each in self._conjunctions:
            chosen = subscription_index.most_selective(each, selectivity)
            if each.ranges and chosen and subscription_index.is_crowded(each, chosen, selectivity=selectivity):
                spanning = subscription_index.range_terms(layout, each.ranges)
                saved = self._scale * RANGE_SHARE / len(spanning)
                for spec in chosen:
                    saved *= self._share(each, spec)
                yield signature_of([*chosen, spanning[0].spec]), saved


def _worthwhile(saved: Iterable[tuple[Signature, float]]) -> set[Signature]:
    rows_saved: defaultdict[Signature, float] = defaultdict(float)
    for signature, rows in saved:
        rows_saved[signature] += rows
    return {signature for signature, rows in rows_saved.items() if rows > MIN_ROWS_SAVED}


class _Indexed(NamedTuple):
    """A subscription, the locations of its entries, and how often it was reindexed."""

    number: int
    predicates: dict[str, Any]
    locations: list[EntryLocation]
    version: int


def _reindex(tx: Tx, row: topics.TopicRow, *, after: int, upto: int) -> int:
    found = [
        _Indexed(number, msgspec.json.decode(asked), subscriptions.decode_locations(locations), version)
        for number, asked, locations, version in tx.rows(
            "subscriptions/to_reindex", topic=row.id, after=after, upto=upto, limit=MAX_PER_STEP
        )
    ]
    tx.run("topics/set_reindexed_upto", topic=row.id, upto=found[-1].number if len(found) == MAX_PER_STEP else upto)
    keys = sorted({location.key for each in found for location in each.locations})
    rows = subscriptions.rows_per_key(tx, keys, limit=MAX_ROWS_PER_KEY + 1)
    crowded = [each for each in found if any(rows[location.key] > MAX_ROWS_PER_KEY for location in each.locations)]
    return _move(tx, row.layout, crowded) if crowded else 0


def _move(tx: Tx, layout: FieldLayout, crowded: Sequence[_Indexed]) -> int:
    ended, added, moved = [], [], []
    built = subscriptions.build_entries(tx, layout, [each.predicates for each in crowded])
    for each, entries in zip(crowded, built, strict=True):
        if {location[:2] for location in each.locations} != {(entry.key, entry.sort) for entry in entries}:
            # New numbers, because old and new entries exist at the same time.
            first_part = (each.version + 1) * subscriptions.PARTS_PER_VERSION
            ended += [location.of(each.number) for location in each.locations]
            added += subscriptions.entry_rows(each.number, entries, first_part=first_part)
            locations = subscriptions.encode_locations(entries, first_part=first_part)
            moved.append({"id": each.number, "filed": locations})
    if moved:
        at = commit_order.enter(tx, commit_order.SUBSCRIBES)
        tx.run("subscription_index/end", rows=encode_json(ended), moment=at)
        tx.run("subscription_index/add", rows=encode_json(added), moment=at)
        tx.run("subscriptions/set_index_entries", rows=encode_json(moved))
    return len(moved)
