"""Simulate seeds and tell what happened.

python -m tests.simulation --seeds 1-2000     many seeds: what they met, and which of them were wrong
python -m tests.simulation --seeds 17         one seed: all that happened in it
"""

import argparse
import sys

from tests.simulation.runs import Run, run, run_all, simulation


def main() -> int:
    """Run the seeds that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", required=True, metavar="A-B", help="the first and the last seed, or just one")
    parser.add_argument("--stop", action="store_true", help="stop at the first seed that is wrong")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    if not last:
        with simulation() as disk:
            return _tell(run(int(first), disk))
    summary = run_all(range(int(first), int(last) + 1), stop=given.stop)
    for mark, times in sorted(summary.marks.items()):
        _say(f"{times:8} {mark}")
    for mark in summary.never_met:
        _say(f"   never {mark}")
    for seed, wrong in summary.failed.items():
        _say(f"seed {seed}: {wrong[0]}")
    return 1 if summary.failed else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _tell(shown: Run) -> int:
    _say(f"settings {shown.settings}, faults {shown.faults}")
    for event in shown.events:
        what = event.get("arguments") or event.get("code") or event.get("answer")
        _say(f"{event['at']:9.3f} {event['process']:7} {event['phase']:7} {event['operation']} {what}")
    for mark, times in sorted(shown.marks.items()):
        _say(f"{times:4} {mark}")
    for sentence in shown.wrong:
        _say(f"WRONG: {sentence}")
    return 1 if shown.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
