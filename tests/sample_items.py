"""Items for tests that need no database."""

import msgspec

from rowlock import Item, State


def claimed_item(key: str, *, list: str = "work", data: str = "null", gate: int = 0, attempts: int = 0) -> Item:  # noqa: A002
    """Make an item as a claim hands it out; `data` is JSON."""
    return Item(
        key=key,
        state=State.CLAIMED,
        attempts=attempts,
        gate=gate,
        priority=5,
        position=1,
        due=None,
        failed_at=None,
        version=1,
        raw=msgspec.Raw(data),
        trace=None,
        list=list,
    )
