"""Ordered trees side by side with sortedcontainers and intervaltree.

    python -m bench.trees [--size 1000000] [--keys int,str] [--plot docs/assets/trees]

Both sides of a duel take turns, a batch each and now one first, now the other, so that a noisy
machine and a warm cache serve both alike. The ratio is our time over theirs for the same work.
Memory is read off fresh processes.
"""

import argparse
import gc
import json
import multiprocessing
import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from intervaltree import Interval, IntervalTree
from sortedcontainers import SortedDict

from rowlock.trees import IntervalMap, RankedMap, SortedMap

TURNS = 20
READS = 100_000
CLONE_LIMIT_US = 1.0

GOALS = {
    "insert": 0.9,
    "delete": 0.65,
    "delete after rank": 0.65,
    "items": 0.1,
    "range of 100": 0.8,
    "range of 20k": 0.8,
    "rank": 1.0,
    "nth": 0.5,
    "insert+rank": 1.0,
    "snapshot+1k": 1 / 30,
    "bytes": 0.5,
    "hashed look-up": 1.3,
    "overlap": 1 / 6,
    "interval build": 1 / 8,
}


@dataclass
class Result:
    """One line of the table: what both sides took, per operation, in ns unless the name says otherwise."""

    keys: str
    size: int
    name: str
    theirs: float
    ours: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def goal(self) -> float | None:
        return GOALS.get(self.name)

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        return "pass" if self.ratio <= self.goal else "MISS"


def race(theirs: Iterable[Callable[[], object]], ours: Iterable[Callable[[], object]]) -> tuple[float, float]:
    """Let both sides take turns; return the seconds of processor time each took."""
    spent = [0.0, 0.0]
    gc.collect()
    gc.disable()
    for turn, steps in enumerate(zip(theirs, ours, strict=True)):
        for side in (0, 1) if turn % 2 else (1, 0):
            start = time.process_time()
            steps[side]()
            spent[side] += time.process_time() - start
    gc.enable()
    return spent[0], spent[1]


