"""Run something in a process of its own, and learn how long it took and how much memory it ever held."""

import multiprocessing
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measured:
    """What a child has to say."""

    seconds: float
    megabytes: float
    answer: Any


def measured(work: Callable[..., Any], *arguments: Any) -> Measured:
    """Run `work` in a fresh interpreter; its imports are not timed, its memory is all it ever held."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_child, args=(theirs, work, arguments))
    child.start()
    theirs.close()
    try:
        result: Measured = ours.recv()
    finally:
        child.join()
    return result


def _child(pipe: Any, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    start = time.perf_counter()
    answer = work(*arguments)
    seconds = time.perf_counter() - start
    # Kilobytes on Linux.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pipe.send(Measured(seconds, peak, answer))
