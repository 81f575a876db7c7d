"""A place among the leaves of a tree, and the way to the leaf before and the leaf after it."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from rowlock.trees.nodes import Inner, Leaf, Node


class Spine:
    """The turns taken from the root down to one leaf.

    Leaves do not know their neighbours: links between them would have to be copied with every
    leaf and so defeat sharing. The turns stand in for them.
    """

    __slots__ = ("_root", "_turns", "leaf")

    def __init__(self, root: Node) -> None:
        self._root = root
        self._turns: list[tuple[list[Any], int]] = []
        self.leaf: Leaf

    def seek(self, mark: Any) -> Leaf:
        """Go to the leaf where a mark is, or would be."""
        turns = self._turns = []
        node: Any = self._root
        while type(node) is Inner:
            at = bisect_right(node.marks, mark)
            turns.append((node.kids, at))
            node = node.kids[at]
        self.leaf = node
        return self.leaf

    def edge(self, *, last: bool) -> Leaf:
        """Go to the first or the last leaf."""
        self._turns = []
        return self._dive(self._root, last=last)

    def step(self, *, back: bool) -> bool:
        """Go to the neighbouring leaf; stay and say False where there is none."""
        by = -1 if back else 1
        for level in reversed(range(len(self._turns))):
            kids, at = self._turns[level]
            if 0 <= at + by < len(kids):
                self._turns[level:] = [(kids, at + by)]
                self._dive(kids[at + by], last=back)
                return True
        return False

    def rest(self, *, back: bool) -> list[Leaf]:
        """Go past the next leaf and those that follow it under the same node; return them all."""
        if not self.step(back=back):
            return []
        kids, at = self._turns[-1]
        self._turns[-1] = (kids, 0 if back else len(kids) - 1)
        return kids[at::-1] if back else kids[at:]

    def _dive(self, node: Any, *, last: bool) -> Leaf:
        while type(node) is Inner:
            at = len(node.kids) - 1 if last else 0
            self._turns.append((node.kids, at))
            node = node.kids[at]
        self.leaf = node
        return self.leaf
