"""Bulk loading: sort many entries and build a whole tree of them without searching."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from operator import lt, ne
from typing import Any, NamedTuple

from rowlock.trees.nodes import Fill, Inner, Leaf, Node, node_slices


class Columns(NamedTuple):
    """Entries as parallel lists; `sort_keys` and `keys` are one list where there is no key function."""

    sort_keys: list[Any]
    keys: list[Any]
    vals: list[Any] | None

    def pick(self, rows: list[int]) -> Columns:
        """Return the columns of these rows, in this order."""
        sort_keys = list(map(self.sort_keys.__getitem__, rows))
        keys = sort_keys if self.keys is self.sort_keys else list(map(self.keys.__getitem__, rows))
        return Columns(sort_keys, keys, None if self.vals is None else list(map(self.vals.__getitem__, rows)))


def check_orderable(sort_key: Any) -> None:
    """Raise TypeError or ValueError for a sort key that has no order."""
    if ne(sort_key, sort_key):
        raise ValueError(f"keys must be ordered, got {sort_key!r}, which does not equal itself")
    lt(sort_key, sort_key)


def sort_distinct(columns: Columns, in_order: Callable[[Columns], Columns]) -> Columns:
    """Sort entries strictly; of several with one sort key, keep the first key and the last value."""
    if columns.sort_keys:
        check_orderable(columns.sort_keys[0])
    if not _ascending(columns.sort_keys):
        columns = in_order(columns)
        if not _ascending(columns.sort_keys):
            columns = _distinct(columns)
    return columns


def build_tree(columns: Columns, fills: tuple[Fill, Fill], *, owner: object) -> tuple[Node, int]:
    """Build a tree of sorted entries; return its root and the number of inner levels."""
    leaf_fill, inner_fill = fills
    nodes: list[Any] = _leaves(columns, leaf_fill, owner)
    sort_keys = [leaf.sort_keys[0] for leaf in nodes[1:]]
    levels = 0
    while len(nodes) > 1:
        cuts = node_slices(len(nodes), inner_fill)
        nodes = [Inner(owner, sort_keys[cut.start : cut.stop - 1], nodes[cut]) for cut in cuts]
        sort_keys = [sort_keys[cut.start - 1] for cut in cuts[1:]]
        levels += 1
    return nodes[0], levels


def _leaves(columns: Columns, fill: Fill, owner: object) -> list[Leaf]:
    whole = Leaf(owner, *columns)
    return [_part(whole, cut) for cut in node_slices(len(columns.sort_keys), fill)]


def _part(whole: Leaf, cut: slice) -> Leaf:
    sort_keys = whole.sort_keys[cut]
    keys = sort_keys if whole.keys is whole.sort_keys else whole.keys[cut]
    return Leaf(whole.owner, sort_keys, keys, None if whole.vals is None else whole.vals[cut])


def _ascending(sort_keys: list[Any]) -> bool:
    return all(map(lt, sort_keys, islice(sort_keys, 1, None)))


def sort_by_sort_key(columns: Columns) -> Columns:
    """Sort entries by sort key; the sort is stable."""
    sort_keys, keys, vals = columns
    if keys is not sort_keys:
        return columns.pick(sorted(range(len(sort_keys)), key=sort_keys.__getitem__))
    if vals is None:
        ordered = sorted(sort_keys)
        return Columns(ordered, ordered, None)
    try:
        return _by_hash(dict(zip(sort_keys, vals, strict=True)))
    except TypeError:  # unhashable: sort row numbers instead
        return columns.pick(sorted(range(len(sort_keys)), key=sort_keys.__getitem__))


def _by_hash(entries: dict[Any, Any]) -> Columns:
    """Sort the keys alone, which is fastest, and look up their values."""
    sort_keys = sorted(entries)
    return Columns(sort_keys, sort_keys, list(map(entries.__getitem__, sort_keys)))


def _distinct(columns: Columns) -> Columns:
    sort_keys, _, vals = columns
    rows = [0]
    for row in range(1, len(sort_keys)):
        if sort_keys[rows[-1]] < sort_keys[row]:
            rows.append(row)
        elif sort_keys[rows[-1]] != sort_keys[row]:
            raise ValueError(f"keys must be ordered, got {sort_keys[rows[-1]]!r} and {sort_keys[row]!r}")
        elif vals is not None:
            vals[rows[-1]] = vals[row]
    return columns.pick(rows)
