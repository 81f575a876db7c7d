"""One add at a time against a bare insert by the same driver, both durable, in turns in one run.

    python -m bench.single [--database sqlite,postgres] [--rounds 15] [--each 200]

A ratio is the median over all rounds of the bare insert's time over ours in the same round; the spread is that of the
middle half. The list sleeps, as one does that no worker looks at. WAL is the median of single adds.
"""

import argparse
import sqlite3
import time
from collections.abc import Callable, Iterator
from itertools import count
from statistics import median, quantiles
from typing import Any

import psycopg

from bench._places import DISK, PLACES
from rowlock import Engine

SHORT = ("--rounds", "5")
GOALS = {"postgres": 0.7, "sqlite": 0.6}
MAX_WAL_BYTES = 650
WAL_SAMPLES = 200
Step = Callable[[str], object]

_numbers = count()


def keys(number: int) -> Iterator[str]:
    """New keys of 30 bytes."""
    return (f"https://example.org/{next(_numbers):07d}.j" for _ in range(number))


def raw_postgres(url: str) -> Step:
    """A bare insert that commits by itself."""
    connection = psycopg.connect(url, autocommit=True)
    connection.execute("create table raw (list bigint, key text, position bigserial, primary key (list, key))")
    return lambda key: connection.execute("insert into raw (list, key) values (1, %s)", (key,))


def raw_sqlite(url: str) -> Step:
    """A bare insert that is flushed."""
    connection = sqlite3.connect(url, isolation_level=None, timeout=60)
    for pragma in ("journal_mode = wal", "synchronous = full"):
        connection.execute(f"pragma {pragma}")
    connection.execute("create table raw (list, key, position, primary key (list, key)) without rowid")
    return lambda key: connection.execute("insert into raw values (1, ?, 1)", (key,))


RAW: dict[str, Callable[[str], Step]] = {"postgres": raw_postgres, "sqlite": raw_sqlite}


def seconds(step: Step, number: int) -> tuple[float, float]:
    """Time on the clock and of this process for one step."""
    start, cpu = time.perf_counter(), time.process_time()
    for key in keys(number):
        step(key)
    return (time.perf_counter() - start) / number, (time.process_time() - cpu) / number


def wal_bytes(url: str, step: Step) -> float:
    """What one step writes to the log."""
    with psycopg.connect(url, autocommit=True) as connection:

        def position() -> Any:
            [[at]] = connection.execute("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchall()
            return at

        found = []
        for key in keys(WAL_SAMPLES):
            before = position()
            step(key)
            found.append(float(position() - before))
    return median(found)


def measure(database: str, url: str, rounds: int, each: int) -> None:
    """Measure one database, and print what came of it."""
    with Engine(url) as engine:
        ours: Step = engine["work"].add
        raw = RAW[database](url)
        for step in (raw, ours):
            seconds(step, each)
        found = [(seconds(raw, each), seconds(ours, each)) for _ in range(rounds)]
        ratios = [floor[0] / own[0] for floor, own in found]
        low, ratio, high = quantiles(ratios, n=4)
        verdict = "pass" if ratio >= GOALS[database] else "MISS"
        floor_rate, own_rate = (1 / median(pair[place][0] for pair in found) for place in (0, 1))
        floor_cpu, own_cpu = (1e6 * median(pair[place][1] for pair in found) for place in (0, 1))
        print(f"{database:9} bare {floor_rate:7,.0f}/s {floor_cpu:4.0f} µs CPU")
        print(f"{'':9} ours {own_rate:7,.0f}/s {own_cpu:4.0f} µs CPU")
        print(f"{'':9} ratio {ratio:.2f} ({low:.2f} to {high:.2f}), goal {GOALS[database]}   {verdict}")
        if database == "postgres":
            wal = wal_bytes(url, ours)
            verdict = "pass" if wal <= MAX_WAL_BYTES else "MISS"
            print(f"{'':9} log {wal:,.0f} bytes, bare {wal_bytes(url, raw):,.0f}, goal {MAX_WAL_BYTES}   {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=",".join(PLACES))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--each", type=int, default=200)
    parser.add_argument("--place", default=DISK)
    options = parser.parse_args()
    for database in options.database.split(","):
        with PLACES[database](options.place) as fresh:
            measure(database, fresh(), options.rounds, options.each)


if __name__ == "__main__":
    main()
