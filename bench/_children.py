"""Run something in processes of its own, and learn how long it took and how much memory it ever held."""

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Measured:
    """What a child has to say."""

    seconds: float
    megabytes: float
    answer: Any


def measured(work: Callable[..., Any], *arguments: Any) -> Measured:
    """Run `work` in a fresh interpreter; its imports are not timed, its memory is all it ever held."""
    (result,) = together(1, work, *arguments)
    return result


def together(number: int, work: Callable[..., Any], *arguments: Any) -> list[Measured]:
    """The same in several at once; none begins before all are ready."""
    start = CONTEXT.Barrier(number)
    pipes, children = [], []
    for _ in range(number):
        ours, theirs = CONTEXT.Pipe()
        child = CONTEXT.Process(target=_child, args=(theirs, start, work, arguments))
        child.start()
        theirs.close()
        pipes.append(ours)
        children.append(child)
    try:
        return [pipe.recv() for pipe in pipes]
    finally:
        for child in children:
            child.join()


def _child(pipe: Any, barrier: Any, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    barrier.wait()
    start = time.perf_counter()
    answer = work(*arguments)
    pipe.send(Measured(time.perf_counter() - start, peak_megabytes(), answer))


def peak_megabytes() -> float:
    """The most memory this process ever held; what getrusage says would begin with its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
