"""Probes: the keys of the subscription index under which a record looks, and the values that entries are checked by."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from rowlock.topics.subscription_index import sort_value
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

    def probes(self, record: Mapping[str, Any]) -> Probes:
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

    def _ranged(self, terms: Sequence[int | None], record: Mapping[str, Any]) -> list[tuple[int, int, int]]:
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
