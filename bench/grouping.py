"""Single writes of many concurrent callers, each in a transaction of its own and grouped, side by side.

    python -m bench.grouping [--size 20000] [--callers 64] [--rounds 3] [--database sqlite,postgres] [--place /tmp]

Each write is durable when it is answered. Contestants take turns, each time in a new process on a new database; medians
are shown. Threads call lists as any program does; coroutines are what the HTTP service consists of.
"""

import argparse
import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench._children import measured
from bench._places import DISK, PLACES, Fresh, flush_milliseconds
from rowlock import Engine, item_input, items
from rowlock.engine.list import List
from rowlock.item_input import ItemDefaults

GOAL = 10_000
PLAIN_SIZE = 2_000
"""Calls in transactions of their own: enough to know the rate, few enough to wait for."""

VERBS: dict[str, Callable[[List, str], Any]] = {
    "add": lambda names, key: names.add(key),
    "increment": lambda names, key: names.increment(key),
    "done": lambda names, key: names.done(key),
}
ASKED: dict[str, Callable[[str], tuple[Any, ...]]] = {
    "add": lambda key: (items.add, "names", list(item_input.batches(key, ItemDefaults()))),
    "increment": lambda key: (items.increment, "names", [key]),
    "done": lambda key: (items.done, "names", [key]),
}


@dataclass(frozen=True)
class Run:
    """Calls a second, and microseconds of this process's CPU for each."""

    rate: float
    cpu: float


def keys(caller: int, size: int) -> list[str]:
    return [f"{number:08}-{caller:03}" for number in range(size)]


def by_threads(url: str, grouped: bool, callers: int, size: int) -> dict[str, Run]:
    """Threads that call a list."""
    with Engine(url) as engine:
        names = (engine.grouped if grouped else engine)["names"]
        return {verb: threads_at_once(names, VERBS[verb], callers, size) for verb in VERBS}


def threads_at_once(names: List, verb: Callable[[List, str], Any], callers: int, size: int) -> Run:
    start = threading.Barrier(callers + 1)

    def call(caller: int) -> None:
        start.wait()
        for key in keys(caller, size // callers):
            verb(names, key)

    threads = [threading.Thread(target=call, args=(caller,)) for caller in range(callers)]
    for thread in threads:
        thread.start()
    start.wait()
    with_clock = stopwatch(size)
    next(with_clock)
    for thread in threads:
        thread.join()
    return next(with_clock)


def by_coroutines(url: str, callers: int, size: int) -> dict[str, Run]:
    """Coroutines that await the group's answers."""
    with Engine(url) as engine:
        return {verb: asyncio.run(coroutines_at_once(engine, ASKED[verb], callers, size)) for verb in ASKED}


async def coroutines_at_once(engine: Engine, asked: Callable[[str], tuple[Any, ...]], callers: int, size: int) -> Run:
    async def call(caller: int) -> None:
        for key in keys(caller, size // callers):
            await engine.grouped.awaited(*asked(key))

    with_clock = stopwatch(size)
    next(with_clock)
    await asyncio.gather(*(call(caller) for caller in range(callers)))
    return next(with_clock)


def stopwatch(calls: int) -> Iterator[Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield None
    yield Run(calls / (time.perf_counter() - wall), 1e6 * (time.process_time() - cpu) / calls)


def idle(url: str) -> tuple[float, float]:
    """Milliseconds of one add when nobody else asks: alone, grouped; medians, taken in turn."""
    with Engine(url) as engine:
        took = [
            (timed(engine["idle"], f"a{number}"), timed(engine.grouped["idle"], f"b{number}")) for number in range(200)
        ]
    return median(plain for plain, _ in took), median(grouped for _, grouped in took)


def timed(names: List, key: str) -> float:
    start = time.perf_counter()
    names.add(key)
    return 1000 * (time.perf_counter() - start)


def compare(fresh: Fresh, asked: argparse.Namespace) -> bool:
    runs: dict[str, list[dict[str, Run]]] = {"threads, alone": [], "threads, grouped": [], "coroutines, grouped": []}
    few = min(PLAIN_SIZE, asked.size)
    for _ in range(asked.rounds):
        runs["threads, alone"].append(measured(by_threads, fresh(), False, asked.callers, few).answer)
        runs["threads, grouped"].append(measured(by_threads, fresh(), True, asked.callers, asked.size).answer)
        runs["coroutines, grouped"].append(measured(by_coroutines, fresh(), asked.callers, asked.size).answer)
    reached = []
    for verb in VERBS:
        for who, found in runs.items():
            rate = median(each[verb].rate for each in found)
            cpu = median(each[verb].cpu for each in found)
            line = f"  {verb:<10} {who:<20} {rate:>9,.0f}/s  {cpu:>6.0f} µs CPU"
            if who.startswith("coroutines"):
                reached.append(rate >= GOAL)
                line += f"   {'pass' if reached[-1] else 'MISS'} (≥ {GOAL:,})"
            print(line, flush=True)
    alone, grouped = measured(idle, fresh()).answer
    print(f"  one add, nobody else: alone {alone:.2f} ms, grouped {grouped:.2f} ms", flush=True)
    return all(reached)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", default=",".join(PLACES))
    parser.add_argument("--place", default=DISK)
    asked = parser.parse_args()
    reached = []
    for database in asked.database.split(","):
        flush = flush_milliseconds(asked.place)
        print(f"{database}: {asked.callers} callers, one item a call, a flush takes {flush:.2f} ms", flush=True)
        with PLACES[database](asked.place) as fresh:
            reached.append(compare(fresh, asked))
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
