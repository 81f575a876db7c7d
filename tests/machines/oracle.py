"""What lists and items should be, kept in plain dictionaries: slow, small, and easy to believe."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Item:
    """An item as it should be."""

    place: int
    gate: int
    priority: int
    due: int | None
    data: Any
    attempts: int = 0
    version: int = 1


@dataclass
class List:
    """A list as it should be."""

    items: dict[str, Item] = field(default_factory=dict)
    paused: bool = False
    gate: int = 0
    added: int = 0
    done: int = 0
    retried: int = 0
    abandoned: int = 0


class Oracle:
    """All lists, and the time."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000
        self.lists: dict[str, List] = {}
        self._places = 0

    def passed(self, name: str, entries: list[dict[str, Any]]) -> bool:
        """Whether one of them is for a gate that the list has passed."""
        gate = self.lists[name].gate if name in self.lists else 0
        return any(entry["gate"] is not None and entry["gate"] < gate for entry in entries)

    def add(self, name: str, entries: list[dict[str, Any]]) -> tuple[int, int]:
        """How many are new, and how many were there."""
        target = self.lists.setdefault(name, List())
        new = 0
        for entry in entries:
            if entry["key"] not in target.items:
                due = self.now + entry["due"] * 1000 if entry["due"] else None
                gate = target.gate if entry["gate"] is None else entry["gate"]
                target.items[entry["key"]] = Item(self._place(), gate, entry["priority"], due, entry["data"])
                new += 1
        target.added += new
        return new, len(entries) - new

    def increment(self, name: str, keys: list[str]) -> int:
        """How many were there."""
        found = self._found(name, keys)
        for key in found:
            self.lists[name].items[key].attempts += 1
            self.lists[name].items[key].version += 1
        if found:
            self.lists[name].retried += len(found)
        return len(found)

    def done(self, name: str, keys: list[str]) -> int:
        """How many were there."""
        found = self._remove(name, keys)
        if found:
            self.lists[name].done += found
        return found

    def abandon(self, name: str, keys: list[str]) -> int:
        """How many were there."""
        found = self._remove(name, keys)
        if found:
            self.lists[name].abandoned += found
        return found

    def retry(self, name: str, keys: list[str]) -> int:
        """How many waited."""
        waiting = [key for key in self._found(name, keys) if self.lists[name].items[key].due is not None]
        for key in sorted(waiting, key=str.encode):
            item = self.lists[name].items[key]
            item.due, item.attempts, item.place = None, 0, self._place()
            item.version += 1
        return len(waiting)

    def save(self, name: str, key: str, changes: dict[str, Any]) -> int:
        """The version that the item has then."""
        item = self.lists[name].items[key]
        moves = changes.get("priority", item.priority) != item.priority
        at_once = moves if item.due is None else "due" in changes
        if changes.get("due") or at_once:
            item.due = self.now + (changes.get("due") or 0) * 1000
        item.data = changes.get("data", item.data)
        item.priority = changes.get("priority", item.priority)
        item.version += 1
        return item.version

    def rename(self, name: str, to: str) -> bool:
        """Whether it could be done."""
        if name not in self.lists or (to != name and to in self.lists):
            return False
        self.lists[to] = self.lists.pop(name)
        return True

    def state(self, item: Item, gate: int) -> str:
        """Where an item stands on a list at that gate."""
        if item.gate > gate:
            return "gated"
        return "delayed" if item.due is not None and item.due > self.now else "ready"

    def counts(self, name: str) -> dict[str, int]:
        """How many items stand in each state."""
        states = [self.state(item, self.lists[name].gate) for item in self.lists[name].items.values()]
        return {state: states.count(state) for state in ("ready", "delayed", "gated", "claimed", "failed")}

    def page(self, name: str) -> list[tuple[Any, ...]]:
        """All items in the order of their keys' bytes."""
        found = self.lists.get(name, List())
        return [
            (
                key,
                item.gate,
                item.priority,
                item.attempts,
                item.due,
                item.data,
                item.version,
                self.state(item, found.gate),
            )
            for key, item in sorted(found.items.items(), key=lambda pair: pair[0].encode())
        ]

    def line(self, name: str) -> list[str]:
        """All keys in the order in which they would be handed out."""
        items = self.lists[name].items
        return sorted(items, key=lambda key: items[key].place)

    def _found(self, name: str, keys: list[str]) -> list[str]:
        return sorted(set(keys) & set(self.lists[name].items)) if name in self.lists else []

    def _remove(self, name: str, keys: list[str]) -> int:
        found = self._found(name, keys)
        for key in found:
            del self.lists[name].items[key]
        if keys and name in self.lists:
            self._go_on(self.lists[name])
        return len(found)

    def _go_on(self, found: List) -> None:
        gates = [item.gate for item in found.items.values()]
        waiting = any(item.gate > found.gate and item.due is None for item in found.items.values())
        if waiting and not found.paused and found.gate not in gates:
            found.gate = min(gates)

    def _place(self) -> int:
        self._places += 1
        return self._places
