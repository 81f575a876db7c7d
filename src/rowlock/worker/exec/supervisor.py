"""The supervisor: a small process that outlives a killed worker and ends the commands that it left behind.

It reads from a pipe that only the worker holds which process groups run: `+7` says that group 7 has begun, `-7` that it
has ended. When the pipe closes, it kills the groups that still run, with all that they have started. It runs as a file
of its own, because importing more would only cost memory.
"""

import os
import signal
import sys
from collections.abc import Iterable


def left_behind(lines: Iterable[str]) -> set[int]:
    """Return the groups that had begun and not ended when the pipe was closed."""
    running: set[int] = set()
    for line in lines:
        if line.endswith("\n"):  # the last line of a killed process may be cut short
            (running.add if line[0] == "+" else running.discard)(int(line[1:]))
    return running


def supervise() -> None:
    """Wait for the worker's end, then kill what it has left behind."""
    for group in left_behind(sys.stdin):
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:  # it has ended by itself
            continue


if __name__ == "__main__":
    supervise()
