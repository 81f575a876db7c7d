"""Trees that keep a summary of every node: a count, a maximum, a sum, whatever two pure functions give.

Summaries are made when asked for and kept with the node. A write drops those on its way from the
root to the leaf, and only those, so asking again costs O(log n). Plain trees know nothing of this.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, TypeVar

from rowlock.trees.core import MISSING, Tree
from rowlock.trees.maps import SortedMap
from rowlock.trees.nodes import Leaf
from rowlock.trees.sets import SortedSet
from rowlock.trees.shapes import Trail, Way
from rowlock.trees.widths import SUMMED

K = TypeVar("K")
V = TypeVar("V")


class Augmented(Tree[K, V]):
    """A tree with summaries: a subclass says what a leaf's is, and what its children's make."""

    __slots__ = ()

    _broad = SUMMED

    @staticmethod
    def of_leaf(keys: list[Any], vals: list[Any] | None) -> Any:
        """Summarise the entries of a leaf; never None. A pure function."""
        raise NotImplementedError

    @staticmethod
    def of_inner(summaries: list[Any]) -> Any:
        """Summarise the summaries of a node's children; never None. A pure function."""
        raise NotImplementedError

    def summary(self) -> Any:
        """Return the summary of the whole tree. O(log n) after a write, O(1) again."""
        return self._summary(self._root)

    def _summary(self, node: Any) -> Any:
        if node.summary is None:
            node.summary = self._summarise(node)
        return node.summary

    def _summarise(self, node: Any) -> Any:
        if type(node) is Leaf:
            return self.of_leaf(node.keys, node.vals)
        return self.of_inner([self._summary(kid) for kid in node.kids])

    def _is_right(self, node: Any) -> bool:
        return bool(node.summary == self._summarise(node))

    def _changed(self, trail: Trail, leaf: Leaf, mark: Any, by: int) -> None:  # noqa: ARG002 - for others
        leaf.summary = None
        for node, _ in trail:
            node.summary = None

    # As in the plain tree, but with a trail.

    def _put(self, key: K, value: V) -> None:
        if self._front is not None:
            return self._put_aside(key, value)
        mark = key if self._key is None else self._key(key)
        trail, node = self._way(mark)
        if node.owner is not self._token:
            return self._put_in(mark, key, value)
        marks = node.marks
        size = len(marks)
        at = bisect_left(marks, mark)
        if not at or size >= self._leaf_most or self._readers or (at < size and marks[at] == mark):
            return self._put_in(mark, key, value)
        marks.insert(at, mark)
        if node.keys is not marks:
            node.keys.insert(at, key)
        if node.vals is not None:
            node.vals.insert(at, value)
        self._len += 1
        return self._changed(trail, node, mark, 1)

    def _take(self, key: K, default: Any = MISSING) -> Any:
        if self._front is not None:
            return self._take_aside(key, default)
        mark = key if self._key is None else self._key(key)
        trail, node = self._way(mark)
        marks = node.marks
        size = len(marks)
        at = bisect_left(marks, mark)
        if at == size or marks[at] != mark:
            return self._absent(key, default)
        if size <= self._leaf_least or node.owner is not self._token or self._readers:
            return self._take_out(mark, key, default)
        value = node.remove(at)
        self._len -= 1
        self._changed(trail, node, mark, -1)
        return value

    def _way(self, mark: Any) -> Way:
        # As `shapes.path`, and owns nothing: whose leaf is the tree's own needs no more.
        node = self._root
        trail: Trail = []
        for _ in self._levels:
            at = bisect_right(node.marks, mark)
            trail.append((node, at))
            node = node.kids[at]
        return trail, node


class Patched(Augmented[K, V]):
    """An augmented tree that does not drop the summaries a write passes by, but patches them.

    They are patched in place, so a node that is copied takes a copy of its summary along.
    """

    __slots__ = ()

    def _own(self, node: Any) -> Any:
        fresh = super()._own(node)
        if node.summary is not None:
            fresh.summary = node.summary.copy()
        return fresh


class AugmentedMap(Augmented[K, V], SortedMap[K, V]):
    """A sorted map with summaries; a subclass gives `of_leaf` and `of_inner`."""

    __slots__ = ()

    __setitem__ = Augmented._put
    __delitem__ = Augmented._take


class AugmentedSet(Augmented[K, None], SortedSet[K]):
    """A sorted set with summaries; a subclass gives `of_leaf` and `of_inner`."""

    __slots__ = ()
