"""Subscription index: the entries under which a record finds subscriptions. Pure functions, no database access.

The predicates of a subscription become *conjunctions*, of which a record fulfils one or none. A conjunction is stored
under the sum of its one or two most selective terms, its *key*. A record computes its keys for all signatures in use
and looks nowhere else (see `probes`). What a key does not say is checked in the columns of the entry: a hash for each
field with equality, a lower and an upper bound for each field with an order. The rest is rechecked in Python.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations, product
from math import prod
from typing import Any, NamedTuple

import msgspec

from rowlock.topics.predicates import Predicates
from rowlock.topics.terms import (
    EQUALITY_COLUMNS,
    HIGHEST,
    RANGE_COLUMNS,
    FieldLayout,
    Signature,
    TermKind,
    TermSpec,
    cell_of,
    decode_signature,
    decode_spec,
    signature_of,
    to_int64,
)

MAX_CONJUNCTIONS = 32
"""Conjunctions that one-of predicates may multiply a subscription into; wider ones are rechecked instead."""
PREFIX_LENGTHS = (64, 48, 32, 24, 16, 12, 8, 6, 5, 4, 3, 2, 1)
"""Lengths of prefixes that there are terms for."""
MAX_ROWS_PER_KEY = 1024
"""Above this estimate a key is narrowed by a range."""
RECHECK_COST = 8
"""Cost of an entry that is rechecked in Python, relative to one that its columns decide."""
MAX_SIGNATURES = 256
"""Signatures of a topic: each one is another look-up for every record."""
RECHECK_BIT = 1
"""The bit of `checks` that says that the columns do not decide."""
COLUMN_BITS = {f"c{column}": 2 << column // 4 for column in range(EQUALITY_COLUMNS)}
COLUMN_BITS |= {f"{end}{column}": 16 << column // 3 for end in "lh" for column in range(RANGE_COLUMNS)}
"""The bit of `checks` that says that a group of columns holds anything: most hold nothing, and are skipped."""


class FieldRange(NamedTuple):
    """Lower and upper bound of a field, as ordinals, both included; None for no bound."""

    low: int | None
    high: int | None


class Conjunction(msgspec.Struct):
    """Conditions that must all hold: one of the ways in which a record can fulfil a subscription."""

    terms: dict[TermSpec, int] = {}
    """The terms that a key can be made of."""
    equality_columns: dict[TermSpec, dict[str, int]] = {}
    """Columns that check equality, by the term that makes them needless if it is part of the key."""
    range_columns: dict[str, int] = {}
    ranges: dict[int, FieldRange] = {}
    """Ranges by the number of their field."""
    only_by_key: set[TermSpec] = set()
    """Terms that no column checks: unless they are part of the key, the entry must be rechecked."""
    always_recheck: bool = False
    """Whether there is a condition that neither a key nor a column expresses."""

    def needs_recheck(self, specs: Collection[TermSpec]) -> bool:
        """Return whether an entry under a key of these terms must be rechecked in Python."""
        return self.always_recheck or not self.only_by_key.issubset(specs)


class IndexEntry(msgspec.Struct, frozen=True):
    """A conjunction under one key."""

    signature: Signature
    key: int
    sort: int
    """Place among the entries under the key, for keys that are ordered by a bound; otherwise 0."""
    columns: dict[str, int]
    """What is stored beside the key: `checks`, equality hashes, lower and upper bounds."""


def conjunctions(layout: FieldLayout, predicates: Predicates) -> list[Conjunction]:
    """Return the conjunctions of canonical predicates; a record fulfils one of them or none."""
    choices = {name: each["in"] for name, each in predicates.items() if isinstance(each, dict) and "in" in each}
    has_term = any(not isinstance(each, dict) or "prefix" in each for each in predicates.values())
    multiplied = _choices_to_multiply(choices, needs_one=not has_term)
    found = []
    for values in product(*multiplied.values()):
        conjunction = Conjunction()
        for name, predicate in {**predicates, **dict(zip(multiplied, values, strict=True))}.items():
            _add_condition(layout, conjunction, name, predicate)
        found.append(conjunction)
    return found


def _choices_to_multiply(choices: Mapping[str, Sequence[Any]], *, needs_one: bool) -> dict[str, Sequence[Any]]:
    chosen: dict[str, Sequence[Any]] = {}
    count = 1
    for name, values in sorted(choices.items(), key=lambda each: len(each[1])):
        # Without any other term the narrowest choice gives the terms, however wide it is.
        if count * len(values) <= MAX_CONJUNCTIONS or (needs_one and not chosen):
            chosen[name] = values
            count *= len(values)
    return chosen


def _add_condition(layout: FieldLayout, conjunction: Conjunction, name: str, predicate: Any) -> None:
    match predicate:
        case {"in": _}:
            conjunction.always_recheck = True
        case {"prefix": prefix}:
            _add_prefix(layout, conjunction, name, prefix)
        case dict():
            _add_range(layout, conjunction, name, predicate)
        case _:
            _add_equality(layout, conjunction, name, predicate)


def _add_prefix(layout: FieldLayout, conjunction: Conjunction, name: str, prefix: str) -> None:
    length = next(length for length in PREFIX_LENGTHS if length <= len(prefix))
    spec = TermSpec(layout.numbers[name], TermKind.PREFIX, length)
    conjunction.terms[spec] = layout.term(spec, prefix[:length])
    if length == len(prefix):
        conjunction.only_by_key.add(spec)
    else:
        conjunction.always_recheck = True


def _add_equality(layout: FieldLayout, conjunction: Conjunction, name: str, value: Any) -> None:
    spec, term = layout.equality[name], layout.equality_term(name, value)
    conjunction.terms[spec] = term
    if name in layout.equality_columns:
        conjunction.equality_columns[spec] = {f"c{layout.equality_columns[name]}": term}
    elif name in layout.range_columns:
        ordinal, column = layout.ordinal(name, value), layout.range_columns[name]
        conjunction.equality_columns[spec] = {f"l{column}": ordinal, f"h{column}": ordinal}
    else:
        conjunction.only_by_key.add(spec)


def _add_range(layout: FieldLayout, conjunction: Conjunction, name: str, bounds: Mapping[str, Any]) -> None:
    ordinals = {bound: layout.ordinal(name, value) for bound, value in bounds.items()}
    low = ordinals["above"] + 1 if "above" in ordinals else ordinals.get("from")
    high = ordinals["below"] - 1 if "below" in ordinals else ordinals.get("to")
    conjunction.ranges[layout.numbers[name]] = FieldRange(low, high)
    column = layout.range_columns.get(name)
    if column is None:
        conjunction.always_recheck = True
    else:
        columns = {f"l{column}": low, f"h{column}": high}
        conjunction.range_columns |= {end: bound for end, bound in columns.items() if bound is not None}


class Selectivity(msgspec.Struct):
    """Estimates by which keys are chosen: how many conjunctions have a term, and which signatures are allowed."""

    rows_per_term: dict[int, int] = {}
    total: int = 0
    signatures: set[Signature] = set()
    """Signatures in use: every record looks under them already."""
    rows_per_spec: dict[TermSpec, int] = {}
    """How many conjunctions have a term of a spec at all."""
    worthwhile: set[Signature] = set()
    """Signatures that save more than the look-up that each of them costs every record."""

    def share(self, spec: TermSpec, term: int) -> float:
        """Estimate the share of records that have a term, as if records were distributed like subscriptions."""
        return self.rows_per_term.get(term, 0) / max(self.rows_per_spec.get(spec, self.total), 1)

    def joint_rows(self, terms: Iterable[int]) -> float:
        """Estimate how many conjunctions have all of the terms, as if terms were independent."""
        total = max(self.total, 1)
        return total * prod(self.rows_per_term.get(term, 0) / total for term in terms)

    def allows(self, signature: Signature) -> bool:
        """Return whether a key may have a signature: each new one is another look-up for every record."""
        return signature in self.signatures or (signature in self.worthwhile and len(self.signatures) < MAX_SIGNATURES)


class TopicStatistics(msgspec.Struct, frozen=True, omit_defaults=True):
    """Selectivity as it was estimated from a sample and stored. Terms, specs and signatures are text here."""

    total: int = 0
    terms: dict[str, int] = {}
    """Conjunctions with each frequent term."""
    upto: int = 0
    """The last subscription at the time of the sample."""
    parts: dict[str, int] | None = None
    """Conjunctions with a term of each spec; None in statistics of versions that did not count them."""
    worth: list[str] = []
    """Signatures that save more than they cost."""

    def selectivity(self, counted: Mapping[int, int], signatures: Iterable[Signature]) -> Selectivity:
        """Return the estimates by which keys are chosen, with rows counted by term and the signatures in use."""
        return Selectivity(
            {term: max(count, self.terms.get(str(term), 0)) for term, count in counted.items()},
            self.total,
            set(signatures),
            {decode_spec(text): count for text, count in (self.parts or {}).items()},
            set(map(decode_signature, self.worth)),
        )


def index_entries(layout: FieldLayout, conjunction: Conjunction, *, selectivity: Selectivity) -> list[IndexEntry]:
    """Return the entry of a conjunction, or two where its key has a range that lies in two cells."""
    chosen = most_selective(conjunction, selectivity)
    terms = {spec: conjunction.terms[spec] for spec in chosen}
    if conjunction.ranges and (not chosen or is_crowded(conjunction, chosen, selectivity=selectivity)):
        spanning = range_terms(layout, conjunction.ranges)
        if not chosen or selectivity.allows(signature_of([*chosen, spanning[0].spec])):
            return [_entry(layout, conjunction, {**terms, each.spec: each.term}, each.sort) for each in spanning]
    return [_entry(layout, conjunction, terms, 0)]


def most_selective(conjunction: Conjunction, selectivity: Selectivity) -> Sequence[TermSpec]:
    """Choose the term that the fewest records have, or two terms where their signature is allowed."""
    if len(conjunction.terms) < 2:
        return list(conjunction.terms)
    shares = {spec: selectivity.share(spec, term) for spec, term in conjunction.terms.items()}
    pairs = [pair for pair in combinations(signature_of(shares), 2) if selectivity.allows(pair)]

    def cost(specs: Signature) -> tuple[float, Signature]:
        per_entry = RECHECK_COST if conjunction.needs_recheck(specs) else 1
        return per_entry * prod(shares[spec] for spec in specs), specs

    return min([*pairs, *((spec,) for spec in shares)], key=cost)


def is_crowded(conjunction: Conjunction, chosen: Iterable[TermSpec], *, selectivity: Selectivity) -> bool:
    """Return whether so many conjunctions share a key that a range should narrow it."""
    return selectivity.joint_rows(conjunction.terms[spec] for spec in chosen) > MAX_ROWS_PER_KEY


class RangeTerm(NamedTuple):
    """A term that a range contributes to a key, and the place among the entries under that key."""

    spec: TermSpec
    term: int
    sort: int = 0


def range_terms(layout: FieldLayout, ranges: Mapping[int, FieldRange]) -> list[RangeTerm]:
    """Return the one or two cells that cover the first bounded range; else a term ordered by the one bound there is."""
    for field, (low, high) in ranges.items():
        if low is not None and high is not None:
            level = ((high - low).bit_length() + 1) // 2
            spec = TermSpec(field, TermKind.CELL, level)
            cells = sorted({cell_of(low, level), cell_of(high, level)})
            return [RangeTerm(spec, layout.term(spec, str(cell))) for cell in cells]
    field, (low, high) = next(iter(ranges.items()))
    kind, bound = (TermKind.AT_LEAST, low) if high is None else (TermKind.AT_MOST, high)
    spec = TermSpec(field, kind)
    return [RangeTerm(spec, layout.term(spec), sort_value(bound or 0))]


def sort_value(ordinal: int) -> int:
    """Map an ordinal to a value in the same order that is never 0: entries without an order stand there."""
    return ordinal + 1 if 0 <= ordinal < HIGHEST else ordinal


def _entry(layout: FieldLayout, conjunction: Conjunction, terms: Mapping[TermSpec, int], sort: int) -> IndexEntry:
    key = to_int64(sum(terms.values())) if terms else layout.match_all_key
    columns = dict(conjunction.range_columns)
    for spec, more in conjunction.equality_columns.items():
        if spec not in terms:
            columns |= more
    checks = RECHECK_BIT if conjunction.needs_recheck(terms) else 0
    for name in columns:
        checks |= COLUMN_BITS[name]
    return IndexEntry(signature_of(terms), key, sort, {"checks": checks, **columns})
