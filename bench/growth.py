"""What a list costs as it grows, from 10,000 items to as many as wanted, on either database.

    python -m bench.growth [--size 10000000] [--database sqlite,postgres] [--ordered] [--publish]

At ten times, and then at every tenth of the size, the last items are added, and pages, claims and settlements of 1,000
items are measured; medians are shown. Goal: all four at the last tenth within 20 % of what they were at the first.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench._places import DISK, PLACES
from rowlock import Engine

SHORT = ("--size", "200000")
FIRST = 10_000
BATCH = 1_000
SAMPLES = 8
WITHIN = 1.2
RESULTS = Path(__file__).parent / "results" / "growth.json"
Keys = Callable[[int, int], Iterator[str]]
COSTS = ("page", "claim", "settle")


def sizes(most: int) -> Iterator[int]:
    """Give the sizes at which the list is measured: powers of ten, then tenths of the whole."""
    size = FIRST
    while size < most // 10:
        yield size
        size *= 10
    yield from range(most // 10, most + 1, most // 10)


def scattered(low: int, high: int) -> Iterator[str]:
    """Give keys of 30 bytes in no order, the worst for an index: each is a page of its own."""
    return (f"{number * 2654435761 % 2**32:010d}/{number:019d}" for number in range(low, high))


def ordered(low: int, high: int) -> Iterator[str]:
    """Give keys of 30 bytes in their order, as names with a date or a number have it."""
    return (f"https://example.org/{number:010d}" for number in range(low, high))


def milliseconds(call: Callable[[], object]) -> float:
    """Return the time on the clock of a call."""
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def grow(engine: Engine, keys: Keys, low: int, high: int) -> dict[str, float]:
    """Add items up to a size and measure the list as it is then."""
    items = engine["names"]
    rate = 1000 * (high - low) / milliseconds(lambda: items.add(keys(low, high)))
    starts = [next(keys(high - each * BATCH, high)) for each in range(1, SAMPLES + 1)]
    pages = median(milliseconds(lambda start=start: items.page(after=start, limit=BATCH)) for start in starts)
    claims, settlements = [], []
    with engine.session() as session:
        for _ in range(SAMPLES):
            start = time.perf_counter()
            claim = session.take(items, limit=BATCH)
            claims.append(1000 * (time.perf_counter() - start))
            assert claim is not None
            for item in claim:
                claim.done(item)
            settlements.append(milliseconds(claim.settle))
    return {"items": high, "add": rate, "page": pages, "claim": median(claims), "settle": median(settlements)}


def measure(database: str, url: str, keys: Keys, *, most: int) -> list[dict[str, Any]]:
    """Measure one database at all sizes."""
    found: list[dict[str, Any]] = []
    low = 0
    with Engine(url) as engine:
        for size in sizes(most):
            found.append({"database": database, **grow(engine, keys, low, size)})
            low = size
            shown = "   ".join(f"{name} {found[-1][name]:7.2f} ms" for name in COSTS)
            print(f"{database:9} {size:>12,} items   add {found[-1]['add']:>9,.0f}/s   {shown}", flush=True)
    return found


def judge(found: list[dict[str, Any]]) -> bool:
    """Compare the last tenth with the first tenth."""
    first, last = found[-10], found[-1]
    ratios = {"add": first["add"] / last["add"], **{name: last[name] / first[name] for name in COSTS}}
    met = all(ratio <= WITHIN for ratio in ratios.values())
    shown = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
    print(f"last over first tenth: {shown}   {'pass' if met else 'MISS'} (goal {WITHIN})", flush=True)
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10_000_000)
    parser.add_argument("--database", default=",".join(PLACES))
    parser.add_argument("--place", default=DISK)
    parser.add_argument("--ordered", action="store_true", help="keys in their order; else in none")
    parser.add_argument("--publish", action="store_true", help="store the figures for docs/benchmarks.md")
    given = parser.parse_args()
    keys = ordered if given.ordered else scattered
    found = []
    for database in given.database.split(","):
        with PLACES[database](given.place) as fresh:
            found.append(measure(database, fresh(), keys, most=given.size))
    if given.publish:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps([row for rows in found for row in rows], indent=1) + "\n")
    met = [judge(rows) for rows in found]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
