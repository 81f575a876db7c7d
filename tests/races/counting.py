"""Processes that take numbers and say which, until they are killed."""

import os
import signal
import subprocess
import sys

PROLOGUE = r"""
import ctypes, os, sys, threading
ctypes.CDLL(None).prctl(1, 9)
from rowlock import Engine
engine = Engine(sys.argv[1])
sign = "?" if engine.database.address.dialect == "sqlite" else "%s"

def say(*numbers):
    os.write(1, "".join(f"{number}\n" for number in numbers).encode())

def crowd(work, threads=4):
    for number in range(threads):
        threading.Thread(target=work, args=(number,)).start()
"""


class Counting:
    """Processes that run one program each; what they have said counts, also of those that were killed."""

    def __init__(self, program: str, *arguments: str, processes: int) -> None:
        self._command = [sys.executable, "-c", PROLOGUE + program, *arguments]
        self._processes = [self._start() for _ in range(processes)]
        self._said: list[int] = []

    def _start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)

    def hear(self, lines: int) -> None:
        """Wait until each has said so much more."""
        for process in self._processes:
            assert process.stdout is not None
            self._said += [int(next(process.stdout)) for _ in range(lines)]

    def replace_one(self) -> None:
        """The oldest is killed, and another one comes."""
        self._kill(self._processes.pop(0))
        self._processes.append(self._start())

    def end(self) -> list[int]:
        """Kill all of them; every number that was ever said."""
        for process in self._processes:
            os.kill(process.pid, signal.SIGKILL)
        for process in self._processes:
            self._kill(process)
        return self._said

    def _kill(self, process: "subprocess.Popen[str]") -> None:
        os.kill(process.pid, signal.SIGKILL)
        assert process.stdout is not None
        with process.stdout as rest:
            self._said += [int(line) for line in rest if line.endswith("\n")]
        process.wait()
