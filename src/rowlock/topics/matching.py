"""Matching: which subscriptions a record fulfils, by the index in the database. Verbs of a transaction."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from rowlock import topics
from rowlock.db import Transaction
from rowlock.db.statements import Statements
from rowlock.model import Subscription
from rowlock.names import check_limit
from rowlock.topics import commit_order, predicates, subscriptions
from rowlock.topics.probes import ProbePlan, Probes
from rowlock.topics.subscription_index import RECHECK_BIT
from rowlock.topics.terms import LOWEST

Record = Mapping[str, Any]


class PlanVersion(NamedTuple):
    """What a plan was made from: the version of a topic, and the number of its signatures."""

    topic: int
    signatures: int


# Plans are hints: the statement that uses one also returns the version by which it is checked.
_plans: WeakKeyDictionary[Statements, dict[int, tuple[PlanVersion, ProbePlan]]] = WeakKeyDictionary()


def matches(tx: Transaction, topic: str, record: Record, *, limit: int = 1000) -> list[Subscription]:
    """Return the subscriptions that a record fulfils now, in the order of their numbers."""
    check_limit(limit, "subscriptions")
    row = topics.find(tx, topic)
    numbers = match(tx, row, predicates.checked(row.fields, record), limit=limit)
    return subscriptions.by_ids(tx, numbers)


def match(
    tx: Transaction, topic: topics.TopicRow, record: Record, *, at: int = commit_order.NOW, limit: int
) -> list[int]:
    """Return the numbers of the subscriptions that a checked record fulfils, as of a place in the commit order.

    Reads at most `limit` entries of the index.
    """
    return _match(tx, topic, record, at=at, limit=limit)[0]


def _match(tx: Transaction, topic: topics.TopicRow, record: Record, *, at: int, limit: int) -> tuple[list[int], bool]:
    # The second value says whether the limit was reached.
    known = _plans.get(tx.statements, {}).get(topic.id)
    while True:
        version, plan = known or _read_plan(tx, topic)
        probes = _parameters(plan.probes(record))
        [found] = tx.rows("subscription_index/match", topic=topic.id, seq=at, limit=limit, **probes)
        if found[:2] == version:
            return _rechecked(record, *found[2:], limit=limit)
        known = None


class EntryPosition(NamedTuple):
    """The entry under a key at which a page ended."""

    sort: int
    subscription: int
    part: int


BEFORE_FIRST = EntryPosition(LOWEST, 0, -1)


class MatchCursor(msgspec.Struct, frozen=True, array_like=True):
    """How far a record has been matched: the keys that are left, and the last entry read under the first of them."""

    left: list[tuple[int, int, int]]
    """Key, lowest and highest sort value."""
    after: EntryPosition = BEFORE_FIRST


def page(
    tx: Transaction, topic: topics.TopicRow, record: Record, *, at: int, cursor: MatchCursor | None, limit: int
) -> tuple[list[int], MatchCursor | None]:
    """Return up to `limit` subscriptions that a record fulfils, and the cursor of the next page, None after the last.

    One statement finds them if there are few. Only if the limit is reached, keys are read one by one, in pages.
    """
    if cursor is None:
        numbers, cut = _match(tx, topic, record, at=at, limit=limit + 1)
        if not cut:
            return numbers, None
        probes = _read_plan(tx, topic)[1].probes(record)
        cursor = MatchCursor([*((key, 0, 0) for key in probes.keys), *probes.ranged])
    return _page_of_keys(tx, topic, record, at=at, cursor=cursor, limit=limit)


def _page_of_keys(
    tx: Transaction, topic: topics.TopicRow, record: Record, *, at: int, cursor: MatchCursor, limit: int
) -> tuple[list[int], MatchCursor | None]:
    values = _values(ProbePlan(topic.layout, ()).probes(record))
    found: list[int] = []
    left, after = list(cursor.left), cursor.after
    while left and limit > 0:
        key, low, high = left[0]
        place = {"key": key, "low": low, "high": high, **after._asdict()}
        rows = tx.rows("subscription_index/page_of_key", seq=at, limit=limit, values=values, **place)
        wrong = _not_fulfilled(tx, record, [number for _, number, _, checks in rows if checks & RECHECK_BIT])
        found += [number for _, number, _, _ in rows if number not in wrong]
        limit -= len(rows)
        if limit > 0:
            left, after = left[1:], BEFORE_FIRST
        else:
            after = EntryPosition(*rows[-1][:3])
    return found, MatchCursor(left, after) if left else None


def _not_fulfilled(tx: Transaction, record: Record, numbers: Sequence[int]) -> set[int]:
    if not numbers:
        return set()
    asked = subscriptions.predicates_by_id(tx, numbers)
    return {number for number in numbers if number not in asked or not predicates.fits(asked[number], record)}


def _read_plan(tx: Transaction, topic: topics.TopicRow) -> tuple[PlanVersion, ProbePlan]:
    row = topics.find(tx, topic.name)
    signatures = subscriptions.signatures(tx, row.id)
    found = PlanVersion(row.version, len(signatures)), ProbePlan(row.layout, signatures)
    _plans.setdefault(tx.statements, {})[row.id] = found
    return found


def _parameters(probes: Probes) -> dict[str, str]:
    ranged, lows, highs = zip(*probes.ranged, strict=True) if probes.ranged else ((), (), ())
    return {
        "keys": _json([*ranged, *probes.keys]),
        "lows": _json(lows),
        "highs": _json(highs),
        "values": _values(probes),
    }


def _values(probes: Probes) -> str:
    return _json(probes.equality_values + probes.range_values)


def _rechecked(record: Record, numbers: str, to_recheck: str, *, limit: int) -> tuple[list[int], bool]:
    found: list[int] = msgspec.json.decode(numbers)
    cut = len(found) == limit
    if to_recheck == "[]":
        return found, cut
    asked: list[tuple[int, dict[str, Any] | None]] = msgspec.json.decode(to_recheck)
    wrong = {number for number, each in asked if each is None or not predicates.fits(each, record)}
    return [number for number in found if number not in wrong] if wrong else found, cut


def _json(value: Any) -> str:
    # Without the hook for subclasses of str that `encode_json` has: these are numbers, and every match pays for it.
    return msgspec.json.encode(value).decode()
