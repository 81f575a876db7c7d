"""Many entries at once: put them in order, and build a whole tree of them without searching."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from operator import lt, ne
from typing import Any, NamedTuple

from rowlock.trees.nodes import Inner, Leaf, Node
from rowlock.trees.widths import Fill, portions


class Columns(NamedTuple):
    """Entries as parallel lists; `marks` and `keys` are one list where there is no key function."""

    marks: list[Any]
    keys: list[Any]
    vals: list[Any] | None

    def pick(self, rows: list[int]) -> Columns:
        """The same columns with these rows, in this order."""
        marks = list(map(self.marks.__getitem__, rows))
        keys = marks if self.keys is self.marks else list(map(self.keys.__getitem__, rows))
        return Columns(marks, keys, None if self.vals is None else list(map(self.vals.__getitem__, rows)))


def admit(mark: Any) -> None:
    """Raise TypeError or ValueError for a mark that cannot be put in any order."""
    if ne(mark, mark):
        raise ValueError(f"{mark!r} does not equal itself and has no place in an order")
    lt(mark, mark)


def arrange(columns: Columns, in_order: Callable[[Columns], Columns]) -> Columns:
    """Put entries in strict order; of several with one mark, the first key and the last value stay."""
    if columns.marks:
        admit(columns.marks[0])
    if not _ascending(columns.marks):
        columns = in_order(columns)
        if not _ascending(columns.marks):
            columns = _distinct(columns)
    return columns


def build(columns: Columns, fills: tuple[Fill, Fill], *, owner: object) -> tuple[Node, int]:
    """Build a tree of arranged entries; return its root and the number of inner levels."""
    leaf_fill, inner_fill = fills
    nodes: list[Any] = _leaves(columns, leaf_fill, owner)
    marks = [leaf.marks[0] for leaf in nodes[1:]]
    levels = 0
    while len(nodes) > 1:
        cuts = portions(len(nodes), inner_fill)
        nodes = [Inner(owner, marks[cut.start : cut.stop - 1], nodes[cut]) for cut in cuts]
        marks = [marks[cut.start - 1] for cut in cuts[1:]]
        levels += 1
    return nodes[0], levels


def _leaves(columns: Columns, fill: Fill, owner: object) -> list[Leaf]:
    whole = Leaf(owner, *columns)
    return [_part(whole, cut) for cut in portions(len(columns.marks), fill)]


def _part(whole: Leaf, cut: slice) -> Leaf:
    marks = whole.marks[cut]
    keys = marks if whole.keys is whole.marks else whole.keys[cut]
    return Leaf(whole.owner, marks, keys, None if whole.vals is None else whole.vals[cut])


def _ascending(marks: list[Any]) -> bool:
    return all(map(lt, marks, islice(marks, 1, None)))


def by_mark(columns: Columns) -> Columns:
    """Sort entries by mark, in a stable way."""
    marks, keys, vals = columns
    if keys is not marks:
        return columns.pick(sorted(range(len(marks)), key=marks.__getitem__))
    if vals is None:
        ordered = sorted(marks)
        return Columns(ordered, ordered, None)
    try:
        return _by_hash(dict(zip(marks, vals, strict=True)))
    except TypeError:  # unhashable: the long way
        return columns.pick(sorted(range(len(marks)), key=marks.__getitem__))


def _by_hash(entries: dict[Any, Any]) -> Columns:
    """Sort the bare keys, which is quickest, and look up their values."""
    marks = sorted(entries)
    return Columns(marks, marks, list(map(entries.__getitem__, marks)))


def _distinct(columns: Columns) -> Columns:
    marks, _, vals = columns
    rows = [0]
    for row in range(1, len(marks)):
        if marks[rows[-1]] < marks[row]:
            rows.append(row)
        elif marks[rows[-1]] != marks[row]:
            raise ValueError(f"{marks[rows[-1]]!r} and {marks[row]!r} are neither equal nor in any order")
        elif vals is not None:
            vals[rows[-1]] = vals[row]
    return columns.pick(rows)
