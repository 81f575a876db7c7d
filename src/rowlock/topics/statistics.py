"""Weighing: from a sample of subscriptions, how frequent terms are and which shapes are worth their look-up. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from rowlock.topics import subscription_index
from rowlock.topics.subscription_index import ColumnLayout, Conjunction, Selectivity

WORTH = 16.0
"""Rows that a shape must spare every record: to look up a key costs a server as much as to look at so many."""
SEEN = 3
"""How often a term must have been seen in a sample to be called frequent."""
MOST_TERMS = 2_000
HALF = 0.5
"""How many of those under a key a range leaves, about."""


class TopicStatistics(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many subscriptions a topic had when somebody last looked, and how many of their rows each frequent term."""

    total: int = 0
    terms: dict[str, int] = {}
    upto: int = 0
    """The last subscription that was there then."""
    parts: dict[str, int] | None = None
    """How many rows have a term of a part; None where nobody has counted yet."""
    worth: list[str] = []
    """Shapes that spare more than they cost."""

    def weights(self, more: dict[int, int], shapes: set[str]) -> Selectivity:
        """These, with what else is known of some terms, for choosing keys."""
        return Selectivity(more, self.total, shapes, self.parts or {}, set(self.worth))


class SubscriptionSample:
    """Rows of a few subscriptions, of which each stands for many."""

    def __init__(self, rows: Sequence[Conjunction], *, scale: float) -> None:
        self._rows = rows
        self._scale = scale
        self._terms = Counter(term for row in rows for term in row.terms.values())
        self._parts = Counter(part for row in rows for part in row.terms)

    def told(self, layout: ColumnLayout, *, total: int, upto: int) -> TopicStatistics:
        """What there is to know of all of them."""
        frequent = {
            str(term): round(count * self._scale)
            for term, count in self._terms.most_common(MOST_TERMS)
            if count >= SEEN
        }
        parts = {part: round(count * self._scale) for part, count in self._parts.items()}
        pairs = _worthy(self._pairs())
        known = TopicStatistics(total, frequent, upto, parts, sorted(pairs))
        weights = known.weights({int(term): count for term, count in frequent.items()}, set(pairs))
        return msgspec.structs.replace(known, worth=sorted(pairs | _worthy(self._ranges(layout, weights))))

    def _share(self, row: Conjunction, part: str) -> float:
        # How many of the others have it: what was seen only once may be as rare as can be.
        return (self._terms[row.terms[part]] - 1) / max(self._parts[part] - 1, 1)

    def _pairs(self) -> Iterable[tuple[str, float]]:
        for row in self._rows:
            shares = sorted((self._share(row, part), part) for part in row.terms)
            if len(shares) > 1:
                (first, one), (second, two) = shares[:2]
                yield "+".join(sorted((one, two))), self._scale * first * (1 - second)

    def _ranges(self, layout: ColumnLayout, weights: Selectivity) -> Iterable[tuple[str, float]]:
        for row in self._rows:
            chosen = subscription_index.rarest(row, weights)
            if row.spans and chosen and subscription_index.crowded(row, chosen, weights=weights):
                cells = subscription_index.spread_out(layout, row.spans)
                spared = self._scale * HALF / len(cells)
                for part in chosen:
                    spared *= self._share(row, part)
                yield "+".join(sorted([*chosen, *cells[0][0]])), spared


def _worthy(spared: Iterable[tuple[str, float]]) -> set[str]:
    gains: dict[str, float] = {}
    for shape, rows in spared:
        gains[shape] = gains.get(shape, 0) + rows
    return {shape for shape, rows in gains.items() if rows > WORTH}
