"""The supervisor: a small process that outlives a worker's sudden death, and ends the commands that it left behind.

It reads which process groups run from a pipe that only the worker holds: `+7` one has begun, `-7` it has ended. When
the pipe closes, whatever still runs is killed. No process is forgotten because it was forked by another thread, and
what commands have started themselves goes with them. It runs as a file, alone: importing more would only cost memory.
"""

import os
import signal
import sys
from collections.abc import Iterable


def left_behind(lines: Iterable[str]) -> set[int]:
    """The groups that had begun and not ended when nobody wrote any more."""
    running: set[int] = set()
    for line in lines:
        if line.endswith("\n"):  # the last words of a killed process may be cut short
            (running.add if line[0] == "+" else running.discard)(int(line[1:]))
    return running


def guard() -> None:
    """Wait for the worker's end, then kill what it has left behind."""
    for group in left_behind(sys.stdin):
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:  # it ended by itself
            continue


if __name__ == "__main__":
    guard()
