"""Matching: which subscriptions a record fulfils. Everything it needs is in the database; verbs of a transaction."""

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from rowlock import topics
from rowlock.db import Transaction
from rowlock.db.statements import Statements
from rowlock.model import Subscription
from rowlock.names import check_limit
from rowlock.topics import commit_order, predicates, subscriptions
from rowlock.topics.subscription_index import LOWEST, ProbePlan, Probes

Record = Mapping[str, Any]

START = (LOWEST, 0, -1)

State = tuple[int, int]
"""A topic's version, and how many rows tell of its shapes: what a plan was made by."""

# A plan is only a hint: the statement that uses it also tells whether it still holds.
_plans: WeakKeyDictionary[Statements, dict[int, tuple[State, ProbePlan]]] = WeakKeyDictionary()


def matches(tx: Transaction, topic: str, record: Record, *, limit: int = 1000) -> list[Subscription]:
    """Subscriptions that a record fulfils now, in the order in which they were made."""
    check_limit(limit, "subscriptions")
    row = topics.find(tx, topic)
    numbers = match(tx, row, predicates.checked(row.fields, record), limit=limit)
    return subscriptions.among(tx, numbers)


def match(
    tx: Transaction, topic: topics.TopicRow, record: Record, *, at: int = commit_order.NOW, limit: int
) -> list[int]:
    """The numbers of subscriptions that a checked record fulfils, as they stood at a place in the order of commits.

    At most `limit` are looked at.
    """
    return _found(tx, topic, record, at=at, limit=limit)[0]


def _found(tx: Transaction, topic: topics.TopicRow, record: Record, *, at: int, limit: int) -> tuple[list[int], bool]:
    # And whether the limit cut it short.
    known = _plans.get(tx.statements, {}).get(topic.id)
    while True:
        state, plan = known or _planned(tx, topic)
        [found] = tx.rows(
            "subscription_index/match", topic=topic.id, seq=at, limit=limit, **_asked(plan.probes(record))
        )
        if found[:2] == state:
            return _fitting(record, *found[2:], limit=limit)
        known = None


class MatchCursor(msgspec.Struct, frozen=True, array_like=True):
    """How far a crowd has been walked: the keys that are left, and the last one seen under the first of them."""

    left: list[tuple[int, int, int]]
    after: tuple[int, int, int] = START


def page(
    tx: Transaction, topic: topics.TopicRow, record: Record, *, at: int, cursor: MatchCursor | None, limit: int
) -> tuple[list[int], MatchCursor | None]:
    """Up to `limit` subscriptions that a record fulfils, and where to go on; None: these were the last.

    Few are found by one statement. Only a crowd is walked, key by key, and at the next call from where this one ended.
    """
    if cursor is None:
        numbers, cut = _found(tx, topic, record, at=at, limit=limit + 1)
        if not cut:
            return numbers, None
        probes = _planned(tx, topic)[1].probes(record)
        cursor = MatchCursor([*((key, 0, 0) for key in probes.keys), *probes.ranged])
    return _walk(tx, topic, record, at=at, cursor=cursor, limit=limit)


def _walk(
    tx: Transaction, topic: topics.TopicRow, record: Record, *, at: int, cursor: MatchCursor, limit: int
) -> tuple[list[int], MatchCursor | None]:
    values = _values(ProbePlan(topic.layout, ()).probes(record))
    found: list[int] = []
    left, after = list(cursor.left), cursor.after
    while left and limit > 0:
        (key, low, high), (sort, subscription, part) = left[0], after
        place = {"sort": sort, "subscription": subscription, "part": part}
        rows = tx.rows(
            "subscription_index/page_of_key", key=key, low=low, high=high, seq=at, limit=limit, values=values, **place
        )
        by_hand = [number for _, number, _, checks in rows if checks & 1]
        wrong = _wrong(tx, record, by_hand) if by_hand else set()
        found += [number for _, number, _, _ in rows if number not in wrong]
        limit -= len(rows)
        if limit > 0:
            left, after = left[1:], START
        else:
            after = rows[-1][:3]
    return found, MatchCursor(left, after) if left else None


def _wrong(tx: Transaction, record: Record, numbers: Sequence[int]) -> set[int]:
    asked = subscriptions.asked(tx, numbers)
    return {number for number in numbers if number not in asked or not predicates.fits(asked[number], record)}


def _planned(tx: Transaction, topic: topics.TopicRow) -> tuple[State, ProbePlan]:
    row = topics.find(tx, topic.name)
    shapes = [shape for (shape,) in tx.rows("subscription_index/signatures_of_topic", topic=row.id)]
    found = (row.version, len(shapes)), ProbePlan(row.layout, shapes)
    _plans.setdefault(tx.statements, {})[row.id] = found
    return found


def _asked(probes: Probes) -> dict[str, str]:
    ranged, lows, highs = zip(*probes.ranged, strict=True) if probes.ranged else ((), (), ())
    return {
        "keys": _json([*ranged, *probes.keys]),
        "lows": _json(lows),
        "highs": _json(highs),
        "values": _values(probes),
    }


def _values(probes: Probes) -> str:
    return _json(probes.codes + probes.numbers)


def _fitting(record: Record, numbers: str, rest: str, *, limit: int) -> tuple[list[int], bool]:
    found: list[int] = msgspec.json.decode(numbers)
    cut = len(found) == limit
    if rest == "[]":
        return found, cut
    asked: list[tuple[int, dict[str, Any] | None]] = msgspec.json.decode(rest)
    wrong = {number for number, each in asked if each is None or not predicates.fits(each, record)}
    return [number for number in found if number not in wrong] if wrong else found, cut


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
