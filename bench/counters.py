"""Counters: one that everybody wants, many, in transactions, and by way of Redis.

    python -m bench.counters [--size 20000] [--callers 64] [--rounds 3] [--database sqlite,postgres] [--place /tmp]

Every number is durable, or reserved, when it is answered. Contestants take turns, each time in a new process on a new
database; medians are shown.
"""

import argparse
import asyncio
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from tests.redis_servers import RedisServer

from bench._children import measured
from bench._places import DISK, PLACES, Fresh, flush_milliseconds
from rowlock import Engine, RedisCounters, counters

HOT = 20_000
NAMES = 1_000


@dataclass(frozen=True)
class Run:
    """Numbers a second, and microseconds of this process's CPU for each."""

    rate: float
    cpu: float


def by_coroutines(url: str, names: int, callers: int, size: int) -> Run:
    """Coroutines that take one number at a time."""

    async def all_at_once(engine: Engine) -> Run:
        async def call(caller: int) -> None:
            for number in range(size // callers):
                await engine.grouped.awaited(counters.take, f"counter {(number * callers + caller) % names}")

        ended = stopwatch(size)
        await asyncio.gather(*(call(caller) for caller in range(callers)))
        return ended()

    with Engine(url) as engine:
        run = asyncio.run(all_at_once(engine))
        assert sum(each.value for each in engine.counters()) == size // callers * callers
        return run


def by_threads(url: str, redis: str, callers: int, size: int) -> Run:
    """Threads that take one number at a time, of the database or by way of Redis."""
    with Engine(url) as engine:
        engine.make_ready()
        if redis:
            with RedisCounters(engine, redis) as others:
                return at_once(others.counter("hot").next, callers, size)
        return at_once(engine.counter("hot").next, callers, size)


def in_transactions(url: str, callers: int, size: int) -> Run:
    """Threads that take each number in a transaction of its own, as who stores a row with it does."""
    with Engine(url) as engine:
        engine.make_ready()

        def next_one() -> None:
            with engine.transaction() as tx:
                tx.counter("hot").next()

        return at_once(next_one, callers, size)


def at_once(take: Callable[[], Any], callers: int, size: int) -> Run:
    start = threading.Barrier(callers + 1)

    def call() -> None:
        start.wait()
        for _ in range(size // callers):
            take()

    threads = [threading.Thread(target=call) for _ in range(callers)]
    for thread in threads:
        thread.start()
    start.wait()
    ended = stopwatch(size)
    for thread in threads:
        thread.join()
    return ended()


def stopwatch(calls: int) -> Callable[[], Run]:
    wall, cpu = time.perf_counter(), time.process_time()
    return lambda: Run(calls / (time.perf_counter() - wall), 1e6 * (time.process_time() - cpu) / calls)


def compare(fresh: Fresh, redis: str, asked: argparse.Namespace) -> bool:
    callers, size = asked.callers, asked.size
    few = max(callers, size // 10)
    ways: dict[str, Callable[[], Run]] = {
        "one counter, coroutines": lambda: measured(by_coroutines, fresh(), 1, callers, size).answer,
        f"{NAMES:,} counters, coroutines": lambda: measured(by_coroutines, fresh(), NAMES, callers, size).answer,
        "one counter, threads": lambda: measured(by_threads, fresh(), "", callers, size).answer,
        "one counter, in transactions": lambda: measured(in_transactions, fresh(), 8, few).answer,
        "one counter, Redis, threads": lambda: measured(by_threads, fresh(), redis, 8, size).answer,
    }
    runs: dict[str, list[Run]] = {name: [] for name in ways}
    for _ in range(asked.rounds):
        for name, way in ways.items():
            runs[name].append(way())
    for name, found in runs.items():
        rate, cpu = median(each.rate for each in found), median(each.cpu for each in found)
        print(f"  {name:<30} {rate:>9,.0f}/s  {cpu:>6.0f} µs CPU", flush=True)
    reached = median(each.rate for each in runs["one counter, coroutines"]) >= HOT
    print(f"  {'pass' if reached else 'MISS'} (one counter, coroutines ≥ {HOT:,})", flush=True)
    return reached


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", default=",".join(PLACES))
    parser.add_argument("--place", default=DISK)
    asked = parser.parse_args()
    reached = []
    redis = RedisServer().start()
    try:
        for database in asked.database.split(","):
            flush = flush_milliseconds(asked.place)
            print(f"{database}: {asked.callers} callers, one number a call, a flush takes {flush:.2f} ms", flush=True)
            with PLACES[database](asked.place) as fresh:
                reached.append(compare(fresh, redis.url, asked))
    finally:
        redis.remove()
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
