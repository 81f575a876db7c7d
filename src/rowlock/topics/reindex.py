"""Reindexing: sample term frequencies and move index entries accordingly. Part of upkeep, in bounded steps."""

from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec

from rowlock import topics
from rowlock.db import Transaction
from rowlock.item_input import encode_json
from rowlock.topics import commit_order, subscription_index, subscriptions
from rowlock.topics.statistics import SubscriptionSample, TopicStatistics
from rowlock.topics.subscription_index import ColumnLayout

GROWTH = 0.5
"""By how much a topic must have grown since the last look to be looked at again."""
SMALL = 2_000
"""Subscriptions for which it does not matter where they lie."""
PLACES, A_PLACE = 100, 40
"""How many places of a topic are looked at for a sample, and how many subscriptions at each."""
AT_ONCE = 500
FULL = 16
"""Under a key with no more than this it does not matter who lies there."""


class TopicGrowth(msgspec.Struct, frozen=True):
    """A topic, what is known of it, and how far it has come since."""

    row: topics.TopicRow
    known: TopicStatistics
    refiled_upto: int
    last: int

    @property
    def worth_a_look(self) -> bool:
        """Whether it is another topic by now, or was looked at before shapes were weighed."""
        known = self.known
        return self.last - known.upto > SMALL + GROWTH * known.total or (known.total > 0 and known.parts is None)


def reindex_some(tx: Transaction, *, chance: Random, after: str = "") -> int:
    """Look at topics that have grown, and file a bounded number of subscriptions anew; how many."""
    moved = 0
    for columns in tx.rows("topics/growth", after=after, limit=100):
        topic, name, fields, keep_for, version, statistics, refiled_upto, last = columns
        row = topics.TopicRow(topic, name, msgspec.json.decode(fields), keep_for, version)
        grown = TopicGrowth(row, msgspec.json.decode(statistics, type=TopicStatistics), refiled_upto, last)
        if grown.worth_a_look:
            learn(tx, row, chance=chance)
        elif refiled_upto < grown.known.upto:
            moved += _refile(tx, grown)
    return moved


def learn(tx: Transaction, row: topics.TopicRow, *, chance: Random) -> TopicStatistics:
    """Take a sample of a topic's subscriptions, and write down which terms are frequent."""
    total, last = tx.value("subscriptions/count", topic=row.id), _last(tx, row.id)
    starts = range(1, last + 1) if last <= PLACES else chance.sample(range(1, last + 1), PLACES)
    seen = {
        number: asked
        for start in starts
        for number, asked in tx.rows("subscriptions/sample", topic=row.id, start=start, limit=A_PLACE)
    }
    rows = [each for asked in seen.values() for each in subscription_index.rows(row.layout, msgspec.json.decode(asked))]
    found = SubscriptionSample(rows, scale=total / max(len(seen), 1)).told(row.layout, total=total, upto=last)
    tx.run("topics/set_statistics", topic=row.id, statistics=msgspec.json.encode(found).decode())
    return found


def _last(tx: Transaction, topic: int) -> int:
    return int(tx.value("subscriptions/last", topic=topic) or 0)


def _refile(tx: Transaction, grown: TopicGrowth) -> int:
    topic, upto = grown.row.id, grown.known.upto
    where: dict[str, Any] = {"topic": topic, "after": grown.refiled_upto, "upto": upto, "limit": AT_ONCE}
    found = tx.rows("subscriptions/to_reindex", **where)
    tx.run("topics/set_reindexed_upto", topic=topic, upto=found[-1][0] if len(found) == AT_ONCE else upto)
    crowded = _crowded(tx, found)
    return _move(tx, grown.row.layout, crowded) if crowded else 0


def _crowded(tx: Transaction, found: Sequence[Any]) -> list[Any]:
    places = {number: msgspec.json.decode(filed) for number, _, filed, _ in found}
    keys = sorted({key for each in places.values() for key, _, _ in each})
    crowds: dict[int, int] = dict(tx.rows("subscription_index/rows_per_key", keys=encode_json(keys), enough=FULL + 1))
    return [each for each in found if any(crowds[key] > FULL for key, _, _ in places[each[0]])]


def _move(tx: Transaction, layout: ColumnLayout, found: Sequence[Any]) -> int:
    filed = subscriptions.file_all(tx, layout, [msgspec.json.decode(asked) for _, asked, _, _ in found])
    moves = []
    for (number, _, old, version), filings in zip(found, filed, strict=True):
        before = [tuple(place) for place in msgspec.json.decode(old)]
        if {place[:2] for place in before} != {(each.key, each.sort) for each in filings}:
            moves.append((number, before, filings, (version + 1) * subscriptions.PARTS))
    if not moves:
        return 0
    at = commit_order.enter(tx, commit_order.SUBSCRIBES)
    ended = [place for number, before, _, _ in moves for place in subscriptions.places(number, before)]
    tx.run("subscription_index/end", rows=encode_json(ended), moment=at)
    added = [row for number, _, filings, first in moves for row in subscriptions.columns(number, filings, first=first)]
    tx.run("subscription_index/add", rows=encode_json(added), moment=at)
    rows = [{"id": number, "filed": subscriptions.written(new, first=first)} for number, _, new, first in moves]
    tx.run("subscriptions/set_index_entries", rows=encode_json(rows))
    return len(moves)
