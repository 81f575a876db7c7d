"""Two commits side by side in one run: is anything slower than it was?

    git worktree add /tmp/before COMMIT
    python -m bench.commits /tmp/before/src [--rounds 5] [--database sqlite,postgres] [--only drain,post]

Each operation runs in turn with either tree, in new processes on a new, durable database. A ratio is the new tree's
median over the old tree's: CPU of the process and of its children, and time on the clock. CPU is the figure to trust
on a machine that has other work.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench._operations import OPERATIONS
from bench._places import DISK, PLACES, Fresh

SHORT = ()
"""No run without an older commit to compare with."""
NEW = Path(__file__).parents[1] / "src"
MOST = 1.05
"""A ratio above this is a miss."""


@dataclass(frozen=True)
class Cost:
    """Microseconds for one operation."""

    cpu: float
    clock: float


def cost(source: Path, operation: str, url: str) -> Cost:
    """Run one operation many times with one tree."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(source), str(NEW.parent)))}
    command = [sys.executable, "-m", "bench._operations", operation, url]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if said.returncode:
        raise SystemExit(f"{operation} with {source} failed:\n{said.stderr}")
    cpu, clock = map(float, said.stdout.split())
    return Cost(cpu, clock)


def compare(operation: str, fresh: Fresh, old: Path, rounds: int) -> bool:
    """Measure an operation with both trees in turn, and print what came of it."""
    before, after = [], []
    for _ in range(rounds):
        before.append(cost(old, operation, fresh()))
        after.append(cost(NEW, operation, fresh()))

    def middle(costs: list[Cost], figure: Callable[[Cost], float]) -> float:
        return median(map(figure, costs))

    cpu = middle(after, lambda each: each.cpu) / middle(before, lambda each: each.cpu)
    clock = middle(after, lambda each: each.clock) / middle(before, lambda each: each.clock)
    both = f"{middle(before, lambda each: each.cpu):9,.1f} → {middle(after, lambda each: each.cpu):9,.1f} µs CPU"
    good = min(cpu, clock) <= MOST
    print(
        f"  {operation:<16} {both}   × {cpu:.3f} CPU   × {clock:.3f} clock   {'pass' if good else 'MISS'}", flush=True
    )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="the src folder of the other commit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--database", default=",".join(PLACES))
    parser.add_argument("--only", default=",".join(OPERATIONS))
    parser.add_argument("--place", default=DISK)
    options = parser.parse_args()
    good = True
    for database in options.database.split(","):
        print(database, flush=True)
        with PLACES[database](options.place, schema=False) as fresh:
            for operation in options.only.split(","):
                good &= compare(operation, fresh, options.old.resolve(), options.rounds)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
