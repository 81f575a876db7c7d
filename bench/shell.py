"""A command for each item, from the shell: rowlock work beside xargs and GNU parallel.

    python -m bench.shell [--size 3000] [--jobs 4] [--rounds 3]

All three run `true` for each of the same keys, in turns; the best wall time and CPU time of each are shown. Wall time
needs a quiet machine; the ratio of CPU times holds on a busy one too. rowlock's list is filled before its clock starts.
Its modules are compiled then, as those of an installed program are.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SHORT = ("--size", "1000")
GOAL = 1.5
"""Wall time of rowlock, in those of xargs."""
ROWLOCK = (sys.executable, "-m", "rowlock", "-q")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

Took = tuple[float, float]
"""Seconds of wall time and of CPU time."""


def timed(command: list[str], keys: Path, folder: Path) -> Took:
    """Run a command with the keys on its standard input."""
    before, since = os.times(), time.perf_counter()
    with keys.open() as given:
        subprocess.run(command, stdin=given, cwd=folder, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - since, os.times()
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def contenders(jobs: int, keys: Path, folder: Path) -> dict[str, Callable[[], Took]]:
    """The programs that are installed, each as a function that runs it once."""

    def rowlock() -> Took:
        timed([*ROWLOCK, "add", "keys", "-f", str(keys)], keys, folder)
        return timed([*ROWLOCK, "work", "keys", "-j", str(jobs), "true"], keys, folder)

    commands = {
        "xargs": ["xargs", "-P", str(jobs), "-n", "1", "true"],
        "parallel": ["parallel", "--joblog", "log", "-j", str(jobs), "true"],
    }
    installed = {name: command for name, command in commands.items() if shutil.which(name)}
    others = {name: lambda command=command: timed(command, keys, folder) for name, command in installed.items()}
    return {"rowlock": rowlock, **others}


def measure(*, size: int, jobs: int, rounds: int) -> dict[str, list[Took]]:
    """Run all programs in turns and return what each round took."""
    with tempfile.TemporaryDirectory() as name:
        keys = Path(name, "keys.txt")
        keys.write_text("".join(f"{number}\n" for number in range(size)))
        running = contenders(jobs, keys, Path(name))
        taken = [{who: run() for who, run in running.items()} for _ in range(rounds)]
    return {who: [each[who] for each in taken] for who in running}


def main() -> int:
    """Measure, print a table, and return 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=3_000)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    taken = measure(size=given.size, jobs=given.jobs, rounds=given.rounds)
    best = {who: (min(wall for wall, _ in each), min(cpu for _, cpu in each)) for who, each in taken.items()}
    print(f"{given.size:,} times `true`, {given.jobs} at once, best of {given.rounds}")
    for who, (wall, cpu) in best.items():
        ratios = f"{wall / best['xargs'][0]:6.2f} × {cpu / best['xargs'][1]:6.2f} ×"
        print(f"{who:10} wall {wall:7.2f} s   CPU {cpu:7.2f} s   of xargs' {ratios}")
    met = best["rowlock"][0] <= GOAL * best["xargs"][0]
    print(f"goal: at most {GOAL} × the wall time of xargs: {'met' if met else 'missed'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
