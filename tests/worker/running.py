"""A worker in a thread of its own, and waiting for what it does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.waiting import WAIT_SECONDS
from tests.waiting import eventually as eventually

from rowlock import Engine, Worker
from rowlock.diagnostics import broken_rules


@contextmanager
def running(worker: Worker) -> Iterator[threading.Thread]:
    """Run the worker beside the test; it is stopped at the end."""
    thread = threading.Thread(target=lambda: worker.run(signals=False))
    thread.start()
    try:
        yield thread
    finally:
        worker.stop()
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()


def work_off(worker: Worker) -> None:
    """Run until nothing is left to do."""
    thread = threading.Thread(target=lambda: worker.run(until="done", signals=False), daemon=True)
    thread.start()
    thread.join(WAIT_SECONDS)
    assert not thread.is_alive()


def sound(engine: Engine) -> bool:
    """Whether nothing is left behind: no session, and nothing stored contradicts itself."""
    return engine.sessions() == [] and engine.read(broken_rules) == []


def said(engine: Engine, key: str, name: str = "work") -> tuple[str, str]:
    """The last failure of an item: kind and message."""
    failure = engine[name].failures(key)[0]
    return failure.kind, failure.message
