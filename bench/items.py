"""Lists of a million names: adding against the raw floor of each database, memory, paging, batches.

    python -m bench.items [--size 1000000] [--rounds 3] [--database sqlite,postgres]

The floor and rowlock take turns, each time in a new process on a new, durable database; medians are shown. The goal is
set against the same table with the same indexes; a plain table with only a primary key is shown beside it.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench._children import Measured, measured
from bench._floors import FLOORS
from bench._places import PLACES, Fresh
from rowlock import Engine

PAGE = 1_000
PAGES = 50
BATCHES = 20

RATE = 0.6
MEGABYTES = 100
SAME_COST = 1.25


def add(url: str, path: str) -> int:
    """What is measured: an open file added to a list."""
    with Engine(url) as engine, Path(path).open() as file:
        return engine["names"].add(file).added


def page_through(url: str) -> tuple[float, float]:
    """Milliseconds of a page among the first and the last ones, read in turn; medians."""
    with Engine(url) as engine:
        names = engine["names"]
        starts = [""]
        while page := names.page(after=starts[-1], limit=PAGE):
            starts.append(page[-1].key)
        first, last = starts[:PAGES], starts[-PAGES - 1 : -1]
        took: list[tuple[float, float]] = []
        for early, late in zip(first, last, strict=True):
            took.append((timed(names.page, after=early), timed(names.page, after=late)))
    return median(early for early, _ in took), median(late for _, late in took)


def change(url: str, path: str) -> tuple[float, float]:
    """Milliseconds to increment and to take off a thousand keys."""
    keys = Path(path).read_text().split()[: PAGE * BATCHES]
    batches = [keys[start : start + PAGE] for start in range(0, len(keys), PAGE)]
    with Engine(url) as engine:
        names = engine["names"]
        increments = median(timed(names.increment, batch) for batch in batches)
        return increments, median(timed(names.done, batch) for batch in batches)


def timed(verb: Callable[..., object], *arguments: object, **options: object) -> float:
    start = time.perf_counter()
    verb(*arguments, **options)
    return 1000 * (time.perf_counter() - start)


def write_keys(path: Path, size: int) -> None:
    """Keys of 30 bytes in no order."""
    chance = random.Random(size)
    with path.open("w") as file:
        file.writelines(f"{chance.getrandbits(84):021x}-{number:08d}\n" for number in range(size))


def duel(database: str, fresh: Fresh, path: str, *, size: int, rounds: int) -> bool:
    times: dict[str, list[Measured]] = {"same table": [], "plain table": [], "rowlock": []}
    for _ in range(rounds):
        for table in ("same table", "plain table"):
            times[table].append(measured(FLOORS[database], fresh(), path, table))
        url = fresh()
        times["rowlock"].append(measured(add, url, path))
    assert times["rowlock"][-1].answer == size
    rates = {name: size / median(each.seconds for each in runs) for name, runs in times.items()}
    peak = max(each.megabytes for each in times["rowlock"])
    for table in ("same table", "plain table"):
        print(f"  raw, {table:<12} {rates[table]:>10,.0f} keys/s   rowlock / raw {rates['rowlock'] / rates[table]:.2f}")
    ratio = rates["rowlock"] / rates["same table"]
    first, last = measured(page_through, url).answer
    increments, deletes = measured(change, url, path).answer
    passed = [
        goal(f"rowlock add         {rates['rowlock']:>10,.0f} keys/s", ratio >= RATE, f"≥ {RATE} of the same table"),
        goal(f"peak memory         {peak:>10,.0f} MB", peak < MEGABYTES, f"< {MEGABYTES} MB"),
        goal(f"page, first · last  {first:>6.2f} · {last:.2f} ms", last <= first * SAME_COST, "equal"),
    ]
    print(f"  increment 1,000     {increments:>10.1f} ms")
    print(f"  done 1,000          {deletes:>10.1f} ms", flush=True)
    return all(passed)


def goal(line: str, reached: bool, wanted: str) -> bool:
    print(f"  {line:<40} {'pass' if reached else 'MISS'} ({wanted})")
    return reached


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", default=",".join(PLACES))
    asked = parser.parse_args()
    reached = []
    with tempfile.NamedTemporaryFile(prefix="rowlock-keys-") as keys:
        write_keys(Path(keys.name), asked.size)
        for database in asked.database.split(","):
            print(f"{database}, {asked.size:,} keys of 30 bytes, {asked.rounds} rounds", flush=True)
            with PLACES[database]() as fresh:
                reached.append(duel(database, fresh, keys.name, size=asked.size, rounds=asked.rounds))
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