def batches(work: Callable[[list], object], things: list) -> Iterator[Callable[[], object]]:
    size = -(-len(things) // TURNS)
    for at in range(0, len(things), size):
        yield lambda batch=things[at : at + size]: work(batch)


Work = Callable[[list], object]


def duel(theirs: Work, ours: Work, things: list) -> tuple[float, float]:
    """Race over the same things; return nanoseconds per thing."""
    spent = race(batches(theirs, things), batches(ours, things))
    return spent[0] / len(things) * 1e9, spent[1] / len(things) * 1e9


def each(call: Callable[[object], object]) -> Callable[[list], None]:
    def run(batch: list) -> None:
        for thing in batch:
            call(thing)

    return run


def inserting(tree) -> Callable[[list], None]:
    def run(batch: list) -> None:
        for key in batch:
            tree[key] = key

    return run


def deleting(tree) -> Callable[[list], None]:
    def run(batch: list) -> None:
        for key in batch:
            del tree[key]

    return run


def looking_up(tree) -> Callable[[list], None]:
    def run(batch: list) -> None:
        for key in batch:
            tree[key]

    return run


def inserting_and_ranking(tree, rank) -> Callable[[list], None]:
    def run(batch: list) -> None:
        for key in batch:
            tree[key] = 1
            rank(key)

    return run


def consume(walk: Iterable) -> None:
    deque(walk, 0)


def make_keys(kind: str, size: int) -> list:
    keys: list = list(range(0, size * 16, 16))
    if kind == "str":
        keys = [f"user:{key // 16 * 2654435761 % (1 << 40):012x}" for key in keys]
    random.Random(42).shuffle(keys)
    return keys


def fresh_keys(keys: list, rnd: random.Random) -> list:
    chosen = rnd.sample(keys, min(len(keys), READS // 2))
    return [key + 1 if isinstance(key, int) else key + "x" for key in chosen]


class Bench:
    """All duels over maps for one kind of keys."""

    def __init__(self, kind: str, size: int) -> None:
        self.kind = kind
        self.size = size
        self.rnd = random.Random(7)
        self.keys = make_keys(kind, size)
        self.some = self.rnd.sample(self.keys, min(size // 2, READS))
        self.results: list[Result] = []

    def run(self) -> list[Result]:
        theirs, ours = SortedDict(), SortedMap()
        self.add("insert", duel(inserting(theirs), inserting(ours), self.keys))
        self.add("look-up", duel(looking_up(theirs), looking_up(ours), self.some))
        self.walks(theirs, ours)
        self.snapshots(theirs, ours)
        self.ranks(theirs)
        self.hashed(theirs)
        drop = self.rnd.sample(self.keys, self.size // 3)
        self.add("delete", duel(deleting(theirs), deleting(ours), drop))
        self.builds()
        return self.results

    def add(self, name: str, times: tuple[float, float]) -> None:
        self.results.append(Result(self.kind, self.size, name, *times))
        show(self.results[-1])

    def walks(self, theirs: SortedDict, ours: SortedMap) -> None:
        rounds = [None] * 4
        for name, walk in (("keys", iter), ("items", lambda tree: iter(tree.items()))):
            times = duel(lambda _, w=walk: consume(w(theirs)), lambda _, w=walk: consume(w(ours)), rounds)
            self.add(name, tuple(time / self.size for time in times))
        ordered = list(ours)
        for name, width, count in (("range of 100", 100, 20_000), ("range of 20k", 20_000, 100)):
            if width < self.size:
                self.ranges(name, (theirs, ours), self.pairs(ordered, width, count))

    def pairs(self, ordered: list, width: int, count: int) -> list:
        starts = [self.rnd.randrange(len(ordered) - width) for _ in range(count)]
        return [(ordered[at], ordered[at + width - 1]) for at in starts]

    def ranges(self, name: str, trees: tuple, pairs: list) -> None:
        theirs, ours = trees
        self.add(
            name,
            duel(
                each(lambda pair: consume(theirs.irange(*pair))),
                each(lambda pair: consume(ours.range(*pair, bounds="[]"))),
                pairs,
            ),
        )

    def snapshots(self, theirs: SortedDict, ours: SortedMap) -> None:
        kept: list = []

        def snapshot_and_write(tree) -> None:
            kept[:] = [tree.copy()]
            for key in self.some[:1_000]:
                tree[key] = 1

        rounds = 4
        sides = [[lambda side=side: snapshot_and_write(side)] * rounds for side in (theirs, ours)]
        times = race(*sides)
        self.add("snapshot+1k", (times[0] / rounds * 1e9, times[1] / rounds * 1e9))

    def ranks(self, theirs: SortedDict) -> None:
        twin = SortedDict(theirs)
        ours = RankedMap(theirs)
        positions = [self.rnd.randrange(self.size) for _ in self.some]
        self.add("rank", duel(each(twin.bisect_left), each(ours.rank), self.some))
        self.add("nth", duel(each(twin.peekitem), each(ours.nth), positions))
        fresh = fresh_keys(self.keys, self.rnd)
        mixed = (inserting_and_ranking(twin, twin.bisect_left), inserting_and_ranking(ours, ours.rank))
        self.add("insert+rank", duel(*mixed, fresh))
        # SortedDict keeps its positions up to date once they have been asked for: a dearer delete.
        self.add("ranked delete", duel(deleting(twin), deleting(ours), self.some))
        # A map that never has positions against it, as it was when the goal was set: both removed last, after all else.
        gone = set(self.some)
        others = self.rnd.sample([key for key in self.keys if key not in gone], len(self.some) // 2)
        plain = SortedMap(theirs)
        twin.bisect_left(others[0])
        self.add("delete after rank", duel(deleting(twin), deleting(plain), others))

    def hashed(self, theirs: SortedDict) -> None:
        ours = SortedMap(theirs, hashed=True)
        self.add("hashed look-up", duel(looking_up(theirs), looking_up(ours), self.some * 4))

    def builds(self) -> None:
        source = dict.fromkeys(self.keys, 1)
        times = race([lambda: SortedDict(source)] * 2, [lambda: SortedMap(source)] * 2)
        self.add("bulk build", (times[0] / 2 / self.size * 1e9, times[1] / 2 / self.size * 1e9))
        self.add("bytes", (memory("theirs", self.kind, self.size), memory("ours", self.kind, self.size)))


def memory(side: str, kind: str, size: int) -> float:
    """Bytes per entry beyond the keys and values, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(bytes_per_entry, (side, kind, size))


def bytes_per_entry(side: str, kind: str, size: int) -> float:
    keys = make_keys(kind, size)
    tree = SortedDict() if side == "theirs" else SortedMap()
    gc.collect()
    before = resident()
    inserting(tree)(keys)
    gc.collect()
    return (resident() - before) / size


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def bench_clones(size: int) -> list[tuple[int, float]]:
    """Microseconds for a clone at several sizes: the best of many, as it is over before noise sets in."""
    lines = []
    for count in sorted({min(size, 1_000), min(size, 100_000), size}):
        tree = SortedMap.fromkeys(range(count), None)
        took = min(timed(tree.clone) for _ in range(1_000)) * 1e6
        verdict = "pass" if took <= CLONE_LIMIT_US else "MISS"
        print(f"clone of {count:>9,}: {took:.2f} us  goal <= {CLONE_LIMIT_US} us  {verdict}", flush=True)
        lines.append((count, took))
    return lines


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def bench_intervals(size: int) -> list[Result]:
    rnd = random.Random(7)
    starts = [rnd.randrange(size * 10) for _ in range(size)]
    intervals = list({(start, start + rnd.randrange(1, 60)): None for start in starts})
    queries = [(start, start + rnd.randrange(1, 20)) for start in rnd.choices(starts, k=20_000)]
    built: dict = {}

    def build_theirs() -> None:
        built["theirs"] = IntervalTree([Interval(low, high, at) for at, (low, high) in enumerate(intervals)])

    def build_ours() -> None:
        built["ours"] = IntervalMap((interval, at) for at, interval in enumerate(intervals))
        built["ours"].summary()

    times = race([build_theirs], [build_ours])
    per = 1e9 / len(intervals)
    results = [Result("interval", size, "interval build", times[0] * per, times[1] * per)]
    show(results[-1])
    theirs, ours = built["theirs"], built["ours"]
    times = duel(each(lambda query: theirs.overlap(*query)), each(ours.overlaps), queries)
    results.append(Result("interval", size, "overlap", *times))
    show(results[-1])
    return results


def show(result: Result) -> None:
    goal = "" if result.goal is None else f"goal <= {result.goal:.3f}"
    print(
        f"{result.keys:<9}{result.size:>10,} {result.name:<16}{result.theirs:>14,.1f}{result.ours:>14,.1f}"
        f"{result.ratio:>9.3f}  {goal:<15} {result.verdict}",
        flush=True,
    )


def plot(results: list[Result], folder: Path) -> None:
    """Draw our time over theirs for every duel, with the goal beside it, one picture for each kind of key."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "trees"
    folder.mkdir(parents=True, exist_ok=True)
    for kind in dict.fromkeys(result.keys for result in results):
        lines = [result for result in results if result.keys == kind][::-1]
        figure, axes = pyplot.subplots(figsize=(7, 0.8 + 0.32 * len(lines)))
        axes.barh([line.name for line in lines], [line.ratio for line in lines], color="#4878a8", height=0.6)
        for at, line in enumerate(lines):
            if line.goal is not None:
                axes.plot([line.goal] * 2, [at - 0.4, at + 0.4], color="#c44e52", linewidth=2)
            axes.text(line.ratio, at, f" {line.ratio:.2g}", va="center", fontsize=8)
        axes.axvline(1, color="grey", linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.set_xlabel("our time (or memory) over theirs; red: goal; less is better")
        axes.set_title(f"{lines[0].size:,} entries, {kind} keys")
        figure.tight_layout()
        figure.savefig(folder / f"{kind}.svg", metadata={"Date": None})
        pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--keys", default="int,str,interval")
    parser.add_argument("--plot", type=Path, metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    print(f"{'keys':<9}{'size':>10} {'what':<16}{'theirs, ns':>14}{'ours, ns':>14}{'ratio':>9}")
    results: list[Result] = []
    for kind in options.keys.split(","):
        results += bench_intervals(options.size) if kind == "interval" else Bench(kind, options.size).run()
    bench_clones(options.size)
    if options.plot:
        plot(results, options.plot)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1))


if __name__ == "__main__":
    main()
