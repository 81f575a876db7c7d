"""Assertions on lists, whose messages show what is on the list."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowlock.engine import List
    from rowlock.model import Item

MAX_SHOWN = 10


def assert_added(on: "List", keys: str | Iterable[str]) -> None:
    """Assert that these keys are on the list, in any state; others may be there too."""
    __tracebackhide__ = True
    wanted = [keys] if isinstance(keys, str) else list(keys)
    missing = [key for key in wanted if not _has(on, key)]
    if missing:
        raise AssertionError(f"{_named(missing)} not on the list {on.name!r}; {_contents(on)}")


def assert_empty(on: "List") -> None:
    """Assert that the list is empty; a list that was never created is."""
    __tracebackhide__ = True
    if _first(on, 1):
        raise AssertionError(f"the list {on.name!r} is not empty; {_contents(on)}")


def assert_failed(on: "List", key: str, *, saying: str = "") -> None:
    """Assert that the item has failed, and that its last error contains the text."""
    __tracebackhide__ = True
    if not _has(on, key):
        raise AssertionError(f"{key!r} is not on the list {on.name!r}; {_contents(on)}")
    state, errors = on.show(key).state, [failure.message for failure in on.failures(key, limit=1)]
    if state != "failed":
        last = f"; the last error was {errors[0]!r}" if errors else ""
        raise AssertionError(f"{key!r} of {on.name!r} has not failed: it is {state.icon} {state}{last}")
    if saying and saying not in "".join(errors):
        raise AssertionError(f"{key!r} of {on.name!r} failed, but not saying {saying!r}: it said {''.join(errors)!r}")


def assert_counts(on: "List", **expected: int) -> None:
    """Assert the number of items in these states (ready, delayed, gated, claimed, failed, total)."""
    __tracebackhide__ = True
    counts = on.counts()
    wrong = {name: number for name, number in expected.items() if getattr(counts, name) != number}
    if wrong:
        differing = ", ".join(f"{getattr(counts, name)} {name} instead of {number}" for name, number in wrong.items())
        raise AssertionError(f"the list {on.name!r} has {differing}; {_contents(on)}")


def _has(on: "List", key: str) -> bool:
    from rowlock.errors import NotFound  # an unused pytest plugin must cost nothing

    try:
        on.show(key)
    except NotFound:
        return False
    return True


def _first(on: "List", limit: int) -> list["Item"]:
    from rowlock.errors import NotFound  # an unused pytest plugin must cost nothing

    try:
        return on.page(limit=limit)
    except NotFound:
        return []


def _named(keys: list[str]) -> str:
    more = f" and {len(keys) - MAX_SHOWN} more" if len(keys) > MAX_SHOWN else ""
    return f"{', '.join(map(repr, keys[:MAX_SHOWN]))}{more} {'is' if len(keys) == 1 else 'are'}"


def _contents(on: "List") -> str:
    items = _first(on, MAX_SHOWN + 1)
    shown = ", ".join(f"{item.state.icon} {item.state} {item.key!r}" for item in items[:MAX_SHOWN])
    return f"on it: {shown}{', …' if len(items) > MAX_SHOWN else ''}" if items else "nothing is on it"
