"""Steady work: add and drain at 70 % of the top rate for some minutes, with an old snapshot open for a part of it.

    python -m bench.steady [--minutes 2] [--database postgres] [--snapshot 0.5] [--priorities 1]

First the top rate is measured, then items are added at 70 % of it by one process while a worker in another drains them.
`--snapshot` is the share of the time, in the middle, in which a transaction is open that sees what was there at its
begin; 0 for none. Printed are the items drained in each tenth, the last over the first, and the least over the first.
"""

import argparse
import multiprocessing
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from itertools import count
from typing import Any

import psycopg

from bench._places import DISK, PLACES
from rowlock import Engine, Item, Worker

SHORT = ("--minutes", "0.5")
SHARE = 0.7
BATCH = 500
PROBE_ITEMS = 60_000
PARTS = 10
MIN_RATIO = 0.95


def drain(url: str, stop: Any) -> None:
    """Work until told to stop."""

    def work(items: Sequence[Item]) -> None:
        pass

    with Engine(url) as engine:
        worker = Worker(engine)
        worker.on("work", work, batch=BATCH)
        threading.Thread(target=lambda: (stop.wait(), worker.stop()), daemon=True).start()
        worker.run(signals=False)


def top_rate(engine: Engine) -> float:
    """Items a second that are added and drained when nothing holds them up."""
    engine["work"].add("first")
    start, before = time.perf_counter(), engine["work"].progress().done
    for first in range(0, PROBE_ITEMS, BATCH):
        engine["work"].add([f"probe-{number}" for number in range(first, first + BATCH)])
    while engine["work"].progress().done < before + PROBE_ITEMS:
        time.sleep(0.01)
    return PROBE_ITEMS / (time.perf_counter() - start)


def old_snapshot(url: str) -> Any:
    """A transaction that sees what was there at its begin, if the database has a server."""
    if not url.startswith("postgres"):
        return nullcontext()
    connection = psycopg.connect(url)
    connection.execute("set transaction isolation level repeatable read")
    connection.execute("select count(*) from rowlock_lists")
    return connection


def steady(url: str, rate: float, *, seconds: float, share: float, priorities: int) -> list[float]:
    """Add at a rate for a while, and return how many items were done in each part."""
    numbers, done = count(), []
    with Engine(url) as engine, ExitStack() as snapshot:
        start, opened = time.perf_counter(), False
        before = engine["work"].progress().done
        while (passed := time.perf_counter() - start) < seconds:
            if share and not opened and passed > seconds * (1 - share) / 2:
                opened = bool(snapshot.enter_context(old_snapshot(url)))
            if opened and passed > seconds * (1 + share) / 2:
                snapshot.close()
            if passed > (len(done) + 1) * seconds / PARTS:
                now = engine["work"].progress().done
                done.append(now - before - sum(done))
            behind = passed * rate
            number = next(numbers)
            if number * BATCH > behind:
                time.sleep((number * BATCH - behind) / rate)
            keys = [f"{number}-{each}" for each in range(BATCH)]
            engine["work"].add(keys, priority=5 - number % priorities)
        done.append(engine["work"].progress().done - before - sum(done))
    return [float(each) for each in done]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--database", default="postgres")
    parser.add_argument("--snapshot", type=float, default=0.5)
    parser.add_argument("--priorities", type=int, default=1)
    parser.add_argument("--place", default=DISK)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    with PLACES[options.database](options.place) as fresh:
        url, stop = fresh(), context.Event()
        worker = context.Process(target=drain, args=(url, stop))
        worker.start()
        with Engine(url) as engine:
            rate = SHARE * top_rate(engine)
        print(f"{rate:,.0f} items a second", flush=True)
        terms: dict[str, Any] = {"share": options.snapshot, "priorities": options.priorities}
        done = steady(url, rate, seconds=60 * options.minutes, **terms)
        stop.set()
        worker.join()
    print("drained in each tenth:", *(f"{each:,.0f}" for each in done))
    ratio, least = done[-1] / done[0], min(done) / done[0]
    print(f"last over first {ratio:.2f}, least {least:.2f}   {'pass' if min(ratio, least) >= MIN_RATIO else 'MISS'}")


if __name__ == "__main__":
    main()
