"""Augmented trees: every node has a summary, such as a count, a maximum or a sum, by two pure functions.

Summaries are computed on demand and cached in the node. A write drops only those on its path from the root to the leaf,
so the next one costs O(log n). Plain trees have none of this.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, TypeVar

from rowlock.trees.maps import SortedMap
from rowlock.trees.nodes import SUMMARIZED_WIDTH, Leaf
from rowlock.trees.paths import Path, PathToLeaf
from rowlock.trees.sets import SortedSet
from rowlock.trees.tree import MISSING, Tree

K = TypeVar("K")
V = TypeVar("V")


class Augmented(Tree[K, V]):
    """A tree with summaries, computed by `of_leaf` and `of_inner` of a subclass."""

    __slots__ = ()

    _default_inner_width = SUMMARIZED_WIDTH

    @staticmethod
    def of_leaf(keys: list[Any], vals: list[Any] | None) -> Any:
        """Return the summary of a leaf's entries, never None. Must be pure."""
        raise NotImplementedError

    @staticmethod
    def of_inner(summaries: list[Any]) -> Any:
        """Return the summary of the summaries of a node's children, never None. Must be pure."""
        raise NotImplementedError

    def summary(self) -> Any:
        """Return the summary of the whole tree. O(log n) after a write, then O(1)."""
        return self._summary(self._root)

    def _summary(self, node: Any) -> Any:
        if node.summary is None:
            node.summary = self._summarise(node)
        return node.summary

    def _summarise(self, node: Any) -> Any:
        if type(node) is Leaf:
            return self.of_leaf(node.keys, node.vals)
        return self.of_inner([self._summary(child) for child in node.children])

    def _summary_is_current(self, node: Any) -> bool:
        return bool(node.summary == self._summarise(node))

    def _entry_changed(self, path: Path, leaf: Leaf, sort_key: Any, by: int) -> None:  # noqa: ARG002 - used by subclasses
        leaf.summary = None
        for node, _ in path:
            node.summary = None

    # As in the plain tree, but with a path.

    def _set(self, key: K, value: V) -> None:
        if self._hash_table is not None:
            return self._set_indirectly(key, value)
        sort_key = key if self._key is None else self._key(key)
        path, node = self._path_to(sort_key)
        if node.owner is not self._token:
            return self._set_by_path(sort_key, key, value)
        sort_keys = node.sort_keys
        size = len(sort_keys)
        at = bisect_left(sort_keys, sort_key)
        if not at or size >= self._leaf_max or self._readers or (at < size and sort_keys[at] == sort_key):
            return self._set_by_path(sort_key, key, value)
        sort_keys.insert(at, sort_key)
        if node.keys is not sort_keys:
            node.keys.insert(at, key)
        if node.vals is not None:
            node.vals.insert(at, value)
        self._len += 1
        return self._entry_changed(path, node, sort_key, 1)

    def _remove(self, key: K, default: Any = MISSING) -> Any:
        if self._hash_table is not None:
            return self._remove_indirectly(key, default)
        sort_key = key if self._key is None else self._key(key)
        path, node = self._path_to(sort_key)
        sort_keys = node.sort_keys
        size = len(sort_keys)
        at = bisect_left(sort_keys, sort_key)
        if at == size or sort_keys[at] != sort_key:
            return self._default_or_raise(key, default)
        if size <= self._leaf_min or node.owner is not self._token or self._readers:
            return self._remove_by_path(sort_key, key, default)
        value = node.remove(at)
        self._len -= 1
        self._entry_changed(path, node, sort_key, -1)
        return value

    def _path_to(self, sort_key: Any) -> PathToLeaf:
        # As `paths.own_path`, but copies nothing: a leaf that the tree owns needs no copies.
        node = self._root
        path: Path = []
        for _ in self._levels:
            at = bisect_right(node.sort_keys, sort_key)
            path.append((node, at))
            node = node.children[at]
        return path, node


class IncrementallyAugmented(Augmented[K, V]):
    """An augmented tree that updates the summaries on the path of a write instead of dropping them.

    They are updated in place, so the copy of a node has a copy of its summary.
    """

    __slots__ = ()

    def _copy_for_writing(self, node: Any) -> Any:
        fresh = super()._copy_for_writing(node)
        if node.summary is not None:
            fresh.summary = node.summary.copy()
        return fresh


class AugmentedMap(Augmented[K, V], SortedMap[K, V]):
    """A sorted map with summaries; a subclass defines `of_leaf` and `of_inner`."""

    __slots__ = ()

    __setitem__ = Augmented._set
    __delitem__ = Augmented._remove


class AugmentedSet(Augmented[K, None], SortedSet[K]):
    """A sorted set with summaries; a subclass defines `of_leaf` and `of_inner`."""

    __slots__ = ()
