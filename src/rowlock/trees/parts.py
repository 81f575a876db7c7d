"""Cut a set of keys into ranges of equal size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from rowlock.trees.ranked import RankedMap, RankedSet
from rowlock.trees.widths import shares

K = TypeVar("K")


def ranges(keys: RankedMap[K, Any] | RankedSet[K] | Iterable[K], parts: int) -> list[tuple[K | None, K]]:
    """Cut keys into (low, high] ranges whose sizes differ by at most one. O(parts * log n) when ranked.

    The ranges are disjoint and hold all keys; the first has no lower limit: None. Where there are
    fewer keys than parts there is one range for each key. Keys that are not ranked are sorted first.
    """
    if parts < 1:
        raise ValueError(f"keys are cut into at least one part, not {parts}")
    ranked: Any = keys if isinstance(keys, RankedMap | RankedSet) else RankedSet(keys)
    if not ranked:
        return []
    cuts = shares(len(ranked), min(parts, len(ranked)))
    highs = [ranked.nth(cut.stop - 1) for cut in cuts]
    return list(zip([None, *highs[:-1]], highs, strict=True))
