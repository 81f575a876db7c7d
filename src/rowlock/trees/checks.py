"""Every invariant of a tree, asserted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from operator import lt
from typing import Any

from rowlock.trees.nodes import Inner, Leaf
from rowlock.trees.widths import Fill


def check(tree: Any) -> None:
    """Raise AssertionError unless the tree is in order, evenly deep, well filled and rightly summarised."""
    root = tree._root
    if tree._levels:
        require(isinstance(root, Inner) and len(root) > 1, "the root leads to more than one node")
    leaves = list(_descend(tree, root, len(tree._levels)))
    marks = [mark for leaf in leaves for mark in leaf.marks]
    require(all(map(lt, marks, islice(marks, 1, None))), "marks ascend over the whole tree")
    require(tree._len == len(marks), "the length is the number of entries")
    _check_front(tree, leaves, marks)


def require(truth: bool, claim: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Raise AssertionError where a claim about the tree is not true, also under `python -O`."""
    if not truth:
        raise AssertionError(f"not so: {claim}")


def _descend(tree: Any, node: Any, depth: int) -> Iterator[Leaf]:
    if node is not tree._root:
        _check_fill(node, tree._inner if depth else tree._leaf)
    if not depth:
        _check_leaf(tree, node)
        yield node
        return
    require(isinstance(node, Inner), "all leaves are equally deep")
    _check_inner(tree, node)
    for at, kid in enumerate(node.kids):
        for leaf in _descend(tree, kid, depth - 1):
            require(at == 0 or not leaf.marks[0] < node.marks[at - 1], "no mark is below its left separator")
            require(
                at == len(node.marks) or leaf.marks[-1] < node.marks[at],
                "marks are below the right separator",
            )
            yield leaf


def _check_fill(node: Any, fill: Fill) -> None:
    require(fill.least <= len(node) <= fill.most, f"{len(node)} is from {fill.least} to {fill.most}")


def _check_leaf(tree: Any, leaf: Leaf) -> None:
    require(isinstance(leaf, Leaf), "all leaves are equally deep")
    require(len(leaf) <= tree._leaf.most, "no leaf is too full")
    require((leaf.keys is leaf.marks) == (tree._key is None), "keys and marks differ only by a key function")
    require(leaf.marks == [tree._mark(key) for key in leaf.keys], "a mark is what its key gives")
    require((leaf.vals is not None) == tree._has_values, "a map has values, a set has none")
    require(leaf.vals is None or len(leaf.vals) == len(leaf.keys), "each key has its value")
    _check_summary(tree, leaf)


def _check_inner(tree: Any, node: Inner) -> None:
    require(len(node) <= tree._inner.most, "no inner node is too full")
    require(len(node.kids) == len(node.marks) + 1, "one mark stands between two children")
    owned = node.owner is tree._token
    require(owned or all(kid.owner is not tree._token for kid in node.kids), "who owns a node owns its parent")
    _check_summary(tree, node)


def _check_summary(tree: Any, node: Any) -> None:
    if node.summary is not None:
        require(tree._is_right(node), "a summary is what its node gives")


def _check_front(tree: Any, leaves: list[Leaf], marks: list[Any]) -> None:
    if tree._front is None:
        return
    require(tree._front.keys() == set(marks), "the hash table has the keys of the tree")
    if tree._has_values:
        pairs = ((mark, val) for leaf in leaves for mark, val in zip(leaf.marks, leaf.vals or [], strict=True))
        require(all(tree._front[mark] is val for mark, val in pairs), "the hash table has the values of the tree")
