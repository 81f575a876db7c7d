"""Gates against no gates, and how soon the end of one list is the beginning of another.

    python -m bench.gates [--size 1000000] [--rounds 3] [--database sqlite,postgres] [--place /tmp]

The same items on the same lists, once all at one gate and once at three, drained by four processes in turn: a ratio of
runs that stood side by side. Then ten thousand items whose completion adds one to another list: from the last
settlement to the moment when that one is in a handler's hands.
"""

import argparse
import sys
import time
from statistics import median

import psycopg

from bench._children import measured, together
from bench._places import DISK, PLACES, Fresh
from bench._raw import Drained, rate
from bench._workers import drain
from rowlock import Engine, Item, Worker

GATES = 3
EACH = 1_200
"""Items of a list: claims of a hundred come out even at one gate and at three."""
PROCESSES = 4
FAN = 10_000
SHARE = 0.85
FAN_IN_MILLISECONDS = 250


def loaded(fresh: Fresh, size: int, gates: int) -> str:
    """Lists of twelve hundred items, spread over so many gates."""
    url = fresh()
    with Engine(url) as engine:
        for number in range(size // EACH):
            engine[f"list/{number}"].add({"key": f"{key:06}", "gate": key % gates} for key in range(EACH))
    if url.startswith("postgres"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("vacuum analyze")
            connection.execute("checkpoint")
    return url


def drained(url: str, size: int) -> list[Drained]:
    runs = [run.answer for run in together(PROCESSES, drain, url, "batch", 100)]
    assert sum(run.items for run in runs) == size
    return runs


def fan_in(url: str) -> float:
    """Milliseconds from the last settlement of many to the handler of the one that follows."""
    settled, begun = [0.0], [0.0]
    with Engine(url) as engine:
        engine["parts"].add(f"{number:06}" for number in range(FAN))
        engine["parts"].seal(then="whole")
        worker = Worker(engine)

        def whole(_: Item) -> None:
            begun[0] = time.perf_counter()

        def note(item: Item, *_: object) -> None:
            if item.list == "parts":
                settled[0] = time.perf_counter()

        worker.on("parts", lambda _: None)
        worker.on("whole", whole)
        worker.after(note)
        worker.run(until="done", signals=False)
    return 1000 * (begun[0] - settled[0])


def show(line: str, reached: bool, wanted: str) -> bool:
    print(f"  {line:<78} {'pass' if reached else 'MISS'} ({wanted})", flush=True)
    return reached


def measure(fresh: Fresh, size: int, rounds: int) -> list[bool]:
    rates: dict[int, list[float]] = {1: [], GATES: []}
    for _ in range(rounds):
        for gates, found in rates.items():
            found.append(rate(drained(loaded(fresh, size, gates), size)))
    without, with_gates = median(rates[1]), median(rates[GATES])
    waits = [measured(fan_in, fresh()).answer for _ in range(rounds)]
    share = with_gates / without
    told = f"one gate {without:,.0f}/s, {GATES} gates {with_gates:,.0f}/s, {size // EACH:,} lists: {share:.2f}"
    worst = f"{FAN:,} to one: {median(waits):.0f} ms, at most {max(waits):.0f} ms"
    return [
        show(told, share >= SHARE, f"≥ {SHARE}"),
        show(worst, max(waits) <= FAN_IN_MILLISECONDS, f"≤ {FAN_IN_MILLISECONDS} ms"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", default=",".join(PLACES))
    parser.add_argument("--place", default=DISK, help="the folder of the databases")
    asked = parser.parse_args()
    reached: list[bool] = []
    for database in asked.database.split(","):
        print(f"{database}, {asked.size:,} items, {asked.rounds} rounds", flush=True)
        with PLACES[database](asked.place) as fresh:
            reached += measure(fresh, asked.size // EACH * EACH, asked.rounds)
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
