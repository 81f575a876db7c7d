"""The horizon: how far a claimer has seen of each list. Hints that save walking, never promises."""

from math import inf

import msgspec

from rowlock.claims import ClaimedItems, Lane

LOOK_FOR_HOLES = 1.0
"""Seconds: so often a list is looked through from its beginning."""
MANY_LISTS = 10_000
"""Of so many something is remembered; what is forgotten is looked for again."""


class ListHints(msgspec.Struct):
    """How far one list was seen, and what was last known of it."""

    gate: int = 0
    floors: dict[int, int] = {}
    """The last position that was handed out to us, by priority."""
    lane: Lane | None = None
    """The only one it has, if nothing but that matters to a claim."""
    limited: bool = False
    """A short look at a list with limits would be in vain."""
    looked_at: float = -inf

    def lately(self, now: float) -> bool:
        """Whether it was looked through for holes within a second."""
        return now - self.looked_at < LOOK_FOR_HOLES

    def remember(self, taken: ClaimedItems) -> None:
        """Note how far has been seen. What stands at another gate has its own line."""
        if taken.gate != self.gate:
            self.gate, self.floors = taken.gate, {}
        self.floors[taken.priority] = max(self.floors.get(taken.priority, 0), taken.high)
        self.lane = taken.lane


class ClaimHints:
    """The same of each list, by its name."""

    def __init__(self) -> None:
        self._lists: dict[str, ListHints] = {}

    def __getitem__(self, name: str) -> ListHints:
        reach = self._lists.get(name)
        if reach is None:
            if len(self._lists) >= MANY_LISTS:
                self._lists.clear()
            reach = self._lists[name] = ListHints()
        return reach
