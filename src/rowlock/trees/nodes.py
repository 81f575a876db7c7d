"""The two kinds of node: leaves hold the entries, inner nodes lead to them."""

from __future__ import annotations

from typing import Any


class Leaf:
    """A sorted run of entries.

    `marks` is what entries are ordered by, `keys` what the user gave; without a key function both
    are one and the same list. `vals` is None in a set. Only the tree whose token is `owner` may edit.
    """

    __slots__ = ("keys", "marks", "owner", "summary", "vals")

    def __init__(self, owner: object, marks: list[Any], keys: list[Any], vals: list[Any] | None) -> None:
        self.owner = owner
        self.summary: Any = None
        self.marks = marks
        self.keys = keys
        self.vals = vals

    def __len__(self) -> int:
        return len(self.marks)

    def copy(self, owner: object) -> Leaf:
        """Copy for another owner, who is about to edit: the summary stays behind."""
        return self._cut(owner, 0)

    def shed(self) -> tuple[list[Any], ...]:
        """Go on with copies of the lists; return the old ones, which walks may be reading."""
        old = tuple(self._columns())
        fresh = self._cut(None, 0)
        self.marks, self.keys, self.vals = fresh.marks, fresh.keys, fresh.vals
        return old

    def insert(self, at: int, entry: tuple[Any, Any, Any]) -> None:
        """Put (mark, key, value) at a position."""
        mark, key, value = entry
        self.marks.insert(at, mark)
        if self.keys is not self.marks:
            self.keys.insert(at, key)
        if self.vals is not None:
            self.vals.insert(at, value)

    def remove(self, at: int) -> Any:
        """Take the entry at a position out; return its value."""
        del self.marks[at]
        if self.keys is not self.marks:
            del self.keys[at]
        return None if self.vals is None else self.vals.pop(at)

    def split(self, owner: object) -> tuple[Any, Leaf]:
        """Move the upper half into a new leaf; return it and the mark that separates the two."""
        half = len(self.marks) // 2
        right = self._cut(owner, half)
        for column in self._columns():
            del column[half:]
        return right.marks[0], right

    def absorb(self, right: Leaf, _separator: Any) -> None:
        """Append all entries of the right neighbour, which stays as it is."""
        for column, more in zip(self._columns(), right._columns(), strict=True):
            column += more

    def _cut(self, owner: object, start: int) -> Leaf:
        marks = self.marks[start:]
        keys = marks if self.keys is self.marks else self.keys[start:]
        return Leaf(owner, marks, keys, None if self.vals is None else self.vals[start:])

    def _columns(self) -> list[list[Any]]:
        columns = [self.marks] if self.keys is self.marks else [self.marks, self.keys]
        return columns if self.vals is None else [*columns, self.vals]


class Inner:
    """Children and the marks between them: all under kids[i] < marks[i] <= all under kids[i + 1]."""

    __slots__ = ("kids", "marks", "owner", "summary")

    def __init__(self, owner: object, marks: list[Any], kids: list[Any]) -> None:
        self.owner = owner
        self.summary: Any = None
        self.marks = marks
        self.kids = kids

    def __len__(self) -> int:
        return len(self.kids)

    def copy(self, owner: object) -> Inner:
        """Copy for another owner, who is about to edit: the summary stays behind."""
        return Inner(owner, self.marks[:], self.kids[:])

    def adopt(self, at: int, newcomer: tuple[Any, Node]) -> None:
        """Take in (separator, node) as the right neighbour of the child at a position."""
        separator, node = newcomer
        self.marks.insert(at, separator)
        self.kids.insert(at + 1, node)

    def split(self, owner: object) -> tuple[Any, Inner]:
        """Move the upper half of the children into a new node; return it and the mark between the two."""
        half = len(self.kids) // 2
        right = Inner(owner, self.marks[half:], self.kids[half:])
        separator = self.marks[half - 1]
        del self.marks[half - 1 :]
        del self.kids[half:]
        return separator, right

    def absorb(self, right: Inner, separator: Any) -> None:
        """Append all children of the right neighbour, which stays as it is."""
        self.marks.append(separator)
        self.marks += right.marks
        self.kids += right.kids


Node = Leaf | Inner


def newick(node: Node) -> str:
    """Draw a subtree: keys in parentheses, children with the marks that separate them."""
    if isinstance(node, Leaf):
        return f"({','.join(map(str, node.keys))})"
    marks = [*map(str, node.marks), ""]
    return f"({''.join(newick(kid) + mark for kid, mark in zip(node.kids, marks, strict=True))})"
