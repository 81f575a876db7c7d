"""Claim hints: how far each list was seen. They save walking over settled items; a wrong one costs a search."""

from math import inf

import msgspec

from rowlock.claims import ClaimedItems, Lane

SEARCH_SECONDS = 1.0
"""How often a list is searched from its beginning for gaps."""
MAX_LISTS = 10_000
"""Lists with hints; those that are forgotten are searched again."""


class ListHints(msgspec.Struct):
    """How far one list was seen, and what was last known of it."""

    gate: int = 0
    floors: dict[int, int] = {}
    """The last position that was claimed, by priority."""
    lane: Lane | None = None
    """The only lane of the list, if nothing else matters to a claim."""
    limited: bool = False
    """Whether the list has limits: then only a thorough claim finds anything."""
    searched_at: float = -inf

    def is_fresh(self, now: float) -> bool:
        """Return whether the list was searched for gaps within the last second."""
        return now - self.searched_at < SEARCH_SECONDS

    def remember(self, claimed: ClaimedItems) -> None:
        """Note how far the list was seen. Each gate has its own positions."""
        if claimed.gate != self.gate:
            self.gate, self.floors = claimed.gate, {}
        self.floors[claimed.priority] = max(self.floors.get(claimed.priority, 0), claimed.high)
        self.lane = claimed.lane


class ClaimHints:
    """Hints per list, keyed by name."""

    def __init__(self) -> None:
        self._lists: dict[str, ListHints] = {}

    def __getitem__(self, name: str) -> ListHints:
        hints = self._lists.get(name)
        if hints is None:
            if len(self._lists) >= MAX_LISTS:
                self._lists.clear()
            hints = self._lists[name] = ListHints()
        return hints
