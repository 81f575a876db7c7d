"""Statistics of a topic: from a sample, how frequent terms are and which signatures are worth their look-up. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from rowlock.topics.subscription_index import Conjunction, Selectivity, is_crowded, most_selective, range_terms
from rowlock.topics.terms import (
    FieldLayout,
    Signature,
    TermSpec,
    decode_signature,
    decode_spec,
    encode_signature,
    encode_spec,
    signature_of,
)

MIN_ROWS_SAVED = 16.0
"""Entries that a signature must spare every record: a look-up of a key costs a server as much as reading so many."""
MIN_OCCURRENCES = 3
"""How often a term must occur in a sample to be called frequent."""
MAX_TERMS = 2_000
RANGE_SHARE = 0.5
"""The share of the entries under a key that are left, about, when a range narrows it."""


class TopicStatistics(msgspec.Struct, frozen=True, omit_defaults=True):
    """Statistics as they are stored with a topic. Terms, specs and signatures are written as text here."""

    total: int = 0
    terms: dict[str, int] = {}
    """Conjunctions with each frequent term."""
    upto: int = 0
    """The last subscription at the time of the sample."""
    parts: dict[str, int] | None = None
    """Conjunctions with a term of each spec; None in statistics of versions that did not count them."""
    worth: list[str] = []
    """Signatures that save more than they cost."""

    def rows(self, term: int) -> int:
        """Return how many conjunctions had a term, 0 if it was not frequent."""
        return self.terms.get(str(term), 0)

    def selectivity(self, rows_per_term: dict[int, int], signatures: Iterable[Signature]) -> Selectivity:
        """Return the estimates by which keys are chosen, with the given counts and signatures in use."""
        return Selectivity(
            rows_per_term,
            self.total,
            set(signatures),
            {decode_spec(text): count for text, count in (self.parts or {}).items()},
            set(map(decode_signature, self.worth)),
        )


class SubscriptionSample:
    """Conjunctions of a few subscriptions, each of which stands for `scale` others."""

    def __init__(self, conjunctions: Sequence[Conjunction], *, scale: float) -> None:
        self._conjunctions = conjunctions
        self._scale = scale
        self._terms = Counter(term for each in conjunctions for term in each.terms.values())
        self._specs = Counter(spec for each in conjunctions for spec in each.terms)

    def statistics(self, layout: FieldLayout, *, total: int, upto: int) -> TopicStatistics:
        """Estimate the statistics of all subscriptions."""
        frequent = {
            term: round(count * self._scale)
            for term, count in self._terms.most_common(MAX_TERMS)
            if count >= MIN_OCCURRENCES
        }
        specs = {spec: round(count * self._scale) for spec, count in self._specs.items()}
        pairs = _worthwhile(self._rows_saved_by_pairs())
        selectivity = Selectivity(frequent, total, set(pairs), specs, pairs)
        ranges = _worthwhile(self._rows_saved_by_ranges(layout, selectivity))
        return _stored(frequent, specs, pairs | ranges, total=total, upto=upto)

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
            chosen = most_selective(each, selectivity)
            if each.ranges and chosen and is_crowded(each, chosen, selectivity=selectivity):
                spanning = range_terms(layout, each.ranges)
                saved = self._scale * RANGE_SHARE / len(spanning)
                for spec in chosen:
                    saved *= self._share(each, spec)
                yield signature_of([*chosen, spanning[0].spec]), saved


def _worthwhile(saved: Iterable[tuple[Signature, float]]) -> set[Signature]:
    rows_saved: dict[Signature, float] = {}
    for signature, rows in saved:
        rows_saved[signature] = rows_saved.get(signature, 0) + rows
    return {signature for signature, rows in rows_saved.items() if rows > MIN_ROWS_SAVED}


def _stored(
    terms: Mapping[int, int], specs: Mapping[TermSpec, int], signatures: Collection[Signature], *, total: int, upto: int
) -> TopicStatistics:
    return TopicStatistics(
        total,
        {str(term): count for term, count in terms.items()},
        upto,
        {encode_spec(spec): count for spec, count in specs.items()},
        sorted(map(encode_signature, signatures)),
    )
