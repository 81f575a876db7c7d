"""Claims, settlements and workers against the raw floor of each database.

    python -m bench.work [--size 100000] [--rounds 3] [--database sqlite,postgres] [--part drain,small,…] [--place /tmp]

The contestants take turns, each time in new processes on a new, durable database; medians are shown. A ratio compares
runs that stood side by side. Absolute goals are meant for a quiet machine: beside such a rate stands what it would be
if the raw floor had run as fast as it does there (but never more than its own CPU time allows).
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median

from bench._children import Measured, measured, together
from bench._latency import latencies, percentiles
from bench._life import drain_lists, make_lists, under_snapshot, written
from bench._places import DISK, PLACES, Fresh, flush_milliseconds
from bench._raw import INTERVALS, LOADS, Drained, keys, load_postgres, rate, rows_postgres
from bench._workers import drain, drain_by_hand, load

BATCH = 1_000
QUIET = {"sqlite": 320_000, "postgres": 200_000}
"""What the floor does when nobody else uses the machine on which the goals were set."""

FLOOR_SHARE = 0.6
FUNCTION_RATE = 40_000
ASYNC_RATE = 15_000
TWO_PROCESSES = 1.5
TWO_LONGER = 4
SMALL_PROCESSES = 8
SMALL_SHARE = 20
SINGLES_SHARE = 10
WAL_BYTES = 450
SAME_COST = 1.25
START_MILLISECONDS = 3.0
IDLE_SHARE = 0.01
MEGABYTES = 100


@dataclass(frozen=True)
class Setting:
    """Where and how much."""

    database: str
    fresh: Fresh
    size: int
    rounds: int
    lists: int

    @property
    def on_server(self) -> bool:
        return self.database == "postgres"

    def loaded(self, size: int | None = None) -> str:
        """A new database with a list to work on."""
        url = self.fresh()
        load(url, size or self.size)
        return url

    def floor(self) -> Drained:
        """One run of the raw loop."""
        return whole(measured(INTERVALS[self.database], self.floor_loaded(), BATCH), self.size)

    def floor_loaded(self) -> str:
        """A new database with a table for the raw loop."""
        url = self.fresh()
        LOADS[self.database](url, keys(self.size))
        return url

    def worker(self, kind: str) -> Measured:
        """One run of a worker."""
        run = measured(drain, self.loaded(), kind, BATCH)
        whole(run, self.size)
        return run


def whole(run: Measured, size: int) -> Drained:
    """What a run says, if it has done everything."""
    drained: Drained = run.answer
    assert drained.items == size, f"{drained.items} of {size} items were done"
    return drained


def drains(setting: Setting) -> list[bool]:
    """One worker against the floor: a batch, a function, an async function."""
    floors, runs = [], {kind: [] for kind in ("batch", "function", "async")}
    for _ in range(setting.rounds):
        floors.append(setting.floor())
        for kind, measurements in runs.items():
            measurements.append(setting.worker(kind))
    floor = median(rate([each]) for each in floors)
    floor_cpu = median(each.cpu for each in floors)
    show(f"raw floor {floor:>9,.0f}/s  {per_item(floor_cpu, setting.size)}")
    rates = {kind: median(rate([each.answer]) for each in found) for kind, found in runs.items()}
    told = {
        kind: f"{rates[kind]:>9,.0f}/s  {per_item(median(each.answer.cpu for each in found), setting.size)}"
        for kind, found in runs.items()
    }
    # One process never does more than one core's worth, however quiet it is around it.
    quiet = {
        kind: min(
            rates[kind] * QUIET[setting.database] / floor, setting.size / median(each.answer.cpu for each in found)
        )
        for kind, found in runs.items()
    }
    peak = max(each.megabytes for found in runs.values() for each in found)
    share = rates["batch"] / floor
    return [
        goal(f"batch     {told['batch']}  {share:.2f} of raw", share >= FLOOR_SHARE, f"≥ {FLOOR_SHARE}"),
        fast_enough("function", told["function"], quiet["function"], FUNCTION_RATE),
        fast_enough("async", told["async"], quiet["async"], ASYNC_RATE),
        goal(f"peak memory of a worker {peak:.0f} MB", peak < MEGABYTES, f"< {MEGABYTES} MB"),
    ]


def fast_enough(kind: str, told: str, quiet: float, wanted: int) -> bool:
    return goal(f"{kind:<9} {told}  {quiet:,.0f}/s if quiet", quiet >= wanted, f"≥ {wanted:,}/s")


def two_processes(setting: Setting) -> list[bool]:
    """Two workers on one list against one; on SQLite shown only, for a file has one writer.

    With several times as many items: two processes never begin at the same moment, and that should not count.
    """
    setting = replace(setting, size=TWO_LONGER * setting.size)
    ones, twos, raw_ones, raw_twos = [], [], [], []
    for _ in range(setting.rounds):
        raw_ones.append(rate([setting.floor()]))
        raw_twos.append(_rate_of_two(setting, INTERVALS[setting.database], setting.floor_loaded(), BATCH))
        ones.append(rate([setting.worker("batch").answer]))
        twos.append(_rate_of_two(setting, drain, setting.loaded(), "batch", BATCH))
    ratio, raw = median(twos) / median(ones), median(raw_twos) / median(raw_ones)
    line = f"two processes {median(twos):>9,.0f}/s, one {median(ones):,.0f}/s: {ratio:.2f} (raw {raw:.2f})"
    return [goal(line, ratio >= TWO_PROCESSES, f"≥ {TWO_PROCESSES}") if setting.on_server else show(line)]


def _rate_of_two(setting: Setting, work: Callable[..., Drained], *arguments: object) -> float:
    drained = [each.answer for each in together(2, work, *arguments)]
    assert sum(each.items for each in drained) == setting.size
    return rate(drained)


def small_claims(setting: Setting) -> list[bool]:
    """Eight processes, one item at a time, against claims of single rows by update … skip locked."""
    if not setting.on_server:
        return []
    size = setting.size // SMALL_SHARE
    contestants: dict[str, Callable[[], list[Measured]]] = {
        "rows": lambda: together(SMALL_PROCESSES, rows_postgres, _rows_loaded(setting, size), 1),
        "worker": lambda: together(SMALL_PROCESSES, drain, setting.loaded(size), "batch", 1, 1),
        "session": lambda: together(SMALL_PROCESSES, drain_by_hand, setting.loaded(size), 1),
    }
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    cpus: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(setting.rounds):
        for name, run in contestants.items():
            drained = [each.answer for each in run()]
            assert sum(each.items for each in drained) == size
            rates[name].append(rate(drained))
            cpus[name].append(sum(each.cpu for each in drained))
    base, worker, session = (median(rates[name]) for name in contestants)
    told = {name: f"{median(rates[name]):>7,.0f}/s {per_item(median(cpus[name]), size)}" for name in contestants}
    show(f"claims of one row, {SMALL_PROCESSES} processes {told['rows']}")
    return [
        goal(f"claims of one item, workers  {told['worker']}: {worker / base:.2f}", worker >= base, "≥ 1"),
        goal(f"claims of one item, sessions {told['session']}: {session / base:.2f}", session >= base, "≥ 1"),
    ]


def _rows_loaded(setting: Setting, size: int) -> str:
    url = setting.fresh()
    load_postgres(url, keys(size), rows=True)
    return url


def log_bytes(setting: Setting) -> list[bool]:
    """Write-ahead log of an item's whole life."""
    if not setting.on_server:
        return []
    told = written(setting.fresh(), setting.size)
    life = told.add + told.work
    line = f"log per item {life:.0f} bytes: add {told.add:.0f}, work {told.work:.0f} (vacuum {told.vacuum:.0f} later)"
    return [goal(line, life <= WAL_BYTES, f"≤ {WAL_BYTES}")]


