"""Matching: which subscriptions a record fulfils. Everything it needs is in the database; verbs of a transaction."""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from rowlock import moments, predicates, subscriptions, topics
from rowlock.db import Transaction
from rowlock.db.statements import Statements
from rowlock.filing import Plan
from rowlock.model import Subscription
from rowlock.names import check_limit

Record = Mapping[str, Any]

# A plan is only a hint: the statement that uses it also tells whether it still holds.
_plans: WeakKeyDictionary[Statements, dict[int, tuple[int, Plan]]] = WeakKeyDictionary()


def matches(tx: Transaction, topic: str, record: Record, *, limit: int = 1000) -> list[Subscription]:
    """Subscriptions that a record fulfils now, in the order in which they were made."""
    check_limit(limit, "subscriptions")
    row = topics.find(tx, topic)
    numbers = match(tx, row, predicates.checked(row.fields, record), limit=limit)
    return subscriptions.among(tx, numbers)


def match(tx: Transaction, topic: topics.Row, record: Record, *, at: int = moments.NOW, limit: int) -> list[int]:
    """The numbers of up to `limit` subscriptions that a checked record fulfils, as they stood at a moment."""
    version, plan = _plans.get(tx.statements, {}).get(topic.id, (0, None))
    while True:
        if plan is None:
            version, plan = _planned(tx, topic)
        [found] = tx.rows("filings/match", topic=topic.id, moment=at, limit=limit, **_asked(plan, record))
        if found[:2] == (version, len(plan.shapes)):
            return _fitting(record, *found[2:])
        plan = None


def _planned(tx: Transaction, topic: topics.Row) -> tuple[int, Plan]:
    row = topics.find(tx, topic.name)
    plan = Plan(row.layout, [shape for (shape,) in tx.rows("shapes/of_topic", topic=row.id)])
    _plans.setdefault(tx.statements, {})[row.id] = row.version, plan
    return row.version, plan


def _asked(plan: Plan, record: Record) -> dict[str, Any]:
    probes = plan.probes(record)
    columns = {f"c{slot}": code for slot, code in enumerate(probes.codes)}
    columns |= {f"n{slot}": number for slot, number in enumerate(probes.numbers)}
    return {"keys": _json(probes.keys), "ranged": _json(probes.ranged), **columns}


def _fitting(record: Record, numbers: str, rest: str) -> list[int]:
    found: list[int] = msgspec.json.decode(numbers)
    if rest == "[]":
        return found
    asked: list[tuple[int, str]] = msgspec.json.decode(rest)
    wrong = {number for number, text in asked if not predicates.fits(msgspec.json.decode(text), record)}
    return [number for number in found if number not in wrong]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
