"""How full nodes may be, and how many things become nodes when a tree is built at once."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

LEAF = 512
INNER = 4096
"""Inner nodes are wide: a level less is a quarter less time, and after a clone each is copied once."""
SUMMED = 128
"""Those with summaries are narrow: a summary is made of all children."""
NARROWEST = 2


class Fill(NamedTuple):
    """Bounds of a node's size: entries in a leaf, children in an inner node."""

    least: int
    most: int

    @property
    def merged(self) -> int:
        """The size up to which two neighbours become one; beyond it they share evenly.

        A quarter stays free, so that a merge is not followed by a split at once.
        """
        return max(self.most * 3 // 4, 2 * self.least - 1)


def leaf_fill(width: int) -> Fill:
    """Bounds of a leaf of at most `width` entries."""
    return Fill(max(1, refuse_narrow(width) // 4), width)


def inner_fill(width: int) -> Fill:
    """Bounds of an inner node of at most `width` separating marks, hence `width + 1` children."""
    return Fill(max(2, (refuse_narrow(width) + 1) // 4), width + 1)


def refuse_narrow(width: int) -> int:
    """Return the width, or raise ValueError where a node could not be split in two."""
    if width < NARROWEST:
        raise ValueError(f"a node is at least {NARROWEST} wide, not {width}")
    return width


def shares(total: int, parts: int) -> list[slice]:
    """Cut `total` things into `parts` runs whose sizes differ by at most one."""
    cuts = [total * part // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(cuts)]


def portions(total: int, fill: Fill) -> list[slice]:
    """Cut `total` things into runs that fill nodes to three quarters, none below the least."""
    parts = -(-total // max(1, fill.most * 3 // 4))
    return shares(total, max(1, min(parts, total // fill.least)))
