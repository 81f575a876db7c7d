"""Nodes of a tree: leaves hold the entries, inner nodes lead to them; and how full each may be."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

LEAF_WIDTH = 512
INNER_WIDTH = 4096
"""Inner nodes are wide: one level less saves a quarter of the time, and after a clone each is copied only once."""
SUMMARIZED_WIDTH = 128
"""Inner nodes with summaries are narrow: a summary is computed from all children."""
MIN_WIDTH = 2


class Fill(NamedTuple):
    """Fill factor of a node: how many entries a leaf, or children an inner node, may have."""

    min_size: int
    max_size: int

    @property
    def merge_limit(self) -> int:
        """The size up to which two siblings are merged; above it they share their contents evenly.

        A quarter stays free, so that a merge is not followed by a split at once.
        """
        return max(self.max_size * 3 // 4, 2 * self.min_size - 1)


def leaf_fill(width: int) -> Fill:
    """Return the fill factor of a leaf with at most `width` entries."""
    return Fill(max(1, check_width(width) // 4), width)


def inner_fill(width: int) -> Fill:
    """Return the fill factor of an inner node with at most `width` separators, hence `width + 1` children."""
    return Fill(max(2, (check_width(width) + 1) // 4), width + 1)


def check_width(width: int) -> int:
    """Return the width, or raise ValueError if a node could not be split in two."""
    if width < MIN_WIDTH:
        raise ValueError(f"node width must be at least {MIN_WIDTH}, got {width}")
    return width


def even_slices(total: int, parts: int) -> list[slice]:
    """Cut `total` positions into `parts` slices whose sizes differ by at most one."""
    cuts = [total * part // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(cuts)]


def node_slices(total: int, fill: Fill) -> list[slice]:
    """Cut `total` positions into slices that fill nodes to three quarters, none below the minimum."""
    parts = -(-total // max(1, fill.max_size * 3 // 4))
    return even_slices(total, max(1, min(parts, total // fill.min_size)))


class Leaf:
    """A sorted run of entries.

    Entries are ordered by `sort_keys`; `keys` are what the user gave. Without a key function both are one list.
    `vals` is None in a set. Only the tree whose token is `owner` may write to the node.
    """

    __slots__ = ("keys", "owner", "sort_keys", "summary", "vals")

    def __init__(self, owner: object, sort_keys: list[Any], keys: list[Any], vals: list[Any] | None) -> None:
        self.owner = owner
        self.summary: Any = None
        self.sort_keys = sort_keys
        self.keys = keys
        self.vals = vals

    def __len__(self) -> int:
        return len(self.sort_keys)

    def copy(self, owner: object) -> Leaf:
        """Copy the node for another owner that is about to write; the summary is not copied."""
        return self._cut(owner, 0)

    def detach_lists(self) -> tuple[list[Any], ...]:
        """Replace the lists by copies and return the old ones, which iterators may be reading."""
        old = tuple(self._columns())
        fresh = self._cut(None, 0)
        self.sort_keys, self.keys, self.vals = fresh.sort_keys, fresh.keys, fresh.vals
        return old

    def insert(self, at: int, entry: tuple[Any, Any, Any]) -> None:
        """Insert (sort key, key, value) at a position."""
        sort_key, key, value = entry
        self.sort_keys.insert(at, sort_key)
        if self.keys is not self.sort_keys:
            self.keys.insert(at, key)
        if self.vals is not None:
            self.vals.insert(at, value)

    def remove(self, at: int) -> Any:
        """Remove the entry at a position and return its value."""
        del self.sort_keys[at]
        if self.keys is not self.sort_keys:
            del self.keys[at]
        return None if self.vals is None else self.vals.pop(at)

    def split(self, owner: object) -> tuple[Any, Leaf]:
        """Move the upper half into a new leaf; return the separator and the new leaf."""
        half = len(self.sort_keys) // 2
        right = self._cut(owner, half)
        for column in self._columns():
            del column[half:]
        return right.sort_keys[0], right

    def append(self, right: Leaf, _separator: Any) -> None:
        """Append all entries of the right sibling, which is not changed."""
        for column, more in zip(self._columns(), right._columns(), strict=True):
            column += more

    def _cut(self, owner: object, start: int) -> Leaf:
        sort_keys = self.sort_keys[start:]
        keys = sort_keys if self.keys is self.sort_keys else self.keys[start:]
        return Leaf(owner, sort_keys, keys, None if self.vals is None else self.vals[start:])

    def _columns(self) -> list[list[Any]]:
        columns = [self.sort_keys] if self.keys is self.sort_keys else [self.sort_keys, self.keys]
        return columns if self.vals is None else [*columns, self.vals]


class Inner:
    """Children, and sort keys that separate them: all under children[i] < sort_keys[i] <= all under children[i + 1]."""

    __slots__ = ("children", "owner", "sort_keys", "summary")

    def __init__(self, owner: object, sort_keys: list[Any], children: list[Any]) -> None:
        self.owner = owner
        self.summary: Any = None
        self.sort_keys = sort_keys
        self.children = children

    def __len__(self) -> int:
        return len(self.children)

    def copy(self, owner: object) -> Inner:
        """Copy the node for another owner that is about to write; the summary is not copied."""
        return Inner(owner, self.sort_keys[:], self.children[:])

    def insert_child(self, at: int, new_child: tuple[Any, Node]) -> None:
        """Insert (separator, node) as the right sibling of the child at a position."""
        separator, node = new_child
        self.sort_keys.insert(at, separator)
        self.children.insert(at + 1, node)

    def split(self, owner: object) -> tuple[Any, Inner]:
        """Move the upper half of the children into a new node; return the separator and the new node."""
        half = len(self.children) // 2
        right = Inner(owner, self.sort_keys[half:], self.children[half:])
        separator = self.sort_keys[half - 1]
        del self.sort_keys[half - 1 :]
        del self.children[half:]
        return separator, right

    def append(self, right: Inner, separator: Any) -> None:
        """Append all children of the right sibling, which is not changed."""
        self.sort_keys.append(separator)
        self.sort_keys += right.sort_keys
        self.children += right.children


Node = Leaf | Inner


def newick(node: Node) -> str:
    """Draw a subtree in the Newick format: keys in parentheses, children with their separators."""
    if isinstance(node, Leaf):
        return f"({','.join(map(str, node.keys))})"
    separators = [*map(str, node.sort_keys), ""]
    return f"({''.join(newick(child) + separator for child, separator in zip(node.children, separators, strict=True))})"
