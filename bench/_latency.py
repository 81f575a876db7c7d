"""From adding to starting: a worker that is idle in another process, and what its waiting costs."""

import random
import threading
import time
from multiprocessing.connection import Connection
from statistics import median, quantiles

from bench._children import CONTEXT
from bench._workers import LIST
from rowlock import Engine, Item, Worker

ADDS = 100
PAUSES = (0.05, 0.15)
IDLE_SECONDS = 5.0
SETTLE_IN = 3.0


def wait_and_tell(url: str, pipe: Connection) -> None:
    """A worker that tells when each item was begun, and the CPU it used while there was nothing to do."""

    def handle(_: Item) -> None:
        pipe.send(time.monotonic())

    with Engine(url) as engine:
        worker = Worker(engine)
        worker.on(LIST, handle)
        threading.Thread(target=_answer, args=(pipe, worker), daemon=True).start()
        worker.run(signals=False)


def _answer(pipe: Connection, worker: Worker) -> None:
    while (asked := pipe.recv()) != "stop":
        assert asked == "cpu"
        start = time.process_time()
        time.sleep(IDLE_SECONDS)
        pipe.send((time.process_time() - start) / IDLE_SECONDS)
    worker.stop()


def latencies(url: str) -> tuple[list[float], list[float], float]:
    """Milliseconds to the start, from the call of add and from its return; and the share of a core when idle."""
    ours, theirs = CONTEXT.Pipe()
    child = CONTEXT.Process(target=wait_and_tell, args=(url, theirs))
    child.start()
    try:
        with Engine(url) as engine:
            calls, returns = _add_and_wait(engine, ours)
            time.sleep(SETTLE_IN)
            ours.send("cpu")
            share = ours.recv()
    finally:
        ours.send("stop")
        child.join()
    return calls, returns, share


def _add_and_wait(engine: Engine, pipe: Connection) -> tuple[list[float], list[float]]:
    calls, returns = [], []
    # The first ones find the child still starting.
    for number in range(-3, ADDS):
        called = time.monotonic()
        engine[LIST].add(f"item {number}")
        returned = time.monotonic()
        started = pipe.recv()
        if number >= 0:
            calls.append(1000 * (started - called))
            returns.append(1000 * (started - returned))
        time.sleep(random.uniform(*PAUSES))
    return calls, returns


def percentiles(milliseconds: list[float]) -> tuple[float, float]:
    """The middle and the ninety-ninth of a hundred."""
    return median(milliseconds), quantiles(milliseconds, n=100)[98]
