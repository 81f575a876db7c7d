"""Matching: which subscriptions a record fulfils, by the index in the database. Functions that take a transaction.

A record looks under the keys that its *probes* name, and checks the entries there by its values.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from rowlock import topics
from rowlock.db import Tx
from rowlock.db.statements import Statements
from rowlock.model import Subscription
from rowlock.names import check_limit
from rowlock.topics import commit_order, predicates, subscriptions
from rowlock.topics.subscription_index import RECHECK_BIT, sort_value
from rowlock.topics.terms import (
    EQUALITY_COLUMNS,
    HIGHEST,
    LOWEST,
    ORDERED_KINDS,
    RANGE_COLUMNS,
    FieldLayout,
    Signature,
    TermKind,
    TermSpec,
    to_int64,
)

Record = Mapping[str, Any]
PlanVersion = tuple[int, int]
"""What a plan was made from: the version of a topic, and the number of its signatures."""

# Plans are hints: the statement that uses one also returns the version by which it is checked.
_plans: "WeakKeyDictionary[Statements, dict[int, tuple[PlanVersion, ProbePlan]]]" = WeakKeyDictionary()


class Probes(msgspec.Struct, frozen=True):
    """What a record looks for: keys, keys with bounds of their order, and its values by column."""

    keys: list[int]
    ranged: list[tuple[int, int, int]]
    """Key, lowest and highest sort value."""
    equality_values: list[int | None]
    range_values: list[int | None]


class _OrderedKey(NamedTuple):
    """How to compute a key whose entries are ordered by a bound."""

    field: str
    kind: TermKind
    positions: list[int]


class ProbePlan:
    """How records of a topic look for subscriptions, by its fields and the signatures in use.

    Terms are computed once for a record. Keys are sums of terms, which a plan knows by their positions; keys of one and
    of two terms are nearly all there are, and have code of their own because every record computes them.
    """

    def __init__(self, layout: FieldLayout, signatures: Iterable[Signature]) -> None:
        self.layout = layout
        used = set(signatures)
        specs = _specs_to_compute(layout, used)
        positions = {spec: position for position, spec in enumerate(specs)}
        self._extractors = [(layout.names[spec.field], layout.extractor(spec)) for spec in specs]
        self._match_all = [layout.match_all_key] if () in used else []
        self._ordered = [
            _OrderedKey(layout.names[spec.field], spec.kind, [positions[each] for each in signature])
            for signature in sorted(used)
            if (spec := _ordering_spec(signature)) is not None
        ]
        plain = [[positions[spec] for spec in each] for each in sorted(used) if each and _ordering_spec(each) is None]
        self._singles = [each[0] for each in plain if len(each) == 1]
        self._pairs = [(each[0], each[1]) for each in plain if len(each) == 2]
        self._longer = [each for each in plain if len(each) > 2]

    def probes(self, record: Record) -> Probes:
        """Return where the subscriptions are that a checked record may fulfil."""
        layout = self.layout
        terms = [extract(record[name]) if name in record else None for name, extract in self._extractors]
        keys = [term for position in self._singles if (term := terms[position]) is not None]
        for first, second in self._pairs:
            one, two = terms[first], terms[second]
            if one is not None and two is not None:
                keys.append((one + two + 2**63) % 2**64 - 2**63)
        keys += [key for positions in self._longer if (key := _sum(terms, positions)) is not None]
        numbers = [layout.ordinal(name, record[name]) if name in record else None for name in layout.range_columns]
        return Probes(
            keys + self._match_all,
            self._ranged(terms, record),
            terms[: len(layout.equality_columns)] + [None] * (EQUALITY_COLUMNS - len(layout.equality_columns)),
            numbers + [None] * (RANGE_COLUMNS - len(numbers)),
        )

    def _ranged(self, terms: Sequence[int | None], record: Record) -> list[tuple[int, int, int]]:
        found = []
        for field, kind, positions in self._ordered:
            key = _sum(terms, positions)
            if key is not None:
                value = sort_value(self.layout.ordinal(field, record[field]))
                found.append((key, LOWEST, value) if kind == TermKind.AT_LEAST else (key, value, HIGHEST))
        return found


def _specs_to_compute(layout: FieldLayout, signatures: Iterable[Signature]) -> list[TermSpec]:
    # Equality terms come first, in the order of their columns: they are also what the columns are compared with.
    equality = [layout.equality[name] for name in layout.equality_columns]
    return [*equality, *sorted({spec for signature in signatures for spec in signature} - set(equality))]


def _ordering_spec(signature: Signature) -> TermSpec | None:
    return next((spec for spec in signature if spec.kind in ORDERED_KINDS), None)


def _sum(terms: Sequence[int | None], positions: Iterable[int]) -> int | None:
    total = 0
    for position in positions:
        term = terms[position]
        if term is None:
            return None
        total += term
    return to_int64(total)


def matches(tx: Tx, topic: str, record: Record, *, limit: int = 1000) -> list[Subscription]:
    """Return the subscriptions that a record fulfils now, in the order of their numbers."""
    check_limit(limit, "subscriptions")
    row = topics.find(tx, topic)
    numbers, _ = match(tx, row, predicates.checked(row.fields, record), limit=limit)
    return subscriptions.by_ids(tx, numbers)


def match(
    tx: Tx, topic: topics.TopicRow, record: Record, *, at: int = commit_order.NOW, limit: int
) -> tuple[list[int], bool]:
    """Return the numbers of the subscriptions that a checked record fulfils, as of a place in the commit order.

    Reads at most `limit` entries of the index. The second value says whether the limit was reached.
    """
    known = _plans.get(tx.statements, {}).get(topic.id)
    while True:
        version, plan = known or _read_plan(tx, topic)
        probes = _parameters(plan.probes(record))
        [row] = tx.rows("subscription_index/match", topic=topic.id, seq=at, limit=limit, **probes)
        *current, numbers, to_recheck = row
        if tuple(current) == version:
            found = msgspec.json.decode(numbers)
            wrong = set() if to_recheck == "[]" else _unfulfilled(record, msgspec.json.decode(to_recheck))
            return [number for number in found if number not in wrong] if wrong else found, len(found) == limit
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
    tx: Tx, topic: topics.TopicRow, record: Record, *, at: int, cursor: MatchCursor | None, limit: int
) -> tuple[list[int], MatchCursor | None]:
    """Return up to `limit` subscriptions that a record fulfils, and the cursor of the next page, None after the last.

    One statement finds them if there are few. Only if the limit is reached, keys are read one by one, in pages.
    """
    if cursor is None:
        numbers, cut = match(tx, topic, record, at=at, limit=limit + 1)
        if not cut:
            return numbers, None
        probes = _read_plan(tx, topic)[1].probes(record)
        cursor = MatchCursor([*((key, 0, 0) for key in probes.keys), *probes.ranged])
    return _page_of_keys(tx, topic, record, at=at, cursor=cursor, limit=limit)


def _page_of_keys(
    tx: Tx, topic: topics.TopicRow, record: Record, *, at: int, cursor: MatchCursor, limit: int
) -> tuple[list[int], MatchCursor | None]:
    values = _values(ProbePlan(topic.layout, ()).probes(record))
    found: list[int] = []
    left, after = list(cursor.left), cursor.after
    while left and limit > 0:
        key, low, high = left[0]
        place = {"key": key, "low": low, "high": high, **after._asdict()}
        rows = tx.rows("subscription_index/page_of_key", seq=at, limit=limit, values=values, **place)
        to_recheck = [number for _, number, _, checks in rows if checks & RECHECK_BIT]
        known = subscriptions.predicates_by_id(tx, to_recheck) if to_recheck else {}
        wrong = _unfulfilled(record, ((number, known.get(number)) for number in to_recheck))
        found += [number for _, number, _, _ in rows if number not in wrong]
        limit -= len(rows)
        if limit > 0:
            left, after = left[1:], BEFORE_FIRST
        else:
            after = EntryPosition(*rows[-1][:3])
    return found, MatchCursor(left, after) if left else None


def _unfulfilled(record: Record, subscribed: Iterable[tuple[int, predicates.Predicates | None]]) -> set[int]:
    # A subscription without predicates was deleted.
    return {number for number, wanted in subscribed if wanted is None or not predicates.fits(wanted, record)}


def _read_plan(tx: Tx, topic: topics.TopicRow) -> tuple[PlanVersion, ProbePlan]:
    row = topics.find(tx, topic.name)
    signatures = subscriptions.signatures(tx, row.id)
    found = (row.version, len(signatures)), ProbePlan(row.layout, signatures)
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


def _json(value: Any) -> str:
    # Without the hook for subclasses of str that `encode_json` has: these are numbers, and every match pays for it.
    return msgspec.json.encode(value).decode()
