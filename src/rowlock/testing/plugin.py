"""Fixtures for pytest, which finds them by itself. The rest of rowlock is imported when one of them is used."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from rowlock.testing import MovableClock, drain, throwaway

if TYPE_CHECKING:
    from rowlock.engine import Engine
    from rowlock.outcomes import Verdict
    from rowlock.worker import Worker


@pytest.fixture
def rowlock_clock() -> MovableClock:
    """The clock of `rowlock_engine`, which stands still until it is advanced."""
    return MovableClock()


@pytest.fixture
def rowlock_engine(rowlock_clock: MovableClock) -> "Iterator[Engine]":
    """An engine on a database of its own for each test, with `rowlock_clock` for its time."""
    with throwaway(clock=rowlock_clock) as engine:
        yield engine


@pytest.fixture
def rowlock_drain() -> "Callable[[Worker], Counter[Verdict]]":
    """A function that runs a worker until nothing is ready and returns how many items had each verdict."""
    return drain
