"""Processes of workers: they die with their parent, are killed with all their children, and show their memory."""

import contextlib
import ctypes
import os
import signal
import subprocess

DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG."""


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends; else it would disturb the next measurement."""
    if hasattr(signal, "SIGKILL") and os.uname().sysname == "Linux":
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)


def kill(processes: "list[subprocess.Popen[bytes]]") -> None:
    """Kill processes that lead sessions of their own, with all their children."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def resident_megabytes(pid: int) -> float:
    """Return the memory of a process and its children."""
    import psutil

    try:
        process = psutil.Process(pid)
        return sum(each.memory_info().rss for each in (process, *process.children(recursive=True))) / 2**20
    except psutil.Error:
        return 0.0
