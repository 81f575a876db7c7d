"""Invariants of a tree, all of them asserted by `check`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from operator import lt
from typing import Any

from rowlock.trees.nodes import Fill, Inner, Leaf


def check(tree: Any) -> None:
    """Raise AssertionError unless the tree is sorted, balanced, well filled and correctly summarized."""
    root = tree._root
    if tree._levels:
        require(isinstance(root, Inner) and len(root) > 1, "the root has more than one child")
    leaves = list(_descend(tree, root, len(tree._levels)))
    sort_keys = [sort_key for leaf in leaves for sort_key in leaf.sort_keys]
    require(all(map(lt, sort_keys, islice(sort_keys, 1, None))), "sort keys ascend over the whole tree")
    require(tree._len == len(sort_keys), "the length is the number of entries")
    _check_front(tree, leaves, sort_keys)


def require(truth: bool, claim: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Raise AssertionError if an invariant is violated, also under `python -O`."""
    if not truth:
        raise AssertionError(f"violated: {claim}")


def _descend(tree: Any, node: Any, depth: int) -> Iterator[Leaf]:
    if node is not tree._root:
        _check_fill(node, tree._inner if depth else tree._leaf)
    if not depth:
        _check_leaf(tree, node)
        yield node
        return
    require(isinstance(node, Inner), "all leaves have one depth")
    _check_inner(tree, node)
    for at, child in enumerate(node.children):
        for leaf in _descend(tree, child, depth - 1):
            require(
                at == 0 or not leaf.sort_keys[0] < node.sort_keys[at - 1], "no sort key is below its left separator"
            )
            require(
                at == len(node.sort_keys) or leaf.sort_keys[-1] < node.sort_keys[at],
                "sort keys are below the next separator",
            )
            yield leaf


def _check_fill(node: Any, fill: Fill) -> None:
    require(fill.min_size <= len(node) <= fill.max_size, f"the size {len(node)} is {fill.min_size} to {fill.max_size}")


def _check_leaf(tree: Any, leaf: Leaf) -> None:
    require(isinstance(leaf, Leaf), "all leaves have one depth")
    require(len(leaf) <= tree._leaf.max_size, "no leaf is too full")
    require((leaf.keys is leaf.sort_keys) == (tree._key is None), "keys and sort keys differ only by a key function")
    require(leaf.sort_keys == [tree._sort_key(key) for key in leaf.keys], "a sort key is what the key function returns")
    require((leaf.vals is not None) == tree._has_values, "a map has values, a set has none")
    require(leaf.vals is None or len(leaf.vals) == len(leaf.keys), "each key has its value")
    _check_summary(tree, leaf)


def _check_inner(tree: Any, node: Inner) -> None:
    require(len(node) <= tree._inner.max_size, "no inner node is too full")
    require(len(node.children) == len(node.sort_keys) + 1, "one separator stands between two children")
    owned = node.owner is tree._token
    require(
        owned or all(child.owner is not tree._token for child in node.children), "the owner of a node owns its parent"
    )
    _check_summary(tree, node)


def _check_summary(tree: Any, node: Any) -> None:
    if node.summary is not None:
        require(tree._summary_is_current(node), "a summary is computed from its node")


def _check_front(tree: Any, leaves: list[Leaf], sort_keys: list[Any]) -> None:
    if tree._hash_table is None:
        return
    require(tree._hash_table.keys() == set(sort_keys), "the hash table has the keys of the tree")
    if tree._has_values:
        pairs = (
            (sort_key, val) for leaf in leaves for sort_key, val in zip(leaf.sort_keys, leaf.vals or [], strict=True)
        )
        require(
            all(tree._hash_table[sort_key] is val for sort_key, val in pairs),
            "the hash table has the values of the tree",
        )