def snapshot(setting: Setting) -> list[bool]:
    """Claims while somebody keeps an old snapshot."""
    if not setting.on_server:
        return []
    return [_under_snapshot(setting, setting.size, 200), _under_snapshot(setting, setting.size // SINGLES_SHARE, 1)]


def _under_snapshot(setting: Setting, size: int, batch: int) -> bool:
    steps = [under_snapshot(setting.loaded(size), batch) for _ in range(setting.rounds)]
    first, last = (median(values) for values in zip(*steps, strict=True))
    line = f"claims of {batch} under a snapshot {first:.2f} ms, after {size:,} settled {last:.2f} ms"
    return goal(line, last <= first * SAME_COST, "equal")


def starts(setting: Setting) -> list[bool]:
    """From adding to starting on an idle worker in another process."""
    calls, returns, share = latencies(setting.fresh())
    middle, slowest = percentiles(returns)
    called, _ = percentiles(calls)
    line = f"added to started p50 {middle:.1f} ms, p99 {slowest:.1f} ms (from the call of add p50 {called:.1f} ms)"
    return [
        goal(line, middle <= START_MILLISECONDS, f"p50 ≤ {START_MILLISECONDS:g} ms"),
        goal(f"idle worker {100 * share:.2f} % of a core", share < IDLE_SHARE, f"< {100 * IDLE_SHARE:g} %"),
    ]


def many_lists(setting: Setting) -> list[bool]:
    """Ten lists with work among many without, against ten alone."""
    few, many = [], []
    for _ in range(setting.rounds):
        for number, found in ((0, few), (setting.lists, many)):
            url = setting.fresh()
            make_lists(url, number)
            found.append(drain_lists(url))
    alone, among = (1000 * median(each.end - each.start for each in found) for found in (few, many))
    cpu_alone, cpu_among = (1000 * median(each.cpu for each in found) for found in (few, many))
    line = (
        f"10 lists {alone:.0f} ms (CPU {cpu_alone:.0f}), among {setting.lists:,} {among:.0f} ms (CPU {cpu_among:.0f})"
    )
    return [goal(line, among <= alone * SAME_COST, "equal")]


def per_item(cpu: float, size: int) -> str:
    return f"{1e6 * cpu / size:5.1f} µs CPU"


def show(line: str) -> bool:
    print(f"  {line}", flush=True)
    return True


def goal(line: str, reached: bool, wanted: str) -> bool:
    return show(f"{line:<78} {'pass' if reached else 'MISS'} ({wanted})") and reached


PARTS = {
    "drain": drains,
    "two": two_processes,
    "small": small_claims,
    "log": log_bytes,
    "snapshot": snapshot,
    "start": starts,
    "lists": many_lists,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lists", type=int, default=100_000)
    parser.add_argument("--database", default=",".join(PLACES))
    parser.add_argument("--part", default=",".join(PARTS))
    parser.add_argument("--place", default=DISK, help="the folder of the databases")
    asked = parser.parse_args()
    reached: list[bool] = []
    for database in asked.database.split(","):
        flush = flush_milliseconds(asked.place)
        print(f"{database}, {asked.size:,} items, {asked.rounds} rounds, {flush:.2f} ms a flush", flush=True)
        with PLACES[database](asked.place) as fresh:
            setting = Setting(database, fresh, asked.size, asked.rounds, asked.lists)
            for part in asked.part.split(","):
                reached += PARTS[part](setting)
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
