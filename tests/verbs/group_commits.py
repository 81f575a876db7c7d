"""Calls that wait together: the writer is held until all of them are there."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.waiting import WAIT_SECONDS

from rowlock import Engine, item_input, items
from rowlock.db import Tx
from rowlock.item_input import ItemDefaults

Asked = tuple[Any, ...]


@contextmanager
def held(engine: Engine) -> Iterator[None]:
    """The writer is busy with something else; whatever is asked in the block is its next group."""
    begun, over = threading.Event(), threading.Event()

    def wait(tx: Tx) -> None:
        begun.set()
        assert over.wait(WAIT_SECONDS)

    busy = engine.grouped.ask(wait)
    assert begun.wait(WAIT_SECONDS)
    try:
        yield
    finally:
        over.set()
        busy.result()


def together(engine: Engine, *asked: Asked) -> list[Any]:
    """What each call of one group is answered: a value, or the error that it raises."""
    with held(engine):
        futures = [engine.grouped.ask(*each) for each in asked]
    return [future.exception() or future.result() for future in futures]


def add(key: str, to: str = "work", **shared: Any) -> Asked:
    """A call that adds one key."""
    return items.add, to, list(item_input.batches(key, ItemDefaults(**shared)))


def done(*keys: str) -> Asked:
    """A call that takes keys off."""
    return items.done, "work", keys


def increment(*keys: str) -> Asked:
    """A call that notes a failed attempt."""
    return items.increment, "work", keys


class Commits:
    """Counts the transactions that land."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self, *_: Any) -> None:
        self.number += 1
